// The two-minute tour: a CNN for digits and a small transformer, each written in a few lines,
// compiled by search on this machine, compared with the interpreter and explained.
//
//   demo [PREFIX] [SECONDS]   how names of its pages begin, and how long to search for each network
//
// Every run searches anew, in a database of its own that begins empty.
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>

#include "luminal/cli/compile_page.h"
#include "luminal/luminal.h"
#include "luminal/search/tuning_database.h"
#include "luminal/support/file.h"

using namespace luminal;

namespace {

/// Random numbers, which are themselves a small graph.
Array random_values(const Extents& extents, uint64_t seed) {
  Graph g;
  Tensor values = randn(g, Shape(extents.begin(), extents.end()), seed) * 0.25;
  Executable exe = compile(g, {values});
  exe.run();
  return exe.get(values);
}

/// A network with inputs and weights whose data is random.
struct Network {
  std::string name;
  Graph graph = {};
  std::vector<Tensor> data = {};
  std::vector<Extents> extents = {};  // of the data
  Tensor output = {};

  Tensor weight(const Extents& shape) {
    const std::string label = "weight" + std::to_string(data.size());
    extents.push_back(shape);
    return data.emplace_back(graph.weight(label, Shape(shape.begin(), shape.end())));
  }

  Tensor input(const Extents& shape) {
    extents.push_back(shape);
    return data.emplace_back(graph.input("x", Shape(shape.begin(), shape.end())));
  }
};

/// Two convolutions and a layer for the ten digits.
Network digits(int64_t batch) {
  Network net{"a CNN for digits"};
  Tensor x = net.input({batch, 1, 28, 28});
  for (const int64_t channels : {16, 32}) {
    const int64_t before = channels == 16 ? 1 : 16;
    Tensor y = conv2d(x, net.weight({channels, before, 3, 3}), {}, {.padding = {{1, 1}}});
    x = max_pool(relu(y), {2, 2});
  }
  Tensor flat = merge_dims(x, 1, 3);
  net.output = softmax(matmul(flat, net.weight({32 * 7 * 7, 10})));
  return net;
}

/// [seq, width] -> [heads, seq, width / heads]
Tensor split_heads(const Tensor& x) { return transpose(split_dims(x, -1, {4, -1}), 0, 1); }

/// A pre-norm transformer block with causal attention.
Tensor block(Network& net, const Tensor& x, int64_t width) {
  Tensor h = layer_norm(x);
  Tensor positions = arange(net.graph, x.dim(0));
  Tensor q = rope(split_heads(matmul(h, net.weight({width, width}))), positions);
  Tensor k = rope(split_heads(matmul(h, net.weight({width, width}))), positions);
  Tensor v = split_heads(matmul(h, net.weight({width, width})));
  Tensor mixed = merge_dims(transpose(attention(q, k, v, {.causal = true}), 0, 1), 1, 2);
  Tensor residual = x + matmul(mixed, net.weight({width, width}));
  Tensor up = gelu(matmul(layer_norm(residual), net.weight({width, 4 * width})));
  return residual + matmul(up, net.weight({4 * width, width}));
}

Network blocks(int64_t tokens, int64_t width) {
  Network net{"a transformer of two blocks"};
  Tensor x = net.input({tokens, width});
  for (int layer = 0; layer < 2; ++layer) x = block(net, x, width);
  net.output = softmax(x);
  return net;
}

void load_data(const Network& net, Executable& exe) {
  for (size_t k = 0; k < net.data.size(); ++k)
    exe.set_loader(net.data[k],
                   [extents = net.extents[k], k] { return random_values(extents, k); });
  exe.run();  // loads the data and packs the weights
}

double seconds_of(const std::function<void()>& work) {
  const auto begin = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

double worst_distance(const std::vector<double>& a, const std::vector<double>& b) {
  double worst = 0;
  for (size_t k = 0; k < a.size(); ++k) worst = std::max(worst, std::abs(a[k] - b[k]));
  return worst;
}

/// Medians of microseconds per run, taken by turns so that a busy moment of the machine meets all.
std::vector<double> times_of(const std::vector<Executable*>& exes, int turns) {
  std::vector<std::vector<double>> times(exes.size());
  for (int turn = 0; turn < turns; ++turn)
    for (size_t k = 0; k < exes.size(); ++k)
      times[k].push_back(seconds_of([&] { exes[k]->run(); }) * 1e6);
  std::vector<double> medians;
  for (std::vector<double>& each : times) {
    std::sort(each.begin(), each.end());
    medians.push_back(each[each.size() / 2]);
  }
  return medians;
}

/// What became of the nodes: one line per kind of kernel.
void show_kernels(const compiler::Explanation& explanation) {
  fmt::print("What was fused:\n");
  std::vector<std::pair<std::string, size_t>> lines;  // equal kernels of several layers are one
  for (const compiler::ExplainedKernel& kernel : explanation.kernels) {
    if (kernel.uses == 0) continue;  // made once of weights
    const std::string text = fmt::format("{} by {} ({} nodes)", fmt::join(kernel.fused, " + "),
                                         kernel.implementation, kernel.nodes);
    const auto known = std::find_if(lines.begin(), lines.end(),
                                    [&](const auto& line) { return line.first == text; });
    if (known == lines.end())
      lines.emplace_back(text, kernel.uses);
    else
      known->second += kernel.uses;
  }
  for (const auto& [text, uses] : lines) fmt::print("  {} x {}\n", uses, text);
  const compiler::ExplainedMemory& memory = explanation.memory;
  fmt::print("Values between them take {} KB, of which {} KB are in use at most.\n\n",
             memory.arena_bytes / 1000, memory.peak_bytes / 1000);
}

/// What the search did, and the kernels that it made quicker.
void show_search(const compiler::SearchReport& report) {
  fmt::print(
      "The search compared {} plans and tried {} ways to compute {} kernels; {} of them it "
      "rejected.\n",
      report.structures, report.known + report.measured, report.kernels, report.rejected);
  constexpr size_t kShown = 3;
  for (size_t k = 0; k < report.gains.size() && k < kShown; ++k) {
    const compiler::KernelGain& gain = report.gains[k];
    fmt::print("  {}: {:.1f} us instead of {:.1f}, by {}\n", gain.label, gain.best_us,
               gain.default_us, gain.schedule);
  }
  if (report.unreliable)
    fmt::print("  The machine was busy with other work: times are not to be trusted.\n");
}

/// Where things go.
struct Paths {
  std::string page;
  std::string database;
};

/// The page of a compile; false: it cannot be written.
bool write_page(const Network& net, cli::CompileRecord& record, const std::string& path) {
  std::ofstream file(path);
  file << cli::compile_page(net.name, record) << std::flush;
  if (!file) std::cerr << "demo: cannot write " << path << '\n';
  return static_cast<bool>(file);
}

/// Compares the plan that was found, which the database has now, with the first one and with the
/// interpreter. False: a result is wrong.
bool compare(const Network& net, Executable& first, const Paths& paths) {
  search::TuningDatabase database(paths.database);
  CompileOptions recall{.mode = Mode::kSearch, .budget_seconds = 0};
  recall.search.database = &database;
  Executable found = compile(net.graph, {net.output}, recall);
  load_data(net, found);
  Executable oracle = compile(net.graph, {net.output}, {.backend = Backend::kInterpreter});
  load_data(net, oracle);
  const std::vector<double> us = times_of({&first, &found}, 301);
  const double oracle_us = times_of({&oracle}, 1)[0];
  fmt::print("Interpreter {:.0f} us, first plan {:.1f} us, found {:.1f} us: ", oracle_us, us[0],
             us[1]);
  fmt::print("{:.2f} times as fast as the first plan, {:.0f} times the interpreter.\n",
             us[0] / us[1], oracle_us / us[1]);
  const double worst =
      worst_distance(found.get<double>(net.output), oracle.get<double>(net.output));
  const bool right = worst < 1e-4;
  fmt::print("Largest distance from the interpreter: {:.1e}, {}.\n", worst,
             right ? "fine" : "WRONG");
  return right;
}

/// Compiles a network by search, tells what came of it and writes its page. False: something is
/// wrong.
bool show(const Network& net, double budget, const Paths& paths) {
  fmt::print("== {}: {} nodes, {}\n", net.name, net.graph.ir().size(),
             graph::to_string(net.output.shape()));
  std::optional<Executable> first;
  const double seconds = seconds_of([&] { first.emplace(compile(net.graph, {net.output})); });
  load_data(net, *first);
  fmt::print("A first plan, by the cost model alone, took {:.0f} ms to make.\n", seconds * 1e3);
  fmt::print("Searching {} s for a better one; Ctrl-C keeps the best.\n", budget);
  std::fflush(stdout);
  graph::Graph written = net.graph.ir();
  written.add_output("y", net.output.edge());
  cli::CompileRecord record =
      cli::record_compile(written, {.search_seconds = budget, .database = paths.database});
  if (record.search) show_search(*record.search);
  const bool right = compare(net, *first, paths);
  show_kernels(record.explanation);
  return write_page(net, record, paths.page) && right;
}

/// The whole tour; false: a result is wrong, or a page could not be written.
bool tour(const std::string& prefix, double budget) {
  const Paths cnn{prefix + "_cnn.html", prefix + ".tuning.db"};
  const Paths transformer{prefix + "_transformer.html", prefix + ".tuning.db"};
  for (const std::string& path : {cnn.page, transformer.page, cnn.database})
    support::check_writable(path, "demo");
  std::filesystem::remove(cnn.database);
  const bool right = show(digits(8), budget, cnn) && show(blocks(64, 128), budget, transformer);
  fmt::print(
      "{} and {} show all of it, from the graph over the search to the assembly: open them "
      "in a browser.\n",
      cnn.page, transformer.page);
  fmt::print(
      "Next: read docs/tutorial.md and the other examples, or try\n"
      "  build/release/bin/luminal explain gpt-block\n"
      "  ./run test\n");
  return right;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string prefix = argc > 1 ? argv[1] : "demo";
  const double budget = argc > 2 ? std::atof(argv[2]) : 1.0;
  if (prefix.starts_with("-") || argc > 3 || !(budget > 0 && budget <= 3600)) {
    std::cerr << "usage: demo [PREFIX] [SECONDS], how names of its pages begin, and how long to "
                 "search for each network (more than 0, at most 3600)\n";
    return 2;
  }
  try {
    const bool right = tour(prefix, budget);
    if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return right ? 0 : 1;
    std::cerr << "demo: what it printed could not be written\n";
  } catch (const UserError& error) {
    std::cerr << error.what() << '\n';  // which begins with what was to be done
  } catch (const std::exception& error) {
    std::cerr << "demo: " << error.what() << '\n';
  }
  return 1;
}

// How well the cost model knows the machine: every kernel of some networks is timed and compared
// with its estimate, the constants of kernel::Machine are fitted to the times, and networks are
// compiled under other constants, which gives other cuts, to see whether the model's own choice is
// the fastest of them. Compiling measures nothing; what is found here is written into Machine::cpu.
#include <fmt/format.h>

#include <chrono>
#include <map>
#include <random>

#include "luminal/codegen/llvm/attention_cost.h"
#include "luminal/compiler/build_plan.h"
#include "luminal/graph/dim_binding.h"
#include "luminal/kernel/cut_search.h"
#include "luminal/kernel/program.h"
#include "luminal/luminal.h"
#include "luminal/plan/compiled_program.h"
#include "luminal/runtime/cpu/thread_team.h"
#include "luminal/search/calibration.h"
#include "luminal/support/stats.h"

namespace luminal::benchmarks {
namespace {

using graph::Array;
using Clock = std::chrono::steady_clock;

/// A graph by name.
struct Model {
  std::string name;
  graph::Graph graph;
};

/// Writes one graph.
class Writer {
 public:
  Tensor input(const Shape& shape, DType dtype = f32) {
    return graph_.input(fmt::format("input{}", count_++), shape, dtype);
  }
  Tensor linear(const Tensor& x, int64_t inputs, int64_t outputs) {
    return matmul(x, transpose(input({outputs, inputs}), 0, 1)) + input({outputs});
  }
  Tensor conv3x3(const Tensor& x, int64_t inputs, int64_t outputs) {
    return conv2d(x, input({outputs, inputs, 3, 3}), input({outputs}), {.padding = {{1, 1}}});
  }
  Model done(std::string name, const Tensor& result) {
    graph::Graph graph = graph_.ir();
    graph.add_output("y", result.edge());
    return {std::move(name), std::move(graph)};
  }

 private:
  Graph graph_;
  int count_ = 0;
};

Model mlp(int64_t batch) {
  Writer w;
  Tensor x = relu(w.linear(w.input({batch, 784}), 784, 512));
  x = relu(w.linear(x, 512, 512));
  return w.done(fmt::format("mlp {}", batch), w.linear(x, 512, 10));
}

Model digits(int64_t batch) {
  Writer w;
  Tensor x = max_pool(relu(w.conv3x3(w.input({batch, 1, 28, 28}), 1, 32)), {2, 2});
  x = max_pool(relu(w.conv3x3(x, 32, 64)), {2, 2});
  x = relu(w.linear(merge_dims(x, 1, 3), 64 * 49, 128));
  return w.done(fmt::format("digits {}", batch), w.linear(x, 128, 10));
}

Model residual() {
  Writer w;
  const Tensor x = w.input({1, 64, 56, 56});
  return w.done("residual", relu(x + w.conv3x3(relu(w.conv3x3(x, 64, 64)), 64, 64)));
}

Model block(int64_t tokens) {
  constexpr int64_t kWidth = 768;
  Writer w;
  const auto norm = [&](const Tensor& x) {
    return layer_norm(x, w.input({kWidth}), w.input({kWidth}));
  };
  const auto heads = [](const Tensor& x) { return transpose(split_dims(x, -1, {12, 64}), 0, 1); };
  Tensor x = w.input({tokens, kWidth});
  const Tensor h = norm(x);
  const Tensor q = heads(w.linear(h, kWidth, kWidth));
  const Tensor k = heads(w.linear(h, kWidth, kWidth));
  const Tensor v = heads(w.linear(h, kWidth, kWidth));
  const Tensor mixed = merge_dims(transpose(attention(q, k, v, {.causal = true}), 0, 1), 1, 2);
  x = x + w.linear(mixed, kWidth, kWidth);
  const Tensor up = gelu_tanh(w.linear(norm(x), kWidth, 4 * kWidth));
  return w.done(fmt::format("block {}", tokens), x + w.linear(up, 4 * kWidth, kWidth));
}

Model rows(int64_t size) {
  Writer w;
  const Tensor x = w.input({size, size});
  const Tensor y = softmax(x, -1) + layer_norm(x, w.input({size}), w.input({size}));
  return w.done(fmt::format("rows {}", size), y * sum(x, {0}));
}

std::vector<Model> models() {
  std::vector<Model> result;
  for (const int64_t batch : {1, 32, 256}) result.push_back(mlp(batch));
  for (const int64_t batch : {1, 32}) result.push_back(digits(batch));
  result.push_back(residual());
  for (const int64_t tokens : {1, 16, 128}) result.push_back(block(tokens));
  for (const int64_t size : {64, 512, 2048}) result.push_back(rows(size));
  return result;
}

/// Random data for the inputs of a graph.
class Data {
 public:
  explicit Data(const graph::Graph& graph) {
    std::mt19937_64 random(1);
    std::uniform_real_distribution<float> numbers(-1.0F, 1.0F);
    for (uint32_t k = 0; k < static_cast<uint32_t>(graph.size()); ++k) {
      const graph::Node& node = graph.node({k});
      if (node.op != graph::Op::kInput) continue;
      const Extents extents = graph::extents_of(node.type.shape, {});
      int64_t count = 1;
      for (const int64_t extent : extents) count *= extent;
      std::vector<float> values(static_cast<size_t>(count));
      for (float& value : values) value = numbers(random);
      arrays_.emplace(node.attribute<graph::InputAttribute>().name,
                      Array::from<float>(f32, extents, values).cast(node.type.dtype));
    }
    for (const auto& [name, array] : arrays_) request.inputs.emplace(name, &array);
  }

  graph::RunRequest request;

 private:
  std::map<std::string, Array> arrays_;
};

/// Microseconds of every node's steps together: the median over runs, and of whole runs.
struct Times {
  std::map<graph::NodeId, double> nodes;
  double whole = 0;
};
Times measure(plan::CompiledProgram& program, const Data& data, double seconds) {
  std::map<graph::NodeId, std::vector<double>> samples;
  std::vector<double> whole;
  graph::RunRequest traced = data.request;
  std::map<graph::NodeId, double> run;
  traced.on_step = [&](const graph::StepReport& step) { run[step.node] += step.microseconds; };
  const auto start = Clock::now();
  const auto since = [](Clock::time_point from) {
    return std::chrono::duration<double>(Clock::now() - from).count();
  };
  program.run(data.request);
  while (since(start) < seconds || whole.size() < 5) {
    const auto begin = Clock::now();
    program.run(data.request);
    whole.push_back(since(begin) * 1e6);
    run.clear();
    program.run(traced);
    for (const auto& [node, time] : run) samples[node].push_back(time);
  }
  Times times;
  times.whole = support::median(whole);
  for (const auto& [node, each] : samples) times.nodes[node] = support::median(each);
  return times;
}

/// One kernel that was timed.
struct Sample {
  std::string name;
  size_t model = 0;
  kernel::Kernel kernel;
  double measured = 0;
};

/// Everything that is timed, with the bodies it is made of.
struct Samples {
  std::vector<std::unique_ptr<kernel::Arena>> arenas;
  std::vector<Sample> all;
};

/// In the way in which each is best run on a machine.
std::vector<search::TimedWork> timed(const Samples& samples, const kernel::Machine& machine) {
  std::vector<search::TimedWork> result;
  for (const Sample& sample : samples.all) {
    kernel::Arena& arena = *samples.arenas[sample.model];
    result.push_back({kernel::estimate(arena, sample.kernel, machine).work, sample.measured});
  }
  return result;
}

void report(const char* title, const Samples& samples, const kernel::Machine& machine) {
  const search::ModelQuality quality = search::quality_of(timed(samples, machine), machine);
  fmt::print("{}: rank correlation {:.3f}, {:.3f} of pairs in order, typical factor {:.2f}\n",
             title, quality.rank_correlation, quality.pairs_in_order, quality.typical_factor);
  for (const auto& [name, constant] : search::machine_constants())
    fmt::print("  {:<22} {:.4g}\n", name, machine.*constant);
}

Samples measure_all(const kernel::Machine& machine) {
  Samples samples;
  for (const Model& model : models()) {
    samples.arenas.push_back(std::make_unique<kernel::Arena>());
    kernel::Arena& arena = *samples.arenas.back();
    const kernel::GraphProgram program(model.graph);
    kernel::CutSearchOptions options;
    options.machine = machine;
    options.cost = [&](kernel::Arena& bodies, const kernel::Kernel& each) {
      return codegen::attention_cost(bodies, each, machine, {});
    };
    const kernel::CutPlan cut = kernel::search_cut(arena, program, options);
    const auto loaded =
        plan::load_plan(compiler::build_plan(model.graph, {.machine = machine, .outline = false}));
    const Times times = measure(*loaded, Data(model.graph), 0.15);
    for (const kernel::PlannedKernel& each : cut.kernels) {
      graph::NodeId node = each.nodes.back();
      if (node.value >= model.graph.size()) node = program.node(node).operands[0].node;
      const auto found = times.nodes.find(node);
      if (found == times.nodes.end()) continue;
      samples.all.push_back({fmt::format("{} %{}", model.name, node.value),
                             samples.arenas.size() - 1, each.kernel, found->second});
      fmt::print("{:<22} estimated {:>9.1f} us, measured {:>9.1f} us\n", samples.all.back().name,
                 each.estimate.microseconds, found->second);
    }
  }
  return samples;
}

/// Compiles networks under constants that make other cuts look good.
void compare_cuts(const kernel::Machine& machine) {
  std::vector<std::pair<std::string, kernel::Machine>> others{{"as it is", machine}};
  for (const auto& [name, constant] : search::machine_constants())
    for (const double factor : {0.25, 4.0}) {
      others.emplace_back(fmt::format("{} x {}", name, factor), machine);
      others.back().second.*constant *= factor;
    }
  for (const Model& model : models()) {
    const Data data(model.graph);
    std::map<std::string, std::pair<std::string, double>> known;  // by the steps of the plan
    for (const auto& [name, other] : others) {
      plan::Plan plan = compiler::build_plan(model.graph, {.machine = other});
      std::string steps;
      for (const plan::PlanStep& step : plan.steps)
        steps += fmt::format("{} {}\n", step.node.value, step.label);
      if (known.contains(steps)) continue;
      const double time = measure(*plan::load_plan(std::move(plan)), data, 0.1).whole;
      known.emplace(std::move(steps), std::pair{name, time});
    }
    std::string line = fmt::format("{:<12} {} cuts:", model.name, known.size());
    for (const auto& [steps, each] : known)
      line += fmt::format("  {} {:.1f} us", each.first, each.second);
    fmt::print("{}\n", line);
  }
}

void run(bool cuts) {
  const kernel::Machine machine = kernel::Machine::cpu(runtime::default_thread_team().size());
  if (cuts) return compare_cuts(machine);
  const Samples samples = measure_all(machine);
  report("as it is", samples, machine);
  report("fitted", samples, search::fitted(timed(samples, machine), machine));
}

}  // namespace
}  // namespace luminal::benchmarks

int main(int argc, char** argv) {
  const std::string mode = argc > 1 ? argv[1] : "";
  if (argc > 2 || (!mode.empty() && mode != "--cuts")) {
    fmt::print(stderr, "usage: cost_model_bench [--cuts]\n  --cuts  time other cuts instead\n");
    return 1;
  }
  luminal::benchmarks::run(mode == "--cuts");
  return 0;
}

#include "benchmarks/suite.h"

#include <fmt/format.h>

#include <iostream>
#include <map>
#include <memory>
#include <optional>
#include <random>

#include "benchmarks/cpu_gemm/machine_limits.h"
#include "benchmarks/peer_process.h"
#include "benchmarks/result_rows.h"
#include "luminal/runtime/cpu/arena.h"
#include "luminal/support/error.h"
#include "luminal/symbolic/evaluate.h"

namespace luminal::benchmarks {
namespace {

constexpr const char* kUsage =
    "usage: {}_bench [--device D] [--filter TEXT] [--peers PYTHON] [--json FILE] [--commit TEXT]\n"
    "                [--seconds S] [--trace on]\n"
    "  --device D      where ours runs: cpu\n"
    "  --filter TEXT   only cases whose name and dtype have this text\n"
    "  --peers PYTHON  time PyTorch and ONNX Runtime in turn with ours, in this Python\n"
    "  --json FILE     write the rows there as well\n"
    "  --commit TEXT   what the rows say they were measured of\n"
    "  --seconds S     time for each case (0.5)\n"
    "  --trace on      show the steps of one run of each case\n";

struct SuiteOptions {
  std::string device = "cpu";
  std::string commit;
  std::string filter;
  std::string peers;
  std::string json;
  std::string trace;
  double seconds = 0.5;
};

SuiteOptions parse(const std::string& suite, int argc, char** argv) {
  SuiteOptions options;
  const std::map<std::string, std::string*> texts = {
      {"--device", &options.device}, {"--filter", &options.filter}, {"--peers", &options.peers},
      {"--json", &options.json},     {"--commit", &options.commit}, {"--trace", &options.trace}};
  for (int k = 1; k < argc; k += 2) {
    const std::string name = argv[k];
    const auto found = texts.find(name);
    const bool last = k + 1 == argc;
    if (last || (found == texts.end() && name != "--seconds"))
      throw UserError("bench", "cannot understand '{}'\n{}", name,
                      fmt::format(fmt::runtime(kUsage), suite));
    if (found != texts.end())
      *found->second = argv[k + 1];
    else
      options.seconds = std::stod(argv[k + 1]);
  }
  if (options.device != "cpu")
    throw UserError("bench", "there is no device '{}'; --device cpu is what can be measured",
                    options.device);
  return options;
}

/// What the machine does at most, as functions that do a known amount of work on all threads.
class Limits {
 public:
  Limits() : source_(kBytes), target_(kBytes), sums_(kBytes >> 10) {
    source_.populate();
    target_.populate();
  }

  /// Products in registers, by the fastest instructions for the dtype.
  void multiply(DType dtype) const {
    const codegen::TestKernel& kernel = dtype == bf16 ? narrow_ : dtype == i8 ? bytes_ : wide_;
    team_.static_loop(kRounds, [&](int64_t begin, int64_t end, int) {
      alignas(64) std::byte memory[192] = {};
      kernel({memory}, {}, begin, end);
    });
  }
  static double multiply_flops(DType dtype) {
    return kRounds * peak_operations(dtype == bf16 ? narrow_kind()
                                     : dtype == i8 ? byte_kind()
                                                   : PeakKind::kF32);
  }

  /// Reads memory that no cache holds.
  void read() const {
    team_.static_loop(kBytes / 256, [&](int64_t begin, int64_t end, int thread) {
      read_({source_.data(), sums_.data() + int64_t{4096} * thread}, {}, begin * 4, end * 4);
    });
  }

  /// Copies memory past the caches.
  void copy() const {
    team_.static_loop(kBytes / 64, [&](int64_t begin, int64_t end, int) {
      copy_({source_.data(), target_.data()}, {}, begin, end);
    });
  }

  /// So much that caches keep nothing of it.
  static constexpr int64_t kBytes = int64_t{256} << 20;

 private:
  static constexpr int64_t kRounds = 40000;

  static PeakKind narrow_kind() {
    const bool dots = codegen::host_target().has(runtime::CpuFeature::kAvx512bf16);
    return dots ? PeakKind::kBf16 : PeakKind::kF32;
  }
  static PeakKind byte_kind() {
    const bool dots = codegen::host_target().has(runtime::CpuFeature::kAvx512vnni);
    return dots ? PeakKind::kI8 : PeakKind::kF32;
  }

  runtime::ThreadTeam& team_ = runtime::default_thread_team();
  runtime::HostMemory source_;
  runtime::HostMemory target_;
  runtime::HostMemory sums_;
  codegen::TestKernel wide_ = peak_kernel(PeakKind::kF32);
  codegen::TestKernel narrow_ = peak_kernel(narrow_kind());
  codegen::TestKernel bytes_ = peak_kernel(byte_kind());
  codegen::TestKernel read_ = read_kernel();
  codegen::TestKernel copy_ = copy_kernel();
};

Array random_array(DType dtype, const Shape& shape, const Interval& interval,
                   std::mt19937_64& random) {
  Extents extents;
  int64_t count = 1;
  for (const Dim& dim : shape) count *= extents.emplace_back(symbolic::evaluate(dim, {}));
  std::vector<float> values(static_cast<size_t>(count));
  std::uniform_real_distribution<float> numbers(interval.low, interval.high);
  // Large arrays repeat themselves: billions of random numbers take longer than what is timed.
  const size_t fresh = std::min<size_t>(values.size(), (size_t{1} << 20) + 1);
  for (size_t i = 0; i < values.size(); ++i)
    values[i] = i < fresh ? numbers(random) : values[i - fresh];
  return Array::from<float>(f32, extents, values).cast(dtype);
}

int64_t bytes_of(const Tensor& tensor) {
  int64_t count = 1;
  for (const Dim& dim : tensor.shape()) count *= symbolic::evaluate(dim, {});
  return graph::byte_size(tensor.dtype(), count);
}

/// What one case gave, in seconds, the machine's limits and the peers included.
struct Row {
  double ours = 0;
  double compile = 0;
  double multiply = 0;
  double read = 0;
  double copy = 0;
  std::map<std::string, double> peers;
};

/// One case, compiled and with data.
class Runner {
 public:
  explicit Runner(const Case& each) {
    each.write(network_);
    const double start = now(false);
    executable_.emplace(compile(network_.graph, network_.outputs));
    compile_seconds_ = now(false) - start;
    std::mt19937_64 random(1);
    for (const Tensor& input : network_.inputs) {
      executable_->set(input, random_array(input.dtype(), input.shape(), network_.values, random));
      bytes_ += static_cast<double>(bytes_of(input));
    }
    for (const Tensor& output : network_.outputs) bytes_ += static_cast<double>(bytes_of(output));
    executable_->run();
  }

  void operator()() { executable_->run(); }
  void trace() { executable_->run({.trace = true}); }
  double bytes() const { return bytes_; }
  double compile_seconds() const { return compile_seconds_; }

 private:
  Network network_;
  std::optional<Executable> executable_;
  double bytes_ = 0;
  double compile_seconds_ = 0;
};

Row measure(const Case& each, Runner& runner, const Limits& limits, PeerProcess* peers,
            double budget) {
  std::vector<std::string> names;
  if (peers != nullptr)
    names = peers->begin_case(fmt::format("{}|{}", each.name, graph::name(each.dtype)));
  std::vector<std::vector<double>> peer_samples(names.size());
  std::vector<std::function<void()>> ours = {[&] { runner(); }, [&] { limits.read(); },
                                             [&] { limits.copy(); },
                                             [&] { limits.multiply(each.dtype); }};
  // Ours and the limits are interleaved inside; peers between such rounds.
  std::vector<std::vector<double>> rounds(ours.size());
  const int count = names.empty() ? 1 : 4;
  for (int round = 0; round < count; ++round) {
    const std::vector<double> times = interleaved(ours, false, budget / count);
    for (size_t k = 0; k < times.size(); ++k) rounds[k].push_back(times[k]);
    for (size_t k = 0; k < names.size(); ++k) peer_samples[k].push_back(peers->seconds(names[k]));
  }
  Row row;
  row.ours = support::median(rounds[0]);
  row.read = support::median(rounds[1]);
  row.copy = support::median(rounds[2]);
  row.multiply = support::median(rounds[3]);
  row.compile = runner.compile_seconds();
  for (size_t k = 0; k < names.size(); ++k) row.peers[names[k]] = support::median(peer_samples[k]);
  return row;
}

/// Fractions of what the machine does: bytes of copying and of reading, and products.
struct Fractions {
  double copy;
  double read;
  double compute;
};
Fractions fractions(const Case& each, const Row& row, double bytes) {
  const double rate = bytes / row.ours;
  const double peak = Limits::multiply_flops(each.dtype) / row.multiply;
  return {rate / (2.0 * Limits::kBytes / row.copy), rate / (Limits::kBytes / row.read),
          each.flops / row.ours / peak};
}

void print(const Case& each, const Row& row, double bytes) {
  const Fractions part = fractions(each, row, bytes);
  std::string line =
      fmt::format("{:<34} {:<5} {:>10.1f} us  of copy {:>5.2f}  of read {:>5.2f}", each.name,
                  graph::name(each.dtype), row.ours * 1e6, part.copy, part.read);
  line += each.flops > 0 ? fmt::format("  products {:>5.2f}", part.compute) : std::string(16, ' ');
  for (const auto& [peer, seconds] : row.peers)
    line += fmt::format("  {} {:.2f}x", peer, seconds / row.ours);
  fmt::print("{}  (compiled in {:.0f} ms)\n", line, row.compile * 1e3);
  std::fflush(stdout);
}

ResultRow result(const std::string& suite, const Case& each, const Row& row, double bytes) {
  const Fractions part = fractions(each, row, bytes);
  ResultRow found{.suite = suite,
                  .name = each.name,
                  .dtype = std::string(graph::name(each.dtype)),
                  .ours = row.ours * 1e6,
                  .fast = row.ours * 1e6,
                  .compile = row.compile * 1e6,
                  .bytes = bytes,
                  .flops = each.flops,
                  .bandwidth_fraction = part.copy,
                  .read_fraction = part.read,
                  .compute_fraction = part.compute};
  for (const auto& [peer, seconds] : row.peers) found.peers[peer] = seconds * 1e6;
  return found;
}

void run(const std::string& suite, const std::vector<Case>& cases, const SuiteOptions& options) {
  const Limits limits;
  std::optional<PeerProcess> peers;
  if (!options.peers.empty()) peers.emplace(options.peers);
  std::vector<ResultRow> rows;
  for (const Case& each : cases) {
    const std::string name = fmt::format("{} {}", each.name, graph::name(each.dtype));
    if (name.find(options.filter) == std::string::npos) continue;
    Runner runner(each);
    const Row row = measure(each, runner, limits, peers ? &*peers : nullptr, options.seconds);
    print(each, row, runner.bytes());
    if (!options.trace.empty()) runner.trace();
    rows.push_back(result(suite, each, row, runner.bytes()));
  }
  if (!options.json.empty()) write_rows(options.json, rows, options.device, options.commit);
}

}  // namespace

Tensor Network::input(const Extents& extents, DType dtype) {
  inputs.push_back(graph.input(fmt::format("input{}", inputs.size()),
                               Shape(extents.begin(), extents.end()), dtype));
  return inputs.back();
}

Tensor Network::weight(const Extents& extents, DType dtype) {
  inputs.push_back(graph.weight(fmt::format("input{}", inputs.size()),
                                Shape(extents.begin(), extents.end()), dtype));
  return inputs.back();
}

int run_suite(const std::string& suite, const std::vector<Case>& cases, int argc, char** argv) {
  try {
    run(suite, cases, parse(suite, argc, argv));
    return 0;
  } catch (const Error& error) {
    std::cerr << error.what() << '\n';
    return 1;
  }
}

}  // namespace luminal::benchmarks

#include "benchmarks/suite.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iostream>
#include <limits>
#include <map>
#include <memory>
#include <numeric>
#include <optional>
#include <span>

#include "benchmarks/bench_options.h"
#include "benchmarks/cpu_gemm/machine_limits.h"
#include "benchmarks/peer_process.h"
#include "benchmarks/result_rows.h"
#include "benchmarks/suite_plans.h"
#include "luminal/codegen/llvm/cpu_target.h"
#include "luminal/runtime/cpu/arena.h"
#include "luminal/runtime/cpu/round_trip.h"
#include "luminal/runtime/cpu/thread_team.h"
#include "luminal/search/duel.h"
#include "luminal/support/error.h"

namespace luminal::benchmarks {
namespace {

constexpr const char* kUsage =
    "usage: {}_bench [--device D] [--filter TEXT] [--peers PYTHON] [--json FILE] [--commit TEXT]\n"
    "                [--seconds S] [--search [SECONDS]] [--check off] [--trace on]\n"
    "  --device D      where ours runs: cpu\n"
    "  --filter TEXT   only cases whose name and dtype have this text\n"
    "  --peers PYTHON  time PyTorch and ONNX Runtime in turn with ours, in this Python\n"
    "  --json FILE     write the rows there as well\n"
    "  --commit TEXT   what the rows say they were measured of\n"
    "  --seconds S     time for each case (0.5)\n"
    "  --search [S]    ours is what a search of S seconds finds (60), beside the plan without one\n"
    "  --check off     do not compare what a search finds with the oracle\n"
    "  --trace on      show the steps of one run of each case\n";

struct SuiteOptions {
  std::string device = "cpu";
  std::string commit;
  std::string filter;
  std::string peers;
  std::string json;
  std::string trace = "off";
  std::string check = "on";
  double seconds = 0.5;
  std::optional<double> search = {};
};

/// What is asked for; nothing if it is help, which is given.
std::optional<SuiteOptions> parse(const std::string& suite, int argc, char** argv) {
  constexpr double kSearchSeconds = 60;
  constexpr double kLeastSeconds = 0.001;
  SuiteOptions options;
  const std::map<std::string, std::string*> texts = {
      {"--device", &options.device}, {"--filter", &options.filter}, {"--peers", &options.peers},
      {"--json", &options.json},     {"--commit", &options.commit}, {"--trace", &options.trace},
      {"--check", &options.check}};
  const std::vector<std::string> words(argv + 1, argv + argc);
  for (size_t k = 0; k < words.size(); ++k) {
    const std::string& name = words[k];
    const auto found = texts.find(name);
    const bool has_value = k + 1 < words.size() && !words[k + 1].starts_with("--");
    if (name == "--help" || name == "-h") {
      fmt::print(fmt::runtime(kUsage), suite);
      return std::nullopt;
    }
    if (name == "--search" && !has_value)
      options.search = kSearchSeconds;
    else if (!has_value && (found != texts.end() || name == "--seconds"))
      throw UserError("bench", "{} needs a value\n{}", name,
                      fmt::format(fmt::runtime(kUsage), suite));
    else if (!has_value || (found == texts.end() && name != "--seconds" && name != "--search"))
      throw UserError("bench", "cannot understand '{}'\n{}", name,
                      fmt::format(fmt::runtime(kUsage), suite));
    else if (const std::string& value = words[++k]; found != texts.end())
      *found->second = value;
    else if (name == "--search")
      options.search = seconds_of(name, value);
    else
      options.seconds = seconds_of(name, value, kLeastSeconds);
  }
  check_device(options.device);
  is_on("--check", options.check);
  is_on("--trace", options.trace);
  return options;
}

/// What the machine does at most, as functions that do a known amount of work on all threads.
class Limits {
 public:
  Limits() : source_(kBytes), target_(kBytes), sums_(kBytesOfSums * team_.size()) {
    // Of zeros a Zen 5 copies a fifth more in the same time than of anything else.
    const std::span<uint32_t> words(reinterpret_cast<uint32_t*>(source_.data()),
                                    kBytes / sizeof(uint32_t));
    std::iota(words.begin(), words.end(), 1U);
    target_.populate();
  }

  /// Products in registers, by the fastest instructions for the dtype.
  void multiply(DType dtype) const {
    const codegen::TestKernel& kernel = dtype == bf16 ? narrow_ : dtype == i8 ? bytes_ : wide_;
    team_.static_loop(kRounds, [&](int64_t begin, int64_t end, int) {
      alignas(64) std::byte memory[codegen::kPeakBytes] = {};
      kernel({memory}, {}, begin, end);
    });
  }
  static double multiply_flops(DType dtype) {
    // A vector holds half as many f64 as f32 and takes as long.
    if (dtype == f64) return multiply_flops(f32) / 2;
    return kRounds * peak_operations(kind_of(dtype));
  }
  /// Whether these are products of matrix registers.
  static bool are_matrices(DType dtype) {
    return codegen::is_peak_of_matrices(kind_of(dtype), codegen::host_target());
  }

  /// Reads as much memory as a case of `bytes` does, if that is more than caches hold.
  void read(int64_t bytes) const {
    team_.static_loop(read_bytes(bytes) / kPiece, [&](int64_t begin, int64_t end, int thread) {
      read_({source_.data(), sums_.data() + kBytesOfSums * thread}, {}, begin * 4, end * 4);
    });
  }
  static int64_t read_bytes(int64_t bytes) { return limit_bytes(bytes); }

  /// Copies memory past the caches: what a case of `bytes` moves, if half of it is more than caches
  /// hold.
  void copy(int64_t bytes) const {
    team_.static_loop(copied_bytes(bytes) / kLine, [&](int64_t begin, int64_t end, int) {
      copy_({source_.data(), target_.data()}, {}, begin, end);
    });
  }
  static int64_t copied_bytes(int64_t bytes) { return limit_bytes(bytes / 2); }

  /// Of a word to another thread: whether cores share a cache, which may change from row to row.
  double round_trip() const { return runtime::round_trip_seconds(team_); }

 private:
  /// So much that caches keep nothing of it. Of arrays that are twice as large as a cache of 32 MB
  /// it keeps a part from one run to the next, and reading them is up to half as quick again: so
  /// what is compared with such a case moves as much.
  static constexpr int64_t kBytes = int64_t{256} << 20;
  static constexpr int64_t kLeastBytes = int64_t{64} << 20;
  static constexpr int64_t kPiece = 256;  // of one step of reading
  static constexpr int64_t kLine = 64;

  static int64_t limit_bytes(int64_t bytes) {
    return bytes < kLeastBytes ? kBytes : std::min(bytes, kBytes) / kPiece * kPiece;
  }

  static constexpr int64_t kRounds = 40000;
  static constexpr int64_t kBytesOfSums = 4096;  // of a thread

  static PeakKind kind_of(DType dtype) {
    return dtype == bf16 ? narrow_kind() : dtype == i8 ? byte_kind() : PeakKind::kF32;
  }
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

/// What one case gave, in seconds, the machine's limits and the peers included.
struct Row {
  double ours = 0;
  double fast = 0;
  double compile = 0;
  double multiply = 0;
  double read = 0;
  double copy = 0;
  double round_trip = 0;
  std::map<std::string, double> peers;  // NaN: it failed
};

/// What a run of the searched plan takes, over one of the plan of the cost model.
double ratio_to_fast(CasePlans& plans, double budget) {
  std::vector<double> ratios;
  for (const search::Pair& pair :
       search::time_pairs([&] { plans.run_fast(); }, [&] { plans.run(); },
                          {.seconds = budget, .most_pairs = 101, .give_up = false}))
    ratios.push_back(pair.ratio());
  return support::median(ratios);
}

Row measure(const Case& each, CasePlans& plans, const Limits& limits, PeerProcess* peers,
            double budget) {
  CasePeers asked;
  if (peers != nullptr)
    asked = peers->begin_case(fmt::format("{}|{}", each.name, graph::name(each.dtype)));
  const std::vector<std::string>& names = asked.ready;
  std::vector<std::vector<double>> peer_samples(names.size());
  const auto bytes = static_cast<int64_t>(plans.bytes());
  std::vector<std::function<void()>> ours = {[&] { plans.run(); }, [&] { limits.read(bytes); },
                                             [&] { limits.copy(bytes); },
                                             [&] { limits.multiply(each.dtype); }};
  // Ours and the limits are interleaved inside; peers between such rounds.
  std::vector<std::vector<double>> rounds(ours.size());
  std::vector<double> round_trips;
  const int count = names.empty() ? 1 : 4;
  for (int round = 0; round < count; ++round) {
    const std::vector<double> times = interleaved(ours, false, budget / count);
    for (size_t k = 0; k < times.size(); ++k) rounds[k].push_back(times[k]);
    if (const double found = limits.round_trip(); found > 0) round_trips.push_back(found);
    for (size_t k = 0; k < names.size(); ++k) peer_samples[k].push_back(peers->seconds(names[k]));
  }
  Row row;
  row.ours = support::median(rounds[0]);
  row.read = support::median(rounds[1]);
  row.copy = support::median(rounds[2]);
  row.multiply = support::median(rounds[3]);
  if (!round_trips.empty()) row.round_trip = support::median(round_trips);
  // Some hundredths are told in pairs, which nothing else runs between.
  row.fast = row.ours / (plans.is_other() ? ratio_to_fast(plans, budget) : 1.0);
  row.compile = plans.compile_seconds();
  for (size_t k = 0; k < names.size(); ++k) row.peers[names[k]] = support::median(peer_samples[k]);
  for (const std::string& name : asked.failed)
    row.peers[name] = std::numeric_limits<double>::quiet_NaN();
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
  const auto count = static_cast<int64_t>(bytes);
  const double copying = 2.0 * static_cast<double>(Limits::copied_bytes(count)) / row.copy;
  const double reading = static_cast<double>(Limits::read_bytes(count)) / row.read;
  const double peak = Limits::multiply_flops(each.dtype) / row.multiply;
  return {rate / copying, rate / reading, each.flops / row.ours / peak};
}

void print(const Case& each, const Row& row, double bytes) {
  const Fractions part = fractions(each, row, bytes);
  std::string line =
      fmt::format("{:<34} {:<5} {:>10.1f} us  of copy {:>5.2f}  of read {:>5.2f}", each.name,
                  graph::name(each.dtype), row.ours * 1e6, part.copy, part.read);
  line += each.flops > 0 ? fmt::format("  products {:>5.2f}", part.compute) : std::string(16, ' ');
  for (const auto& [peer, seconds] : row.peers)
    line += std::isnan(seconds) ? fmt::format("  {} failed", peer)
                                : fmt::format("  {} {:.2f}x", peer, seconds / row.ours);
  if (row.round_trip >= runtime::kLeastOfApart) line += "  cores apart";
  fmt::print("{}  (compiled in {:.0f} ms)\n", line, row.compile * 1e3);
  std::fflush(stdout);
}

ResultRow result(const std::string& suite, const Case& each, const Row& row, double bytes) {
  const Fractions part = fractions(each, row, bytes);
  ResultRow found{.suite = suite,
                  .name = each.name,
                  .dtype = std::string(graph::name(each.dtype)),
                  .ours = row.ours * 1e6,
                  .fast = row.fast * 1e6,
                  .compile = row.compile * 1e6,
                  .bytes = bytes,
                  .flops = each.flops,
                  .bandwidth_fraction = part.copy,
                  .read_fraction = part.read,
                  .compute_fraction = part.compute,
                  .peak_gflops = Limits::multiply_flops(each.dtype) / row.multiply / 1e9,
                  .matrix_registers = Limits::are_matrices(each.dtype),
                  .round_trip = row.round_trip * 1e9};
  for (const auto& [peer, seconds] : row.peers) found.peers[peer] = seconds * 1e6;
  return found;
}

/// What the search of a case did, in a line.
void print_search(const CasePlans& plans, const Row& row) {
  const std::string check =
      plans.checked_by().empty()
          ? "not compared with the oracle"
          : fmt::format("{} {} ({:.1f} s)", plans.fault().empty() ? "equals" : "DIFFERS from",
                        plans.checked_by(), plans.check_seconds());
  fmt::print("    searched {:.1f} s: {:.1f} us without, {:.3f}x{}; {}\n{}", plans.search_seconds(),
             row.fast * 1e6, row.fast / row.ours, plans.is_other() ? "" : " (the same plan)", check,
             plans.fault());
  std::fflush(stdout);
}

/// Whether all results are right.
bool run(const std::string& suite, const std::vector<Case>& cases, const SuiteOptions& options) {
  std::vector<std::string> names;
  for (const Case& each : cases)
    names.push_back(fmt::format("{} {}", each.name, graph::name(each.dtype)));
  const std::vector<std::string> wanted = filtered(names, options.filter);
  RowFile file(options.json, {options.device, codegen::host_target().name,
                              runtime::default_thread_team().size(), options.commit});
  const Limits limits;
  std::optional<PeerProcess> peers;
  if (!options.peers.empty()) peers.emplace(options.peers);
  std::vector<ResultRow> rows;
  bool right = true;
  for (size_t k = 0; k < cases.size(); ++k) {
    const Case& each = cases[k];
    if (std::find(wanted.begin(), wanted.end(), names[k]) == wanted.end()) continue;
    CasePlans plans(each, {options.search, options.check == "on"});
    const Row row = measure(each, plans, limits, peers ? &*peers : nullptr, options.seconds);
    print(each, row, plans.bytes());
    if (options.search) print_search(plans, row);
    if (options.trace == "on") {
      fmt::print("{}", plans.search_text());
      std::fflush(stdout);
      plans.trace();
    }
    right = right && plans.fault().empty();
    rows.push_back(result(suite, each, row, plans.bytes()));
    rows.back().search_budget = options.search.value_or(0);
    rows.back().search_took = plans.search_seconds();
    file.add(rows.back());
    if (plans.is_interrupted()) {
      fmt::print("interrupted: the cases after {} were not run\n", names[k]);
      right = false;
      break;
    }
  }
  if (options.search) fmt::print("{}", gains_text(rows));
  return right;
}

}  // namespace

int run_suite(const std::string& suite, const std::vector<Case>& cases, int argc, char** argv) {
  try {
    const std::optional<SuiteOptions> options = parse(suite, argc, argv);
    return !options || run(suite, cases, *options) ? 0 : 1;
  } catch (const Error& error) {
    std::cerr << error.what() << '\n';
    return 1;
  }
}

}  // namespace luminal::benchmarks

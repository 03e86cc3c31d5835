#include "luminal/search/kernel_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <deque>
#include <map>

#include "luminal/graph/dim_binding.h"
#include "luminal/search/run_apart.h"
#include "luminal/support/error.h"
#include "luminal/symbolic/evaluate.h"

namespace luminal::search {
namespace {

using graph::Array;

// What is written over: NaN in all floats, and -1. On the second data another one, since some right
// results are -1.
constexpr std::byte kPattern{0xff};
constexpr std::byte kOtherPattern{0xa5};

Array array_of(const graph::TensorType& type, const graph::DimValues& dims,
               std::span<const std::byte> bytes) {
  Array array(type.dtype, graph::extents_of(type.shape, dims));
  std::copy_n(bytes.data(), bytes.size(), array.mutable_bytes().data());
  return array;
}

/// What differs between two runs; nothing but bits of NaNs may.
std::optional<std::string> difference(size_t root, const Array& first, const Array& second) {
  for (int64_t i = 0; i < first.size(); ++i) {
    const graph::Scalar before = first.at(i), after = second.at(i);
    if (before == after) continue;
    if (graph::is_float(first.dtype()) && std::isnan(before.as_double()) &&
        std::isnan(after.as_double()))
      continue;
    return fmt::format("element {} of result {} is {} in one run and {} in the next", i, root,
                       before.to_string(), after.to_string());
  }
  return std::nullopt;
}

/// A byte that is no bool says that nobody wrote one.
std::optional<std::string> unwritten(size_t root, const Array& result) {
  if (result.dtype() != graph::DType::kBool) return std::nullopt;
  const auto bytes = result.bytes();
  const auto found =
      std::ranges::find_if(bytes, [](std::byte byte) { return byte > std::byte{1}; });
  if (found == bytes.end()) return std::nullopt;
  return fmt::format("element {} of result {} is no bool", found - bytes.begin(), root);
}

/// The dims of a kernel and the values they may have.
std::map<std::string, symbolic::Interval> intervals_of(const kernel::Arena& arena,
                                                       const kernel::Kernel& kernel) {
  std::map<std::string, symbolic::Interval> result;
  const auto add = [&](const symbolic::Expr& extent) {
    for (const symbolic::Expr& each : extent.variables())
      result.emplace(each.name(), each.bounds());
  };
  for (const kernel::Expr& axis : kernel.axes) add(axis.axis_extent());
  std::vector<kernel::NodeId> tensors = tensors_read(arena, kernel);
  for (const kernel::Root& root : kernel.roots) tensors.push_back(root.tensor);
  for (const kernel::NodeId id : tensors)
    for (const symbolic::Expr& extent : arena.tensor(id).shape) add(extent);
  return result;
}

/// The value of an interval that is nearest.
int64_t nearest(const symbolic::Interval& interval, int64_t value) {
  return std::clamp(value, interval.lo, interval.hi);
}

int64_t nearest_odd(const symbolic::Interval& interval, int64_t odd) {
  const int64_t value = nearest(interval, odd);
  if (value % 2 != 0) return value;
  return nearest(interval, value < odd ? value - 1 : value + 1);
}

/// Other values to try: the least, of which whole tiles have none, and such that no tile fits, all
/// of them different. No dim is 0: nothing runs then.
std::vector<graph::DimValues> other_dims(const kernel::Arena& arena, const kernel::Kernel& kernel,
                                         const graph::DimValues& dims) {
  constexpr std::array<int64_t, 4> kOdd = {77, 53, 91, 39};
  const std::map<std::string, symbolic::Interval> intervals = intervals_of(arena, kernel);
  graph::DimValues least = dims;
  graph::DimValues odd = dims;
  size_t number = 0;
  for (auto& [name, value] : least) {
    const auto found = intervals.find(name);
    if (found == intervals.end()) continue;
    value = nearest(found->second, 1);
    odd[name] = nearest_odd(found->second, kOdd[number++ % kOdd.size()]);
  }
  std::vector<graph::DimValues> result;
  for (graph::DimValues& each : std::array{least, odd})
    if (each != dims && std::ranges::find(result, each) == result.end())
      result.push_back(std::move(each));
  return result;
}

/// What no candidate worth a thought exceeds: a run takes minutes where a kernel is large enough.
std::chrono::milliseconds time_for(const kernel::Arena& arena, const kernel::Kernel& kernel,
                                   const graph::DimValues& dims) {
  constexpr double kRuns = 4;
  constexpr double kNanoseconds = 2;  // for a value, without vectors
  constexpr double kMost = 1e7;       // some hours, in milliseconds
  const symbolic::Values values(dims.begin(), dims.end());
  const auto work = static_cast<double>(symbolic::evaluate(work_of(arena, kernel), values));
  return std::chrono::milliseconds(
      static_cast<int64_t>(std::min(kRuns * kNanoseconds * 1e-6 * work, kMost)));
}

std::string to_text(const graph::DimValues& dims) {
  std::string text;
  for (const auto& [name, value] : dims) text += fmt::format(" {}={}", name, value);
  return text;
}

}  // namespace

struct KernelCheck::Attempt {
  Attempt(const kernel::Arena& arena, const kernel::Kernel& kernel, const Candidate& any,
          Trial& data, int threads)
      : trial(data),
        candidate(any.with_dims(data.dims)),
        memory(arena, kernel, data.dims, data.inputs, candidate, threads) {}
  // The memory refers to it.
  Attempt(const Attempt&) = delete;
  Attempt& operator=(const Attempt&) = delete;

  bool is_ordinary() const { return trial.expected.kind() == DataKind::kOrdinary; }
  void run() const {
    memory.fill(is_ordinary() ? kPattern : kOtherPattern);
    if (!is_ordinary()) return memory.run_at_once();
    memory.run_in_parts();
    memory.run_again();
  }

  Trial& trial;
  Candidate candidate;
  GuardedTensors memory;
};

KernelCheck::KernelCheck(const kernel::Arena& arena, const kernel::Kernel& kernel,
                         graph::DimValues dims, const CheckOptions& options)
    : arena_(arena),
      kernel_(kernel),
      dims_(std::move(dims)),
      other_dims_(other_dims(arena, kernel, dims_)),
      options_(options) {
  options_.limit = std::max(options_.limit, time_for(arena, kernel, dims_));
  trial(DataKind::kOrdinary, dims_);
}

KernelCheck::~KernelCheck() = default;

const kernel::Tensors& KernelCheck::data() const { return trials_[0]->expected.data(); }

KernelCheck::Trial& KernelCheck::trial(DataKind kind, const graph::DimValues& dims) {
  const std::lock_guard lock(mutex_);
  for (const auto& each : trials_)
    if (each->expected.kind() == kind && each->dims == dims) return *each;
  const bool is_ordinary = kind == DataKind::kOrdinary;
  const KernelExpectation* ordinary = is_ordinary ? nullptr : &trials_[0]->expected;
  const auto side = is_ordinary ? GuardedMemory::Side::kEnd : GuardedMemory::Side::kBegin;
  return *trials_.emplace_back(std::make_unique<Trial>(
      dims,
      KernelExpectation(arena_, kernel_, dims, kind, options_.seed, options_.points, ordinary),
      side));
}

std::optional<Rejected> KernelCheck::check(const Candidate& candidate) try {
  const auto special = candidate.mixes_neighbours ? DataKind::kInfinite : DataKind::kSpecial;
  std::deque<Attempt> attempts;
  const auto add = [&](Trial& data) {
    attempts.emplace_back(arena_, kernel_, candidate, data, options_.threads);
  };
  add(trial(DataKind::kOrdinary, dims_));
  add(trial(special, dims_));
  for (const graph::DimValues& dims : other_dims_) add(trial(DataKind::kOrdinary, dims));
  const ApartOptions apart{
      .limit = options_.limit, .stop = options_.stop, .is_forbidden = [&](const void* address) {
        return std::ranges::any_of(
            attempts, [&](const Attempt& each) { return each.memory.forbids(address); });
      }};
  // One child for all of it: making one takes longer than most kernels run.
  const auto run = [&] {
    for (const Attempt& each : attempts) each.run();
  };
  if (auto why = run_apart(run, apart)) return why;
  for (const Attempt& each : attempts)
    if (auto why = judged(each)) return why;
  return std::nullopt;
} catch (const UserError& error) {
  // A number of a launch that has no value for some dims.
  return Rejected{Rejected::Why::kCompile, error.what()};
}

std::optional<KernelCheck::Revoked> KernelCheck::revoked() const {
  for (const auto& each : trials_)
    if (const auto& what = each->expected.fault_of_first())
      return Revoked{each->first, {Rejected::Why::kWrongResult, *what}};
  return std::nullopt;
}

std::optional<Rejected> KernelCheck::judged(const Attempt& attempt) {
  using Why = Rejected::Why;
  if (!attempt.memory.is_intact())
    return Rejected{Why::kOutOfBounds, "it wrote into bytes beside a tensor"};
  auto what = fault(attempt);
  if (!what) return std::nullopt;
  if (attempt.trial.dims != dims_) *what += ", with" + to_text(attempt.trial.dims);
  return Rejected{Why::kWrongResult, std::move(*what)};
}

std::optional<std::string> KernelCheck::fault(const Attempt& attempt) {
  const auto& [trial, candidate, memory] = attempt;
  std::vector<Array> results;
  for (size_t k = 0; k < kernel_.roots.size(); ++k) {
    const graph::TensorType& type = arena_.tensor(kernel_.roots[k].tensor);
    const Array& result = results.emplace_back(array_of(type, trial.dims, memory.result(k)));
    if (auto what = unwritten(k, result)) return what;
    if (!attempt.is_ordinary() || std::ranges::equal(memory.first_result(k), memory.result(k)))
      continue;
    if (auto what = difference(k, array_of(type, trial.dims, memory.first_result(k)), result))
      return what;
  }
  const std::lock_guard lock(mutex_);
  if (!trial.expected.has_first()) trial.first = candidate.schedule;
  auto what = trial.expected.fault(std::move(results));
  if (&trial == trials_[0].get() || what) farthest_ = trial.expected.farthest();
  return what;
}

}  // namespace luminal::search

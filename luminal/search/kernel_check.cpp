#include "luminal/search/kernel_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <deque>

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

  void run() const {
    const bool is_ordinary = trial.expected.kind() == DataKind::kOrdinary;
    memory.fill(is_ordinary ? kPattern : kOtherPattern);
    if (!is_ordinary) return memory.run_at_once();
    memory.run_in_parts();
    if (trial.runs_again) memory.run_again();
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
      further_(further_kinds(arena, kernel)),
      options_(options) {
  std::chrono::milliseconds time = time_for(arena, kernel, dims_);
  for (const TrialDims& each : other_dims_) time += time_for(arena, kernel, each.values);
  options_.limit = std::max(options_.limit, time);
  trial(DataKind::kOrdinary, dims_);
}

KernelCheck::~KernelCheck() = default;

std::chrono::milliseconds KernelCheck::limit() const {
  // More than a busy machine makes of it, and short beside the time of a search.
  constexpr int kTimes = 10;
  constexpr int kTimesOfLong = 3;
  constexpr std::chrono::milliseconds kLong{5000};
  const std::lock_guard lock(mutex_);
  if (!first_took_) return options_.limit;
  const auto most = std::max({kTimesOfLong * *first_took_, kLong, options_.least});
  return std::min(options_.limit, std::clamp(kTimes * *first_took_, options_.least, most));
}

const kernel::Tensors& KernelCheck::data() const { return trials_[0]->expected.data(); }

KernelCheck::Trial& KernelCheck::trial(DataKind kind, const graph::DimValues& dims, bool once) {
  const bool is_ordinary = kind == DataKind::kOrdinary;
  const KernelExpectation* ordinary = nullptr;
  for (const auto& each : trials_) {
    if (each->dims != dims) continue;
    if (each->expected.kind() == kind) return *each;
    if (each->expected.kind() == DataKind::kOrdinary) ordinary = &each->expected;
  }
  const auto side = is_ordinary ? GuardedMemory::Side::kEnd : GuardedMemory::Side::kBegin;
  const bool is_sided = kind == DataKind::kOneSided || kind == DataKind::kOtherSide;
  // Rows of one sign are alike, others are not.
  const PointCounts typical = is_ordinary ? options_.points : options_.points.few();
  const PointCounts points = dims == dims_ && !is_sided ? typical : options_.points.some();
  trials_.push_back(std::make_unique<Trial>(
      dims, KernelExpectation(arena_, kernel_, dims, kind, options_.seed, points, ordinary), side));
  trials_.back()->runs_again = is_ordinary && !once;
  return *trials_.back();
}

std::vector<KernelCheck::Trial*> KernelCheck::trials_for(const Candidate& candidate) {
  const std::lock_guard lock(mutex_);
  const auto special = candidate.mixes_neighbours ? DataKind::kInfinite : DataKind::kSpecial;
  Trial& typical = trial(DataKind::kOrdinary, dims_);
  std::vector<Trial*> result = {&typical, &trial(special, dims_)};
  const auto add_further = [&](const graph::DimValues& dims) {
    for (const DataKind kind : further_) result.push_back(&trial(kind, dims));
  };
  add_further(dims_);
  std::erase_if(other_dims_, [&](const TrialDims& dims) {
    try {
      Trial& ordinary = trial(DataKind::kOrdinary, dims.values, dims.once);
      // The graph would not run with these: a view of it is not inside of what it looks at.
      if (ordinary.expected.reads_outside() && !typical.expected.reads_outside()) return true;
      result.push_back(&ordinary);
      if (dims.special) result.push_back(&trial(special, dims.values));
      if (dims.special) add_further(dims.values);
    } catch (const Error&) {
      return true;  // nor with these, if there is no data for them
    }
    return false;
  });
  return result;
}

Rejected KernelCheck::not_tried(const std::exception& error) const {
  if (options_.on_failure) options_.on_failure(error);
  return {Rejected::Why::kInterrupted,
          fmt::format("there is nothing to try it on: {}", error.what())};
}

std::optional<Rejected> KernelCheck::check(const Candidate& candidate) {
  std::vector<Trial*> trials;
  try {
    trials = trials_for(candidate);
  } catch (const std::exception& error) {
    return not_tried(error);
  }
  std::deque<Attempt> attempts;
  try {
    for (Trial* each : trials)
      attempts.emplace_back(arena_, kernel_, candidate, *each, options_.threads);
  } catch (const UserError& error) {
    // A number of a launch that has no value for some dims.
    return Rejected{Rejected::Why::kCompile, error.what()};
  } catch (const std::exception& error) {
    return not_tried(error);  // no memory just now
  }
  std::chrono::milliseconds used{0};
  const ApartOptions apart{.limit = limit(),
                           .stop = options_.stop,
                           .used = &used,
                           .is_forbidden = [&](const void* address) {
                             return std::ranges::any_of(attempts, [&](const Attempt& each) {
                               return each.memory.forbids(address);
                             });
                           }};
  // One child for all of it: making one takes longer than most kernels run.
  const auto run = [&] {
    for (const Attempt& each : attempts) each.run();
  };
  if (auto why = run_apart(run, apart)) return why;
  for (const Attempt& each : attempts)
    if (auto why = judged(each)) return why;
  const std::lock_guard lock(mutex_);
  if (!first_took_) first_took_ = used;
  return std::nullopt;
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
    if (!trial.runs_again || std::ranges::equal(memory.first_result(k), memory.result(k))) continue;
    if (auto what = difference(k, array_of(type, trial.dims, memory.first_result(k)), result))
      return what;
  }
  const std::lock_guard lock(mutex_);
  if (!trial.expected.has_first()) trial.first = candidate.schedule;
  auto what = trial.expected.fault(std::move(results), {candidate.takes_offsets_out});
  if (&trial == trials_[0].get() || what) farthest_ = trial.expected.farthest();
  return what;
}

}  // namespace luminal::search

#include "luminal/search/kernel_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "luminal/graph/dim_binding.h"
#include "luminal/search/run_apart.h"

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

}  // namespace

KernelCheck::KernelCheck(const kernel::Arena& arena, const kernel::Kernel& kernel,
                         graph::DimValues dims, const CheckOptions& options)
    : arena_(arena), kernel_(kernel), dims_(std::move(dims)), options_(options) {
  trial(DataKind::kOrdinary);
}

KernelCheck::~KernelCheck() = default;

const kernel::Tensors& KernelCheck::data() const { return trials_[0]->expected.data(); }

KernelCheck::Trial& KernelCheck::trial(DataKind kind) {
  const std::lock_guard lock(mutex_);
  for (const auto& each : trials_)
    if (each->expected.kind() == kind) return *each;
  const KernelExpectation* ordinary = trials_.empty() ? nullptr : &trials_[0]->expected;
  const auto side =
      kind == DataKind::kOrdinary ? GuardedMemory::Side::kEnd : GuardedMemory::Side::kBegin;
  return *trials_.emplace_back(std::make_unique<Trial>(
      KernelExpectation(arena_, kernel_, dims_, kind, options_.seed, options_.points, ordinary),
      side));
}

std::optional<Rejected> KernelCheck::check(const Candidate& candidate) {
  Trial& ordinary = trial(DataKind::kOrdinary);
  Trial& special = trial(candidate.mixes_neighbours ? DataKind::kInfinite : DataKind::kSpecial);
  const GuardedTensors on_ordinary(arena_, kernel_, dims_, ordinary.inputs, candidate,
                                   options_.threads);
  const GuardedTensors on_special(arena_, kernel_, dims_, special.inputs, candidate, 1);
  const ApartOptions apart{
      .limit = options_.limit, .stop = options_.stop, .is_forbidden = [&](const void* address) {
        return on_ordinary.forbids(address) || on_special.forbids(address);
      }};
  // One child for all of it: making one takes longer than most kernels run.
  const auto run = [&] {
    on_ordinary.fill(kPattern);
    on_ordinary.run_in_parts();
    on_ordinary.run_again();
    on_special.fill(kOtherPattern);
    on_special.run_at_once();
  };
  if (auto why = run_apart(run, apart)) return why;
  if (auto why = judged(ordinary, on_ordinary)) return why;
  return judged(special, on_special);
}

std::optional<Rejected> KernelCheck::judged(Trial& trial, const GuardedTensors& memory) {
  using Why = Rejected::Why;
  if (!memory.is_intact())
    return Rejected{Why::kOutOfBounds, "it wrote into bytes beside a tensor"};
  const bool is_ordinary = trial.expected.kind() == DataKind::kOrdinary;
  std::vector<Array> results;
  for (size_t k = 0; k < kernel_.roots.size(); ++k) {
    const graph::TensorType& type = arena_.tensor(kernel_.roots[k].tensor);
    const Array& result = results.emplace_back(array_of(type, dims_, memory.result(k)));
    auto what = unwritten(k, result);
    if (!what && is_ordinary && !std::ranges::equal(memory.first_result(k), memory.result(k)))
      what = difference(k, array_of(type, dims_, memory.first_result(k)), result);
    if (what) return Rejected{Why::kWrongResult, std::move(*what)};
  }
  const std::lock_guard lock(mutex_);
  auto what = trial.expected.fault(std::move(results));
  if (is_ordinary || what) farthest_ = trial.expected.farthest();
  if (what) return Rejected{Why::kWrongResult, std::move(*what)};
  return std::nullopt;
}

}  // namespace luminal::search

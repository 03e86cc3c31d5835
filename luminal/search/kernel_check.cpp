#include "luminal/search/kernel_check.h"

#include <algorithm>

#include "luminal/graph/dim_binding.h"
#include "luminal/search/run_apart.h"

namespace luminal::search {
namespace {

using graph::Array;

std::vector<Array> results_in(const GuardedTensors& memory, const kernel::Arena& arena,
                              const kernel::Kernel& kernel, const graph::DimValues& dims) {
  std::vector<Array> results;
  for (const kernel::Root& root : kernel.roots) {
    const graph::TensorType& type = arena.tensor(root.tensor);
    Array array(type.dtype, graph::extents_of(type.shape, dims));
    const auto bytes = array.mutable_bytes();
    std::copy_n(memory.place(root.tensor), bytes.size(), bytes.data());
    results.push_back(std::move(array));
  }
  return results;
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
  if (auto why = check_on(candidate, trial(DataKind::kOrdinary))) return why;
  return check_on(candidate,
                  trial(candidate.mixes_neighbours ? DataKind::kInfinite : DataKind::kSpecial));
}

std::optional<Rejected> KernelCheck::check_on(const Candidate& candidate, Trial& trial) {
  const GuardedTensors memory(arena_, kernel_, dims_, trial.inputs, candidate);
  const ApartOptions apart{.limit = options_.limit, .is_forbidden = [&](const void* address) {
                             return memory.forbids(address);
                           }};
  if (auto why = run_apart([&] { memory.run(candidate); }, apart)) return why;
  if (!memory.is_intact())
    return Rejected{Rejected::Why::kOutOfBounds, "it wrote into bytes beside a tensor"};
  std::vector<Array> results = results_in(memory, arena_, kernel_, dims_);
  const std::lock_guard lock(mutex_);
  auto what = trial.expected.fault(std::move(results));
  if (trial.expected.kind() == DataKind::kOrdinary || what) farthest_ = trial.expected.farthest();
  if (what) return Rejected{Rejected::Why::kWrongResult, std::move(*what)};
  return std::nullopt;
}

}  // namespace luminal::search

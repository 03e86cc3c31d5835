#include "luminal/search/kernel_check.h"

#include <algorithm>

#include "luminal/graph/dim_binding.h"
#include "luminal/search/guarded_tensors.h"
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
  expectation(DataKind::kOrdinary);
}

KernelCheck::~KernelCheck() = default;

const kernel::Tensors& KernelCheck::data() const { return expectations_[0]->data(); }

KernelExpectation& KernelCheck::expectation(DataKind kind) {
  for (const auto& each : expectations_)
    if (each->kind() == kind) return *each;
  const KernelExpectation* ordinary = expectations_.empty() ? nullptr : expectations_[0].get();
  return *expectations_.emplace_back(std::make_unique<KernelExpectation>(
      arena_, kernel_, dims_, kind, options_.seed, options_.points, ordinary));
}

std::optional<Rejected> KernelCheck::check(const Candidate& candidate) {
  KernelExpectation& ordinary = expectation(DataKind::kOrdinary);
  auto why = check_on(candidate, ordinary);
  farthest_ = ordinary.farthest();
  if (why) return why;
  return check_on(candidate, expectation(candidate.mixes_neighbours ? DataKind::kInfinite
                                                                    : DataKind::kSpecial));
}

std::optional<Rejected> KernelCheck::check_on(const Candidate& candidate,
                                              KernelExpectation& expected) {
  for (const GuardedMemory::Side side : {GuardedMemory::Side::kEnd, GuardedMemory::Side::kBegin}) {
    const GuardedTensors memory(arena_, kernel_, dims_, expected.data(), candidate, side);
    const ApartOptions apart{.limit = options_.limit, .is_forbidden = [&](const void* address) {
                               return memory.forbids(address);
                             }};
    if (auto why = run_apart([&] { memory.run(candidate); }, apart)) return why;
    if (!memory.is_intact())
      return Rejected{Rejected::Why::kOutOfBounds, "it wrote into bytes beside a tensor"};
    if (auto what = expected.fault(results_in(memory, arena_, kernel_, dims_)))
      return Rejected{Rejected::Why::kWrongResult, std::move(*what)};
  }
  return std::nullopt;
}

}  // namespace luminal::search

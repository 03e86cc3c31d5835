#include "luminal/search/guarded_tensors.h"

#include <algorithm>

#include "luminal/graph/dim_binding.h"

namespace luminal::search {

GuardedTensors::GuardedTensors(const kernel::Arena& arena, const kernel::Kernel& kernel,
                               const graph::DimValues& dims, const kernel::Tensors& data,
                               const Candidate& candidate, GuardedMemory::Side side) {
  for (const auto& [id, array] : data) {
    std::byte* place = add(static_cast<int64_t>(array.bytes().size()), side);
    std::copy(array.bytes().begin(), array.bytes().end(), place);
    places_[id] = place;
  }
  for (const kernel::Root& root : kernel.roots) {
    const graph::TensorType& type = arena.tensor(root.tensor);
    const int64_t count = graph::element_count(graph::extents_of(type.shape, dims));
    places_[root.tensor] = add(graph::byte_size(type.dtype, count), side);
  }
  for (const int64_t bytes : candidate.temporaries) temporaries_.push_back(add(bytes, side));
  int64_t scratch = 0;
  for (const CandidateLaunch& launch : candidate.launches)
    scratch = std::max(scratch, launch.scratch_bytes);
  scratch_ = add(scratch, side);
}

bool GuardedTensors::forbids(const void* address) const {
  return std::any_of(blocks_.begin(), blocks_.end(),
                     [&](const GuardedMemory& block) { return block.forbids(address); });
}

bool GuardedTensors::is_intact() const {
  return std::all_of(blocks_.begin(), blocks_.end(),
                     [](const GuardedMemory& block) { return block.is_intact(); });
}

void GuardedTensors::run(const Candidate& candidate) const {
  for (const CandidateLaunch& launch : candidate.launches) {
    std::vector<void*> buffers;
    for (const codegen::LaunchBuffer& buffer : launch.buffers)
      buffers.push_back(buffer.kind == codegen::LaunchBuffer::Kind::kTensor
                            ? places_.at(buffer.tensor)
                            : temporaries_[buffer.temporary]);
    const int64_t items = launch.size.items;
    const std::pair<int64_t, int64_t> ranges[] = {
        {items / 2, items}, {0, items / 3}, {items / 3, items / 2}};
    for (const auto& [begin, end] : ranges)
      if (begin < end) launch.entry(buffers.data(), launch.scalars.data(), begin, end, scratch_);
  }
}

}  // namespace luminal::search

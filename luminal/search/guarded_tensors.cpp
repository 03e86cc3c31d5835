#include "luminal/search/guarded_tensors.h"

#include <algorithm>

#include "luminal/graph/dim_binding.h"

namespace luminal::search {

namespace {

bool any_forbids(const std::deque<GuardedMemory>& blocks, const void* address) {
  return std::any_of(blocks.begin(), blocks.end(),
                     [&](const GuardedMemory& block) { return block.forbids(address); });
}

}  // namespace

GuardedInputs::GuardedInputs(const kernel::Tensors& data, GuardedMemory::Side side) : side_(side) {
  for (const auto& [id, array] : data) {
    GuardedMemory& block = blocks_.emplace_back(static_cast<int64_t>(array.bytes().size()), side);
    std::copy(array.bytes().begin(), array.bytes().end(), block.data());
    block.make_read_only();
    places_[id] = block.data();
  }
}

bool GuardedInputs::forbids(const void* address) const { return any_forbids(blocks_, address); }

GuardedTensors::GuardedTensors(const kernel::Arena& arena, const kernel::Kernel& kernel,
                               const graph::DimValues& dims, const GuardedInputs& inputs,
                               const Candidate& candidate)
    : inputs_(inputs), places_(inputs.places()) {
  for (const kernel::Root& root : kernel.roots) {
    const graph::TensorType& type = arena.tensor(root.tensor);
    const int64_t count = graph::element_count(graph::extents_of(type.shape, dims));
    places_[root.tensor] = add(graph::byte_size(type.dtype, count));
  }
  for (const int64_t bytes : candidate.temporaries) temporaries_.push_back(add(bytes));
  int64_t scratch = 0;
  for (const CandidateLaunch& launch : candidate.launches)
    scratch = std::max(scratch, launch.scratch_bytes);
  scratch_ = add(scratch);
}

bool GuardedTensors::forbids(const void* address) const {
  return any_forbids(blocks_, address) || inputs_.forbids(address);
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

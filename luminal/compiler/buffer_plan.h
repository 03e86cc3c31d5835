// The memory of a plan's buffers: results, slots that buffers of different times share, tensors
// that are updated in the memory of their old value, inputs that a result may be computed over.
#pragma once

#include <vector>

#include "luminal/compiler/memory_plan.h"
#include "luminal/compiler/plan.h"
#include "luminal/kernel/body.h"

namespace luminal::compiler {

/// True if the kernel loads from the tensor.
bool reads(const kernel::Arena& arena, const kernel::Kernel& kernel, NodeId tensor);

/// True if the kernel's result may lie where the tensor is: it has no reductions and reads the
/// tensor only at the point it writes.
bool may_overwrite(const kernel::Arena& arena, const kernel::Kernel& kernel, NodeId tensor);

/// Collects the buffers of a plan and gives each its place once the steps are known.
class BufferPlanner {
 public:
  explicit BufferPlanner(Plan& plan) : plan_(plan) {}

  size_t add(PlanBuffer buffer);
  /// `after` is computed from `before` and may be written over it.
  void offer_in_place(size_t before, size_t after) { in_place_.push_back({before, after}); }
  /// The copy of `before` to `after` is not needed if `after` can take its memory over.
  void offer_takeover(size_t before, size_t after) { takeovers_.push_back({before, after}); }

  /// Decides. Copies that are not needed leave the plan.
  void place();

 private:
  struct Use {
    size_t first = SIZE_MAX;
    size_t last = 0;
  };

  void find_uses();
  void take_over();
  void place_results();
  void place_slots();
  void find_donations();
  bool may_donate(size_t input, size_t after, size_t step) const;
  bool is_output(size_t buffer) const;
  size_t owner(size_t buffer) const;

  Plan& plan_;
  std::vector<InPlace> in_place_;
  std::vector<InPlace> takeovers_;
  std::vector<Use> uses_;
  std::vector<size_t> owner_;  // of buffers that share memory: the one that stands for all
};

}  // namespace luminal::compiler

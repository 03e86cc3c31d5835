// What a run checks before a kernel may read: slices and gathers whose positions the dims decide,
// when these are bound, and positions that are data, right before their gather.
#pragma once

#include <memory>
#include <vector>

#include "luminal/graph/index_walker.h"
#include "luminal/graph/program.h"
#include "luminal/plan/index_checks.h"
#include "luminal/plan/plan.h"

namespace luminal::plan {

/// See above. The plan must outlive it.
class RunChecks {
 public:
  explicit RunChecks(const Plan& plan);

  /// Throws the UserError of whatever these dims make read outside of its source.
  void bind(const graph::DimBindings& dims);

  /// A look at the positions of step number `step`, a CheckStep, that takes no memory: true only if
  /// all are in range.
  bool quickly_in_range(size_t step, const std::byte* positions,
                        const graph::Extents& extents) const;
  /// Throws the UserError of that step if a position is out of range.
  void check(size_t step, const graph::Array& positions) const;

 private:
  /// Positions that follow from the dims, and what computes them.
  struct DimsCheck {
    graph::Node gather;
    std::unique_ptr<graph::Program> positions;
  };

  void find_quick_bounds();

  const Plan& plan_;
  std::vector<ViewCheck> view_checks_;
  std::vector<DimsCheck> dims_checks_;
  graph::DimBindings dims_;
  std::vector<int64_t> quick_bounds_;  // of each step; 0 if a quick look does not do
};

}  // namespace luminal::plan

// The order in which kernels and host nodes run: operands first, effects in the graph's order,
// readers of a tensor before the kernel that writes over it, and otherwise the order of the
// program, which keeps what is computed near to where it is used.
#pragma once

#include <span>
#include <vector>

#include "luminal/compiler/plan.h"
#include "luminal/kernel/cut_search.h"

namespace luminal::compiler {

/// Something that runs: kernels of the cut that share a launch (by position), or a node (a host
/// node, or the gather of the graph whose positions are checked).
struct WorkUnit {
  enum class Kind : uint8_t { kKernel, kHost, kCheck };
  Kind kind = Kind::kKernel;
  std::vector<size_t> kernels = {};
  graph::NodeId node = {};
  std::vector<graph::NodeId> writes;
  std::vector<graph::NodeId> reads;
};

/// A gather of the graph whose positions are checked, and where the program has them.
struct PlacedCheck {
  graph::NodeId gather;
  graph::NodeId index;
};

/// All units of a plan in an order in which they can run. Kernels of one of the cut's launches are
/// one unit, unless units would wait for each other then.
std::vector<WorkUnit> ordered_units(const kernel::Program& program, const kernel::CutPlan& cut,
                                    std::span<const PlacedCheck> checks);

}  // namespace luminal::compiler

// Extraction by DAG cost: a node used twice is paid once, as a compiler pays for a value it keeps.
// Finding the best is hard in general, so there is a heuristic for graphs of any size and an exact
// search for small ones. Cycles are never chosen.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "luminal/egraph/view.h"

namespace luminal::egraph {

/// What to pay and what to avoid.
struct DagOptions {
  /// Cost of a node of the serialized graph, without children; its own cost if absent.
  std::function<uint64_t(uint32_t node)> node_cost;
  /// Nodes that must not be chosen. Subsumed nodes never are.
  std::function<bool(uint32_t node)> forbidden;
  /// Search for the optimum, looking at no more than this many partial choices; 0: heuristic only.
  /// So many take milliseconds, and settle small graphs.
  uint64_t exact_steps = 10000;
};

/// One node per needed class.
struct DagChoice {
  uint64_t cost = 0;
  /// Per class: the chosen node, kNone where the class is not needed.
  std::vector<uint32_t> node_of_class;
  /// Proven to be the cheapest.
  bool optimal = false;
};

/// Chooses nodes for the roots and everything below them; nullopt if a root has no finite term.
std::optional<DagChoice> extract_dag(const SerializedGraph& graph, std::span<const uint32_t> roots,
                                     const DagOptions& options = {});

}  // namespace luminal::egraph

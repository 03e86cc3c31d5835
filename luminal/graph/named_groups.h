// The named definitions of a graph as nested groups of nodes, for pictures: a softmax inside an
// attention is a group inside a group.
#pragma once

#include <vector>

#include "luminal/graph/graph.h"

namespace luminal::graph {

/// A forest of groups, and where each node stands in it.
struct NamedGroups {
  /// The nodes one named definition is made of (only those that no smaller one claims).
  struct Group {
    size_t definition;  // index into Graph::named()
    int parent;         // index of the group around this one, -1 if none; always smaller
  };
  static constexpr int kNone = -1;

  std::vector<Group> groups;
  /// For every node the innermost group it is drawn in, or kNone.
  std::vector<int> group_of_node;
};

/// A definition's nodes are what its result reads, down to its operands; inputs of the graph belong
/// to none. Definitions that share some but not all of their nodes stand side by side, and the
/// smaller one gets the shared nodes. Definitions without nodes (their result is an operand) are no
/// group.
NamedGroups named_groups(const Graph& graph);

}  // namespace luminal::graph

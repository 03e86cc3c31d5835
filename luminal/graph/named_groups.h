// The named definitions of a graph as nested groups of nodes, for pictures: a softmax inside an
// attention is a group inside a group.
#pragma once

#include <string>
#include <vector>

#include "luminal/graph/graph.h"

namespace luminal::graph {

/// A forest of groups, and where each node stands in it.
struct NamedGroups {
  /// The nodes one named definition is made of (only those that no smaller one claims), or one
  /// instance of a repeat.
  struct Group {
    size_t definition;  // index into Graph::named(); of an instance, the first of its marks
    int parent;         // index of the group around this one, -1 if none; always smaller
    std::string label;  // "softmax(axis=1)", "layer 1 of 32"
  };
  static constexpr int kNone = -1;

  std::vector<Group> groups;
  /// For every node the innermost group it is drawn in, or kNone.
  std::vector<int> group_of_node;
};

/// A definition's nodes are what its result reads, down to its operands; inputs of the graph belong
/// to none, and neither do values that follow from no operand and that others read too, such as a
/// number that many definitions share. Definitions that share some but not all of their nodes stand
/// side by side, and the smaller one gets the shared nodes. Definitions without nodes (their result
/// is an operand) are no group. An instance of a repeat is one group whatever number of values it
/// hands on.
NamedGroups named_groups(const Graph& graph);

}  // namespace luminal::graph

// Questions about graphs: who reads what, what a value depends on and what depends on it, how much
// there is to compute; and cutting a graph into parts that run one after the other.
#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

#include "luminal/graph/graph.h"
#include "luminal/graph/pass.h"

namespace luminal::graph {

/// Same nodes in the same order, names included, same outputs and named definitions.
bool identical(const Graph& a, const Graph& b);

/// The nodes that read each node, by its id: ascending, each once. Outputs are not nodes.
std::vector<std::vector<NodeId>> users(const Graph& graph);
/// The nodes that read one node.
std::vector<NodeId> users_of(const Graph& graph, NodeId id);

/// The given nodes and all that they depend on, ascending.
std::vector<NodeId> upstream(const Graph& graph, std::span<const NodeId> nodes);
/// The given nodes and all that depends on them, ascending.
std::vector<NodeId> downstream(const Graph& graph, std::span<const NodeId> nodes);

/// A part of a graph, and where the nodes of the whole are in it.
struct Subgraph {
  Graph graph;  ///< the part
  NodeMap map;  ///< from nodes of the whole
};

/// The graph that computes `results` (its outputs, in this order) from `boundary`, whose nodes
/// become inputs, and from what else the results depend on. Inputs and outputs made so have the
/// node's name if it has one that is not taken, else "value_<id>".
Subgraph extract(const Graph& graph, std::span<const NodeId> results,
                 std::span<const NodeId> boundary = {});

/// A graph in two parts that run one after the other.
struct CutGraph {
  /// Computes the values that cross the cut (its last outputs) from the original inputs.
  Subgraph first;
  /// Goes on from these, which are inputs by the same names.
  Subgraph second;
  /// Names of the values that cross, in ascending order of their nodes.
  std::vector<std::string> crossing;
};

/// Cuts a graph at the given nodes: the first part is all that they depend on, the second the rest.
/// A value of the first part that the second reads around the cut crosses too, so that nothing is
/// computed twice; inputs, constants and iotas are simply present in both. Outputs and effects stay
/// with the part that has their node.
CutGraph cut(const Graph& graph, std::span<const NodeId> nodes);

/// Bytes of a tensor; elements of 4 bits are packed, the last byte filled up.
Expr bytes_of(const TensorType& type);

/// How much there is. Amounts are expressions in the named dims.
struct GraphStatistics {
  size_t nodes = 0;  ///< of the graph
  /// How often each op occurs; ops that do not occur are missing.
  std::map<Op, size_t> ops;
  Expr input_bytes;     ///< all inputs
  Expr constant_bytes;  ///< all constants
  /// Bytes of what the ops give, if every node were stored.
  Expr computed_bytes;
  Expr output_bytes;  ///< all outputs
  /// Arithmetic on floats and integers: one per element that an elementwise op gives or a reduction
  /// reads. Copies, casts, comparisons, selections and bit operations are free.
  Expr flops;
};
/// Counts a graph.
GraphStatistics statistics(const Graph& graph);

/// A few lines for people.
std::string to_string(const GraphStatistics& statistics);

}  // namespace luminal::graph

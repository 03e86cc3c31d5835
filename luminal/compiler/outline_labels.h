// What a node is, apart from which nodes it reads and what things are called: the ground on which
// outlining compares nodes. Names of inputs, labels of prints, files of diffs and the values of
// constant arrays do not count; types, attributes, views on operands and the named definitions that
// a node is the result of do. Under which views a node is asked for is a question of its own.
#pragma once

#include <cstdint>
#include <vector>

#include "luminal/graph/graph.h"

namespace luminal::compiler {

using graph::NodeId;

/// True for data of rank 0 and iotas: what is computed where it is needed.
bool is_free(const graph::Node& node);
/// True for inputs and constant arrays.
bool is_data(const graph::Node& node);

/// Labels of all nodes of a graph.
class NodeLabels {
 public:
  /// The graph must outlive this.
  explicit NodeLabels(const graph::Graph& graph);

  /// Equal for nodes that are alike.
  uint64_t label(NodeId id) const { return labels_[id.value]; }
  /// A hash of all that a node is computed from, down to the inputs. Equal for values computed in
  /// the same way.
  uint64_t history(NodeId id) const { return histories_[id.value]; }
  /// Same op, type, attributes, views on operands and named definitions.
  bool alike(NodeId a, NodeId b) const;
  /// Asked for under the same views.
  bool same_outputs(NodeId a, NodeId b) const { return outputs_[a.value] == outputs_[b.value]; }
  /// Hashes of every node and what it reads, `radius` steps up.
  std::vector<uint64_t> neighbourhoods(int radius) const;

 private:
  const graph::Graph& graph_;
  std::vector<uint64_t> facts_;    // hashes of named definitions, by node
  std::vector<uint64_t> outputs_;  // hashes of views, by node
  std::vector<uint64_t> labels_;
  std::vector<uint64_t> histories_;
};

}  // namespace luminal::compiler

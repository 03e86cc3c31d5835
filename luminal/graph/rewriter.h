// The common part of passes: builds the new graph while the pass walks over the old one in order.
// A pass says for every old node whether it stays, is replaced by a value of the new graph, or
// goes; the rewriter translates operands, outputs, names and named definitions.
#pragma once

#include "luminal/graph/pass.h"

namespace luminal::graph {

/// Builds a PassResult. Old nodes are handled in an order in which operands come first.
class Rewriter {
 public:
  explicit Rewriter(const Graph& from);  ///< the old graph has to stay

  const Graph& from() const { return from_; }  ///< the old graph
  Graph& to() { return to_; }                  ///< what is built

  /// The value of an old edge in the new graph. Where its view and that of the replacement cannot
  /// be composed (both pad, with different fills) a kCopy is added.
  Edge translated(const Edge& old);
  /// All operands of an old node.
  std::vector<Edge> translated_operands(const Node& old);

  /// Copies an old node with translated operands.
  NodeId keep(NodeId old);
  /// Gives an old node this value of the new graph, which must have its type. A name that would be
  /// lost goes over to the new node.
  void replace(NodeId old, Edge with);
  /// Where an old node went, if it was kept or replaced.
  const std::optional<Edge>& mapped(NodeId old) const { return map_.at(old.value); }

  /// How many operands and outputs read a node of the new graph, never too few: users of old nodes
  /// that were replaced by it are counted, and those replaced themselves are not taken off.
  int uses(NodeId id) const { return id.value < uses_.size() ? uses_[id.value] : 0; }

  /// Translates outputs, and the named definitions whose result and operands are still there.
  PassResult finish() &&;

 private:
  const Graph& from_;
  Graph to_;
  NodeMap map_;
  std::vector<int> old_uses_;  // by old id
  std::vector<int> uses_;      // by new id

  void place(NodeId old, Edge with);
};

/// What takes a node's place. `node` has its operands already in the new graph, rewriter.to(), to
/// which more may be added. Nothing means that the node stays.
using Replacement = std::function<std::optional<Edge>(Rewriter& rewriter, const Node& node)>;

/// A pass that asks `replacement` for every node, operands first.
Pass node_pass(std::string name, Replacement replacement);

}  // namespace luminal::graph

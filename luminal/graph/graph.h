// The graph: an append-only list of nodes in an order in which they can be computed, the outputs
// asked for, and the named definitions. It is a value: passes read one graph and build another.
// Adding a node infers and checks its type, so a graph that exists is well typed; verify.h checks
// the whole again after a pass.
#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

#include "luminal/graph/named.h"
#include "luminal/graph/node.h"

namespace luminal::graph {

/// A value the graph is asked for.
struct Output {
  std::string name;  ///< unique among the outputs
  Edge edge;         ///< the value
};

/// Nodes, outputs and named definitions.
class Graph {
 public:
  /// A source whose data is bound by name.
  NodeId add_input(std::string name, DType dtype, Shape shape, bool weight = false);
  NodeId add_constant(const Scalar& value);  ///< of rank 0
  NodeId add_constant(Array value);          ///< of any shape
  /// Element (i0, i1, ...) is `value`, an expression over Expr::axis(k, shape[k]) and named dims,
  /// cast to `dtype`.
  NodeId add_iota(DType dtype, Shape shape, Expr value);
  /// A user's function; its result type cannot be inferred.
  NodeId add_custom(std::shared_ptr<const CustomFunction> function, std::vector<Edge> operands,
                    TensorType type);
  /// kCast and kBitcast.
  NodeId add_cast(Op op, Edge operand, DType dtype);
  /// Any op whose type follows from its operands. Throws UserError naming the op if they do not
  /// fit.
  NodeId add(Op op, std::vector<Edge> operands, Attributes attributes = {});
  /// Adds a copy of a node of any kind with new operands: what passes use. The type is inferred
  /// again.
  NodeId add_like(const Node& node, std::vector<Edge> operands);

  /// The whole of a node as an operand.
  Edge whole(NodeId id) const { return {View::identity(node(id).shape()), id}; }

  const Node& node(NodeId id) const;                      ///< there must be one
  size_t size() const { return nodes_.size(); }           ///< number of nodes
  std::span<const Node> nodes() const { return nodes_; }  ///< operands before their users
  /// All ids in order: for (NodeId id : graph.ids()).
  std::vector<NodeId> ids() const;
  void set_name(NodeId id, std::string name);  ///< the user's label

  void add_output(std::string name, Edge edge);                    ///< names are unique
  const std::vector<Output>& outputs() const { return outputs_; }  ///< in the order they were added

  void add_named(NamedDefinition definition);                           ///< see named.h
  const std::vector<NamedDefinition>& named() const { return named_; }  ///< as they were added

  /// The input of that name, if there is one.
  std::optional<NodeId> find_input(std::string_view name) const;
  /// Every named dim used in the graph with its interval. One name has one interval (adding another
  /// throws UserError).
  const std::map<std::string, symbolic::Interval>& dims() const { return dims_; }

 private:
  NodeId append(Node node);
  void note_dims(const Shape& shape);
  void note_dims(const View& view);
  void note_dims(const Expr& expr);

  std::vector<Node> nodes_;
  std::vector<Output> outputs_;
  std::vector<NamedDefinition> named_;
  std::map<std::string, NodeId, std::less<>> inputs_;
  std::map<std::string, symbolic::Interval> dims_;
};

}  // namespace luminal::graph

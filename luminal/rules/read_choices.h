// Reading a saturated tensor e-graph: which classes can be computed, by which nodes, reading what.
#pragma once

#include <map>
#include <set>
#include <vector>

#include "luminal/rules/choices.h"

namespace luminal::rules {

/// Builds the program of choices from an e-graph to which `source` was added.
class ChoiceReader {
 public:
  ChoiceReader(TensorEGraph& egraph, const kernel::GraphProgram& source, size_t graph_size);

  /// Fills everything but the statistics.
  Choices read();
  /// Throws UserError naming the op of a value that rules made and nothing computes. A run that
  /// ended early may leave such values, which no choice reads then.
  void expect_complete() const;

 private:
  using Value = egraph::Value;
  using NodeId = kernel::NodeId;

  /// A tensor seen through a view.
  struct Seen {
    Value view;
    Value tensor;
    auto operator<=>(const Seen&) const = default;
  };
  /// A node that could be a definition: everything but its edges, and those as classes.
  struct Candidate {
    graph::Node node;
    std::vector<Value> edges;
  };

  void collect_edges();
  void collect_candidates();
  void collect_copies();
  void drop_implied_edges();
  bool is_implied(const Seen& edge, const std::vector<Seen>& others) const;
  bool is_own_copy(const Seen& seen, Value edge) const;
  std::vector<Value> operand_edges(Value list) const;
  void place_graph_nodes();
  void place_new_classes();
  bool place_some(bool with_implied);
  std::optional<std::vector<graph::Edge>> first_edges(const Candidate& candidate,
                                                      bool with_implied);
  void add_definitions(Choices& choices, NodeId id, Value tensor);
  void add_definition(Choices& choices, NodeId id, graph::Node node);
  void add_output_copies(Choices& choices);
  void add_joint_choices(Choices& choices) const;
  void add_names(Choices& choices);
  std::vector<graph::Edge> edges_of(Value edge, bool with_implied = false) const;

  TensorEGraph& egraph_;
  const kernel::GraphProgram& source_;
  size_t graph_size_;
  std::map<Value, std::vector<Seen>> edges_;            // by class of edges
  std::map<Value, std::vector<Seen>> implied_;          // with those that were dropped
  std::map<Value, std::vector<Candidate>> candidates_;  // by class of tensors
  std::map<Value, std::vector<Seen>> copies_;           // what a class is a copy of
  std::map<Value, std::pair<Value, Value>> operands_;   // list -> edge, rest
  std::map<Value, NodeId> place_;                       // by class
  std::vector<NodeId> place_of_node_;
  std::vector<std::pair<Value, graph::Node>> new_nodes_;  // in the order of their ids
};

}  // namespace luminal::rules

// A graph as an e-graph: one class per value, views on the edges, commutative operands in one
// order, named definitions beside what they are made of. Rules add what else the values are equal
// to. It holds structure and algebra, never fusion, so it stays within a few nodes per node of the
// graph.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "luminal/kernel/program.h"
#include "luminal/rules/tensor_host.h"

namespace luminal::rules {

/// Which rules run, and how long.
struct RuleOptions {
  /// Allow rules that change results by rounding (numeric class `reassociation`).
  bool reassociate = true;
  /// Join products of one operand with several matrices.
  bool join_siblings = true;
  /// Rules besides those of the library, as text: they may use what tensor.egg declares.
  std::string more_rules = {};
  /// Ends a run early, never with an error. The defaults are far above what networks need; without
  /// a number of rows it follows from the size of the graph, so that a graph on which rules find
  /// ever more is compiled in about the time of others.
  egraph::RunBudget budget = {.iterations = 60, .rows = 0, .seconds = 0};
};

/// The constructors of sort Tensor, in the order of their declaration in tensor.egg.
enum class TensorOp : uint8_t {
  kLeaf,
  kUnary,
  kBinary,
  kSelect,
  kReduce,
  kGather,
  kOther,
  kContract,
  kConcat,
  kName,
};
inline constexpr size_t kTensorOps = static_cast<size_t>(TensorOp::kName) + 1;

/// An e-graph over the tensor rules.
class TensorEGraph {
 public:
  /// `record_origins` remembers which rule wrote each node, for egraph/explain.h.
  explicit TensorEGraph(bool record_origins = false);

  /// Adds the nodes of a program, whose operands come before their users, and the graph's named
  /// definitions.
  void add(const kernel::GraphProgram& program, std::span<const graph::NamedDefinition> names);
  /// Runs the rules.
  egraph::RunReport saturate(const RuleOptions& options);

  /// The class of a node that was added.
  egraph::Value class_of(kernel::NodeId id) { return leader(classes_[id.value]); }
  egraph::Value leader(egraph::Value id) { return egraph_.database().ids.find(id); }
  /// How many nodes and classes of sort Tensor there are.
  size_t num_nodes() const;
  size_t num_classes();
  /// Matches by rule.
  std::map<std::string, uint64_t> matches() const;

  TensorHost& host() { return host_; }
  /// The engine's e-graph, for those who look at all of it.
  egraph::EGraph& engine() { return egraph_; }
  /// Calls visit(row) for every node of a kind; the last word of a row is its class.
  template <typename Visit>
  void for_each(TensorOp op, Visit visit) const {
    for_each_row(tensor_ops_[static_cast<size_t>(op)].id, visit);
  }
  /// Calls visit(row) for every edge: view, tensor, edge.
  template <typename Visit>
  void for_each_edge(Visit visit) const {
    for_each_row(see_.id, visit);
  }
  /// Calls visit(row) for every operand: edge, rest of the list, list.
  template <typename Visit>
  void for_each_operand(Visit visit) const {
    for_each_row(operand_.id, visit);
  }
  /// A string of the tables.
  const std::string& text(egraph::Value value) const {
    return egraph_.database().values->string(value);
  }
  int64_t number(egraph::Value value) const { return egraph_.database().values->i64(value); }

 private:
  egraph::Callable callable(const std::string& name) const;
  egraph::Value add_node(const graph::Node& node, uint32_t serial);
  egraph::Value add_edge(const graph::Edge& edge);
  egraph::Value add_operands(std::span<const graph::Edge> edges);
  egraph::Value add_tensor(TensorOp op, std::initializer_list<egraph::Value> args);
  void add_name(const graph::NamedDefinition& definition);

  template <typename Visit>
  void for_each_row(egraph::FunctionId id, Visit visit) const {
    const egraph::Table& table = egraph_.database().functions[id].table;
    for (uint32_t row = 0; row < table.end_row(); ++row)
      if (table.visible(row)) visit(table.row(row));
  }

  egraph::EGraph egraph_;
  TensorHost host_;
  egraph::BulkInsert bulk_;
  std::vector<egraph::Callable> tensor_ops_;
  egraph::Callable see_, end_, operand_;
  std::vector<egraph::Value> classes_;  // by node
  std::vector<DType> dtypes_;           // by node
};

}  // namespace luminal::rules

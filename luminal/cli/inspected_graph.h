// A graph brought through passes and rules, to be looked at: every class of equal tensors under a
// name that people know it by, every node with its op, its text and the rule that wrote it.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "luminal/egraph/view.h"
#include "luminal/graph/pass.h"
#include "luminal/rules/tensor_egraph.h"

namespace luminal::cli {

/// See above.
class InspectedGraph {
 public:
  /// Runs the default passes and the rules.
  InspectedGraph(graph::Graph written, const rules::RuleOptions& options);

  const graph::Graph& written() const { return written_; }
  const graph::Graph& simplified() const { return passes_.graph; }
  const graph::PassListResult& passes() const { return passes_; }
  rules::TensorEGraph& egraph() { return egraph_; }
  egraph::Database& database() { return egraph_.engine().database(); }
  const egraph::RunReport& report() const { return report_; }

  /// Classes of tensors: first those of the graph's nodes, in their order, then what rules made.
  const std::vector<egraph::Value>& classes() const { return classes_; }
  /// "%7", the first node of the graph in the class, or "c123" if no node is in it.
  std::string label(egraph::Value tensor);
  /// What the class is called in the graph: further nodes of it, names of inputs, values and
  /// outputs.
  std::vector<std::string> called(egraph::Value tensor);
  std::string type_text(egraph::Value tensor);

  /// The class that a user names: "%7", "c123", or a name. UserError if there is none.
  egraph::Value find(const std::string& which);

  std::vector<egraph::NodeRef> nodes(egraph::Value tensor);
  /// Classes with a node that reads this one.
  std::vector<egraph::Value> readers(egraph::Value tensor);
  /// Classes that a node reads, each once: not its own if it can be said otherwise.
  std::vector<egraph::Value> operands(const egraph::NodeRef& node);
  /// The op as a graph names it ("add", "softmax"), or the constructor's ("contract").
  std::string op(const egraph::NodeRef& node);
  /// What op() may say of nodes that are named by their constructor.
  std::vector<std::string> constructors();
  /// The node in the words of the rule files: (Binary "add" f32[4] %1 %2[i0]). What would read its
  /// own class is told by what that is a view of: (Unary "copy" f32[4] c7[i0 + 4] or c9[i0]).
  std::string text(const egraph::NodeRef& node);
  /// A value of any sort; tensors by their label, edges with their view.
  std::string value_text(egraph::SortId sort, egraph::Value value);
  /// The rule that wrote the node; empty for the graph's own.
  std::string rule(const egraph::NodeRef& node);

 private:
  void find_names();
  void find_readers();
  egraph::SortId sort(const char* name);
  /// What an edge reads, and how.
  struct Seen {
    egraph::Value view, tensor;
  };
  std::vector<Seen> ways_of(egraph::Value edge);
  /// The ways to tell of an edge of a node in the class `own`.
  std::vector<Seen> told_ways(egraph::Value edge, egraph::Value own);
  egraph::Value class_of(const egraph::NodeRef& node);
  std::string seen_text(const Seen& seen);
  std::string edge_text(egraph::Value edge, egraph::Value own);
  /// Calls visit(edge) for the edges of a node.
  template <typename Visit>
  void for_each_edge(const egraph::NodeRef& node, Visit visit);

  graph::Graph written_;
  graph::PassListResult passes_;
  rules::TensorEGraph egraph_;
  egraph::RunReport report_;
  egraph::SortId tensor_ = egraph::kNone, edge_ = egraph::kNone, operands_ = egraph::kNone;
  std::vector<egraph::Value> classes_;
  std::map<egraph::Value, uint32_t> first_node_;                 // by class
  std::map<egraph::Value, std::vector<std::string>> called_;     // by class
  std::map<egraph::Value, std::vector<egraph::Value>> readers_;  // by class
};

}  // namespace luminal::cli

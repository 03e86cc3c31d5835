// What `luminal inspect` says, as text and as JSON. Nothing in it depends on the machine or on
// chance unless times are asked for, so that two answers can be compared.
#pragma once

#include <iosfwd>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "luminal/cli/fact_trace.h"
#include "luminal/cli/inspected_graph.h"

namespace luminal::cli {

/// How many nodes of an op there are, at each stage.
struct OpCount {
  std::string op;
  size_t written = 0;     ///< in the graph
  size_t simplified = 0;  ///< after passes
  size_t given = 0;       ///< nodes of the e-graph before rules
  size_t by_rules = 0;    ///< nodes that rules added
};

/// Every op of the graph or the e-graph, by name.
std::vector<OpCount> count_ops(InspectedGraph& graph);

/// The e-graph's classes with a node of the op; all classes if it is empty.
std::vector<egraph::Value> classes_with(InspectedGraph& graph, const std::string& op);

/// Which parts are wanted, and how.
struct InspectionParts {
  std::string title;
  bool times = false;      ///< what rules took, beside what they looked at
  bool all_rules = false;  ///< also those that never matched
};

// Text.

void print_summary(InspectedGraph& graph, const InspectionParts& parts, std::ostream& out);
void print_ops(InspectedGraph& graph, std::ostream& out);
void print_rules(InspectedGraph& graph, const InspectionParts& parts, std::ostream& out);
void print_coverage(const graph::Graph& graph, std::ostream& out);
/// One line per class and node.
void print_classes(InspectedGraph& graph, const std::vector<egraph::Value>& classes,
                   std::ostream& out);
/// Everything about one class.
void print_class(InspectedGraph& graph, egraph::Value tensor, std::ostream& out);
void print_trace(const FactTrace& trace, std::ostream& out);
void print_traced_rule(const TracedRule& rule, std::ostream& out);

// JSON.

nlohmann::ordered_json summary_json(InspectedGraph& graph, const InspectionParts& parts);
nlohmann::ordered_json rules_json(InspectedGraph& graph, const InspectionParts& parts);
nlohmann::ordered_json coverage_json(const graph::Graph& graph);
nlohmann::ordered_json class_json(InspectedGraph& graph, egraph::Value tensor);
nlohmann::ordered_json trace_json(const FactTrace& trace);
nlohmann::ordered_json traced_rule_json(const TracedRule& rule);

}  // namespace luminal::cli

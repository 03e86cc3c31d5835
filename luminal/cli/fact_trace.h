// Why a fact is missing: the rules that would write it for a class, and for each the condition on
// which it fails there.
#pragma once

#include <string>
#include <vector>

#include "luminal/cli/inspected_graph.h"
#include "luminal/egraph/explain.h"

namespace luminal::cli {

/// One rule, asked about one class.
struct TracedRule {
  std::string ruleset;
  std::string rule;
  size_t conditions = 0;
  egraph::Mismatch outcome;
  std::vector<std::pair<std::string, std::string>> bound = {};  ///< variables and what they held
  uint64_t runs = 0;  ///< how often the rule was searched for in all
};

/// The answer for one fact of one class.
struct FactTrace {
  std::string fact;
  std::string at;                      ///< the label of the class
  bool present = false;                ///< it is there
  std::vector<TracedRule> rules = {};  ///< that would write it, the nearest to matching first
};

/// Traces a constructor ("Contract") or relation ("Times") of a class. UserError if the rule files
/// declare no such fact about tensors.
FactTrace trace_fact(InspectedGraph& graph, const std::string& fact, egraph::Value at);

/// The first class that has a node of the op and lacks the fact, traced; a trace without a class
/// (`at` empty, `present`) if all of them have it. UserError if no class has such a node.
FactTrace trace_first_missing(InspectedGraph& graph, const std::string& fact,
                              const std::string& within_op);

/// Asks one rule about a class. UserError if there is no such rule or it writes nothing about
/// tensors of its conditions.
TracedRule trace_rule(InspectedGraph& graph, const std::string& rule, egraph::Value at);

}  // namespace luminal::cli

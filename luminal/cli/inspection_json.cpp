#include <algorithm>
#include <nlohmann/json.hpp>

#include "luminal/cli/coverage.h"
#include "luminal/cli/inspection.h"

namespace luminal::cli {

using egraph::NodeRef;
using egraph::Value;
using nlohmann::ordered_json;

std::vector<OpCount> count_ops(InspectedGraph& graph) {
  std::map<std::string, OpCount> counts;
  const auto at = [&](const std::string& op) -> OpCount& {
    OpCount& count = counts[op];
    count.op = op;
    return count;
  };
  for (const graph::Node& node : graph.written().nodes()) ++at(std::string(name(node.op))).written;
  for (const graph::Node& node : graph.simplified().nodes())
    ++at(std::string(name(node.op))).simplified;
  for (const Value place : graph.classes())
    for (const NodeRef& node : graph.nodes(place)) {
      OpCount& count = at(graph.op(node));
      ++(graph.rule(node).empty() ? count.given : count.by_rules);
    }
  std::vector<OpCount> result;
  for (auto& [op, count] : counts) result.push_back(std::move(count));
  return result;
}

std::vector<Value> classes_with(InspectedGraph& graph, const std::string& op) {
  if (op.empty()) return graph.classes();
  std::vector<Value> result;
  for (const Value place : graph.classes()) {
    const std::vector<NodeRef> nodes = graph.nodes(place);
    if (std::any_of(nodes.begin(), nodes.end(),
                    [&](const NodeRef& node) { return graph.op(node) == op; }))
      result.push_back(place);
  }
  return result;
}

ordered_json rules_json(InspectedGraph& graph, const InspectionParts& parts) {
  ordered_json rows = ordered_json::array();
  for (const egraph::RuleState& rule : graph.database().rules) {
    if (!parts.all_rules && rule.matches == 0) continue;
    ordered_json row = {{"rule", rule.rule->name},
                        {"ruleset", rule.rule->ruleset},
                        {"matches", rule.matches},
                        {"rows_visited", rule.rows_visited},
                        {"runs", rule.runs}};
    if (parts.times) row["microseconds"] = rule.seconds * 1e6;
    rows.push_back(std::move(row));
  }
  return rows;
}

ordered_json coverage_json(const graph::Graph& graph) {
  ordered_json rows = ordered_json::array();
  for (const OpCoverage& row : coverage(graph)) {
    ordered_json entry = {{"op", row.op}, {"named", row.named}, {"count", row.count}};
    for (size_t device = 0; device < kCoveredDevices.size(); ++device)
      entry[kCoveredDevices[device]] = to_string(row.on[device]);
    if (!row.without_kernel.empty()) entry["without_kernel"] = row.without_kernel;
    rows.push_back(std::move(entry));
  }
  return rows;
}

ordered_json class_json(InspectedGraph& graph, Value tensor) {
  const auto labels = [&](const std::vector<Value>& classes) {
    ordered_json names = ordered_json::array();
    for (const Value place : classes) names.push_back(graph.label(place));
    return names;
  };
  ordered_json nodes = ordered_json::array();
  for (const NodeRef& node : graph.nodes(tensor))
    nodes.push_back({{"op", graph.op(node)},
                     {"text", graph.text(node)},
                     {"rule", graph.rule(node)},
                     {"reads", labels(graph.operands(node))}});
  return {{"class", graph.label(tensor)},    {"id", tensor},
          {"type", graph.type_text(tensor)}, {"called", graph.called(tensor)},
          {"nodes", std::move(nodes)},       {"read_by", labels(graph.readers(tensor))}};
}

ordered_json summary_json(InspectedGraph& graph, const InspectionParts& parts) {
  ordered_json ops = ordered_json::array();
  for (const OpCount& count : count_ops(graph))
    ops.push_back({{"op", count.op},
                   {"written", count.written},
                   {"after_passes", count.simplified},
                   {"egraph", count.given},
                   {"by_rules", count.by_rules}});
  return {{"graph", parts.title},
          {"nodes", graph.written().size()},
          {"nodes_after_passes", graph.simplified().size()},
          {"named", graph.simplified().named().size()},
          {"egraph",
           {{"classes", graph.classes().size()},
            {"nodes", graph.egraph().num_nodes()},
            {"iterations", graph.report().iterations},
            {"finished", graph.report().stop == egraph::StopReason::kFinished}}},
          {"ops", std::move(ops)},
          {"rules", rules_json(graph, parts)},
          {"coverage", coverage_json(graph.simplified())}};
}

ordered_json traced_rule_json(const TracedRule& rule) {
  ordered_json bound = ordered_json::object();
  for (const auto& [variable, value] : rule.bound) bound[variable] = value;
  return {{"rule", rule.rule},
          {"ruleset", rule.ruleset},
          {"matches", rule.outcome.matches},
          {"conditions", rule.conditions},
          {"conditions_met", rule.outcome.atoms_matched},
          {"failed", rule.outcome.failed_atom},
          {"bound", std::move(bound)}};
}

ordered_json trace_json(const FactTrace& trace) {
  ordered_json rules = ordered_json::array();
  for (const TracedRule& rule : trace.rules) rules.push_back(traced_rule_json(rule));
  return {{"fact", trace.fact},
          {"at", trace.at},
          {"present", trace.present},
          {"rules", std::move(rules)}};
}

}  // namespace luminal::cli

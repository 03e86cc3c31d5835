#include <fmt/ostream.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "luminal/cli/coverage.h"
#include "luminal/cli/inspection.h"
#include "luminal/egraph/program_error.h"

namespace luminal::cli {
namespace {

using egraph::Value;

std::vector<const egraph::RuleState*> rules_by_cost(const egraph::Database& db, bool all) {
  std::vector<const egraph::RuleState*> rules;
  for (const egraph::RuleState& rule : db.rules)
    if (all || rule.matches > 0) rules.push_back(&rule);
  std::stable_sort(rules.begin(), rules.end(),
                   [](const auto* a, const auto* b) { return a->rows_visited > b->rows_visited; });
  return rules;
}

const char* reason(egraph::StopReason stop) {
  return stop == egraph::StopReason::kFinished ? "until nothing was new"
                                               : "until the budget was used up";
}

std::string labels(InspectedGraph& graph, const std::vector<Value>& classes) {
  std::vector<std::string> names;
  for (const Value place : classes) names.push_back(graph.label(place));
  return names.empty() ? "nothing" : fmt::format("{}", fmt::join(names, " "));
}

/// Whether an atom in program text has a variable.
bool names(const std::string& atom, const std::string& variable) {
  for (size_t at = atom.find(" " + variable); at != std::string::npos;
       at = atom.find(" " + variable, at + 1)) {
    const char after = atom[at + 1 + variable.size()];
    if (after == ' ' || after == ')') return true;
  }
  return false;
}

/// A count, or nothing to see.
std::string number(size_t count) { return count == 0 ? "-" : std::to_string(count); }

}  // namespace

void print_summary(InspectedGraph& graph, const InspectionParts& parts, std::ostream& out) {
  fmt::print(out, "{}\n", parts.title);
  fmt::print(out, "  graph: {} nodes as written, {} after passes, {} named definitions\n",
             graph.written().size(), graph.simplified().size(), graph.simplified().named().size());
  fmt::print(out, "  e-graph: {} classes of tensors with {} nodes, {} iterations {}\n\n",
             graph.classes().size(), graph.egraph().num_nodes(), graph.report().iterations,
             reason(graph.report().stop));
  print_ops(graph, out);
  out << '\n';
  print_rules(graph, parts, out);
  out << '\n';
  print_coverage(graph.simplified(), out);
}

void print_ops(InspectedGraph& graph, std::ostream& out) {
  fmt::print(out, "{:<20} {:>9} {:>9} {:>9} {:>9}\n", "op", "written", "passes", "e-graph",
             "by rules");
  for (const OpCount& count : count_ops(graph))
    fmt::print(out, "{:<20} {:>9} {:>9} {:>9} {:>9}\n", count.op, number(count.written),
               number(count.simplified), number(count.given), number(count.by_rules));
}

void print_rules(InspectedGraph& graph, const InspectionParts& parts, std::ostream& out) {
  const auto rules = rules_by_cost(graph.database(), parts.all_rules);
  fmt::print(out, "{:<34} {:<16} {:>8} {:>12}{}\n", "rule", "ruleset", "matches", "rows visited",
             parts.times ? "       us" : "");
  for (const egraph::RuleState* rule : rules) {
    fmt::print(out, "{:<34} {:<16} {:>8} {:>12}", rule->rule->name, rule->rule->ruleset,
               rule->matches, rule->rows_visited);
    if (parts.times) fmt::print(out, " {:>8.1f}", rule->seconds * 1e6);
    out << '\n';
  }
  if (!parts.all_rules)
    fmt::print(out, "{} of {} rules matched\n", rules.size(), graph.database().rules.size());
}

void print_coverage(const graph::Graph& graph, std::ostream& out) {
  fmt::print(out, "{:<20} {:>7}", "coverage", "count");
  for (const char* device : kCoveredDevices) fmt::print(out, "  {:<11}", device);
  out << '\n';
  size_t host = 0, none = 0;
  for (const OpCoverage& row : coverage(graph)) {
    std::string line = fmt::format("{:<20} {:>7}", row.named ? row.op + "()" : row.op, row.count);
    for (const Lowering lowering : row.on) line += fmt::format("  {:<11}", to_string(lowering));
    if (!row.without_kernel.empty())
      line += fmt::format("  no kernel for {}", fmt::join(row.without_kernel, ", "));
    line.erase(line.find_last_not_of(' ') + 1);
    out << line << '\n';
    if (row.named) continue;
    const auto has = [&](Lowering lowering) {
      return std::find(row.on.begin(), row.on.end(), lowering) != row.on.end();
    };
    host += has(Lowering::kHost) ? 1 : 0;
    none += has(Lowering::kNone) ? 1 : 0;
  }
  fmt::print(out, "{} ops run on the host, {} cannot run on some device\n", host, none);
}

void print_classes(InspectedGraph& graph, const std::vector<Value>& classes, std::ostream& out) {
  for (const Value place : classes) {
    const std::vector<std::string> called = graph.called(place);
    fmt::print(out, "{}: {}{}{}\n", graph.label(place), graph.type_text(place),
               called.empty() ? "" : "  ", fmt::join(called, " "));
    for (const egraph::NodeRef& node : graph.nodes(place)) {
      const std::string rule = graph.rule(node);
      fmt::print(out, "  {}{}\n", graph.text(node), rule.empty() ? "" : "  by " + rule);
    }
  }
}

void print_class(InspectedGraph& graph, Value tensor, std::ostream& out) {
  print_classes(graph, {tensor}, out);
  std::vector<Value> reads;
  for (const egraph::NodeRef& node : graph.nodes(tensor))
    for (const Value operand : graph.operands(node))
      if (std::find(reads.begin(), reads.end(), operand) == reads.end()) reads.push_back(operand);
  fmt::print(out, "class c{} of the e-graph\nreads: {}\nread by: {}\n", tensor,
             labels(graph, reads), labels(graph, graph.readers(tensor)));
}

void print_traced_rule(const TracedRule& rule, std::ostream& out) {
  if (rule.outcome.matches) {
    fmt::print(out, "  {} ({}): matches{}\n", rule.rule, rule.ruleset,
               rule.runs == 0 ? ", but its ruleset did not run" : "");
    return;
  }
  fmt::print(out, "  {} ({}): {} of {} conditions hold, then this one fails\n      {}\n", rule.rule,
             rule.ruleset, rule.outcome.atoms_matched, rule.conditions, rule.outcome.failed_atom);
  for (const auto& [variable, value] : rule.bound)
    if (names(rule.outcome.failed_atom, variable))
      fmt::print(out, "      where {} = {}\n", variable, value);
}

void print_trace(const FactTrace& trace, std::ostream& out) {
  if (trace.at.empty()) {
    fmt::print(out, "no class lacks {}\n", trace.fact);
    return;
  }
  fmt::print(out, "{} {} {}\n", trace.at, trace.present ? "has" : "has no", trace.fact);
  if (trace.rules.empty())
    fmt::print(out, "  no rule writes it: it comes from the graph or not at all\n");
  for (const TracedRule& rule : trace.rules) print_traced_rule(rule, out);
}

}  // namespace luminal::cli

#include "luminal/cli/fact_trace.h"

#include <algorithm>
#include <optional>

#include "luminal/cli/arguments.h"

namespace luminal::cli {
namespace {

using egraph::Action;
using egraph::Expr;
using egraph::Value;

/// The call that an expression of a head is, through its lets.
const Expr* call_of(const egraph::RuleDecl& rule, const Expr& expr) {
  if (expr.kind == Expr::Kind::kCall) return &expr;
  for (const Action& action : rule.actions)
    if (action.kind == Action::Kind::kLet && action.text == expr.name)
      return call_of(rule, action.lhs);
  return nullptr;
}

/// What one action says: a fact about a variable of the conditions.
struct Written {
  std::string fact;
  std::string variable;
};

std::optional<Written> written_by(const egraph::RuleDecl& rule, const Action& action) {
  if (action.kind == Action::Kind::kUnion) {
    // One side is the class, the other what it becomes; a union of two classes is no fact.
    for (const auto& [variable, value] :
         {std::pair{&action.lhs, &action.rhs}, std::pair{&action.rhs, &action.lhs}}) {
      if (variable->kind != Expr::Kind::kVariable || call_of(rule, *variable) != nullptr) continue;
      const Expr* call = call_of(rule, *value);
      return Written{call == nullptr ? "" : call->name, variable->name};
    }
  }
  const bool is_row = action.kind == Action::Kind::kExpr && action.lhs.kind == Expr::Kind::kCall;
  if (is_row && !action.lhs.args.empty() && action.lhs.args[0].kind == Expr::Kind::kVariable)
    return Written{action.lhs.name, action.lhs.args[0].name};
  return std::nullopt;
}

/// Facts about tensors: their constructors, and relations that begin with one.
bool is_about_tensors(const egraph::Database& db, const egraph::Function& function) {
  const auto is_tensor = [&](egraph::SortId sort) { return db.sorts.name(sort) == "Tensor"; };
  if (function.kind == egraph::FunctionKind::kConstructor) return is_tensor(function.output);
  return !function.inputs.empty() && is_tensor(function.inputs[0]);
}

const egraph::Function& known_fact(const egraph::Database& db, const std::string& fact) {
  std::string known;
  for (const egraph::Function& function : db.functions) {
    if (!is_about_tensors(db, function)) continue;
    if (function.name == fact) return function;
    known += (known.empty() ? "" : ", ") + function.name;
  }
  throw UsageError("inspect", "the rules know no fact '{}' of tensors; facts are {}", fact, known);
}

bool has_fact(InspectedGraph& graph, const egraph::Function& function, Value at) {
  const bool constructor = function.kind == egraph::FunctionKind::kConstructor;
  const size_t column = constructor ? function.inputs.size() : 0;
  for (uint32_t row = 0; row < function.table.end_row(); ++row)
    if (function.table.visible(row) &&
        graph.egraph().leader(function.table.row(row)[column]) == graph.egraph().leader(at))
      return true;
  return false;
}

TracedRule ask(InspectedGraph& graph, const egraph::RuleState& state, const std::string& variable,
               Value at) {
  const egraph::CompiledRule& rule = *state.rule;
  TracedRule traced{rule.ruleset, rule.name, rule.query.atoms.size() + rule.query.primitives.size(),
                    egraph::why_not(graph.egraph().engine(), rule, variable, at, graph.label(at))};
  for (const egraph::Binding& binding : traced.outcome.bound)
    traced.bound.emplace_back(binding.variable, graph.value_text(binding.sort, binding.value));
  traced.runs = state.runs;
  return traced;
}

}  // namespace

FactTrace trace_fact(InspectedGraph& graph, const std::string& fact, Value at) {
  egraph::Database& db = graph.database();
  FactTrace trace{fact, graph.label(at), has_fact(graph, known_fact(db, fact), at)};
  for (const egraph::RuleState& state : db.rules)
    for (const Action& action : state.rule->source->actions) {
      const std::optional<Written> written = written_by(*state.rule->source, action);
      if (!written || written->fact != fact) continue;
      trace.rules.push_back(ask(graph, state, written->variable, at));
      break;
    }
  const auto nearness = [](const TracedRule& rule) {
    return rule.outcome.matches ? egraph::kNone : rule.outcome.atoms_matched;
  };
  std::stable_sort(trace.rules.begin(), trace.rules.end(),
                   [&](const auto& a, const auto& b) { return nearness(a) > nearness(b); });
  return trace;
}

FactTrace trace_first_missing(InspectedGraph& graph, const std::string& fact,
                              const std::string& within_op) {
  const egraph::Function& function = known_fact(graph.database(), fact);
  bool found = false;
  for (const Value place : graph.classes()) {
    const std::vector<egraph::NodeRef> nodes = graph.nodes(place);
    if (std::none_of(nodes.begin(), nodes.end(),
                     [&](const auto& node) { return graph.op(node) == within_op; }))
      continue;
    found = true;
    if (!has_fact(graph, function, place)) return trace_fact(graph, fact, place);
  }
  if (!found)
    throw UsageError("inspect", "no class has a node '{}'; the summary lists the ops there are",
                     within_op);
  return {fact, "", true};
}

TracedRule trace_rule(InspectedGraph& graph, const std::string& rule, Value at) {
  for (const egraph::RuleState& state : graph.database().rules) {
    if (state.rule->name != rule) continue;
    for (const Action& action : state.rule->source->actions)
      if (const std::optional<Written> written = written_by(*state.rule->source, action))
        return ask(graph, state, written->variable, at);
    throw UsageError("inspect", "rule {} writes nothing about a tensor of its conditions", rule);
  }
  throw UsageError("inspect", "there is no rule '{}'; --rules lists them", rule);
}

}  // namespace luminal::cli

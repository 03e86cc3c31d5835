#include "luminal/egraph/ast.h"

#include <fmt/core.h>

#include <algorithm>

namespace luminal::egraph {
namespace {

std::string options_text(const std::string& ruleset, const std::string& name) {
  std::string text;
  if (!ruleset.empty()) text += " :ruleset " + ruleset;
  if (!name.empty()) text += " :name " + quoted(name);
  return text;
}

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : " ") + word;
  return text;
}

}  // namespace

Expr make_variable(std::string name, Span span) {
  Expr expr;
  expr.kind = Expr::Kind::kVariable;
  expr.name = std::move(name);
  expr.span = span;
  return expr;
}

Expr make_literal(Literal literal, Span span) {
  Expr expr;
  expr.literal = std::move(literal);
  expr.span = span;
  return expr;
}

Expr make_call(std::string name, std::vector<Expr> args, Span span) {
  Expr expr;
  expr.kind = Expr::Kind::kCall;
  expr.name = std::move(name);
  expr.args = std::move(args);
  expr.span = span;
  return expr;
}

std::string to_text(const Expr& expr) {
  if (expr.kind == Expr::Kind::kVariable) {
    // Names made by desugaring hold a blank, which text cannot.
    std::string name = expr.name;
    std::replace(name.begin(), name.end(), ' ', '-');
    return name;
  }
  if (expr.kind == Expr::Kind::kLiteral) return literal_text(expr.literal);
  std::string text = "(" + expr.name;
  for (const Expr& arg : expr.args) text += " " + to_text(arg);
  return text + ")";
}

std::string as_written(const std::string& name) { return name.substr(0, name.find(' ')); }

std::string as_written(Expr expr) {
  const auto rename = [](Expr& part, const auto& self) -> void {
    if (part.kind == Expr::Kind::kVariable) part.name = as_written(part.name);
    for (Expr& arg : part.args) self(arg, self);
  };
  rename(expr, rename);
  return to_text(expr);
}

std::string to_text(const Fact& fact) {
  if (!fact.rhs) return to_text(fact.lhs);
  return "(= " + to_text(fact.lhs) + " " + to_text(*fact.rhs) + ")";
}

std::string as_written(const Fact& fact) {
  if (!fact.rhs) return as_written(fact.lhs);
  return "(= " + as_written(fact.lhs) + " " + as_written(*fact.rhs) + ")";
}

std::string to_text(const std::vector<Fact>& facts) {
  std::string text;
  for (const Fact& fact : facts) text += (text.empty() ? "" : " ") + to_text(fact);
  return text;
}

std::string to_text(const Action& action) {
  switch (action.kind) {
    case Action::Kind::kLet:
      return "(let " + action.text + " " + to_text(action.lhs) + ")";
    case Action::Kind::kSet:
      return "(set " + to_text(action.lhs) + " " + to_text(action.rhs) + ")";
    case Action::Kind::kUnion:
      return "(union " + to_text(action.lhs) + " " + to_text(action.rhs) + ")";
    case Action::Kind::kDelete:
      return "(delete " + to_text(action.lhs) + ")";
    case Action::Kind::kSubsume:
      return "(subsume " + to_text(action.lhs) + ")";
    case Action::Kind::kPanic:
      return "(panic " + quoted(action.text) + ")";
    case Action::Kind::kExpr:
      break;
  }
  return to_text(action.lhs);
}

std::string to_text(const RuleDecl& rule) {
  std::string text = "(rule (" + to_text(rule.facts) + ") (";
  for (const Action& action : rule.actions)
    text += (text.back() == '(' ? "" : " ") + to_text(action);
  text += ")" + options_text(rule.ruleset, rule.name);
  if (rule.naive) text += " :naive";
  if (rule.unsafe_seminaive) text += " :unsafe-seminaive";
  if (rule.include_subsumed) text += " :internal-include-subsumed";
  return text + ")";
}

std::string to_text(const RewriteDecl& rewrite) {
  std::string text = rewrite.both_ways ? "(birewrite " : "(rewrite ";
  text += to_text(rewrite.lhs) + " " + to_text(rewrite.rhs);
  if (rewrite.subsume) text += " :subsume";
  if (!rewrite.conditions.empty()) text += " :when (" + to_text(rewrite.conditions) + ")";
  return text + options_text(rewrite.ruleset, rewrite.name) + ")";
}

std::string to_text(const Schedule& schedule) {
  std::string text;
  switch (schedule.kind) {
    case Schedule::Kind::kRun:
      text = "(run" + (schedule.ruleset.empty() ? "" : " " + schedule.ruleset);
      if (!schedule.until.empty()) text += " :until " + to_text(schedule.until);
      return text + ")";
    case Schedule::Kind::kSaturate:
      text = "(saturate";
      break;
    case Schedule::Kind::kSequence:
      text = "(seq";
      break;
    case Schedule::Kind::kRepeat:
      text = "(repeat " + std::to_string(schedule.times);
      break;
  }
  for (const Schedule& child : schedule.children) text += " " + to_text(child);
  return text + ")";
}

std::string to_text(const SortDecl& sort) {
  if (sort.presort.empty()) return "(sort " + sort.name + ")";
  std::string text = "(sort " + sort.name + " (" + sort.presort;
  for (const Expr& arg : sort.presort_args) {
    // `(UnstableFn (A B) R)` lists its inputs; everything else names sorts.
    const bool empty_list = arg.kind == Expr::Kind::kLiteral;
    text += " " + (empty_list ? "()" : to_text(arg));
  }
  return text + "))";
}

std::string to_text(const FunctionDecl& function) {
  const std::string inputs = "(" + joined(function.inputs) + ")";
  if (function.kind == FunctionKind::kRelation)
    return "(relation " + function.name + " " + inputs + ")";
  const bool constructor = function.kind == FunctionKind::kConstructor;
  std::string text = fmt::format("({} {} {} {}", constructor ? "constructor" : "function",
                                 function.name, inputs, function.output);
  if (!constructor) {
    text += function.merge ? " :merge " + to_text(*function.merge) : std::string(" :no-merge");
  }
  if (function.cost) text += fmt::format(" :cost {}", *function.cost);
  if (function.unextractable) text += " :unextractable";
  return text + ")";
}

std::string to_text(const RulesetDecl& ruleset) {
  if (!ruleset.combined) return "(ruleset " + ruleset.name + ")";
  return "(unstable-combined-ruleset " + ruleset.name + " " + joined(ruleset.members) + ")";
}

}  // namespace luminal::egraph

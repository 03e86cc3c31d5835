#include "luminal/egraph/desugar.h"

#include <algorithm>

namespace luminal::egraph {
namespace {

/// Names no program text can contain (they hold a blank), so they clash with nothing.
std::string wildcard_name(uint32_t index) { return "_ " + std::to_string(index); }
const char* const kRewriteRoot = "_ root";

void name_wildcards(Expr& expr, uint32_t& count) {
  if (expr.kind == Expr::Kind::kVariable && expr.name == "_") expr.name = wildcard_name(count++);
  for (Expr& arg : expr.args) name_wildcards(arg, count);
}

void name_wildcards(std::vector<Fact>& facts, uint32_t& count) {
  for (Fact& fact : facts) {
    name_wildcards(fact.lhs, count);
    if (fact.rhs) name_wildcards(*fact.rhs, count);
  }
}

std::string name_from_text(std::string text) {
  std::replace(text.begin(), text.end(), '"', '\'');
  return text;
}

RuleDecl rewrite_rule(const RewriteDecl& rewrite, const Expr& from, const Expr& to,
                      std::string name) {
  RuleDecl rule;
  rule.span = rewrite.span;
  rule.ruleset = rewrite.ruleset;
  rule.name = std::move(name);
  const Expr root = make_variable(kRewriteRoot, from.span);
  rule.facts.push_back({from.span, root, from});
  rule.facts.insert(rule.facts.end(), rewrite.conditions.begin(), rewrite.conditions.end());
  Action join;
  join.kind = Action::Kind::kUnion;
  join.span = rewrite.span;
  join.lhs = root;
  join.rhs = to;
  rule.actions.push_back(std::move(join));
  if (rewrite.subsume) {
    Action subsume;
    subsume.kind = Action::Kind::kSubsume;
    subsume.span = rewrite.span;
    subsume.lhs = from;
    rule.actions.push_back(std::move(subsume));
  }
  return desugar_rule(std::move(rule));
}

void add_datatype(const DatatypeDecl& decl, std::vector<Command>& out) {
  for (const auto& entry : decl.entries)
    if (entry.sort.presort.empty()) out.push_back({entry.sort.span, entry.sort});
  for (const auto& entry : decl.entries)
    if (!entry.sort.presort.empty()) out.push_back({entry.sort.span, entry.sort});
  for (const auto& entry : decl.entries)
    for (const auto& variant : entry.variants) out.push_back({variant.span, variant});
}

}  // namespace

void name_wildcards(std::vector<Fact>& facts) {
  uint32_t count = 0;
  name_wildcards(facts, count);
}

RuleDecl desugar_rule(RuleDecl rule) {
  if (rule.name.empty()) rule.name = name_from_text(to_text(rule));
  uint32_t count = 0;
  name_wildcards(rule.facts, count);
  for (Action& action : rule.actions) {
    name_wildcards(action.lhs, count);
    name_wildcards(action.rhs, count);
  }
  return rule;
}

std::vector<RuleDecl> desugar_rewrite(const RewriteDecl& written) {
  const std::string name = written.name.empty() ? name_from_text(to_text(written)) : written.name;
  // Wildcards are named before the sides are copied: a :subsume means the very row that matched.
  RewriteDecl rewrite = written;
  uint32_t count = 0;
  name_wildcards(rewrite.lhs, count);
  name_wildcards(rewrite.rhs, count);
  name_wildcards(rewrite.conditions, count);
  if (!rewrite.both_ways) return {rewrite_rule(rewrite, rewrite.lhs, rewrite.rhs, name)};
  return {rewrite_rule(rewrite, rewrite.lhs, rewrite.rhs, name + "=>"),
          rewrite_rule(rewrite, rewrite.rhs, rewrite.lhs, name + "<=")};
}

std::vector<Command> desugar(Command command) {
  std::vector<Command> out;
  if (const auto* datatype = std::get_if<DatatypeDecl>(&command.body)) {
    add_datatype(*datatype, out);
  } else if (const auto* rewrite = std::get_if<RewriteDecl>(&command.body)) {
    for (RuleDecl& rule : desugar_rewrite(*rewrite)) out.push_back({command.span, std::move(rule)});
  } else {
    if (auto* rule = std::get_if<RuleDecl>(&command.body)) *rule = desugar_rule(std::move(*rule));
    if (auto* check = std::get_if<CheckCommand>(&command.body)) name_wildcards(check->facts);
    out.push_back(std::move(command));
  }
  return out;
}

}  // namespace luminal::egraph

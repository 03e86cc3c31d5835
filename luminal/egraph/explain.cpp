#include "luminal/egraph/explain.h"

#include <algorithm>

#include "luminal/egraph/lower.h"

namespace luminal::egraph {
namespace {

std::string term_text(EGraph& egraph, SortId sort, Value value) {
  Extractor& extract = egraph.extractor();
  const auto best = extract.best(sort, value);
  if (!best) return fmt::format("{}-{}", egraph.database().sorts.name(sort), value);
  return extract.terms().text(best->term);
}

std::string slot_name(const Query& query, uint32_t slot) {
  const std::string& name = query.names[slot];
  return name.empty() ? "?" + std::to_string(slot) : name;
}

std::string call_text(const Database& db, const Query& query, const TableAtom& atom);
std::string call_text(const Database& db, const Query& query, const PrimitiveAtom& atom);

/// A term of an atom in program text: what has no name there is the call that gives it.
std::string term_name(const Database& db, const Query& query, const Term& term, SortId sort) {
  if (term.is_constant) return value_text(db, sort, term.word);
  if (!query.names[term.word].empty()) return query.names[term.word];
  for (const TableAtom& atom : query.atoms)
    if (atom.terms.back() == term) return call_text(db, query, atom);
  for (const PrimitiveAtom& atom : query.primitives)
    if (atom.output == term) return call_text(db, query, atom);
  return slot_name(query, term.word);
}

std::string call_text(const Database& db, const Query& query, const TableAtom& atom) {
  const Function& function = db.functions[atom.function];
  std::string call = "(" + function.name;
  for (uint32_t c = 0; c + 1 < atom.terms.size(); ++c)
    call += " " + term_name(db, query, atom.terms[c], function.column_sort(c));
  return call + ")";
}

std::string call_text(const Database& db, const Query& query, const PrimitiveAtom& atom) {
  std::string text = "(" + atom.primitive->name;
  for (size_t i = 0; i < atom.inputs.size(); ++i) {
    const auto& sorts = atom.primitive->signature.inputs;
    const SortId sort = i < sorts.size() ? sorts[i] : kI64Sort;
    text += " " + term_name(db, query, atom.inputs[i], sort);
  }
  return text + ")";
}

/// An atom in program text: tables first, then primitives.
std::string atom_text(const Database& db, const Query& query, uint32_t number) {
  if (number >= query.atoms.size())
    return call_text(db, query, query.primitives[number - query.atoms.size()]);
  const TableAtom& atom = query.atoms[number];
  const Function& function = db.functions[atom.function];
  const std::string call = call_text(db, query, atom);
  const Term& out = atom.terms.back();
  // Rows of relations, and what no variable holds, are said by the call alone.
  const bool is_named = out.is_constant || !query.names[out.word].empty();
  if (function.kind == FunctionKind::kRelation || !is_named) return call;
  return "(= " + term_name(db, query, out, function.output) + " " + call + ")";
}

/// The sort of a slot, from a table column that holds it.
SortId slot_sort(const Database& db, const Query& query, uint32_t slot) {
  for (const TableAtom& atom : query.atoms)
    for (uint32_t c = 0; c < atom.terms.size(); ++c)
      if (!atom.terms[c].is_constant && atom.terms[c].word == slot)
        return db.functions[atom.function].column_sort(c);
  for (const PrimitiveAtom& atom : query.primitives)
    if (!atom.output.is_constant && atom.output.word == slot)
      return atom.primitive->signature.output;
  return kNone;
}

/// A term that the e-graph holds: the query that found it, and what its slots hold.
struct FoundTerm {
  SortId sort = kNone;
  Query query;
  std::vector<Value> slots;

  Value value(const Term& term) const { return term.is_constant ? term.word : slots[term.word]; }
};

/// Looks a term up without inserting anything: a question must not change what it is about.
FoundTerm find_term(EGraph& egraph, const Expr& expr) {
  Database& db = egraph.database();
  Fact fact;
  fact.lhs = expr;
  const std::vector<Fact> facts{fact};
  const TypedRule typed = typecheck(db, facts, {}, {Place::kQuery, Place::kTop, true});
  if (!typed.variables.empty())
    throw run_error(expr.span, "Unbound symbol {}", as_written(typed.variables[0]));
  FoundTerm found;
  found.sort = typed.facts[0].lhs.sort;
  found.query = lower_query(db, typed);
  found.query.needed.assign(found.query.num_slots, true);
  const QueryPlan plan(found.query);
  const std::vector<RowRange> ranges(found.query.atoms.size());
  Matcher matcher(db, plan, egraph.engine());
  egraph.engine().set_read_only(true);
  const bool missing = matcher.run(ranges, [&](std::span<const Value> slots) {
    found.slots.assign(slots.begin(), slots.end());
    return false;
  });
  egraph.engine().set_read_only(false);
  if (missing) throw run_error(expr.span, "there is no row {}", to_text(expr));
  return found;
}

/// The row of the table that a call names.
uint32_t row_of(const FoundTerm& found, FunctionId function, const Table& table) {
  std::vector<Value> keys;
  for (const TableAtom& atom : found.query.atoms) {
    if (atom.function != function || atom.terms.back() != found.query.root) continue;
    keys.clear();
    for (uint32_t c = 0; c < table.num_keys(); ++c) keys.push_back(found.value(atom.terms[c]));
  }
  return table.find(keys.data());
}

/// How many primitives of a query hold for the slots that are bound.
uint32_t num_primitives_holding(EGraph& egraph, const Query& query,
                                std::span<const std::pair<uint32_t, Value>> bound) {
  std::vector<Value> slots(query.num_slots, kNoValue);
  for (const auto& [slot, value] : bound) slots[slot] = value;
  const auto value_of = [&](const Term& term) {
    return term.is_constant ? term.word : slots[term.word];
  };
  uint32_t holding = 0;
  std::vector<Value> inputs;
  for (const PrimitiveAtom& atom : query.primitives) {
    inputs.clear();
    for (const Term& term : atom.inputs) inputs.push_back(value_of(term));
    if (std::find(inputs.begin(), inputs.end(), kNoValue) != inputs.end()) continue;
    const Value result = atom.primitive->body(egraph.engine(), inputs);
    const Value expected = value_of(atom.output);
    holding += result != kNoValue && (expected == kNoValue || expected == result);
  }
  return holding;
}

/// The best attempt to match a rule with some slots given: the one with the most rows that agree,
/// all of them joined with what is given wherever the rule joins them.
Mismatch best_attempt(EGraph& egraph, const CompiledRule& rule,
                      std::span<const std::pair<uint32_t, Value>> given,
                      const std::string& called) {
  Database& db = egraph.database();
  const Query& query = rule.query;
  Mismatch result;
  uint32_t deepest = 0, failed = kNone;
  std::vector<std::pair<uint32_t, Value>> bound;
  Matcher matcher(db, *rule.plan, egraph.engine());
  matcher.follow_given();
  matcher.watch_failures([&](uint32_t depth, uint32_t atom) {
    if (failed != kNone && depth <= deepest) return;
    deepest = depth;
    failed = atom;
    bound = matcher.bound();
  });
  const std::vector<RowRange> ranges(query.atoms.size());
  egraph.engine().set_read_only(true);
  matcher.run(ranges, given, [&](std::span<const Value>) {
    result.matches = true;
    return false;
  });
  if (!result.matches) deepest += num_primitives_holding(egraph, query, bound);
  egraph.engine().set_read_only(false);
  if (result.matches) {
    result.text = fmt::format("rule {} matches {}", rule.name, called);
    return result;
  }
  result.atoms_matched = deepest;
  result.failed_atom = failed == kNone ? "" : atom_text(db, query, failed);
  for (const auto& [slot, value] : bound)
    if (!query.names[slot].empty())
      result.bound.push_back({query.names[slot], slot_sort(db, query, slot), value});
  result.text = fmt::format("rule {} does not match {}: after {} of {} conditions, {} fails",
                            rule.name, called, deepest,
                            query.atoms.size() + query.primitives.size(), result.failed_atom);
  return result;
}

/// The match that wrote a row, kNone for the top level.
uint32_t match_of(const Database& db, const NodeRef& node) {
  const auto& tables = db.origins.by_function;
  if (node.function >= tables.size() || node.row >= tables[node.function].size()) return kNone;
  return tables[node.function][node.row];
}

}  // namespace

std::string why(EGraph& egraph, const Expr& expr) {
  Database& db = egraph.database();
  if (!db.origins.enabled)
    throw run_error(expr.span, "origins are not recorded: set EGraphOptions::record_origins");
  const FunctionId id = db.find_function(expr.name);
  if (expr.kind != Expr::Kind::kCall || id == kNone)
    throw run_error(expr.span, "why needs a call of a table, got {}", to_text(expr));
  const uint32_t row = row_of(find_term(egraph, expr), id, db.functions[id].table);
  const uint32_t match = match_of(db, {id, row});
  if (match == kNone) return to_text(expr) + " was written by the top level";
  const auto& [rule_id, values] = db.origins.matches[match];
  const CompiledRule& rule = *db.rules[rule_id].rule;
  std::string text = to_text(expr) + " was written by rule " + rule.name;
  for (size_t i = 0; i < values.size(); ++i) {
    const uint32_t slot = rule.query.outputs[i];
    const SortId sort = slot_sort(db, rule.query, slot);
    const std::string value = sort == kNone ? "?" : term_text(egraph, sort, values[i]);
    text += fmt::format("{}{} = {}", i == 0 ? ", matched with " : ", ", slot_name(rule.query, slot),
                        value);
  }
  return text;
}

Mismatch why_not(EGraph& egraph, const std::string& ruleset, const std::string& rule_name,
                 const Expr& term) {
  Database& db = egraph.database();
  const auto set = db.rulesets.find(ruleset);
  if (set == db.rulesets.end() || set->second.by_name.count(rule_name) == 0)
    throw run_error(term.span, "no rule {} in ruleset {}", rule_name, ruleset);
  const CompiledRule& rule = *db.rules[set->second.by_name.at(rule_name)].rule;
  const Query& query = rule.query;
  const FoundTerm asked = find_term(egraph, term);
  std::vector<std::pair<uint32_t, Value>> given;
  if (!query.root.is_constant) {
    const SortId sort = slot_sort(db, query, query.root.word);
    if (sort != asked.sort)
      throw run_error(term.span, "rule {} is about a {}, and {} is a {}", rule_name,
                      db.sorts.name(sort), to_text(term), db.sorts.name(asked.sort));
    given.push_back({query.root.word, asked.value(asked.query.root)});
  }
  return best_attempt(egraph, rule, given, to_text(term));
}

Mismatch why_not(EGraph& egraph, const CompiledRule& rule, const std::string& variable, Value value,
                 const std::string& called) {
  const auto& names = rule.query.names;
  const auto slot = std::find(names.begin(), names.end(), variable);
  if (slot == names.end())
    throw run_error({}, "rule {} has no variable {} in its conditions", rule.name, variable);
  const std::pair<uint32_t, Value> given(static_cast<uint32_t>(slot - names.begin()), value);
  return best_attempt(egraph, rule, {&given, 1}, called);
}

const CompiledRule* writer_of(const Database& db, const NodeRef& node) {
  const uint32_t match = match_of(db, node);
  return match == kNone ? nullptr : db.rules[db.origins.matches[match].first].rule.get();
}

}  // namespace luminal::egraph

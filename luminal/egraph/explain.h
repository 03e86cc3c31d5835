// Why a fact is there, and why a rule did not fire: the two questions of whoever writes rules.
#pragma once

#include <string>
#include <vector>

#include "luminal/egraph/egraph.h"

namespace luminal::egraph {

/// Which rule, with which match, wrote the row that an expression names; or that the top level
/// did. Needs EGraphOptions::record_origins. Throws ProgramError if there is no such row; asking
/// inserts nothing.
std::string why(EGraph& egraph, const Expr& expr);

/// What a variable of a rule holds.
struct Binding {
  std::string variable;
  SortId sort = kNone;
  Value value = kNoValue;
};

/// The outcome of asking why a rule does not match a term.
struct Mismatch {
  bool matches = false;        // it does match
  uint32_t atoms_matched = 0;  // how far the best attempt came
  std::string failed_atom;     // the condition that failed there, in program text
  std::string text;            // the whole answer as a sentence
  /// What the variables held in that attempt, in the order in which they were bound.
  std::vector<Binding> bound = {};
};

/// Fixes the root of the rule (the value of its first fact, the whole pattern of a rewrite) to a
/// term and looks for the condition on which the best attempt to match fails. Throws ProgramError
/// if the rule or the term's row is unknown or the root is of another sort.
Mismatch why_not(EGraph& egraph, const std::string& ruleset, const std::string& rule,
                 const Expr& term);

/// The same for a value that text cannot name: fixes a variable of the rule to it. `called` stands
/// for the value in the answer. Throws ProgramError if the rule has no such variable.
Mismatch why_not(EGraph& egraph, const CompiledRule& rule, const std::string& variable, Value value,
                 const std::string& called);

/// The rule that wrote a row, null if none did: the row stood there before any rule ran. Needs
/// EGraphOptions::record_origins.
const CompiledRule* writer_of(const Database& db, const NodeRef& node);

}  // namespace luminal::egraph

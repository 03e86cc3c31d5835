// Why a fact is there, and why a rule did not fire: the two questions of whoever writes rules.
#pragma once

#include <string>

#include "luminal/egraph/egraph.h"

namespace luminal::egraph {

/// Which rule, with which match, wrote the row that an expression names; or that the top level
/// did. Needs EGraphOptions::record_origins. Throws ProgramError if there is no such row; asking
/// inserts nothing.
std::string why(EGraph& egraph, const Expr& expr);

/// The outcome of asking why a rule does not match a term.
struct Mismatch {
  bool matches = false;        // it does match
  uint32_t atoms_matched = 0;  // how far the best attempt came
  std::string failed_atom;     // the condition that failed there, in program text
  std::string text;            // the whole answer as a sentence
};

/// Fixes the root of the rule (the value of its first fact, the whole pattern of a rewrite) to a
/// term and looks for the condition on which the best attempt to match fails. Throws ProgramError
/// if the rule or the term's row is unknown or the root is of another sort.
Mismatch why_not(EGraph& egraph, const std::string& ruleset, const std::string& rule,
                 const Expr& term);

}  // namespace luminal::egraph

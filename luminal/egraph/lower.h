// Typed rules to queries and programs: nested calls become atoms or instructions over slots,
// equalities substitute, equal calls in a body become one, and unbound variables are refused.
#pragma once

#include "luminal/egraph/rule_ir.h"
#include "luminal/egraph/typecheck.h"

namespace luminal::egraph {

/// How globals are lowered: by their table (rules live on), or by their value of the moment.
enum class GlobalUse { kTable, kValue };

/// A rule: the query of its facts and the program of its actions.
void lower_rule(Database& db, const TypedRule& typed, GlobalUse globals, Query& query,
                Program& program);
/// A query alone, for check and :until.
Query lower_query(Database& db, const TypedRule& typed);
/// Actions without a body, for the top level; `slots` receives the slot or constant of each let.
Program lower_actions(Database& db, const TypedRule& typed);
/// An expression; its value is that of `result` after the program ran.
Program lower_expression(Database& db, const TypedExpr& expr, Term& result);
/// Fills in the program of a function's merge. Variables 0 and 1 are old and new, the last one is
/// the result.
void lower_merge(Database& db, const TypedRule& typed, Function& function);

}  // namespace luminal::egraph

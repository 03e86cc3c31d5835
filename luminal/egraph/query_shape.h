// The shape of a query: whether its atoms form a tree. On a tree, joining atom by atom never looks
// at more than the rows and the matches call for; on a cycle it can, and a join that goes variable
// by variable keeps the bound.
#pragma once

#include "luminal/egraph/rule_ir.h"

namespace luminal::egraph {

/// Whether the atoms of a query form a cycle (it is not alpha-acyclic), after everything that
/// constants and functional dependencies settle: an atom also holds what its slots determine
/// through the keys of other atoms and through primitives.
bool is_cyclic(const Query& query);

}  // namespace luminal::egraph

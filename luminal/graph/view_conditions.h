// The normal form of a view's conditions. Equal sets of conditions get equal lists as far as
// bounds and differences decide it; what is true everywhere vanishes.
#pragma once

#include <vector>

#include "luminal/graph/view.h"

namespace luminal::graph {

/// Simplifies, intersects, sorts. A set that is known to fail everywhere becomes the one condition
/// never().
std::vector<Condition> normalize_conditions(std::vector<Condition> conditions);

/// Simplifies divisions in the index by what the conditions say, which hold wherever the index
/// matters: (i - 1) % n is i - 1 where 0 <= i - 1 < n.
void simplify_under(const std::vector<Condition>& conditions, std::vector<Expr>& index);

/// The condition that nothing satisfies.
inline Condition never() { return {0, 0}; }
/// True if the conditions (in normal form) are known to fail everywhere.
inline bool fails_everywhere(const std::vector<Condition>& conditions) {
  return conditions.size() == 1 && conditions.front() == never();
}

}  // namespace luminal::graph

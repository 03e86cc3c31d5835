// Whether a map from axes to integers takes no value twice.
#pragma once

#include <vector>

#include "luminal/graph/shape.h"

namespace luminal::graph {

/// True if the tuple of expressions is proved to differ at every two different positions of the
/// axes (expressions hold no others). False means "not proved".
bool is_injective(std::vector<Expr> exprs, std::vector<Expr> axes);

}  // namespace luminal::graph

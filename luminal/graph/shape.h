// Shapes are lists of symbolic dims.
#pragma once

#include <initializer_list>
#include <string>

#include "luminal/support/small_vector.h"
#include "luminal/symbolic/expr.h"

namespace luminal::graph {

using symbolic::Expr;

/// The extents of a tensor, outermost first. Rank 0 is a scalar.
using Shape = support::SmallVector<Expr, 6>;

/// Number of elements; 1 for rank 0.
Expr element_count(const Shape& shape);

/// True if an extent is known to be 0, so that there are no elements.
bool is_known_empty(const Shape& shape);

/// "[2, seq, past + seq]"
std::string to_string(const Shape& shape);

/// Turns a possibly negative axis into 0..rank-1; throws UserError naming `operation` if it is out
/// of range.
int normalize_axis(std::string_view operation, int64_t axis, int rank);

}  // namespace luminal::graph

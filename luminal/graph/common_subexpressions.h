// Computes equal things once.
#pragma once

#include "luminal/graph/pass.h"

namespace luminal::graph {

/// Nodes with the same op, attributes and operands become one; the operands of commutative ops are
/// compared in either order. Never merged: inputs, effects (each must happen) and custom functions
/// (nothing is known of them).
Pass common_subexpressions();

}  // namespace luminal::graph

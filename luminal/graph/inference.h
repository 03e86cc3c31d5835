// Types of nodes: what an op gives for given operands, or the UserError that says why it cannot.
#pragma once

#include <span>

#include "luminal/graph/node.h"

namespace luminal::graph {

/// An operand as inference sees it: its domain through the view, and its node's dtype.
struct OperandType {
  Shape domain;  ///< what the view shows
  DType dtype;   ///< of the node
};

/// The type of `op` for these operands. Not for sources, casts and custom functions, whose type is
/// given.
TensorType infer_type(Op op, std::span<const OperandType> operands, const Attributes& attributes);

/// Throws UserError if a cast of this kind is not possible (bitcasts need equal widths).
void check_cast(Op op, DType from, DType to);

}  // namespace luminal::graph

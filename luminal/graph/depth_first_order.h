// Puts nodes in depth-first order: each value is computed close to where it is needed.
#pragma once

#include "luminal/graph/pass.h"

namespace luminal::graph {

/// Post-order from the effects, then the outputs, then what is left; operands in their order.
/// Effects keep their order among themselves, and so do inputs, which come first.
Pass depth_first_order();

}  // namespace luminal::graph

// Places kLet statements in a nest: values that do not depend on a loop go before it, values used
// twice are computed once. Loads are left where they are.
#pragma once

#include "luminal/kernel/nest.h"

namespace luminal::kernel {

/// Adds lets to every block.
void place_lets(const Arena& arena, Nest& nest);

}  // namespace luminal::kernel

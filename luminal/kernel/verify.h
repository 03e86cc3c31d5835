// Checks of bodies and nests from outside, trusting nothing that was derived. What they find is a
// bug of ours; tests run them on everything that is built.
#pragma once

#include <string>
#include <vector>

#include "luminal/kernel/nest.h"

namespace luminal::kernel {

/// One sentence per broken law of a kernel's bodies; empty if all is well.
///
/// The laws: dtypes and arities are those of the op table; a load has an index per dim; conditions
/// are 0 or 1; the axes of a reduction are distinct, bound by its height, used nowhere outside and
/// bound nowhere inside; derived facts are what they follow from; free axes of roots are axes of
/// the kernel, numbered 0, 1, ...; stores are over those and have an index per dim.
std::vector<std::string> problems(const Arena& arena, const Kernel& kernel);

/// One sentence per broken law of a nest: every value uses only axes of loops around it and
/// reductions completed before (an online maximum: stepped before); every accumulator is reset
/// before and finished after its loop; rows are kept before they are read; every root is stored
/// once; no axis is looped over twice on one path.
std::vector<std::string> problems(const Arena& arena, const Nest& nest);

/// Throws InternalError listing the problems, if there are any.
void verify(const Arena& arena, const Kernel& kernel);
void verify(const Arena& arena, const Nest& nest);

}  // namespace luminal::kernel

// Steps of a loop that was written out read one row after the other of a tensor: kernels that
// differ in one number, which would be compiled as often as there are steps. Here that number
// becomes a dim of the kernel, whose value every use gives.
#pragma once

#include <optional>
#include <vector>

#include "luminal/kernel/body.h"

namespace luminal::compiler {

/// A kernel whose rows are chosen by dims of its own.
struct WithPositions {
  kernel::Arena arena;
  kernel::Kernel kernel;
  std::vector<symbolic::Binding> positions;  ///< what each of these dims is
};

/// Nothing if no load reads a given row of many, or more rows are read than dims would pay for.
std::optional<WithPositions> with_positions(const kernel::Arena& arena,
                                            const kernel::Kernel& kernel);

}  // namespace luminal::compiler

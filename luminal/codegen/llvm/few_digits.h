// Which f32 values of a kernel nobody will see with more digits than bf16 has: functions of narrow
// floats compute in f32 and round once, so what leads to that rounding without losing digits on the
// way need not be better than it.
#pragma once

#include <set>
#include <span>

#include "luminal/kernel/body.h"

namespace luminal::codegen {

/// The float values below the roots whose relative error passes, at most added to others, into a
/// result of 8 digits (bf16) or fewer, and into nothing else. Differences are not among what it
/// passes through: they may be far smaller than what they are made of.
std::set<kernel::BodyId> values_of_few_digits(const kernel::Arena& arena,
                                              std::span<const kernel::Root> roots);

}  // namespace luminal::codegen

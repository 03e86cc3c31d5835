// Which f32 values of a kernel nobody will see with more digits than bf16 has: functions of narrow
// floats compute in f32 and round once, so what leads to that rounding without losing digits on the
// way need not be better than it. And which values must be: those that are compared.
#pragma once

#include <set>
#include <span>

#include "luminal/kernel/body.h"

namespace luminal::codegen {

/// The float values that are compared, and what these are made of but for sums: maxima, what they
/// are found among and what they are taken from, operands of what may jump. They must have the same
/// bits wherever they are computed, in this loop, another one or another kernel, or no element
/// might equal the maximum of all: functions have all their digits, and no product is fused with a
/// sum, since which one is depends on the code around. `maxima_of`: values of which maxima are
/// taken besides those below the roots.
std::set<kernel::BodyId> values_compared(const kernel::Arena& arena,
                                         std::span<const kernel::Root> roots,
                                         std::span<const kernel::BodyId> maxima_of = {});

/// Products that are terms of sums, also in a wider float: they are added as they are.
std::set<kernel::BodyId> summed_products(const kernel::Arena& arena,
                                         std::span<const kernel::Root> roots);

/// The float values below the roots whose relative error passes, at most added to others, into a
/// result of 8 digits (bf16) or fewer, and into nothing else. Differences are not among what it
/// passes through: they may be far smaller than what they are made of. None if a kernel has other
/// results too.
std::set<kernel::BodyId> values_of_few_digits(const kernel::Arena& arena,
                                              std::span<const kernel::Root> roots);

}  // namespace luminal::codegen

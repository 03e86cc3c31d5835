// The part of an explanation's text that is about single kernels: what was fused, the schedule with
// its loops, why not more was fused, and the ways that are not used.
#pragma once

#include "luminal/compiler/explanation.h"
#include "luminal/compiler/explanation_words.h"

namespace luminal::compiler {

/// Writes all kernels, and the steps that are none.
void write_kernels(const Explanation& explanation, TextLines& lines);

}  // namespace luminal::compiler

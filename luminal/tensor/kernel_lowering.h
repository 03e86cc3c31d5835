// A user's kernel as tensors: the program computes one element of the result, and every value in it
// becomes a tensor over the positions around it. Loops become reductions, conditions become
// choices, and a position must be proved to be in range.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "luminal/tensor/kernel_source.h"
#include "luminal/tensor/tensor.h"

namespace luminal::kernel_source {

/// What a program reads, by name.
using KernelInputs = std::vector<std::pair<std::string, Tensor>>;

/// The name of what a program computes.
inline constexpr std::string_view kResult = "out";

/// The result of a program. There must be an input. Throws SourceError with the place of a mistake.
Tensor lower(const std::vector<Statement>& program, const KernelInputs& inputs,
             const graph::TensorType& result);

}  // namespace luminal::kernel_source

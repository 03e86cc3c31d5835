// Whole networks: a multilayer perceptron, a CNN for digits, a residual block, and transformer
// blocks as in GPT-2 small, in prefill and in decode; whole language models. What the project ships
// of its tuning was found on these.
#pragma once

#include <vector>

#include "benchmarks/network.h"

namespace luminal::benchmarks {

/// All of them.
std::vector<Case> net_cases();

}  // namespace luminal::benchmarks

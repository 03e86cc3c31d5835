// The products among the patterns: matrices of even and odd sizes, batches, and few rows times
// large weights of every width, down to four bits with a scale per block.
#pragma once

#include <vector>

#include "benchmarks/suite.h"

namespace luminal::benchmarks {

/// Adds the products whose activations are f32 or bf16, four-bit weights included.
void add_products(std::vector<Case>& cases, DType dtype);
/// Adds the large products of f64.
void add_double_products(std::vector<Case>& cases);
/// Adds the products of bytes, summed as i32.
void add_byte_products(std::vector<Case>& cases);

}  // namespace luminal::benchmarks

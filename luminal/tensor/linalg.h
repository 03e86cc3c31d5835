// Products of matrices and their relatives. Each is written as a broadcast product and a sum, and
// recorded under its name. f16, bf16 and f8 operands are multiplied and summed in f32 and rounded
// once.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "luminal/tensor/tensor.h"

namespace luminal {

/// NumPy's matmul: [..., m, k] x [..., k, n] with leading axes broadcast; a vector on the left is a
/// row, on the right a column, and its axis is not in the result. `dtype` is what is accumulated in
/// and returned (such as i32 for i8 operands); unless said it is the promoted dtype of the
/// operands.
Tensor matmul(const Tensor& a, const Tensor& b, std::optional<DType> dtype = std::nullopt);
/// Sum of products of two vectors.
Tensor dot(const Tensor& a, const Tensor& b);
/// Every product of two vectors: [n] and [m] give [n, m].
Tensor outer(const Tensor& a, const Tensor& b);
/// Einstein's sum: einsum("bij,bjk->bik", {a, b}). Repeated letters in one operand take its
/// diagonal; without "->" the result has the letters that occur once, in alphabetical order; "..."
/// stands for leading axes that broadcast.
Tensor einsum(const std::string& equation, const std::vector<Tensor>& operands);

}  // namespace luminal

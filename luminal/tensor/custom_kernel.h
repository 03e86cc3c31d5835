// A kernel of the user's own as an op, written in a small, strict part of C. It is turned into
// primitives, so it is fused with what stands around it, runs on every backend, works for symbolic
// dims, and has the interpreter for its oracle.
//
//   Tensor y = custom_kernel("leaky_matmul", R"(
//       float s = 0;
//       for (int k = 0; k < 64; k++) s += x[i][k] * w[k][j];
//       out[i][j] = s > 0 ? s : 0.1 * s;
//     )", {{"x", x}, {"w", w}}, {f32, {n, 32}});
//
// The program computes one element of `out`; the names in the brackets of its assignment are the
// element's position. There are
//   types        float double int long bool and our own names (bf16, i8, ...)
//   statements   declarations with a value, = += -= *=, for, if, blocks
//   operators    those of C but for = inside of expressions, ++, pointers and the comma
//   functions    exp exp2 expm1 log log2 log1p sqrt rsqrt sin cos tan asin acos atan sinh cosh tanh
//                erf floor ceil round trunc abs fabs isnan isinf isfinite, pow fmod, max min fmax
//                fmin (NaN if either is); round takes halves to the even neighbour, as tensors do
//   constants    true false INFINITY NAN, and the named dims of the shapes
// Operands meet as tensors do (promotion.h), a literal takes the dtype of the other side, integer
// division truncates. A float does not become an integer without a cast.
//
// Loops run over numbers and dims; what a loop carries is accumulated by += -= *=, by s = max(s, e)
// or min, or by s = s || e or &&, in any order the backend likes. A position must be proved to be
// in range, also by a condition around it (i > 0 ? x[i - 1] : 0); one position of an access may be
// data (x[index[i]]), which is checked when it runs, chosen or not.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "luminal/tensor/tensor.h"

namespace luminal {

/// The tensor that the program computes. UserError with line, column and the remedy for programs
/// that are none.
Tensor custom_kernel(const std::string& name, std::string_view source,
                     const std::vector<std::pair<std::string, Tensor>>& inputs,
                     const graph::TensorType& result);

}  // namespace luminal

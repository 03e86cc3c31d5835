// Ops that do something while the graph runs, or that keep the compiler from looking through them.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "luminal/tensor/tensor.h"

namespace luminal {

/// Prints label, dtype, shape and the first, middle and last values whenever the graph runs. The
/// result is x.
Tensor print(const Tensor& x, const std::string& label);
/// Compares x with the reference values in a file (.npy, or raw binary of x's dtype and shape)
/// whenever the graph runs and reports distances, NaNs and the worst elements. The result is x.
Tensor diff(const Tensor& x, const std::string& file, double absolute_tolerance = 1e-5,
            double relative_tolerance = 1e-5);
/// x, as data that nothing is fused across.
Tensor graph_break(const Tensor& x);
/// A C++ function as an op: called with contiguous operands, it fills the result. Nothing is fused
/// across it.
Tensor custom(const std::string& name, const std::vector<Tensor>& operands, DType dtype,
              const Shape& shape,
              std::function<void(std::span<const Array> operands, Array& result)> function);

}  // namespace luminal

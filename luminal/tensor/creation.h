// Tensors made from nothing but numbers. All are views of constants and index expressions: no data
// is stored.
#pragma once

#include <functional>
#include <optional>

#include "luminal/tensor/graph.h"
#include "luminal/tensor/tensor.h"

namespace luminal {

/// Every element is `value`.
Tensor full(const Graph& graph, const Shape& shape, const Value& value, DType dtype = f32);
Tensor zeros(const Graph& graph, const Shape& shape, DType dtype = f32);  ///< every element is 0
Tensor ones(const Graph& graph, const Shape& shape, DType dtype = f32);   ///< every element is 1
/// Shape and dtype of another tensor.
Tensor full_like(const Tensor& like, const Value& value);
Tensor zeros_like(const Tensor& like);  ///< every element is 0
Tensor ones_like(const Tensor& like);   ///< every element is 1
/// Ones at [i, i + offset], zeros elsewhere.
Tensor eye(const Graph& graph, const Dim& rows, std::optional<Dim> columns = std::nullopt,
           int64_t offset = 0, DType dtype = f32);
/// Each element is an expression of its position: iota(g, {n, m}, [](auto i) { return i[0] * 8 +
/// i[1]; }).
Tensor iota(const Graph& graph, const Shape& shape,
            const std::function<Dim(std::span<const Dim> position)>& element, DType dtype = i64);
/// 0, 1, ..., end - 1.
Tensor arange(const Graph& graph, const Dim& end, DType dtype = i64);
/// begin, begin + step, ... up to but not including end, in exact integer arithmetic.
Tensor arange(const Graph& graph, const Dim& begin, const Dim& end, int64_t step = 1,
              DType dtype = i64);
/// The same for fractions: element k is begin + k * step, computed in f64 and rounded once.
Tensor arange_fractions(const Graph& graph, double begin, double end, double step,
                        DType dtype = f32);
/// `count` evenly spaced values from begin to end, both included exactly.
Tensor linspace(const Graph& graph, double begin, double end, int64_t count, DType dtype = f32);
/// x with zeros above (below) the diagonal that starts `offset` columns to the right.
Tensor tril(const Tensor& x, int64_t offset = 0);
Tensor triu(const Tensor& x, int64_t offset = 0);  ///< zeros below
/// A new last axis of extent `classes`: 1 at the position given by the integer element, 0
/// elsewhere.
Tensor one_hot(const Tensor& index, const Dim& classes, DType dtype = i64);

}  // namespace luminal

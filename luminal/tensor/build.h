// How the op families add to a graph: operands broadcast and promoted, views changed, names
// recorded. Internal to the layers that define ops; users call the ops.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "luminal/graph/named.h"
#include "luminal/tensor/graph.h"
#include "luminal/tensor/tensor.h"

namespace luminal::build {

/// Adds `op` on operands that already agree in shape and dtype.
Tensor apply(graph::Op op, std::span<const Tensor> operands, graph::Attributes attributes = {});
Tensor apply(graph::Op op, std::initializer_list<Tensor> operands,
             graph::Attributes attributes = {});

/// The same value seen through another view (whose source is the node's shape).
Tensor with_view(const Tensor& tensor, graph::View view);
/// Data laid out as it is seen: adds a copy unless the tensor already is a whole node.
Tensor materialize(const Tensor& tensor);

/// Adds `before` and `after` elements of `fill` to an axis (negative amounts crop). Copies first if
/// the tensor is already padded with another value.
Tensor pad_axis(const Tensor& tensor, int axis, const Dim& before, const Dim& after,
                const Scalar& fill);

/// The shape all of these broadcast to; throws UserError naming `operation` and the shapes.
Shape broadcast_shape(std::string_view operation, std::span<const Shape> shapes);
/// NumPy broadcasting to `shape`.
Tensor expand_to(std::string_view operation, const Tensor& tensor, const Shape& shape);
/// All operands expanded to their common shape.
std::vector<Tensor> broadcast(std::string_view operation, std::vector<Tensor> operands);

/// A number as a tensor of `like`'s graph, of dtype `dtype`, rank 0.
Tensor scalar(const Tensor& like, const Value& value, DType dtype);
/// Throws UserError naming `operation` if `value` is an integer that `dtype` cannot hold.
void check_fits(std::string_view operation, const Value& value, DType dtype);
/// A number as a tensor of the dtype that `tensor op value` computes in (see Value), rank 0. An
/// integer that does not fit that dtype is a UserError naming `operation`.
Tensor scalar_operand(std::string_view operation, const Tensor& tensor, const Value& value);
/// A number of `like`'s dtype and shape.
Tensor full_like(const Tensor& like, const Value& value);
/// Same for a Scalar (infinities, extremes).
Tensor full_like(const Tensor& like, const Scalar& value);

/// Broadcasts and promotes both sides, then applies `op`. `operation` is the name errors give.
Tensor binary(std::string_view operation, graph::Op op, const Tensor& lhs, const Tensor& rhs);
/// Casts an integer or bool tensor to f32, leaves floats alone: what float-only math does with its
/// operand.
Tensor to_float(const Tensor& tensor);
/// Casts floats narrower than f32 to f32: what functions of several steps compute in, so that they
/// round once.
Tensor widen(const Tensor& tensor);
/// Throws UserError unless all tensors are of one graph.
void check_same_graph(std::string_view operation, std::span<const Tensor> tensors);

using Parameters = std::map<std::string, graph::NamedValue>;
/// Records that `result` is the named op of these operands, and gives it back.
Tensor named(std::string name, std::span<const Tensor> operands, Parameters parameters,
             const Tensor& result);
Tensor named(std::string name, std::initializer_list<Tensor> operands, Parameters parameters,
             const Tensor& result);

}  // namespace luminal::build

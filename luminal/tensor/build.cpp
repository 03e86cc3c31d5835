#include "luminal/tensor/build.h"

#include <algorithm>
#include <array>

#include "luminal/support/check.h"
#include "luminal/tensor/cast.h"
#include "luminal/tensor/promotion.h"

namespace luminal::build {
namespace {

/// The dtype in which a tensor of `dtype` meets a C++ number.
DType weak_promote(DType dtype, const Value& value) {
  if (value.is_fraction()) return graph::is_float(dtype) ? dtype : f32;
  if (value.is_bool()) return dtype;
  return graph::is_bool(dtype) ? i64 : dtype;
}

/// One axis of two broadcast shapes; nullopt if the extents do not fit.
std::optional<Dim> broadcast_dim(const Dim& first, const Dim& second) {
  if (first == second || second == Dim(1)) return first;
  if (first == Dim(1)) return second;
  return std::nullopt;
}

std::string list(std::span<const Shape> shapes) {
  std::string text;
  for (const Shape& shape : shapes) text += (text.empty() ? "" : " and ") + graph::to_string(shape);
  return text;
}

}  // namespace

void check_same_graph(std::string_view operation, std::span<const Tensor> tensors) {
  for (const Tensor& tensor : tensors)
    if (tensor.state() != tensors[0].state())
      throw UserError(operation,
                      "operands belong to different graphs; bring one over with transfer()");
}

Tensor apply(graph::Op op, std::span<const Tensor> operands, graph::Attributes attributes) {
  LUMINAL_CHECK(!operands.empty());
  check_same_graph(graph::name(op), operands);
  std::vector<graph::Edge> edges;
  for (const Tensor& operand : operands) edges.push_back(operand.edge());
  graph::Graph& graph = operands[0].state()->graph;
  graph::NodeId id = graph.add(op, std::move(edges), std::move(attributes));
  return {operands[0].state(), graph.whole(id)};
}

Tensor apply(graph::Op op, std::initializer_list<Tensor> operands, graph::Attributes attributes) {
  return build::apply(op, std::span(operands.begin(), operands.size()), std::move(attributes));
}

Tensor with_view(const Tensor& tensor, graph::View view) {
  return {tensor.state(), {std::move(view), tensor.edge().node}};
}

Tensor materialize(const Tensor& tensor) {
  return tensor.edge().view.is_identity() ? tensor : build::apply(graph::Op::kCopy, {tensor});
}

Tensor pad_axis(const Tensor& tensor, int axis, const Dim& before, const Dim& after,
                const Scalar& fill) {
  if (auto padded = tensor.edge().view.pad(axis, before, after, fill))
    return with_view(tensor, *padded);
  Tensor whole = materialize(tensor);
  return with_view(whole, whole.edge().view.pad(axis, before, after, fill).value());
}

Shape broadcast_shape(std::string_view operation, std::span<const Shape> shapes) {
  size_t rank = 0;
  for (const Shape& shape : shapes) rank = std::max(rank, shape.size());
  Shape result(rank, Dim(1));
  for (const Shape& shape : shapes) {
    const size_t missing = rank - shape.size();
    for (size_t k = 0; k < shape.size(); ++k) {
      std::optional<Dim> dim = broadcast_dim(result[missing + k], shape[k]);
      if (!dim)
        throw UserError(
            operation,
            "shapes {} do not broadcast: axis {} is {} and {}; extents must be equal or 1",
            list(shapes), missing + k, result[missing + k], shape[k]);
      result[missing + k] = *dim;
    }
  }
  return result;
}

Tensor expand_to(std::string_view operation, const Tensor& tensor, const Shape& shape) {
  if (tensor.shape() == shape) return tensor;
  const std::array shapes{tensor.shape(), shape};
  if (broadcast_shape(operation, shapes) != shape)
    throw UserError(operation, "cannot expand {} to {}; only axes of extent 1 stretch",
                    graph::to_string(tensor.shape()), graph::to_string(shape));
  return with_view(tensor, tensor.edge().view.expand(shape));
}

std::vector<Tensor> broadcast(std::string_view operation, std::vector<Tensor> operands) {
  check_same_graph(operation, operands);
  std::vector<Shape> shapes;
  for (const Tensor& operand : operands) shapes.push_back(operand.shape());
  const Shape shape = broadcast_shape(operation, shapes);
  for (Tensor& operand : operands) operand = expand_to(operation, operand, shape);
  return operands;
}

Tensor scalar(const Tensor& like, const Value& value, DType dtype) {
  Graph graph = like.graph();
  return std::visit(
      [&](const auto& number) -> Tensor {
        if constexpr (std::is_same_v<std::decay_t<decltype(number)>, Dim>) {
          graph::NodeId id = like.state()->graph.add_iota(dtype, {}, number);
          return {like.state(), like.state()->graph.whole(id)};
        } else {
          return graph.constant(Scalar::of(dtype, number));
        }
      },
      value.variant());
}

void check_fits(std::string_view operation, const Value& value, DType dtype) {
  if (const auto* number = std::get_if<int64_t>(&value.variant());
      number && graph::is_integer(dtype) && Scalar::of(dtype, *number).as_int64() != *number)
    throw UserError(operation,
                    "{} does not fit {}, the tensor's dtype; cast the tensor to a wider one",
                    *number, dtype);
}

Tensor scalar_operand(std::string_view operation, const Tensor& tensor, const Value& value) {
  const DType dtype = weak_promote(tensor.dtype(), value);
  check_fits(operation, value, dtype);
  return scalar(tensor, value, dtype);
}

Tensor full_like(const Tensor& like, const Value& value) {
  return expand_to("full_like", scalar(like, value, like.dtype()), like.shape());
}

Tensor full_like(const Tensor& like, const Scalar& value) {
  return expand_to("full_like", like.graph().constant(value), like.shape());
}

Tensor binary(std::string_view operation, graph::Op op, const Tensor& lhs, const Tensor& rhs) {
  const DType dtype = promote(lhs.dtype(), rhs.dtype());
  return build::apply(op, broadcast(operation, {cast(lhs, dtype), cast(rhs, dtype)}));
}

Tensor to_float(const Tensor& tensor) {
  return graph::is_float(tensor.dtype()) ? tensor : cast(tensor, f32);
}

Tensor widen(const Tensor& tensor) {
  const bool narrow = graph::is_float(tensor.dtype()) && graph::bits(tensor.dtype()) < 32;
  return narrow ? cast(tensor, f32) : tensor;
}

Tensor named(std::string name, std::span<const Tensor> operands, Parameters parameters,
             const Tensor& result) {
  graph::NamedDefinition definition{std::move(name), std::move(parameters), {}, result.edge()};
  for (const Tensor& operand : operands) definition.operands.push_back(operand.edge());
  result.state()->graph.add_named(std::move(definition));
  return result;
}

Tensor named(std::string name, std::initializer_list<Tensor> operands, Parameters parameters,
             const Tensor& result) {
  return named(std::move(name), std::span(operands.begin(), operands.size()), std::move(parameters),
               result);
}

}  // namespace luminal::build

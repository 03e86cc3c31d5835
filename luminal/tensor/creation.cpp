#include "luminal/tensor/creation.h"

#include <cmath>

#include "luminal/support/error.h"
#include "luminal/tensor/arithmetic.h"
#include "luminal/tensor/build.h"
#include "luminal/tensor/cast.h"
#include "luminal/tensor/movement.h"

namespace luminal {
namespace {

Tensor add_iota(const Graph& graph, DType dtype, const Shape& shape, const Dim& value) {
  graph::NodeId id = graph.state()->graph.add_iota(dtype, shape, value);
  return {graph.state(), graph.state()->graph.whole(id)};
}

/// A mask over the last two axes of x: true where `keep` of row and column is.
Tensor keep_where(std::string_view operation, const Tensor& x,
                  const std::function<Dim(const Dim&, const Dim&)>& keep) {
  if (x.rank() < 2)
    throw UserError(operation, "needs at least two axes, got shape {}",
                    graph::to_string(x.shape()));
  const int rows = x.rank() - 2;
  Tensor mask = iota(
      x.graph(), x.shape(),
      [&](std::span<const Dim> i) {
        return keep(i[static_cast<size_t>(rows)], i[static_cast<size_t>(rows) + 1]);
      },
      boolean);
  return where(mask, x, build::full_like(x, 0));
}

/// Positions 0..count-1 as f64.
Tensor positions(const Graph& graph, int64_t count) { return arange(graph, count, f64); }

}  // namespace

Tensor full(const Graph& graph, const Shape& shape, const Value& value, DType dtype) {
  build::check_fits("full", value, dtype);
  Tensor scalar = std::visit(
      [&](const auto& number) -> Tensor {
        if constexpr (std::is_same_v<std::decay_t<decltype(number)>, Dim>)
          return add_iota(graph, dtype, {}, number);
        else
          return graph.constant(Scalar::of(dtype, number));
      },
      value.variant());
  return build::expand_to("full", scalar, shape);
}

Tensor zeros(const Graph& graph, const Shape& shape, DType dtype) {
  return full(graph, shape, 0, dtype);
}
Tensor ones(const Graph& graph, const Shape& shape, DType dtype) {
  return full(graph, shape, 1, dtype);
}
Tensor full_like(const Tensor& like, const Value& value) {
  build::check_fits("full_like", value, like.dtype());
  return build::full_like(like, value);
}
Tensor zeros_like(const Tensor& like) { return build::full_like(like, 0); }
Tensor ones_like(const Tensor& like) { return build::full_like(like, 1); }

Tensor eye(const Graph& graph, const Dim& rows, std::optional<Dim> columns, int64_t offset,
           DType dtype) {
  return iota(
      graph, {rows, columns.value_or(rows)},
      [&](std::span<const Dim> i) { return symbolic::equal(i[0] + offset, i[1]); }, dtype);
}

Tensor iota(const Graph& graph, const Shape& shape,
            const std::function<Dim(std::span<const Dim> position)>& element, DType dtype) {
  std::vector<Dim> axes;
  for (size_t k = 0; k < shape.size(); ++k) {
    if (symbolic::provably_less(shape[k], 0))
      throw UserError("iota", "axis {} of shape {} is negative", k, graph::to_string(shape));
    axes.push_back(Dim::axis(static_cast<int64_t>(k), shape[k]));
  }
  return add_iota(graph, dtype, shape, element(axes));
}

Tensor arange(const Graph& graph, const Dim& end, DType dtype) {
  return arange(graph, 0, end, 1, dtype);
}

Tensor arange(const Graph& graph, const Dim& begin, const Dim& end, int64_t step, DType dtype) {
  if (step == 0) throw UserError("arange", "the step must not be 0");
  const Dim count = symbolic::max(
      step > 0 ? symbolic::ceil_div(end - begin, step) : symbolic::ceil_div(begin - end, -step), 0);
  return iota(
      graph, {count}, [&](std::span<const Dim> i) { return begin + i[0] * step; }, dtype);
}

Tensor arange_fractions(const Graph& graph, double begin, double end, double step, DType dtype) {
  const double count = std::ceil((end - begin) / step);
  if (!std::isfinite(count) || count > 1e15)
    throw UserError("arange", "cannot go from {} to {} in steps of {}", begin, end, step);
  return cast(positions(graph, std::max<int64_t>(0, static_cast<int64_t>(count))) * step + begin,
              dtype);
}

Tensor linspace(const Graph& graph, double begin, double end, int64_t count, DType dtype) {
  if (count < 0) throw UserError("linspace", "cannot make {} values", count);
  if (count <= 1) return full(graph, {count}, begin, dtype);
  // Counting back from the end in the second half makes the last element exactly `end`.
  // Divided before they are subtracted: end - begin may overflow.
  const auto steps = static_cast<double>(count - 1);
  const double step = end / steps - begin / steps;
  Tensor k = positions(graph, count);
  Tensor from_end = (steps - k) * -step + end;
  const int64_t half = count / 2;
  return cast(where(less(k, static_cast<double>(half)), k * step + begin, from_end), dtype);
}

Tensor tril(const Tensor& x, int64_t offset) {
  return build::named("tril", {x}, {{"offset", offset}},
                      keep_where("tril", x, [&](const Dim& row, const Dim& column) {
                        return symbolic::less_equal(column, row + offset);
                      }));
}

Tensor triu(const Tensor& x, int64_t offset) {
  return build::named("triu", {x}, {{"offset", offset}},
                      keep_where("triu", x, [&](const Dim& row, const Dim& column) {
                        return symbolic::greater_equal(column, row + offset);
                      }));
}

Tensor one_hot(const Tensor& index, const Dim& classes, DType dtype) {
  if (!graph::is_integer(index.dtype()))
    throw UserError("one_hot", "needs integer classes, got {}; cast them to i64", index.dtype());
  Shape shape = index.shape();
  shape.push_back(classes);
  Tensor position = iota(index.graph(), shape, [](std::span<const Dim> i) { return i.back(); });
  Tensor hit = equal(cast(unsqueeze(index, -1), i64), position);
  return build::named("one_hot", {index}, {{"classes", classes}}, cast(hit, dtype));
}

}  // namespace luminal

#include "random_view.h"

#include <array>

#include "random_values.h"

namespace luminal::fuzz {

using graph::DType;
using graph::Expr;
using graph::Shape;
using graph::View;
using test::random_scalar;

namespace {

int random_axis(Random& random, const View& view) {
  return random.index(static_cast<size_t>(view.rank()));
}

const Expr& extent(const View& view, int axis) { return view.domain()[static_cast<size_t>(axis)]; }

View permute(Random& random, const View& view) {
  return view.permute(random.permutation(view.rank()));
}

View slice(Random& random, const View& view) {
  const int axis = random_axis(random, view);
  const Expr& length = extent(view, axis);
  // Limited by the extent, so that every value of the dims gives a valid (maybe empty) range.
  const Expr begin = symbolic::min(Expr(random.between(0, 2)), length);
  const Expr end = symbolic::max(begin, length - random.between(0, 1));
  return view.slice(axis, begin, end, random.one_in(3) ? random.between(2, 3) : 1);
}

View select(Random& random, const View& view) {
  const int axis = random_axis(random, view);
  const auto least = extent(view, axis).bounds().lo;
  return least < 1 ? view : view.select(axis, random.between(0, least - 1));
}

View pad(Random& random, const View& view, DType dtype) {
  const int axis = random_axis(random, view);
  const auto padded =
      view.pad(axis, random.between(0, 2), random.between(0, 2),
               random.one_in(2) ? graph::Scalar::of(dtype, 0) : random_scalar(random, dtype));
  return padded.value_or(view);
}

/// 6 becomes 2 x 3 or 3 x 2; 2*m becomes 2 x m.
View split(Random& random, const View& view) {
  const int axis = random_axis(random, view);
  const Expr& length = extent(view, axis);
  for (const int64_t factor : {2, 3}) {
    const auto rest = symbolic::exact_div(length, factor);
    if (!rest) continue;
    const std::array<Expr, 2> parts =
        random.one_in(2) ? std::array<Expr, 2>{factor, *rest} : std::array<Expr, 2>{*rest, factor};
    return view.split(axis, parts);
  }
  return view;
}

View merge(Random& random, const View& view) {
  if (view.rank() < 2) return view;
  const int first = random.index(static_cast<size_t>(view.rank() - 1));
  return view.merge(first, static_cast<int>(random.between(2, view.rank() - first)));
}

View window(Random& random, const View& view) {
  const int axis = random_axis(random, view);
  const int64_t size = random.between(1, 3);
  const int64_t dilation = random.between(1, 2);
  const int64_t span = (size - 1) * dilation + 1;
  if (!symbolic::provably_ge(extent(view, axis), span)) return view;
  return view.window(axis, size, random.between(1, 2), dilation);
}

View diagonal(Random& random, const View& view) {
  if (view.rank() < 2) return view;
  const auto axes = random.permutation(view.rank());
  return view.diagonal(axes[0], axes[1], 0);
}

View squeeze(const View& view) {
  for (int axis = 0; axis < view.rank(); ++axis)
    if (extent(view, axis).is_constant(1)) return view.squeeze(axis);
  return view;
}

View flatten(const View& view) { return view.reshape({graph::element_count(view.domain())}); }

View moved(Random& random, const View& view, DType dtype) {
  if (view.rank() == 0) return view.insert_axis(0, random.between(0, 3));
  switch (random.between(0, 11)) {
    case 0:
    case 1:
      return permute(random, view);
    case 2:
      return slice(random, view);
    case 3:
      return select(random, view);
    case 4:
      return view.flip(random_axis(random, view));
    case 5:
      return pad(random, view, dtype);
    case 6:
      return split(random, view);
    case 7:
      return merge(random, view);
    case 8:
      return window(random, view);
    case 9:
      return diagonal(random, view);
    case 10:
      return random.one_in(2) ? squeeze(view) : flatten(view);
    default:
      return view.insert_axis(static_cast<int>(random.between(0, view.rank())),
                              random.between(1, 3));
  }
}

}  // namespace

int64_t most_elements(const Shape& shape) {
  int64_t count = 1;
  for (const Expr& extent : shape) count *= std::max<int64_t>(extent.bounds().hi, 1);
  return count;
}

View random_move(Random& random, const View& view, DType dtype) {
  View result = moved(random, view, dtype);
  return result.rank() <= 7 && most_elements(result.domain()) <= kMostElements ? result : view;
}

graph::Edge random_edge(Random& random, const graph::Graph& graph, graph::NodeId node, int moves) {
  graph::Edge edge = graph.whole(node);
  for (int i = 0; i < moves; ++i)
    edge.view = random_move(random, edge.view, graph.node(node).dtype());
  return edge;
}

}  // namespace luminal::fuzz

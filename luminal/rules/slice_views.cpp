#include "luminal/rules/slice_views.h"

#include <algorithm>

namespace luminal::rules {

using graph::IotaAttribute;

namespace {

/// The values of an iota seen through a view without conditions.
std::optional<Expr> iota_value(const Head& iota, const Access& seen) {
  const auto* attribute = std::get_if<IotaAttribute>(&iota.attributes);
  if (attribute == nullptr || !seen.view.conditions().empty()) return std::nullopt;
  std::vector<symbolic::Binding> bindings;
  for (size_t k = 0; k < seen.view.source().size(); ++k) {
    const Expr axis = Expr::axis(static_cast<int64_t>(k), seen.view.source()[k]);
    if (axis.is_axis()) bindings.push_back({axis, seen.view.index()[k]});
  }
  return symbolic::substitute(attribute->value, bindings);
}

/// The part [begin, begin + extent) of an axis of a shape.
Access slice_of(const Shape& shape, DType dtype, size_t axis, const Expr& begin,
                const Expr& extent) {
  Shape domain = shape;
  domain[axis] = extent;
  std::vector<Expr> index;
  for (size_t k = 0; k < shape.size(); ++k)
    index.push_back(Expr::axis(static_cast<int64_t>(k), domain[k]) + (k == axis ? begin : Expr(0)));
  return {View(shape, std::move(domain), std::move(index)), dtype};
}

/// The axis of the domain that indexes `axis` of the source, and nothing else does, as it is.
std::optional<size_t> axis_reading(const View& view, int64_t axis) {
  const Expr& index = view.index()[static_cast<size_t>(axis)];
  if (!index.is_axis() || !view.conditions().empty()) return std::nullopt;
  const auto k = static_cast<size_t>(index.axis_id());
  if (view.domain()[k] != view.source()[static_cast<size_t>(axis)]) return std::nullopt;
  for (size_t s = 0; s < view.source().size(); ++s)
    if (s != static_cast<size_t>(axis) && view.index()[s].depends_on(index)) return std::nullopt;
  return k;
}

/// What both parts of a concatenation and the other side are where one axis of the domain is cut.
struct CutDomain {
  size_t axis;
  Access a, b, other_a, other_b;
};

std::optional<CutDomain> cut_domain(const Access& seen, int64_t axis, const Access& a,
                                    const Access& b, const Access& other) {
  const std::optional<size_t> k = axis_reading(seen.view, axis);
  if (!k) return std::nullopt;
  const auto at = static_cast<size_t>(axis);
  const Expr border = a.domain()[at], rest = b.domain()[at];
  const Access left = slice_of(seen.domain(), seen.dtype, *k, 0, border);
  const Access right = slice_of(seen.domain(), seen.dtype, *k, border, rest);
  // The parts are read as the whole is, with the axis shorter.
  const auto part = [&](const Access& operand, const Expr& extent) {
    Shape domain = seen.domain();
    domain[*k] = extent;
    std::vector<Expr> index = seen.view.index();
    for (Expr& expr : index)
      expr = symbolic::substitute(expr, {{Expr::axis(static_cast<int64_t>(*k), seen.domain()[*k]),
                                          Expr::axis(static_cast<int64_t>(*k), extent)}});
    return composed(operand, {View(operand.domain(), domain, std::move(index)), operand.dtype});
  };
  // An axis that is never more than one long does not name itself.
  if (!Expr::axis(0, seen.domain()[*k]).is_axis()) return std::nullopt;
  const std::optional<Access> part_a = part(a, border), part_b = part(b, rest);
  const std::optional<Access> other_a = composed(other, left), other_b = composed(other, right);
  if (!part_a || !part_b || !other_a || !other_b) return std::nullopt;
  return CutDomain{*k, *part_a, *part_b, *other_a, *other_b};
}

}  // namespace

std::optional<Plan> half_part(const Access& access) {
  const View& view = access.view;
  if (!view.conditions().empty() || view.source().empty()) return std::nullopt;
  Shape box;
  std::vector<Expr> cut, inside;
  for (size_t k = 0; k < view.source().size(); ++k) {
    const std::optional<Range> range = range_of(view.index()[k]);
    if (!range) return std::nullopt;
    const Expr extent = range->last - range->first + 1;
    if (!symbolic::provably_ge(extent, 1) || !symbolic::provably_ge(range->first, 0))
      return std::nullopt;
    box.push_back(extent);
    cut.push_back(range->first + Expr::axis(static_cast<int64_t>(k), extent));
    inside.push_back(view.index()[k] - range->first);
  }
  if (!provably_le(volume(box) * 2, volume(view.source()))) return std::nullopt;
  return Plan{{{View(view.source(), box, std::move(cut)), access.dtype},
               {View(box, view.domain(), std::move(inside)), access.dtype}},
              {{access.dtype, box}},
              {}};
}

std::optional<Access> narrowed(const Plan& plan, const Access& operand) {
  return composed_before(operand, plan.views[0]);
}

std::optional<int64_t> decided(const Head& iota, const Access& seen, const Access& view) {
  if (!view.view.conditions().empty()) return std::nullopt;
  const std::optional<Access> through = composed(seen, view);
  if (!through) return std::nullopt;
  const std::optional<Expr> value = iota_value(iota, *through);
  if (!value) return std::nullopt;
  const symbolic::Interval bounds = value->bounds();
  if (bounds.lo == bounds.hi && (bounds.lo == 0 || bounds.lo == 1)) return bounds.lo;
  return std::nullopt;
}

std::optional<Plan> concatenation(const TensorType& type, const Head& iota, const Access& condition,
                                  const Access& a, const Access& b) {
  const std::optional<Expr> test = iota_value(iota, condition);
  if (!test || a.view.conditions().size() != 1) return std::nullopt;
  const graph::Condition& inside = a.view.conditions()[0];
  if (!inside.value.is_axis()) return std::nullopt;
  const auto axis = static_cast<size_t>(inside.value.axis_id());
  const Expr border = inside.extent, rest = type.shape[axis] - border;
  if (*test != symbolic::less(inside.value, border)) return std::nullopt;
  if (!symbolic::provably_ge(border, 1) || !symbolic::provably_ge(rest, 1)) return std::nullopt;
  const std::optional<Access> left = composed(a, slice_of(type.shape, type.dtype, axis, 0, border));
  const std::optional<Access> right =
      composed(b, slice_of(type.shape, type.dtype, axis, border, rest));
  if (!left || !right || !left->view.conditions().empty() || !right->view.conditions().empty())
    return std::nullopt;
  return Plan{{*left, *right}, {}, {static_cast<int64_t>(axis)}};
}

std::optional<Plan> concat_definition(const TensorType& type, int64_t axis, const Access& a,
                                      const Access& b) {
  const auto at = static_cast<size_t>(axis);
  const size_t rank = type.shape.size();
  if (at >= rank || a.domain().size() != rank || b.domain().size() != rank) return std::nullopt;
  const Scalar zero = Scalar::of(type.dtype, 0);
  const std::optional<View> left =
      a.view.pad(static_cast<int>(axis), 0, type.shape[at] - a.domain()[at], zero);
  const std::optional<View> right =
      b.view.pad(static_cast<int>(axis), type.shape[at] - b.domain()[at], 0, zero);
  if (!left || !right) return std::nullopt;
  const TensorType condition{DType::kBool, type.shape};
  return Plan{{{View::identity(type.shape), DType::kBool}, {*left, a.dtype}, {*right, b.dtype}},
              {condition},
              {}};
}

Head concat_condition(const TensorType& type, int64_t axis, const Access& a) {
  const auto at = static_cast<size_t>(axis);
  return {graph::Op::kIota,
          IotaAttribute{symbolic::less(Expr::axis(axis, type.shape[at]), a.domain()[at])}};
}

std::optional<Plan> product_of_joined_rows(const TensorType& type, int64_t count,
                                           const Access& seen, int64_t axis, const Access& a,
                                           const Access& b, const Access& other) {
  const std::optional<CutDomain> cut = cut_domain(seen, axis, a, b, other);
  if (!cut || cut->axis + static_cast<size_t>(count) >= seen.domain().size()) return std::nullopt;
  if (used_axes(other.view)[cut->axis]) return std::nullopt;
  TensorType first = type, second = type;
  first.shape[cut->axis] = cut->a.domain()[cut->axis];
  second.shape[cut->axis] = cut->b.domain()[cut->axis];
  return Plan{{cut->a, cut->b, cut->other_a, cut->other_b},
              {first, second},
              {static_cast<int64_t>(cut->axis)}};
}

std::optional<Plan> product_of_joined_depth(int64_t count, const Access& seen, int64_t axis,
                                            const Access& a, const Access& b, const Access& other) {
  const std::optional<CutDomain> cut = cut_domain(seen, axis, a, b, other);
  if (!cut || cut->axis + static_cast<size_t>(count) < seen.domain().size()) return std::nullopt;
  return Plan{{cut->a, cut->b, cut->other_a, cut->other_b}, {}, {}};
}

std::optional<Plan> reduction_of_concat(int64_t count, const Access& seen, int64_t axis,
                                        const Access& a, const Access& b) {
  return product_of_joined_depth(count, seen, axis, a, b, seen);
}

std::optional<Plan> gathered_windows(int64_t count, const Access& operand) {
  const View& view = operand.view;
  const size_t rank = view.domain().size(), kept = rank - static_cast<size_t>(count);
  // A window is an index that an axis of the result and a summed axis share.
  bool overlaps = false;
  for (const Expr& expr : view.index()) {
    bool slides = false, reaches = false;
    for (const Expr& axis : expr.axes()) {
      const bool is_summed = static_cast<size_t>(axis.axis_id()) >= kept;
      slides = slides || !is_summed;
      reaches = reaches || is_summed;
    }
    overlaps = overlaps || (slides && reaches);
  }
  if (!overlaps) return std::nullopt;
  const std::optional<Compacted> compact = compacted(std::array{operand});
  if (!compact || compact->views[0].view.reads_each_element_at_most_once()) return std::nullopt;
  return Plan{{compact->views[0], {compact->projection, operand.dtype}},
              {{operand.dtype, compact->domain}},
              {}};
}

std::optional<Plan> split_windows(const TensorType& type, int64_t count, const Access& a,
                                  const Access& b) {
  const Shape& domain = a.domain();
  const size_t rank = domain.size(), kept = rank - static_cast<size_t>(count);
  const auto slides_with_result = [&](const Access& access, size_t k) {
    for (const Expr& expr : access.view.index()) {
      bool has_axis = false, has_kept = false;
      for (const Expr& axis : expr.axes()) {
        has_axis = has_axis || static_cast<size_t>(axis.axis_id()) == k;
        has_kept = has_kept || static_cast<size_t>(axis.axis_id()) < kept;
      }
      if (has_axis && has_kept) return true;
    }
    return false;
  };
  std::vector<size_t> channels, windows;
  for (size_t k = kept; k < rank; ++k) {
    if (domain[k].is_constant(1)) continue;
    (slides_with_result(a, k) || slides_with_result(b, k) ? windows : channels).push_back(k);
  }
  if (channels.empty() || windows.empty()) return std::nullopt;
  Shape shape(domain.begin(), domain.begin() + static_cast<std::ptrdiff_t>(kept));
  std::vector<int> to(rank, -1);
  for (size_t k = 0; k < kept; ++k) to[k] = static_cast<int>(k);
  for (size_t k : windows) {
    to[k] = static_cast<int>(shape.size());
    shape.push_back(domain[k]);
  }
  Shape inner = shape;
  for (size_t k : channels) {
    to[k] = static_cast<int>(inner.size());
    inner.push_back(domain[k]);
  }
  const std::optional<Access> new_a = with_axes(a, inner, to), new_b = with_axes(b, inner, to);
  if (!new_a || !new_b) return std::nullopt;
  return Plan{{*new_a, *new_b, {View::identity(shape), type.dtype}},
              {{type.dtype, shape}},
              {static_cast<int64_t>(channels.size()), static_cast<int64_t>(windows.size())}};
}

}  // namespace luminal::rules

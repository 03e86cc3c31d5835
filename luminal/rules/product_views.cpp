#include "luminal/rules/product_views.h"

#include <algorithm>

namespace luminal::rules {
namespace {

bool any_of(const std::vector<bool>& used, size_t begin, size_t end) {
  return std::any_of(used.begin() + static_cast<std::ptrdiff_t>(begin),
                     used.begin() + static_cast<std::ptrdiff_t>(end), [](bool b) { return b; });
}

/// The places 0, 1, ... of the first axes, then -1.
std::vector<int> keep_first(size_t kept, size_t all) {
  std::vector<int> to(all, -1);
  for (size_t k = 0; k < kept; ++k) to[k] = static_cast<int>(k);
  return to;
}

Shape joined(const Shape& a, std::span<const Expr> b) {
  Shape result = a;
  for (const Expr& extent : b) result.push_back(extent);
  return result;
}

std::span<const Expr> last(const Shape& shape, int64_t count) {
  return std::span<const Expr>(shape.begin(), shape.size()).last(static_cast<size_t>(count));
}

Access whole(const TensorType& type) { return {View::identity(type.shape), type.dtype}; }

}  // namespace

std::optional<Plan> contraction(int64_t count, const Access& seen, const Access& a,
                                const Access& b) {
  if (!seen.view.conditions().empty()) return std::nullopt;  // the fill is no product
  const std::optional<Access> left = composed(a, seen), right = composed(b, seen);
  if (!left || !right) return std::nullopt;
  const size_t rank = seen.domain().size(), kept = rank - static_cast<size_t>(count);
  const std::vector<bool> in_a = used_axes(left->view), in_b = used_axes(right->view);
  if (!any_of(in_a, kept, rank) || !any_of(in_b, kept, rank)) return std::nullopt;
  bool has_own_axis = false;
  for (size_t k = 0; k < kept; ++k) has_own_axis = has_own_axis || in_a[k] != in_b[k];
  if (!has_own_axis) return std::nullopt;
  return Plan{{*left, *right}, {}, {}};
}

TensorType product_type(const TensorType& type, const Access& a) {
  return {type.dtype, a.domain()};
}

std::optional<Plan> reassociated(const TensorType& type, int64_t count, const Access& outer,
                                 const Access& b, const TensorType& inner_type, int64_t inner_count,
                                 const Access& x, const Access& a) {
  if (!outer.view.conditions().empty()) return std::nullopt;
  const size_t kept = type.shape.size(), summed = static_cast<size_t>(count);
  const auto inner_summed = static_cast<size_t>(inner_count);
  // All axes at once: result, outer sum, inner sum.
  const Shape all = joined(outer.domain(), last(x.domain(), inner_count));
  const std::optional<Access> all_x = composed_before(x, outer), all_a = composed_before(a, outer);
  const std::vector<int> same = keep_first(kept + summed, kept + summed);
  const std::optional<Access> all_b = with_axes(b, all, same);
  if (!all_x || !all_a || !all_b) return std::nullopt;
  const std::vector<bool> in_x = used_axes(all_x->view), in_a = used_axes(all_a->view);
  const std::vector<bool> in_b = used_axes(all_b->view);
  if (any_of(in_x, kept, kept + summed) || !any_of(in_a, kept, kept + summed)) return std::nullopt;
  // a b has the axes that it needs, then the outer sum.
  Shape shape;
  std::vector<int> to_inner(all.size(), -1), to_outer(all.size(), -1);
  std::vector<Expr> inner_index;  // of a b in the new outer sum
  Shape outer_domain;
  for (size_t k = 0; k < all.size(); ++k) {
    if (k >= kept && k < kept + summed) continue;
    const auto place = static_cast<int>(outer_domain.size());
    to_outer[k] = place;
    outer_domain.push_back(all[k]);
    if (!in_a[k] && !in_b[k]) continue;
    to_inner[k] = static_cast<int>(shape.size());
    shape.push_back(all[k]);
    inner_index.push_back(Expr::axis(place, all[k]));
  }
  Shape domain = shape;
  for (size_t k = kept; k < kept + summed; ++k) {
    to_inner[k] = static_cast<int>(domain.size());
    domain.push_back(all[k]);
  }
  const Expr before = volume(x.domain()) + volume(outer.domain());
  const Expr after = volume(domain) + volume(outer_domain);
  if (symbolic::provably_ge(after, before)) return std::nullopt;
  const std::optional<Access> inner_a = with_axes(*all_a, domain, to_inner);
  const std::optional<Access> inner_b = with_axes(*all_b, domain, to_inner);
  const std::optional<Access> new_x = with_axes(*all_x, outer_domain, to_outer);
  if (!inner_a || !inner_b || !new_x) return std::nullopt;
  const Access inner{View(shape, outer_domain, std::move(inner_index)), inner_type.dtype};
  return Plan{{*inner_a, *inner_b, *new_x, inner},
              {{inner_type.dtype, shape}},
              {count, static_cast<int64_t>(inner_summed)}};
}

std::optional<Plan> factored_out(int64_t count, const Access& seen, const Access& scale,
                                 const Access& rest) {
  if (!seen.view.conditions().empty()) return std::nullopt;
  const std::optional<Access> all_scale = composed(scale, seen), all_rest = composed(rest, seen);
  if (!all_scale || !all_rest) return std::nullopt;
  const size_t rank = seen.domain().size(), kept = rank - static_cast<size_t>(count);
  if (any_of(used_axes(all_scale->view), kept, rank)) return std::nullopt;
  if (!any_of(used_axes(all_rest->view), kept, rank)) return std::nullopt;
  const Shape result(seen.domain().begin(),
                     seen.domain().begin() + static_cast<std::ptrdiff_t>(kept));
  const std::optional<Access> outside = with_axes(*all_scale, result, keep_first(kept, rank));
  if (!outside) return std::nullopt;
  return Plan{{*outside, *all_rest}, {}, {}};
}

std::optional<Plan> common_factor(const Access& a, const Access& b) {
  if (a.dtype != b.dtype || a.domain() != b.domain()) return std::nullopt;
  const std::array both{a, b};
  const std::optional<Compacted> compact = compacted(both);
  if (!compact) return std::nullopt;
  return Plan{{compact->views[0], compact->views[1], {compact->projection, a.dtype}},
              {{a.dtype, compact->domain}},
              {}};
}

std::optional<Plan> scaled_operand(const TensorType& type, const Access& number, const Access& a) {
  if (!number.view.source().empty()) return std::nullopt;
  const std::optional<Compacted> compact = compacted(std::array{a});
  if (!compact) return std::nullopt;
  if (!provably_le(volume(compact->domain) * 2, volume(type.shape))) return std::nullopt;
  const Access scalar{View({}, compact->domain, {}), number.dtype};
  return Plan{{scalar, compact->views[0], {compact->projection, a.dtype}},
              {{a.dtype, compact->domain}},
              {}};
}

bool is_low_rank(int64_t count, const Access& sum, const TensorType& inner_type,
                 int64_t inner_count, const Access& u) {
  const Expr rank = volume(last(u.domain(), inner_count));
  const Expr summed = volume(last(sum.domain(), count));
  const std::optional<Expr> rows = symbolic::exact_div(volume(inner_type.shape), summed);
  return rows && provably_le(rank * 4, summed) && provably_le(rank * 4, *rows);
}

std::optional<Plan> sibling_key(const TensorType& type, int64_t count, const Access& x,
                                const Access& w) {
  const size_t kept = type.shape.size(), rank = x.domain().size();
  const std::vector<bool> in_x = used_axes(x.view), in_w = used_axes(w.view);
  int own = -1;
  for (size_t k = 0; k < kept; ++k) {
    if (type.shape[k].is_constant(1)) continue;
    if (in_w[k] && in_x[k]) return std::nullopt;  // a batch of matrices
    if (!in_w[k]) continue;
    if (own >= 0) return std::nullopt;
    own = static_cast<int>(k);
  }
  if (own < 0 || !w.view.conditions().empty()) return std::nullopt;
  std::vector<int> to(rank, -1);
  Shape rest;
  for (size_t k = 0; k < rank; ++k) {
    if (static_cast<int>(k) == own) continue;
    to[k] = static_cast<int>(rest.size());
    rest.push_back(x.domain()[k]);
  }
  const std::optional<Access> common = with_axes(x, rest, to);
  if (!common) return std::nullopt;
  return Plan{{*common}, {{type.dtype, {}}}, {own, count}};
}

std::optional<Plan> joined_siblings(const TensorType& first_type, const TensorType& second_type,
                                    int64_t count, const Access& x, const Access& first,
                                    const Access& second) {
  const std::optional<Plan> key = sibling_key(first_type, count, x, first);
  if (!key || first_type.shape.size() != second_type.shape.size()) return std::nullopt;
  const auto own = static_cast<size_t>(key->counts[0]);
  const size_t kept = first_type.shape.size(), rank = x.domain().size();
  TensorType type = first_type;
  type.shape[own] = first_type.shape[own] + second_type.shape[own];
  const Shape domain = joined(type.shape, last(x.domain(), count));
  std::vector<int> same(rank);
  for (size_t k = 0; k < rank; ++k)
    same[k] = static_cast<int>(k) == key->counts[0] ? -1 : static_cast<int>(k);
  const std::optional<Access> new_x = with_axes(x, domain, same);
  // Matrices as [own axis, summed axes].
  std::vector<int> to(rank, -1);
  to[own] = 0;
  for (size_t k = kept; k < rank; ++k) to[k] = static_cast<int>(k - kept) + 1;
  const auto matrix = [&](const Expr& rows) {
    return joined(Shape{rows}, last(x.domain(), count));
  };
  const std::optional<Access> a = with_axes(first, matrix(first_type.shape[own]), to);
  const std::optional<Access> b = with_axes(second, matrix(second_type.shape[own]), to);
  if (!new_x || !a || !b) return std::nullopt;
  const TensorType weights{first.dtype, matrix(type.shape[own])};
  std::vector<Expr> index{Expr::axis(key->counts[0], domain[own])};
  for (size_t k = kept; k < rank; ++k)
    index.push_back(Expr::axis(static_cast<int64_t>(k), domain[k]));
  const auto part = [&](const TensorType& part_type, const Expr& begin) {
    Access access = whole(type);
    access.view = access.view.slice(static_cast<int>(own), begin, begin + part_type.shape[own]);
    return access;
  };
  return Plan{{*new_x,
               *a,
               *b,
               {View(weights.shape, domain, std::move(index)), weights.dtype},
               part(first_type, 0),
               part(second_type, first_type.shape[own])},
              {type, weights},
              {count}};
}

}  // namespace luminal::rules

#include "luminal/graph/index_walker.h"

#include <algorithm>

#include "luminal/support/check.h"

namespace luminal::graph {
namespace {

int64_t number(const Expr& expr) {
  const std::optional<int64_t> value = expr.constant_value();
  LUMINAL_CHECK(value.has_value(), "{} is no number in this run", expr);
  return *value;
}

int64_t floor_divide(int64_t a, int64_t b) {
  const int64_t quotient = a / b;
  return quotient * b > a ? quotient - 1 : quotient;  // b is positive
}

int64_t ceil_divide(int64_t a, int64_t b) { return -floor_divide(-a, b); }

/// Cuts [first, last) to where 0 <= value + slope * i < extent.
void narrow(int64_t value, int64_t slope, int64_t extent, int64_t& first, int64_t& last) {
  if (slope == 0) {
    if (value < 0 || value >= extent) last = first;
  } else if (slope > 0) {
    first = std::max(first, ceil_divide(-value, slope));
    last = std::min(last, ceil_divide(extent - value, slope));
  } else {
    first = std::max(first, floor_divide(value - extent, -slope) + 1);
    last = std::min(last, floor_divide(value, -slope) + 1);
  }
  last = std::max(first, last);
}

}  // namespace

Extents evaluate_shape(const Shape& shape, const DimBindings& dims) {
  Extents extents;
  for (const Expr& extent : shape)
    extents.push_back(number(extent.is_constant() ? extent : symbolic::substitute(extent, dims)));
  for (size_t k = 0; k < extents.size(); ++k)
    if (extents[k] < 0)
      throw UserError("run", "axis {} of a tensor of shape {} would have extent {}", k,
                      to_string(shape), extents[k]);
  return extents;
}

IndexWalker::IndexWalker(const View& view, const DimBindings& dims, std::string operation)
    : operation_(std::move(operation)),
      source_(evaluate_shape(view.source(), dims)),
      checked_(true),
      domain_(evaluate_shape(view.domain(), dims)),
      size_(element_count(domain_)) {
  if (size_ == 0) return;
  // The view knows that an index which divides by an extent of 0 is never read.
  const View known = dims.empty() ? view : view.substitute(dims);
  build(known.index(), known.conditions(), {});
}

IndexWalker::IndexWalker(const Expr& value, const Shape& shape, const DimBindings& dims)
    : operation_("iota"),
      source_{1},
      domain_(evaluate_shape(shape, dims)),
      size_(element_count(domain_)) {
  build({value}, {}, dims);
}

void IndexWalker::build(std::vector<Expr> index, std::vector<Condition> conditions,
                        const DimBindings& dims) {
  if (size_ == 0) return;  // never walked, and axes of extent 0 have no values
  if (!dims.empty()) {
    for (Expr& expr : index) expr = symbolic::substitute(expr, dims);
    for (Condition& condition : conditions) {
      condition.value = symbolic::substitute(condition.value, dims);
      condition.extent = symbolic::substitute(condition.extent, dims);
    }
  }
  affine_ = build_affine(index, conditions);
  if (!affine_) build_general(index, conditions);
}

std::optional<IndexWalker::AffineForm> IndexWalker::affine_form(const Expr& expr) const {
  const std::optional<symbolic::Affine> affine = symbolic::as_affine(expr);
  if (!affine) return std::nullopt;
  AffineForm form{number(affine->constant), std::vector<int64_t>(domain_.size(), 0)};
  for (const symbolic::AffineTerm& term : affine->terms)
    form.coefficients.at(static_cast<size_t>(term.axis.axis_id())) = number(term.coefficient);
  return form;
}

bool IndexWalker::build_affine(const std::vector<Expr>& index,
                               const std::vector<Condition>& conditions) {
  position_ = {0, std::vector<int64_t>(domain_.size(), 0)};
  int64_t stride = 1;
  for (size_t axis = index.size(); axis-- > 0;) {
    std::optional<AffineForm> form = affine_form(index[axis]);
    if (!form) return false;
    position_.offset += stride * form->offset;
    for (size_t k = 0; k < domain_.size(); ++k)
      position_.coefficients[k] += stride * form->coefficients[k];
    stride *= source_[axis];
    checks_.push_back({*std::move(form), source_[axis]});
  }
  std::reverse(checks_.begin(), checks_.end());
  for (const Condition& condition : conditions) {
    std::optional<AffineForm> form = affine_form(condition.value);
    if (!form) return false;
    conditions_.push_back({*std::move(form), number(condition.extent)});
  }
  drop_checks_that_hold();
  merge_axes();
  return true;
}

/// Where every element of the domain reads inside of the source, nothing is checked later on.
void IndexWalker::drop_checks_that_hold() {
  const auto holds = [&](const BoundedForm& check) {
    int64_t lowest = check.form.offset;
    int64_t highest = check.form.offset;
    for (size_t k = 0; k < domain_.size(); ++k) {
      const int64_t reach = check.form.coefficients[k] * (domain_[k] - 1);
      (reach < 0 ? lowest : highest) += reach;
    }
    return lowest >= 0 && highest < check.extent;
  };
  // Positions in the list are axes of the source, which errors name: drop all or none.
  if (!checked_ || std::all_of(checks_.begin(), checks_.end(), holds)) checks_.clear();
}

/// Two neighbours are one axis if every form steps over the inner one evenly. Axes of extent 1
/// vanish. An identity becomes a single run.
void IndexWalker::merge_axes() {
  std::vector<AffineForm*> forms{&position_};
  for (BoundedForm& condition : conditions_) forms.push_back(&condition.form);
  for (BoundedForm& check : checks_) forms.push_back(&check.form);
  std::vector<std::vector<int64_t>> merged(forms.size());
  for (size_t k = domain_.size(); k-- > 0;) {
    if (domain_[k] == 1) continue;
    const bool joins = !axes_.empty() && [&] {
      for (size_t f = 0; f < forms.size(); ++f)
        if (forms[f]->coefficients[k] != merged[f].back() * axes_.back()) return false;
      return true;
    }();
    if (joins) {
      axes_.back() *= domain_[k];
      continue;
    }
    axes_.push_back(domain_[k]);
    for (size_t f = 0; f < forms.size(); ++f) merged[f].push_back(forms[f]->coefficients[k]);
  }
  std::reverse(axes_.begin(), axes_.end());
  for (size_t f = 0; f < forms.size(); ++f)
    forms[f]->coefficients.assign(merged[f].rbegin(), merged[f].rend());
}

void IndexWalker::build_general(const std::vector<Expr>& index,
                                const std::vector<Condition>& conditions) {
  axes_ = domain_;
  std::vector<Expr> slots;
  for (size_t k = 0; k < domain_.size(); ++k) {
    if (domain_[k] == 1) continue;  // such an axis is the constant 0
    slots.push_back(Expr::axis(static_cast<int64_t>(k), domain_[k]));
    slot_axes_.push_back(k);
  }
  std::vector<Expr> exprs = index;
  condition_extents_.clear();
  for (const Condition& condition : conditions) {
    exprs.push_back(condition.value);
    condition_extents_.push_back(number(condition.extent));
  }
  compiled_.emplace(std::span<const Expr>(exprs), std::span<const Expr>(slots));
}

void IndexWalker::decode(int64_t position, std::vector<int64_t>& index) const {
  index.assign(axes_.size(), 0);
  for (size_t k = axes_.size(); k-- > 0 && position > 0;) {
    index[k] = position % axes_[k];
    position /= axes_[k];
  }
}

void IndexWalker::walk(int64_t begin, int64_t count, std::vector<IndexRun>& runs) const {
  LUMINAL_CHECK(begin >= 0 && count >= 0 && begin + count <= size_);
  runs.clear();
  if (count == 0) return;
  if (affine_) {
    walk_affine(begin, count, runs);
    return;
  }
  std::vector<int64_t> index;
  decode(begin, index);
  for (int64_t i = 0; i < count; ++i) {
    const std::optional<int64_t> position = at_general(index);
    runs.push_back({{position.value_or(0), 0, 1}, !position.has_value()});
    for (size_t k = axes_.size(); k-- > 0;) {
      if (++index[k] < axes_[k]) break;
      index[k] = 0;
    }
  }
}

void IndexWalker::walk_affine(int64_t begin, int64_t count, std::vector<IndexRun>& runs) const {
  if (axes_.empty()) {
    walk_row({}, 1, runs);
    return;
  }
  std::vector<int64_t> index;
  decode(begin, index);
  while (count > 0) {
    const int64_t length = std::min(count, axes_.back() - index.back());
    walk_row(index, length, runs);
    count -= length;
    index.back() = 0;
    for (size_t k = axes_.size() - 1; k-- > 0;) {
      if (++index[k] < axes_[k]) break;
      index[k] = 0;
    }
  }
}

/// The runs of `count` elements along the last axis, from `index` on.
void IndexWalker::walk_row(const std::vector<int64_t>& index, int64_t count,
                           std::vector<IndexRun>& runs) const {
  const auto value = [&](const AffineForm& form) {
    int64_t result = form.offset;
    for (size_t k = 0; k < index.size(); ++k) result += form.coefficients[k] * index[k];
    return result;
  };
  const auto slope = [](const AffineForm& form) {
    return form.coefficients.empty() ? 0 : form.coefficients.back();
  };
  int64_t first = 0;
  int64_t last = count;
  for (const BoundedForm& condition : conditions_)
    narrow(value(condition.form), slope(condition.form), condition.extent, first, last);
  first = std::min(first, count);
  last = std::max(first, std::min(last, count));
  if (!checks_.empty() && last > first) check_run(index, first, last - 1);
  if (first > 0) runs.push_back({{0, 0, first}, true});
  const int64_t step = slope(position_);
  if (last > first) runs.push_back({{value(position_) + first * step, step, last - first}, false});
  if (last < count) runs.push_back({{0, 0, count - last}, true});
}

/// A form is linear along the row, so its ends bound it.
void IndexWalker::check_run(const std::vector<int64_t>& index, int64_t first, int64_t last) const {
  for (size_t axis = 0; axis < checks_.size(); ++axis) {
    const AffineForm& form = checks_[axis].form;
    int64_t value = form.offset;
    for (size_t k = 0; k < index.size(); ++k) value += form.coefficients[k] * index[k];
    const int64_t slope = form.coefficients.empty() ? 0 : form.coefficients.back();
    for (const int64_t end : {value + first * slope, value + last * slope})
      if (end < 0 || end >= checks_[axis].extent) fail_outside(axis, end);
  }
}

std::optional<int64_t> IndexWalker::at(int64_t position) const {
  if (affine_ && conditions_.empty() && checks_.empty()) {
    int64_t result = position_.offset;
    for (size_t k = axes_.size(); k-- > 0;) {
      result += position_.coefficients[k] * (position % axes_[k]);
      position /= axes_[k];
    }
    return result;
  }
  std::vector<int64_t> index;
  decode(position, index);
  if (!affine_) return at_general(index);
  std::vector<IndexRun> runs;
  walk_row(index, 1, runs);
  if (runs[0].filled) return std::nullopt;
  return runs[0].elements.position;
}

std::optional<int64_t> IndexWalker::at_general(const std::vector<int64_t>& index) const {
  support::SmallVector<int64_t, 8> slots;
  for (const size_t axis : slot_axes_) slots.push_back(index[axis]);
  support::SmallVector<int64_t, 16> values(compiled_->size());
  compiled_->run(slots, values);
  for (size_t c = 0; c < condition_extents_.size(); ++c) {
    const int64_t value = values[source_.size() + c];
    if (value < 0 || value >= condition_extents_[c]) return std::nullopt;
  }
  int64_t position = 0;
  for (size_t axis = 0; axis < source_.size(); ++axis) {
    if (checked_ && (values[axis] < 0 || values[axis] >= source_[axis]))
      fail_outside(axis, values[axis]);
    position = position * source_[axis] + values[axis];
  }
  return position;
}

void IndexWalker::fail_outside(size_t axis, int64_t value) const {
  throw UserError(operation_,
                  "an operand is read at index {} of its axis {}, which has extent {} in this run; "
                  "check the dims against the slices and windows taken",
                  value, axis, source_[axis]);
}

}  // namespace luminal::graph

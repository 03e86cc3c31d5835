// What a view reads: in which order, how often, at which strides.
#include <algorithm>

#include "luminal/graph/view.h"
#include "luminal/graph/view_injective.h"

namespace luminal::graph {

bool View::is_identity() const { return source_ == domain_ && *this == identity(source_); }

Expr View::linear_index() const {
  Expr position = 0;
  for (size_t k = 0; k < source_.size(); ++k) position = position * source_[k] + index_[k];
  return position;
}

std::optional<StridedLayout> View::strided() const {
  const std::optional<symbolic::Affine> affine = as_affine(linear_index());
  if (!affine) return std::nullopt;
  StridedLayout layout{affine->constant, {}};
  for (int k = 0; k < rank(); ++k) layout.strides.push_back(affine->coefficient(axis(k)));
  return layout;
}

bool View::is_contiguous() const {
  if (!conditions_.empty()) return false;
  if (is_known_empty(domain_)) return true;
  const std::optional<StridedLayout> layout = strided();
  if (!layout) return false;
  Expr expected = 1;
  for (size_t k = domain_.size(); k-- > 0;) {
    if (domain_[k].is_constant(1)) continue;
    if (!provably_equal(layout->strides[k], expected)) return false;
    expected *= domain_[k];
  }
  return true;
}

std::vector<int> View::broadcast_axes() const {
  std::vector<int> axes;
  if (is_known_empty(domain_)) return axes;
  for (int k = 0; k < rank(); ++k) {
    const Expr symbol = axis(k);
    const auto uses = [&](const Expr& expr) { return expr.depends_on(symbol); };
    if (symbol.is_axis() && std::none_of(index_.begin(), index_.end(), uses) &&
        std::none_of(conditions_.begin(), conditions_.end(),
                     [&](const Condition& c) { return uses(c.value) || uses(c.extent); }))
      axes.push_back(k);
  }
  return axes;
}

bool View::reads_each_element_at_most_once() const {
  if (is_known_empty(domain_)) return true;
  std::vector<Expr> axes;
  for (int k = 0; k < rank(); ++k)
    if (axis(k).is_axis()) axes.push_back(axis(k));
  // The tuple of indices tells positions apart even where padding runs out of the source; the
  // linear position sees merges of whole axes as one.
  return is_injective(index_, axes) || is_injective({linear_index()}, axes);
}

}  // namespace luminal::graph

#include "luminal/rules/attention_views.h"

namespace luminal::rules {

std::optional<Access> without_repeated_heads(const Access& heads) {
  const View& view = heads.view;
  if (view.rank() < 3) return std::nullopt;
  const auto axis = static_cast<size_t>(view.rank() - 3);
  const std::optional<int64_t> extent = view.domain()[axis].constant_value();
  const Expr head = Expr::axis(static_cast<int64_t>(axis), view.domain()[axis]);
  if (!extent || !head.is_axis()) return std::nullopt;
  // The longest run wins: its last divisor is the number of heads, 1 if all are one.
  for (int64_t run = *extent; run > 1; --run) {
    if (*extent % run != 0) continue;
    Shape fewer = view.domain();
    fewer[axis] = *extent / run;
    std::vector<Expr> index, repeated;
    for (size_t k = 0; k < fewer.size(); ++k) {
      const Expr few = Expr::axis(static_cast<int64_t>(k), fewer[k]);
      const Expr many = Expr::axis(static_cast<int64_t>(k), view.domain()[k]);
      index.push_back(k == axis ? few * run : few);
      repeated.push_back(k == axis ? symbolic::floor_div(many, run) : many);
    }
    const std::optional<Access> first =
        composed(heads, {View(view.domain(), fewer, std::move(index)), heads.dtype});
    if (!first) continue;
    const std::optional<Access> again =
        composed(*first, {View(fewer, view.domain(), std::move(repeated)), heads.dtype});
    if (again && *again == heads) return first;
  }
  return std::nullopt;
}

bool same_heads(const Access& keys, const Access& values) {
  const size_t rank = keys.domain().size();
  return rank >= 3 && values.domain().size() == rank &&
         keys.domain()[rank - 3] == values.domain()[rank - 3];
}

}  // namespace luminal::rules

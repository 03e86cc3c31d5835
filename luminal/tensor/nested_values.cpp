#include "luminal/tensor/nested_values.h"

#include <type_traits>

#include "luminal/support/error.h"

namespace luminal {

template <typename Lists>
void NestedValues::add(const Lists& lists, size_t depth) {
  if constexpr (std::is_same_v<Lists, double>) {
    values_.push_back(lists);
  } else {
    const auto length = static_cast<int64_t>(lists.size());
    if (extents_.size() <= depth) extents_.resize(depth + 1, -1);
    if (extents_[depth] == -1) extents_[depth] = length;
    if (extents_[depth] != length)
      throw UserError("set", "rows have different lengths {} and {} at depth {} of the braces",
                      extents_[depth], length, depth);
    for (const auto& inner : lists) add(inner, depth + 1);
  }
}

NestedValues::NestedValues(List<double> values) { add(values, 0); }
NestedValues::NestedValues(List<List<double>> values) { add(values, 0); }
NestedValues::NestedValues(List<List<List<double>>> values) { add(values, 0); }
NestedValues::NestedValues(List<List<List<List<double>>>> values) { add(values, 0); }

Array NestedValues::to_array(DType dtype) const {
  Extents extents = extents_;
  for (int64_t& extent : extents)
    if (extent == -1) extent = 0;  // below an empty list
  return Array::from<double>(dtype, std::move(extents), values_);
}

}  // namespace luminal

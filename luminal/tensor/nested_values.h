// Numbers in braces, as data for an input: exe.set(x, {{1, 2}, {3, 4}}).
#pragma once

#include <initializer_list>
#include <vector>

#include "luminal/tensor/types.h"

namespace luminal {

/// {1, 2}, {{1, 2}, {3, 4}}, ... down to four levels. Rows of different lengths are a UserError.
class NestedValues {
 public:
  template <typename T>
  using List = std::initializer_list<T>;                ///< of one level
  NestedValues(List<double> values);                    // NOLINT(google-explicit-constructor)
  NestedValues(List<List<double>> values);              // NOLINT(google-explicit-constructor)
  NestedValues(List<List<List<double>>> values);        // NOLINT(google-explicit-constructor)
  NestedValues(List<List<List<List<double>>>> values);  // NOLINT(google-explicit-constructor)

  /// The values as data of `dtype`, by the cast rules.
  Array to_array(DType dtype) const;

 private:
  template <typename Lists>
  void add(const Lists& lists, size_t depth);

  Extents extents_;
  std::vector<double> values_;
};

}  // namespace luminal

// Reductions over any set of axes. Sums of integers and bool are i64; means, variances and norms of
// them are f32. f16, bf16 and f8 accumulate in f32 and round once. keepdims leaves reduced axes
// with extent 1.
#pragma once

#include <initializer_list>
#include <optional>
#include <vector>

#include "luminal/tensor/tensor.h"

namespace luminal {

/// Which axes to reduce: all of them unless said. Negative axes count from the end.
class Axes {
 public:
  /// All axes.
  Axes() = default;
  Axes(int axis) : axes_(std::vector<int>{axis}) {}  // NOLINT(google-explicit-constructor)
  Axes(std::initializer_list<int> axes) : axes_(std::vector<int>(axes)) {}  ///< several
  Axes(std::vector<int> axes) : axes_(std::move(axes)) {}  // NOLINT(google-explicit-constructor)
  /// No axis at all: nothing is reduced.
  static Axes none() { return Axes(std::vector<int>{}); }

  /// 0-based, sorted axes of a tensor of this rank; throws UserError for bad or repeated ones.
  std::vector<int> resolve(std::string_view operation, int rank) const;

 private:
  std::optional<std::vector<int>> axes_;
};

/// Empty sums are 0, empty products 1.
Tensor sum(const Tensor& x, const Axes& axes = {}, bool keepdims = false);
Tensor prod(const Tensor& x, const Axes& axes = {}, bool keepdims = false);  ///< 1 over no elements
/// NaN if any element is NaN. Over no elements: the lowest (highest) value of the dtype.
Tensor max(const Tensor& x, const Axes& axes = {}, bool keepdims = false);
Tensor min(const Tensor& x, const Axes& axes = {}, bool keepdims = false);  ///< the smallest
/// NaN over no elements.
Tensor mean(const Tensor& x, const Axes& axes = {}, bool keepdims = false);
/// Is any, are all elements true (!= 0)?
Tensor any(const Tensor& x, const Axes& axes = {}, bool keepdims = false);
Tensor all(const Tensor& x, const Axes& axes = {}, bool keepdims = false);  ///< true of none
/// Sum of squared distances from the mean over (n - correction): two passes, so no cancellation.
Tensor var(const Tensor& x, const Axes& axes = {}, int64_t correction = 1, bool keepdims = false);
/// Its root. Written luminal::std(x): the bare name is the standard library's.
Tensor std(const Tensor& x, const Axes& axes = {}, int64_t correction = 1, bool keepdims = false);
/// The p-norm: (sum |x|^p)^(1/p); p may be 0 (count of non-zeros) and +-infinity (largest, smallest
/// magnitude).
Tensor norm(const Tensor& x, double p = 2.0, const Axes& axes = {}, bool keepdims = false);
/// log(sum(exp(x))) without overflow.
Tensor logsumexp(const Tensor& x, const Axes& axes = {}, bool keepdims = false);
/// Position of the largest (smallest) element along an axis, the first one on ties, as i64. NaN
/// counts as largest and smallest. Without an axis: the position in the flattened tensor. Over
/// a symbolic axis that is empty in a run it is the largest i64.
Tensor argmax(const Tensor& x, std::optional<int> axis = std::nullopt, bool keepdims = false);
Tensor argmin(const Tensor& x, std::optional<int> axis = std::nullopt, bool keepdims = false);

}  // namespace luminal

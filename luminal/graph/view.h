// A View is an index map: it says which element of a source tensor each element of its domain
// reads.
//
//   value[i0, i1, ...] = source[index(i)]   if every condition 0 <= value(i) < extent holds
//                        fill               otherwise
//
// Permute, expand, slice, flip, pad, split, merge, window and diagonal are all views, so none of
// them costs anything. Axis k of the domain is Expr::axis(k, domain[k]). Views are kept in a normal
// form: axes of extent 1 appear as 0; conditions that bounds prove are dropped, those that a known
// difference relates are intersected, the rest are sorted; the fill is reset when no condition is
// left; an empty domain and a map that reads only the fill have index 0. So two views that read the
// same elements by the same map compare equal.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "luminal/graph/scalar.h"
#include "luminal/graph/shape.h"
#include "luminal/symbolic/text.h"

namespace luminal::graph {

/// Holds where 0 <= value < extent.
struct Condition {
  Expr value;   ///< over the axes of the domain
  Expr extent;  ///< may name dims
  bool operator==(const Condition&) const = default;
};

/// Strides and offset of a view that reads a row-major source affinely: element i is at offset +
/// sum i_k * strides[k].
struct StridedLayout {
  Expr offset;    ///< of the first element
  Shape strides;  ///< one per axis of the domain
};

/// An index map from the axes of `domain` to positions in a source of shape `source`. Immutable.
class View {
 public:
  /// The view of a scalar.
  View() = default;
  /// Reads `shape` as it is.
  static View identity(Shape shape);
  /// Any map; `index` has one expression per source dim, over Expr::axis(k, domain[k]).
  View(Shape source, Shape domain, std::vector<Expr> index, std::vector<Condition> conditions = {},
       Scalar fill = {});

  const Shape& source() const { return source_; }                ///< the shape that is read
  const Shape& domain() const { return domain_; }                ///< the shape that is seen
  int rank() const { return static_cast<int>(domain_.size()); }  ///< axes of the domain
  const std::vector<Expr>& index() const { return index_; }      ///< one per axis of the source
  const std::vector<Condition>& conditions() const { return conditions_; }  ///< where it is defined
  /// What is read where a condition fails. Meaningless if there are no conditions.
  const Scalar& fill() const { return fill_; }
  /// Expr::axis(k, domain[k]).
  Expr axis(int k) const { return Expr::axis(k, domain_[static_cast<size_t>(k)]); }

  // Each of these gives the view of this view. Axes are 0..rank-1; bad arguments throw UserError.

  /// Result axis k is this view's axis axes[k].
  View permute(std::span<const int> axes) const;
  /// Inserts a broadcast axis of any extent before `position` (0..rank).
  View insert_axis(int position, Expr extent) const;
  /// Removes an axis that is known to have extent 1.
  View squeeze(int axis) const;
  /// NumPy broadcasting to `shape`: axes of extent 1 stretch, missing leading axes appear.
  View expand(const Shape& shape) const;
  /// Elements begin, begin+step, ... below end (above it for negative steps); 0 <= begin, end <=
  /// extent must not be refuted (-1 <= end, begin < extent for negative steps). An extent that is
  /// not refuted to be positive is taken to be.
  View slice(int axis, Expr begin, Expr end, int64_t step = 1) const;
  /// Removes `axis` by fixing it at `position`.
  View select(int axis, Expr position) const;
  /// Reads the axis backwards.
  View flip(int axis) const;
  /// Adds `before` and `after` elements of `fill` (negative amounts crop). nullopt if this view
  /// already pads with another fill.
  std::optional<View> pad(int axis, Expr before, Expr after, const Scalar& fill) const;
  /// One axis becomes several whose product must be its extent.
  View split(int axis, std::span<const Expr> extents) const;
  /// `count` axes from `first` become one, row-major.
  View merge(int first, int count) const;
  /// Row-major reshape to a shape of the same element count.
  View reshape(const Shape& shape) const;
  /// Axis of extent n becomes two: positions (in place), then the window of `size` elements
  /// `dilation` apart (as the last axis).
  View window(int axis, Expr size, Expr stride = 1, Expr dilation = 1) const;
  /// Axes a and b are removed and their diagonal i_a + offset = i_b becomes the last axis.
  View diagonal(int axis_a, int axis_b, int64_t offset = 0) const;

  /// The view that reads `inner`'s source through `outer` (whose source is inner's domain). nullopt
  /// only if both have conditions, neither can be dropped, and their fills differ.
  static std::optional<View> compose(const View& inner, const View& outer);

  /// Reads every source element once, in place.
  bool is_identity() const;
  /// Reads a run of consecutive source elements in row-major order, from strided()->offset on.
  bool is_contiguous() const;
  /// Strides over the row-major source, if the map is affine (conditions do not matter).
  std::optional<StridedLayout> strided() const;
  /// Axes, not of extent 1, that neither index nor conditions use: every element is read again
  /// along them.
  std::vector<int> broadcast_axes() const;
  /// True if no source element is read twice; false if some is, or if it is not decided (windows
  /// that overlap, broadcast).
  bool reads_each_element_at_most_once() const;
  /// Row-major position in the source of the element that domain position reads.
  Expr linear_index() const;

  bool operator==(const View&) const = default;
  void add_to(support::Hasher& hasher) const;  ///< equal views add the same
  /// Replaces named dims everywhere (source, domain, index, conditions). Fixes extents of 0 too,
  /// for which the index itself may have divided by 0: whoever evaluates a view substitutes first.
  View substitute(std::span<const symbolic::Binding> dims) const;
  /// "(i0, i1) -> (i1, i0 - 1) where 0 <= i0 - 1 < n else 0.5": parses back through View::parse
  /// given the source and domain shapes.
  std::string to_string() const;
  /// Reads what to_string wrote. `resolve` finds named dims; axes are found in `domain`.
  static View parse(std::string_view text, Shape source, Shape domain, DType fill_dtype,
                    const symbolic::Resolver& resolve);

 private:
  // This view seen through a map that has no conditions.
  View through(Shape domain, std::vector<Expr> index) const;
  void normalize();

  Shape source_;
  Shape domain_;
  std::vector<Expr> index_;
  std::vector<Condition> conditions_;
  Scalar fill_;
};

}  // namespace luminal::graph

// Tensor: a cheap handle to a value of a graph. Copying one copies two pointers; the graph stays
// alive as long as any handle to it does. Nothing is computed while tensors are written: ops add
// nodes, movement ops only change the view through which a node is seen. Ops are free functions,
// one header per family (arithmetic.h, movement.h, ...).
#pragma once

#include <concepts>
#include <iosfwd>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <variant>

#include "luminal/graph/node.h"
#include "luminal/tensor/types.h"

namespace luminal {

class Graph;
struct GraphState;

/// A value in a lazy graph: a node seen through a view.
class Tensor {
 public:
  /// No tensor; using it throws UserError. Exists so that tensors can be members and elements of
  /// containers.
  Tensor() = default;
  Tensor(std::shared_ptr<GraphState> state, graph::Edge edge);  ///< for layers built on tensors

  const Shape& shape() const;  ///< may name dims
  /// Extent of an axis; negative axes count from the end.
  Dim dim(int axis) const;
  int rank() const;     ///< number of axes
  DType dtype() const;  ///< of every element
  /// Number of elements.
  Dim size() const;
  /// The graph this value belongs to.
  Graph graph() const;

  /// Labels the value in prints, drawings and reports. Returns the tensor, so it can end an
  /// expression.
  const Tensor& named(std::string name) const;
  /// The label, or "".
  const std::string& name() const;

  /// Keeps the value: every executable compiled after this computes it and can `get` it, without
  /// its being an output.
  const Tensor& keep() const;
  /// Undoes keep().
  void drop() const;

  explicit operator bool() const { return state_ != nullptr; }  ///< whether it is a tensor
  /// Same value by construction: same graph, node and view.
  bool is(const Tensor& other) const;

  // For the layers that build on tensors.
  const graph::Edge& edge() const;                   ///< node and view
  const std::shared_ptr<GraphState>& state() const;  ///< what handles of one graph share

 private:
  std::shared_ptr<GraphState> state_;
  std::shared_ptr<const graph::Edge> edge_;
};

/// What a tensor is, not its values, which only a run gives: "'y': f32[2, seq], seen through a view
/// of add".
std::ostream& operator<<(std::ostream& stream, const Tensor& tensor);

/// keep() and drop() for each of a list.
void keep(std::span<const Tensor> tensors);
void drop(std::span<const Tensor> tensors);  ///< all of them

/// The other side of an operator: a C++ number or a dim. It takes on the tensor's dtype, unless it
/// is a fraction and the tensor is not (then the result is f32), or the tensor is bool (then i64 or
/// f32).
class Value {
 public:
  Value(double value) : value_(value) {}                      // NOLINT(google-explicit-constructor)
  Value(float value) : value_(static_cast<double>(value)) {}  // NOLINT(google-explicit-constructor)
  template <std::integral T>
  Value(T value) : value_(symbolic::integer(value)) {}  // NOLINT(google-explicit-constructor)
  Value(bool value) : value_(value) {}                  // NOLINT(google-explicit-constructor)
  Value(const Dim& value) : value_(value) {}            // NOLINT(google-explicit-constructor)

  bool is_fraction() const { return std::holds_alternative<double>(value_); }  ///< by its C++ type
  bool is_bool() const { return std::holds_alternative<bool>(value_); }        ///< true or false
  const std::variant<double, int64_t, bool, Dim>& variant() const { return value_; }  ///< its value

 private:
  std::variant<double, int64_t, bool, Dim> value_;
};

}  // namespace luminal

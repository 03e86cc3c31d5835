// A node of the graph: an op, what it reads (operands seen through views), what it gives (dtype and
// shape), and the attributes of its op.
#pragma once

#include <compare>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "luminal/graph/array.h"
#include "luminal/graph/ops.h"
#include "luminal/graph/view.h"

namespace luminal::graph {

/// Refers to a node of one graph. Ids are dense and operands always have smaller ids than their
/// users.
struct NodeId {
  uint32_t value = UINT32_MAX;
  auto operator<=>(const NodeId&) const = default;
};

/// An operand: a node seen through a view whose source is the node's shape.
struct Edge {
  View view;
  NodeId node;
  bool operator==(const Edge&) const = default;
};

/// A user's own function as an op. It is called with contiguous operands and fills `result`, which
/// has the node's dtype and the extents its shape has in this run.
struct CustomFunction {
  std::string name;
  std::function<void(std::span<const Array> operands, Array& result)> call;
};

// Attributes, one struct per op that has any.

/// kInput: the name by which data is bound, and whether the data rarely changes between runs, so
/// that what is made of it alone is worth keeping.
struct InputAttribute {
  std::string name;
  bool weight = false;
  bool operator==(const InputAttribute&) const = default;
};
/// kConstant: a scalar if rank 0.
struct ConstantAttribute {
  Array value;
  bool operator==(const ConstantAttribute& other) const { return value.identical(other.value); }
};
/// kIota: element (i0, i1, ...) is this expression of the axes and the named dims.
struct IotaAttribute {
  Expr value;
  bool operator==(const IotaAttribute&) const = default;
};
/// Reductions: how many of the operand's last axes are reduced.
struct ReduceAttribute {
  int axes = 1;
  bool operator==(const ReduceAttribute&) const = default;
};
struct ScatterAttribute {
  ScatterMode mode = ScatterMode::kSet;
  bool operator==(const ScatterAttribute&) const = default;
};
struct ArgSortAttribute {
  bool descending = false;
  bool operator==(const ArgSortAttribute&) const = default;
};
/// kPrint: what stands before the values.
struct PrintAttribute {
  std::string label;
  bool operator==(const PrintAttribute&) const = default;
};
/// kDiff: reference values (.npy, or raw binary of the operand's dtype and shape).
struct DiffAttribute {
  std::string file;
  double absolute_tolerance = 1e-5;
  double relative_tolerance = 1e-5;
  bool operator==(const DiffAttribute&) const = default;
};
struct CustomAttribute {
  std::shared_ptr<const CustomFunction> function;
  bool operator==(const CustomAttribute&) const = default;
};

using Attributes = std::variant<std::monostate, InputAttribute, ConstantAttribute, IotaAttribute,
                                ReduceAttribute, ScatterAttribute, ArgSortAttribute, PrintAttribute,
                                DiffAttribute, CustomAttribute>;

/// What a node gives.
struct TensorType {
  DType dtype = DType::kF32;
  Shape shape;
  bool operator==(const TensorType&) const = default;
};
std::string to_string(const TensorType& type);  // "f32[2, seq]"

/// One op of the graph.
///
/// What the operands' domains must be, with `shape` the node's shape:
///   elementwise, barriers  every operand: shape
///   reductions             shape ++ the reduced extents
///   kGather                index: shape; data: shape ++ [n]. Element i is data[i, index[i]]; an
///                          index outside of 0 <= index < n is an error
///   kScatter               base: batch ++ [n] = shape; index, updates: batch ++ [m]. The base with
///                          [b, index[b, j]] combined with updates[b, j], for j in order
///   kArgSort               shape; positions along the last axis
///   kCustom                any
struct Node {
  Op op = Op::kInput;
  std::vector<Edge> operands;
  TensorType type;
  Attributes attributes;
  std::string name;  // the user's label; never changes results

  const Shape& shape() const { return type.shape; }
  DType dtype() const { return type.dtype; }
  template <typename T>
  const T& attribute() const {
    return std::get<T>(attributes);
  }
};

}  // namespace luminal::graph

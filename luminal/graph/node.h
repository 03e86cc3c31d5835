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
  uint32_t value = UINT32_MAX;  ///< its place in Graph::nodes()
  auto operator<=>(const NodeId&) const = default;
};

/// An operand: a node seen through a view whose source is the node's shape.
struct Edge {
  View view;    ///< over the node's shape
  NodeId node;  ///< what is seen
  bool operator==(const Edge&) const = default;
};

/// A user's own function as an op. It is called with contiguous operands and fills `result`, which
/// has the node's dtype and the extents its shape has in this run.
struct CustomFunction {
  std::string name;  ///< for texts and errors
  std::function<void(std::span<const Array> operands, Array& result)> call;  ///< fills the result
};

// Attributes, one struct per op that has any.

/// kInput: the name by which data is bound, and whether the data rarely changes between runs, so
/// that what is made of it alone is worth keeping.
struct InputAttribute {
  std::string name;     ///< unique in the graph
  bool weight = false;  ///< its data rarely changes
  bool operator==(const InputAttribute&) const = default;
};
/// kConstant: a scalar if rank 0.
struct ConstantAttribute {
  Array value;  ///< all elements
  bool operator==(const ConstantAttribute& other) const { return value.identical(other.value); }
};
/// kIota: element (i0, i1, ...) is this expression of the axes and the named dims.
struct IotaAttribute {
  Expr value;  ///< cast to the node's dtype
  bool operator==(const IotaAttribute&) const = default;
};
/// Reductions: how many of the operand's last axes are reduced.
struct ReduceAttribute {
  int axes = 1;  ///< at least 1
  bool operator==(const ReduceAttribute&) const = default;
};
struct ScatterAttribute {
  ScatterMode mode = ScatterMode::kSet;  ///< how updates are combined
  bool operator==(const ScatterAttribute&) const = default;
};
struct ArgSortAttribute {
  bool descending = false;  ///< the largest first
  bool operator==(const ArgSortAttribute&) const = default;
};
/// kPrint: what stands before the values.
struct PrintAttribute {
  std::string label;  ///< a line of text
  bool operator==(const PrintAttribute&) const = default;
};
/// kDiff: reference values (.npy, or raw binary of the operand's dtype and shape).
struct DiffAttribute {
  std::string file;                  ///< its path
  double absolute_tolerance = 1e-5;  ///< in the units of the values
  double relative_tolerance = 1e-5;  ///< of the reference
  bool operator==(const DiffAttribute&) const = default;
};
struct CustomAttribute {
  std::shared_ptr<const CustomFunction> function;  ///< shared by copies of the graph
  bool operator==(const CustomAttribute&) const = default;
};
/// What an op needs beside its operands; which of them is fixed by the op.
using Attributes = std::variant<std::monostate, InputAttribute, ConstantAttribute, IotaAttribute,
                                ReduceAttribute, ScatterAttribute, ArgSortAttribute, PrintAttribute,
                                DiffAttribute, CustomAttribute>;

/// What a node gives.
struct TensorType {
  DType dtype = DType::kF32;  ///< of every element
  Shape shape;                ///< may name dims
  bool operator==(const TensorType&) const = default;
};
std::string to_string(const TensorType& type);  ///< "f32[2, seq]"

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
  Op op = Op::kInput;          ///< what it computes
  std::vector<Edge> operands;  ///< as many as the op's row says
  TensorType type;             ///< as inferred from the operands
  Attributes attributes;       ///< of the kind that the op needs
  std::string name;            ///< the user's label; never changes results

  const Shape& shape() const { return type.shape; }  ///< of the result
  DType dtype() const { return type.dtype; }         ///< of the result
  template <typename T>
  const T& attribute() const {
    return std::get<T>(attributes);
  }  ///< the attribute of that kind; it must be there
};

}  // namespace luminal::graph

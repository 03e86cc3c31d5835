// The Body: what a kernel computes for one point of its output, as a hash-consed DAG over free
// axes. Loads hold index expressions (views are composed into them), so broadcasting is no node at
// all: a value that does not depend on an axis simply does not have it in its free set, which is
// the test for hoisting. Equal computations are one node, whoever consumes them.
//
// Laws: a Load is total (outside of its tensor it gives an unspecified value, never a fault); Where
// is lazy; the axes of a reduction are bound in it and appear nowhere else; the ids of bound axes
// follow from the height, so that nesting cannot capture.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "luminal/graph/node.h"
#include "luminal/kernel/axes.h"

namespace luminal::kernel {

using graph::DType;
using graph::NodeId;
using graph::Op;
using graph::Scalar;
using graph::TensorType;

/// What a node of a body is.
enum class BodyKind : uint8_t {
  kLoad,      // tensor[exprs]
  kConstant,  // constant
  kIota,      // exprs[0], cast to dtype
  kOp,        // op(children), elementwise
  kWhere,     // children[0] if every one of exprs is 1, else children[1]; lazy
  kReduce,    // op over the axes in exprs (outermost first) of children[0]
};

/// One node. Everything below `constant` follows from what is above.
struct BodyNode {
  BodyKind kind = BodyKind::kConstant;  ///< which fields count
  Op op = Op::kCopy;                    ///< of elementwise nodes and reductions
  DType dtype = DType::kF32;            ///< of the value
  NodeId tensor = {};                   ///< of a load
  std::vector<Expr> exprs = {};  ///< index, value of an iota, condition, or axes of a reduction
  std::vector<BodyId> children = {};  ///< operands
  Scalar constant = {};               ///< of a constant

  /// Bodies whose values are used as an index in `exprs`.
  std::vector<BodyId> index_values = {};
  AxisSet free = {};  ///< axes that the value depends on
  /// How deeply reductions are nested.
  int height = 0;
  /// Splits that index expressions below want, of free axes only.
  std::vector<WantedSplit> splits = {};
};

/// Replaces axes by expressions.
using Bindings = std::span<const symbolic::Binding>;

/// All bodies of one compilation. Nodes are only added; ids stay valid.
class Arena {
 public:
  struct Options {
    /// sum of sum is one sum. Changes where narrow floats are rounded.
    bool merge_reductions = true;
  };  ///< How bodies are made.
  Arena() = default;
  explicit Arena(Options options) : options_(options) {}  ///< an empty arena

  /// Says what a tensor is; loads need it.
  void declare_tensor(NodeId id, const TensorType& type);
  const TensorType& tensor(NodeId id) const;                          ///< what was declared
  bool has_tensor(NodeId id) const { return tensors_.contains(id); }  ///< whether it was declared

  BodyId load(NodeId tensor, std::vector<Expr> index);  ///< one element of a tensor
  BodyId constant(const Scalar& value);                 ///< the same everywhere
  BodyId iota(const Expr& value, DType dtype);          ///< an index expression as a number
  /// An elementwise op. Operands of commutative ops are put in one order; index arithmetic on iotas
  /// stays an iota; a select by position becomes a Where.
  BodyId op(Op op, DType dtype, std::vector<BodyId> children);
  /// Conditions have the values 0 and 1. Decided ones go away, as do those that an enclosing Where
  /// has settled.
  BodyId where(const std::vector<Expr>& conditions, BodyId then, BodyId otherwise);
  /// Binds `axes` (any ids that are bound nowhere inside). Axes of extent 1 vanish, axes are split
  /// where indices want it, a reduction directly inside of the same op is merged.
  BodyId reduce(Op op, std::vector<Expr> axes, BodyId child);

  const BodyNode& node(BodyId id) const { return nodes_[id.value]; }  ///< until a node is added
  const BodyNode& operator[](BodyId id) const { return nodes_[id.value]; }  ///< the same
  size_t size() const { return nodes_.size(); }                             ///< number of nodes

  /// Replaces free axes. The new expressions must not use axes that are bound inside.
  BodyId substitute(BodyId id, Bindings bindings);
  /// The same for an expression, whose index values change with it.
  Expr substitute(const Expr& expr, Bindings bindings);
  /// The node with other children (in order) and the same expressions.
  BodyId with_children(BodyId id, std::vector<BodyId> children);

  /// The value of an integer body as an index below `extent`: an expression where it is one.
  Expr index_value(BodyId id, const Expr& extent) const;
  /// The integer that a body is for known, as an expression: iotas and integer constants.
  std::optional<Expr> as_expression(BodyId id) const;

  /// The bodies reachable from the roots, operands before users.
  std::vector<BodyId> reachable(std::span<const BodyId> roots) const;

 private:
  using Memo = std::unordered_map<uint32_t, BodyId>;
  BodyId intern(BodyNode node);
  void derive_facts(BodyNode& node) const;
  BodyId substitute(BodyId id, Bindings bindings, Memo& memo);
  Expr substitute(const Expr& expr, Bindings bindings, Memo& memo);
  std::optional<BodyId> fold_iotas(Op op, DType dtype, std::span<const BodyId> children);
  BodyId settled(BodyId id, std::span<const Expr> conditions, bool hold) const;

  Options options_;
  std::vector<BodyNode> nodes_;
  std::unordered_map<uint64_t, std::vector<BodyId>> index_;
  std::map<NodeId, TensorType> tensors_;
};

/// A tensor that a kernel stores.
struct Root {
  NodeId tensor;  ///< what is stored to
  BodyId value;   ///< what is stored
  /// Where the value belongs: one expression over the kernel's axes per dim of the tensor.
  std::vector<Expr> store;
  bool operator==(const Root&) const = default;
};

/// What one kernel computes: its output axes (ids 0, 1, ...) and what is stored at each point.
struct Kernel {
  std::vector<Expr> axes;   ///< with their extents
  std::vector<Root> roots;  ///< what it stores
};

/// How many values a kernel computes, over all loops: a measure of its time.
Expr work_of(const Arena& arena, const Kernel& kernel);

/// Readable text, one line per value that is used twice or is a reduction:
///   m = max r<8: x[i0, r]
///   y[i0, i1] = exp(x[i0, i1] - m)
std::string to_string(const Arena& arena, const Kernel& kernel);
/// One value, written out (for small bodies).
std::string to_string(const Arena& arena, BodyId body);

}  // namespace luminal::kernel

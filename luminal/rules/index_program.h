// A program of integer operations that computes several index expressions together: the form in
// which code generation takes them. Shared parts are one node; every node also carries the normal
// form of what it computes, so that whoever prints or compiles it can ask for bounds.
//
// Laws: division and remainder round towards minus infinity; a shift to the right is a division by
// a power of two and a mask the remainder by one, for negative numbers too; tests are 0 or 1.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "luminal/symbolic/evaluate.h"
#include "luminal/symbolic/expr.h"

namespace luminal::rules {

using symbolic::Expr;

/// What a node computes from its operands a, b, c.
enum class IndexOp : uint8_t {
  kLeaf,        // a constant, a variable or an axis: the value of the node
  kAdd,         // a + b
  kSubtract,    // a - b
  kMultiply,    // a * b
  kFloorDiv,    // a / b
  kRemainder,   // a % b
  kShiftRight,  // a >> b
  kBitAnd,      // a & b, where b is 2^k - 1
  kMinimum,
  kMaximum,
  kLess,
  kLessEqual,
  kEqual,
  kNotEqual,
  kAnd,      // of two tests
  kOr,       // of two tests
  kSelect,   // a ? b : c
  kInRange,  // 0 <= a < b, where b is known to be at least 0: one unsigned comparison
};

/// One row per op.
struct IndexOpInfo {
  IndexOp op;
  std::string_view name;  // of the constructor in the rule file
  uint32_t arity;
};
inline constexpr std::array kIndexOps{
    IndexOpInfo{IndexOp::kLeaf, "Leaf", 0},
    IndexOpInfo{IndexOp::kAdd, "Add", 2},
    IndexOpInfo{IndexOp::kSubtract, "Sub", 2},
    IndexOpInfo{IndexOp::kMultiply, "Mul", 2},
    IndexOpInfo{IndexOp::kFloorDiv, "Div", 2},
    IndexOpInfo{IndexOp::kRemainder, "Mod", 2},
    IndexOpInfo{IndexOp::kShiftRight, "ShiftRight", 2},
    IndexOpInfo{IndexOp::kBitAnd, "BitAnd", 2},
    IndexOpInfo{IndexOp::kMinimum, "Min", 2},
    IndexOpInfo{IndexOp::kMaximum, "Max", 2},
    IndexOpInfo{IndexOp::kLess, "Less", 2},
    IndexOpInfo{IndexOp::kLessEqual, "LessEqual", 2},
    IndexOpInfo{IndexOp::kEqual, "Equal", 2},
    IndexOpInfo{IndexOp::kNotEqual, "NotEqual", 2},
    IndexOpInfo{IndexOp::kAnd, "And", 2},
    IndexOpInfo{IndexOp::kOr, "Or", 2},
    IndexOpInfo{IndexOp::kSelect, "Select", 3},
    IndexOpInfo{IndexOp::kInRange, "InRange", 2},
};
/// The row of an op.
constexpr const IndexOpInfo& index_op_info(IndexOp op) {
  return kIndexOps[static_cast<size_t>(op)];
}
static_assert([] {
  for (size_t k = 0; k < kIndexOps.size(); ++k)
    if (kIndexOps[k].op != static_cast<IndexOp>(k)) return false;
  return kIndexOps.back().op == IndexOp::kInRange;
}());

/// What an op costs, in units of an addition, given the normal forms of its operands: products by a
/// power of two and shifts are as cheap as sums, other products cost 2, divisions by a power of two
/// 2 (a compiler that does not know the sign corrects the shift), other divisions 12, and 4 more
/// where the sign of the numerator is not known.
int64_t index_cost(IndexOp op, std::span<const Expr> operands);

/// The value of an op; a UserError on overflow of 64 bits and division by zero.
int64_t apply_index_op(IndexOp op, std::span<const int64_t> operands);

/// Index of a node in its program.
using IndexId = uint32_t;

/// One operation; operands are nodes before this one.
struct IndexNode {
  IndexOp op = IndexOp::kLeaf;
  std::array<IndexId, 3> operands = {};
  Expr value;  // the normal form of what the node computes

  /// The operands that the op has.
  std::span<const IndexId> used_operands() const {
    return {operands.data(), index_op_info(op).arity};
  }
};

/// Nodes in order of computation, no two the same, and which of them are the results.
class IndexProgram {
 public:
  /// A constant, a variable or an axis.
  IndexId add_leaf(const Expr& value);
  /// An operation; the node that is already there, if there is one.
  IndexId add(IndexOp op, std::array<IndexId, 3> operands, const Expr& value);
  /// Makes a node the next result.
  void add_output(IndexId node) { outputs_.push_back(node); }

  const std::vector<IndexNode>& nodes() const { return nodes_; }
  const IndexNode& operator[](IndexId id) const { return nodes_[id]; }
  /// One node per expression.
  const std::vector<IndexId>& outputs() const { return outputs_; }

  /// The sum of the costs of all nodes; shared ones count once.
  int64_t cost() const;
  /// The values of all outputs. A symbol without a value is a UserError.
  std::vector<int64_t> evaluate(const symbolic::Values& values) const;

 private:
  std::vector<IndexNode> nodes_;
  std::vector<IndexId> outputs_;
  std::map<std::pair<IndexOp, std::array<IndexId, 3>>, IndexId> by_content_;
  std::map<uint64_t, std::vector<IndexId>> leaves_;  // by hash of the symbol
};

}  // namespace luminal::rules

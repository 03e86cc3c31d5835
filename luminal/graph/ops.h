// The primitive ops: one row each. Interpreter, gradients, code generation and tests are keyed by
// this table, so adding an op is one row here and one case in each of those. High-level ops are
// composed of these (see named.h); a primitive is added only where composing it would lose IEEE
// behaviour or accuracy.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

namespace luminal::graph {

/// A primitive op. What each computes is said beside its row in kOps.
enum class Op : uint8_t {
  // sources
  kInput,
  kConstant,
  kIota,
  // elementwise, one operand
  kRecip,
  kSqrt,
  kExp,
  kExp2,
  kLog,
  kLog2,
  kSin,
  kCos,
  kTanh,
  kErf,
  kAtan,
  kFloor,
  kRound,
  kCast,
  kBitcast,
  // elementwise, two operands
  kAdd,
  kMul,
  kDiv,
  kMod,
  kPow,
  kMax,
  kLessThan,
  kEqual,
  kBitAnd,
  kBitOr,
  kBitXor,
  kShiftLeft,
  kShiftRight,
  // elementwise, three operands
  kSelect,
  // reductions over the last axes of the operand
  kSum,
  kProd,
  kReduceMax,
  // data-dependent positions
  kGather,
  kScatter,
  kArgSort,
  // structure and effects
  kCopy,
  kGraphBreak,
  kPrint,
  kDiff,
  kCustom,
};

/// How an op uses its operands.
enum class OpClass : uint8_t { kSource, kElementwise, kReduction, kIndexing, kBarrier };

/// Which dtypes an op takes and what it gives. All operands of one elementwise op have the same
/// dtype (the tensor layer promotes), except Select's condition and the shift amounts' sharing of
/// the shifted dtype.
enum class DTypeRule : uint8_t {
  kAttribute,  // given by the node (sources, Cast, Bitcast, Custom)
  kFloat,      // floats only, gives the same
  kNumber,     // floats and integers, gives the same
  kAny,        // every dtype, gives the same
  kBits,       // integers and bool, gives the same
  kInteger,    // integers only, gives the same
  kCompare,    // every dtype, gives bool
  kSelect,     // bool, T, T: gives T
  kGather,     // integer index, T: gives T
  kScatter,    // T, integer index, T: gives T
  kIndex,      // every dtype, gives i64
};

/// One row per primitive.
struct OpInfo {
  Op op;                     ///< the row's own
  std::string_view name;     ///< in texts: "add"
  int arity;                 ///< -1: any number
  OpClass op_class;          ///< what kind of loop it is
  DTypeRule dtype_rule;      ///< gives the dtype of the result
  bool commutative = false;  ///< its two operands may change places
};

/// Numbers: narrow floats (f16, bf16, f8) compute in f32 and round once per op; f32 and f64 compute
/// in their own format. Integers wrap. NaN operands give NaN unless a row says otherwise.
inline constexpr std::array kOps{
    OpInfo{Op::kInput, "input", 0, OpClass::kSource, DTypeRule::kAttribute},
    OpInfo{Op::kConstant, "constant", 0, OpClass::kSource, DTypeRule::kAttribute},
    OpInfo{Op::kIota, "iota", 0, OpClass::kSource,
           DTypeRule::kAttribute},  // an index expression of the element's position
    OpInfo{Op::kRecip, "recip", 1, OpClass::kElementwise, DTypeRule::kFloat},  // 1/x; 1/-0 = -inf
    OpInfo{Op::kSqrt, "sqrt", 1, OpClass::kElementwise,
           DTypeRule::kFloat},  // NaN below zero; sqrt(-0) = -0
    OpInfo{Op::kExp, "exp", 1, OpClass::kElementwise,
           DTypeRule::kFloat},  // exp2(x*log2 e) would lose up to 6 bits
    OpInfo{Op::kExp2, "exp2", 1, OpClass::kElementwise, DTypeRule::kFloat},
    OpInfo{Op::kLog, "log", 1, OpClass::kElementwise,
           DTypeRule::kFloat},  // log 0 = -inf, NaN below zero
    OpInfo{Op::kLog2, "log2", 1, OpClass::kElementwise, DTypeRule::kFloat},
    OpInfo{Op::kSin, "sin", 1, OpClass::kElementwise, DTypeRule::kFloat},  // NaN at infinities
    OpInfo{Op::kCos, "cos", 1, OpClass::kElementwise,
           DTypeRule::kFloat},  // sin(x + pi/2) is wrong for large x
    OpInfo{Op::kTanh, "tanh", 1, OpClass::kElementwise,
           DTypeRule::kFloat},  // by exp it cancels near 0 and overflows
    OpInfo{Op::kErf, "erf", 1, OpClass::kElementwise, DTypeRule::kFloat},
    OpInfo{Op::kAtan, "atan", 1, OpClass::kElementwise, DTypeRule::kFloat},
    OpInfo{Op::kFloor, "floor", 1, OpClass::kElementwise, DTypeRule::kFloat},
    OpInfo{Op::kRound, "round", 1, OpClass::kElementwise,
           DTypeRule::kFloat},  // ties to even; keeps -0
    OpInfo{Op::kCast, "cast", 1, OpClass::kElementwise, DTypeRule::kAttribute},  // rules in dtype.h
    OpInfo{Op::kBitcast, "bitcast", 1, OpClass::kElementwise,
           DTypeRule::kAttribute},  // same width, same bits
    OpInfo{Op::kAdd, "add", 2, OpClass::kElementwise, DTypeRule::kNumber, true},
    OpInfo{Op::kMul, "mul", 2, OpClass::kElementwise, DTypeRule::kNumber, true},
    OpInfo{Op::kDiv, "div", 2, OpClass::kElementwise,
           DTypeRule::kNumber},  // integers truncate; x/0 = 0, MIN/-1 = MIN
    OpInfo{Op::kMod, "mod", 2, OpClass::kElementwise,
           DTypeRule::kNumber},  // fmod: sign of the dividend; integer x%0 = 0
    OpInfo{Op::kPow, "pow", 2, OpClass::kElementwise,
           DTypeRule::kNumber},  // IEEE pow; integers wrap, b^-n is 0 but for |b| = 1
    OpInfo{Op::kMax, "max", 2, OpClass::kElementwise, DTypeRule::kAny,
           true},  // NaN if either side is NaN
    OpInfo{Op::kLessThan, "less_than", 2, OpClass::kElementwise,
           DTypeRule::kCompare},  // false if either side is NaN
    OpInfo{Op::kEqual, "equal", 2, OpClass::kElementwise, DTypeRule::kCompare,
           true},  // false if either side is NaN
    OpInfo{Op::kBitAnd, "bit_and", 2, OpClass::kElementwise, DTypeRule::kBits, true},
    OpInfo{Op::kBitOr, "bit_or", 2, OpClass::kElementwise, DTypeRule::kBits, true},
    OpInfo{Op::kBitXor, "bit_xor", 2, OpClass::kElementwise, DTypeRule::kBits, true},
    OpInfo{Op::kShiftLeft, "shift_left", 2, OpClass::kElementwise,
           DTypeRule::kInteger},  // amount outside 0..bits-1: 0
    OpInfo{Op::kShiftRight, "shift_right", 2, OpClass::kElementwise,
           DTypeRule::kInteger},  // arithmetic if signed; outside: 0 or -1 by sign
    OpInfo{Op::kSelect, "select", 3, OpClass::kElementwise,
           DTypeRule::kSelect},  // condition ? second : third
    OpInfo{Op::kSum, "sum", 1, OpClass::kReduction,
           DTypeRule::kNumber},  // accumulates narrow floats in f32 or wider; 0 if empty
    OpInfo{Op::kProd, "prod", 1, OpClass::kReduction, DTypeRule::kNumber},  // 1 if empty
    OpInfo{Op::kReduceMax, "reduce_max", 1, OpClass::kReduction,
           DTypeRule::kAny},  // NaN if any is NaN; lowest value if empty
    OpInfo{Op::kGather, "gather", 2, OpClass::kIndexing, DTypeRule::kGather},
    OpInfo{Op::kScatter, "scatter", 3, OpClass::kIndexing, DTypeRule::kScatter},
    OpInfo{Op::kArgSort, "argsort", 1, OpClass::kIndexing,
           DTypeRule::kIndex},  // of the last axis, stable; NaN counts as largest
    OpInfo{Op::kCopy, "copy", 1, OpClass::kElementwise,
           DTypeRule::kAny},  // a view that had to become data
    OpInfo{Op::kGraphBreak, "graph_break", 1, OpClass::kBarrier,
           DTypeRule::kAny},  // identity that nothing is fused across
    OpInfo{Op::kPrint, "print", 1, OpClass::kBarrier,
           DTypeRule::kAny},  // identity; prints when it runs
    OpInfo{Op::kDiff, "diff", 1, OpClass::kBarrier,
           DTypeRule::kAny},  // identity; compares with a file when it runs
    OpInfo{Op::kCustom, "custom", -1, OpClass::kBarrier,
           DTypeRule::kAttribute},  // the user's own function
};
/// The row of a primitive.
constexpr const OpInfo& info(Op op) { return kOps[static_cast<size_t>(op)]; }
constexpr std::string_view name(Op op) { return info(op).name; }  ///< "add"
/// What the assertion below asks.
constexpr bool op_table_is_in_enum_order() {
  for (size_t i = 0; i < kOps.size(); ++i)
    if (static_cast<size_t>(kOps[i].op) != i) return false;
  return kOps.size() == static_cast<size_t>(Op::kCustom) + 1;
}
static_assert(op_table_is_in_enum_order());

/// The op of that name, if there is one.
std::optional<Op> op_from_name(std::string_view name);
/// One result per element of its operands.
constexpr bool is_elementwise(Op op) { return info(op).op_class == OpClass::kElementwise; }
constexpr bool is_reduction(Op op) { return info(op).op_class == OpClass::kReduction; }
/// Runs for what it does, not only for its value: never removed, never merged with an equal node.
constexpr bool has_effect(Op op) { return op == Op::kPrint || op == Op::kDiff; }

/// How a Scatter combines an update with what is there. Updates are applied in row-major order, so
/// kSet keeps the last.
enum class ScatterMode : uint8_t { kSet, kAdd, kMul, kMax, kMin };
std::string_view name(ScatterMode mode);  ///< "set"

}  // namespace luminal::graph

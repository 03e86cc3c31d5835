// Evaluation of expressions: once against a map of values, or compiled once to a flat program and
// run many times over an array of slots. Both check overflow and division by zero, and both give
// exactly the integer that the expression denotes.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "luminal/symbolic/expr.h"

namespace luminal::symbolic {

/// Values of symbols by name: "seq" for a variable, "i0" for an axis.
using Values = std::map<std::string, int64_t, std::less<>>;

/// The value of an expression. A symbol without a value, or with one outside of its interval or
/// extent, is a UserError, and so are overflow and division by zero.
int64_t evaluate(const Expr& expr, const Values& values);

/// Expressions compiled once, evaluated fast. Slot k of the arguments holds the value of
/// `slots[k]` (a variable or an axis). Ranges of the values are not checked. Safe to share between
/// threads.
class CompiledExpr {
 public:
  /// Compiles one expression. A symbol that has no slot is a UserError.
  CompiledExpr(const Expr& expr, std::span<const Expr> slots);
  /// Compiles several expressions that share their common parts.
  CompiledExpr(std::span<const Expr> exprs, std::span<const Expr> slots);

  /// The value of the (first) expression.
  int64_t operator()(std::span<const int64_t> values) const;
  /// The values of all expressions.
  void run(std::span<const int64_t> values, std::span<int64_t> results) const;
  /// How many expressions were compiled.
  size_t size() const { return outputs_.size(); }

 private:
  enum class Op : uint8_t { kMulAdd, kFloorDiv, kMin, kNonNegative, kZero };
  /// registers[target] = op(registers[a], registers[b], registers[c]).
  struct Instruction {
    Op op;
    int32_t target, a, b, c;
  };
  class Builder;

  /// Runs the program; returns the instruction that overflowed Int or divided by zero, or the
  /// length of the program.
  template <typename Int>
  size_t execute(Int* registers) const;
  template <typename Int>
  void load(std::span<const int64_t> values, Int* registers) const;
  /// The slow way: wider integers, then an error if even those do not do.
  void run_wide(std::span<const int64_t> values, std::span<int64_t> results) const;

  int32_t slot_count_ = 0;
  int32_t register_count_ = 0;
  std::vector<int64_t> constants_;  // in the registers after the slots
  std::vector<Instruction> program_;
  std::vector<int32_t> outputs_;  // registers
  std::vector<Expr> sources_;     // what each instruction computes, for messages
  std::vector<Expr> exprs_;
};

}  // namespace luminal::symbolic

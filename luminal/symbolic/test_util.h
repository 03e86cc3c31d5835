// Helpers of the tests of this folder: printing for failures, and random expression trees that can
// be evaluated without the library, so that simplified results have something to agree with.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <ostream>
#include <random>
#include <vector>

#include "luminal/support/error.h"
#include "luminal/symbolic/evaluate.h"
#include "luminal/symbolic/expr.h"

namespace luminal::symbolic {

/// Lets test failures show expressions as text.
inline void PrintTo(const Expr& expr, std::ostream* out) { *out << to_string(expr); }

/// Lets test failures show intervals.
inline void PrintTo(const Interval& interval, std::ostream* out) {
  *out << '[' << interval.lo << ", " << interval.hi << ']';
}

/// An expression as it was written, unsimplified.
struct Tree {
  enum class Op {
    kConstant,
    kSymbol,
    kAdd,
    kSub,
    kMul,
    kFloorDiv,
    kCeilDiv,
    kMod,
    kMin,
    kMax,
    kLess,
    kEqual,
    kSelect
  };
  Op op = Op::kConstant;
  int64_t value = 0;
  Expr symbol = 0;
  std::vector<Tree> operands = {};

  /// The tree through the normalising constructors.
  Expr build() const;
  /// The value by plain arithmetic; nothing if a divisor is zero.
  std::optional<int64_t> evaluate(const Values& values) const;
  /// The tree as text, for failures.
  std::string text() const;
};

/// A fixed-seed source of symbols, trees and values.
class RandomTrees {
 public:
  explicit RandomTrees(uint64_t seed) : random_(seed) {}

  /// Draws new variables (intervals of all signs, some with one open end) and axes (constant and
  /// symbolic extents).
  void draw_symbols();
  const std::vector<Expr>& symbols() const { return symbols_; }
  /// A tree over the symbols.
  Tree tree(int depth);
  /// Values inside of all intervals and extents; nothing if an axis has no value.
  std::optional<Values> values();
  int64_t between(int64_t lo, int64_t hi) {
    return lo + static_cast<int64_t>(random_() % static_cast<uint64_t>(hi - lo + 1));
  }

 private:
  std::mt19937_64 random_;
  std::vector<Expr> symbols_;
};

/// Builds a tree unless a divisor folds to zero or numbers overflow, which are errors by contract.
inline std::optional<Expr> try_build(const Tree& tree) {
  try {
    return tree.build();
  } catch (const UserError&) {
    return std::nullopt;
  }
}

/// Calls check(tree, expr, trees) for many random trees of growing depth. The seed is fixed;
/// --gtest_random_seed=N explores other trees.
template <typename Check>
void for_random_trees(uint64_t seed, int count, Check check) {
  seed += 1000 * static_cast<uint64_t>(GTEST_FLAG_GET(random_seed));
  SCOPED_TRACE(fmt::format("seed {}", seed));
  RandomTrees trees(seed);
  for (int k = 0; k < count && !testing::Test::HasFailure(); ++k) {
    if (k % 8 == 0) trees.draw_symbols();
    const Tree tree = trees.tree(1 + k % 4);
    if (const auto expr = try_build(tree)) check(tree, *expr, trees);
  }
}

}  // namespace luminal::symbolic

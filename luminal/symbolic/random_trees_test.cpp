// The random trees of test_util.h, and the property tests that use them.
#include <gtest/gtest.h>

#include <algorithm>

#include "luminal/symbolic/test_util.h"
#include "luminal/symbolic/text.h"

namespace luminal::symbolic {
namespace {

int64_t floor_quotient(int64_t a, int64_t b) {
  const int64_t quotient = a / b;
  return a % b != 0 && (a < 0) != (b < 0) ? quotient - 1 : quotient;
}

constexpr const char* kNames[] = {"constant",  "symbol",   "add",   "sub", "mul",
                                  "floor_div", "ceil_div", "mod",   "min", "max",
                                  "less",      "equal",    "select"};

}  // namespace

Expr Tree::build() const {
  std::vector<Expr> built;
  for (const Tree& operand : operands) built.push_back(operand.build());
  switch (op) {
    case Op::kConstant:
      return value;
    case Op::kSymbol:
      return symbol;
    case Op::kAdd:
      return built[0] + built[1];
    case Op::kSub:
      return built[0] - built[1];
    case Op::kMul:
      return built[0] * built[1];
    case Op::kFloorDiv:
      return floor_div(built[0], built[1]);
    case Op::kCeilDiv:
      return ceil_div(built[0], built[1]);
    case Op::kMod:
      return mod(built[0], built[1]);
    case Op::kMin:
      return min(built[0], built[1]);
    case Op::kMax:
      return max(built[0], built[1]);
    case Op::kLess:
      return less(built[0], built[1]);
    case Op::kEqual:
      return equal(built[0], built[1]);
    case Op::kSelect:
      return select(greater_equal(built[0], 0), built[1], built[2]);
  }
  return 0;
}

std::optional<int64_t> Tree::evaluate(const Values& values) const {
  if (op == Op::kConstant) return value;
  if (op == Op::kSymbol) return values.at(symbol.name());
  std::vector<int64_t> v;
  for (const Tree& operand : operands) {
    const auto result = operand.evaluate(values);
    if (!result) return std::nullopt;
    v.push_back(*result);
  }
  const bool divides = op == Op::kFloorDiv || op == Op::kCeilDiv || op == Op::kMod;
  if (divides && v[1] == 0) return std::nullopt;
  switch (op) {
    case Op::kAdd:
      return v[0] + v[1];
    case Op::kSub:
      return v[0] - v[1];
    case Op::kMul:
      return v[0] * v[1];
    case Op::kFloorDiv:
      return floor_quotient(v[0], v[1]);
    case Op::kCeilDiv:
      return -floor_quotient(-v[0], v[1]);
    case Op::kMod:
      return v[0] - v[1] * floor_quotient(v[0], v[1]);
    case Op::kMin:
      return std::min(v[0], v[1]);
    case Op::kMax:
      return std::max(v[0], v[1]);
    case Op::kLess:
      return v[0] < v[1];
    case Op::kEqual:
      return v[0] == v[1];
    default:
      return v[0] >= 0 ? v[1] : v[2];
  }
}

std::string Tree::text() const {
  if (op == Op::kConstant) return fmt::format("{}", value);
  if (op == Op::kSymbol) return symbol.name();
  std::string list;
  for (const Tree& operand : operands) list += (list.empty() ? "" : ", ") + operand.text();
  return fmt::format("{}({})", kNames[static_cast<int>(op)], list);
}

void RandomTrees::draw_symbols() {
  symbols_.clear();
  const Expr n = Expr::variable("n", {between(0, 1), between(2, 9)});
  const Expr m = Expr::variable("m", {1, between(0, 1) == 0 ? kUnbounded : between(2, 20)});
  const int64_t lo = between(-9, 3);
  symbols_.push_back(n);
  symbols_.push_back(m);
  symbols_.push_back(Expr::variable("x", {lo, lo + between(1, 12)}));
  symbols_.push_back(Expr::variable("y", {Interval::kNegInf, kUnbounded}));
  symbols_.push_back(Expr::axis(0, between(2, 12)));
  symbols_.push_back(Expr::axis(1, n));
  symbols_.push_back(Expr::axis(2, between(0, 1) == 0 ? n * m : m + 2));
}

Tree RandomTrees::tree(int depth) {
  const int64_t kind = between(0, 99);
  if (depth == 0 || kind < 10) {
    if (between(0, 3) == 0) return {.op = Tree::Op::kConstant, .value = between(-9, 9)};
    const auto index = static_cast<size_t>(between(0, static_cast<int64_t>(symbols_.size()) - 1));
    return {.op = Tree::Op::kSymbol, .symbol = symbols_[index]};
  }
  // Sums, products and divisions by numbers are what views are made of; the rest is rarer.
  static constexpr Tree::Op kOps[] = {Tree::Op::kAdd,      Tree::Op::kAdd,      Tree::Op::kSub,
                                      Tree::Op::kMul,      Tree::Op::kFloorDiv, Tree::Op::kMod,
                                      Tree::Op::kFloorDiv, Tree::Op::kMod,      Tree::Op::kCeilDiv,
                                      Tree::Op::kMin,      Tree::Op::kMax,      Tree::Op::kLess,
                                      Tree::Op::kEqual,    Tree::Op::kSelect};
  Tree result{.op = kOps[between(0, std::size(kOps) - 1)]};
  const bool divides = result.op == Tree::Op::kFloorDiv || result.op == Tree::Op::kCeilDiv ||
                       result.op == Tree::Op::kMod;
  result.operands.push_back(tree(depth - 1));
  if (divides && between(0, 2) > 0) {
    int64_t divisor = between(-8, 12);
    if (divisor == 0) divisor = 16;
    result.operands.push_back({.op = Tree::Op::kConstant, .value = divisor});
  } else {
    result.operands.push_back(tree(divides ? std::min(depth - 1, 1) : depth - 1));
  }
  if (result.op == Tree::Op::kSelect) result.operands.push_back(tree(depth - 1));
  return result;
}

std::optional<Values> RandomTrees::values() {
  Values values;
  for (const Expr& symbol : symbols_) {
    if (symbol.is_axis()) {
      const int64_t extent = symbolic::evaluate(symbol.axis_extent(), values);
      if (extent <= 0) return std::nullopt;
      values[symbol.name()] = between(0, 1) == 0 ? extent - 1 : between(0, extent - 1);
      continue;
    }
    const Interval range = symbol.bounds();
    const int64_t lo = std::max<int64_t>(range.lo, -30), hi = std::min<int64_t>(range.hi, 30);
    values[symbol.name()] = between(lo, hi);
  }
  return values;
}

namespace {

TEST(RandomTrees, SimplifiedValuesEqualThoseOfTheTreeAsWritten) {
  int compared = 0;
  for_random_trees(1, 8000, [&](const Tree& tree, const Expr& expr, RandomTrees& trees) {
    for (int k = 0; k < 12; ++k) {
      const auto values = trees.values();
      if (!values) continue;
      const auto expected = tree.evaluate(*values);
      if (!expected) continue;
      int64_t actual = 0;
      ASSERT_NO_THROW(actual = evaluate(expr, *values)) << tree.text() << "\n" << to_string(expr);
      ASSERT_EQ(actual, *expected) << tree.text() << "\n" << to_string(expr);
      ASSERT_TRUE(expr.bounds().contains(*expected))
          << tree.text() << "\n"
          << to_string(expr) << " is " << *expected << " outside of [" << expr.bounds().lo << ", "
          << expr.bounds().hi << "]";
      ++compared;
    }
  });
  EXPECT_GT(compared, 40000);
}

TEST(RandomTrees, TextParsesBackToTheSameExpression) {
  for_random_trees(2, 6000, [&](const Tree& tree, const Expr& expr, RandomTrees& trees) {
    ASSERT_EQ(parse(to_string(expr), trees.symbols()), expr) << tree.text() << "\n"
                                                             << to_string(expr);
  });
}

TEST(RandomTrees, RenamingSymbolsThereAndBackHardlyEverChangesTheForm) {
  int same = 0, all = 0;
  for_random_trees(3, 6000, [&](const Tree& tree, const Expr& expr, RandomTrees& trees) {
    // New names in the opposite order, so that terms are sorted differently in between.
    std::vector<Binding> there, back;
    for (const Expr& symbol : trees.symbols()) {
      if (symbol.is_axis()) continue;
      const Expr renamed = Expr::variable(fmt::format("v{}", 9 - there.size()), symbol.bounds());
      there.push_back({symbol, renamed});
      back.push_back({renamed, symbol});
    }
    const Expr result = substitute(substitute(expr, there), back);
    ++all;
    same += result == expr;
    const auto values = trees.values();
    if (!values || !tree.evaluate(*values)) return;
    ASSERT_EQ(evaluate(result, *values), evaluate(expr, *values)) << tree.text();
  });
  // Signs and pivots are chosen by the order of symbols, and a proof that succeeds only in one of
  // the two forms may leave another normal form. That must stay an exception.
  EXPECT_GE(same * 1000, all * 999) << same << " of " << all;
}

}  // namespace
}  // namespace luminal::symbolic

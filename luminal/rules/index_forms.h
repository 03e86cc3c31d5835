// Ways to write a normal form with one operation: the questions that the rules for index
// expressions put to `symbolic`. Each function lists decompositions of an expression into smaller
// ones; that they are equal is by construction, and which of them is cheapest is for the e-graph to
// find out.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "luminal/symbolic/expr.h"

namespace luminal::rules {

using symbolic::Expr;

/// Two expressions that an operation joins.
struct Operands {
  Expr left;
  Expr right;
  bool operator==(const Operands&) const = default;
};

/// How many summands an expression has: terms, and the constant if it is not 0.
int64_t summand_count(const Expr& expr);
/// A constant, a variable or an axis.
bool is_leaf(const Expr& expr);
/// 0 or 1 for all values of the symbols.
bool is_truth_value(const Expr& expr);

// Parts p of a sum, to be written p + (expr - p).

/// The constant, or else the last term; nothing if there is only one summand.
std::optional<Expr> last_summand(const Expr& expr);
/// The first summand with a minus sign, if some other has none.
std::optional<Expr> negative_summand(const Expr& expr);
/// For each factor that two summands share: all summands that have it. Whole sums are left out.
std::vector<Expr> factored_parts(const Expr& expr);
/// Multiples of a remainder that make the sum shorter when they are taken out.
std::vector<Expr> remainder_parts(const Expr& expr);
/// Multiples of a minimum or maximum, with the summands that cancel inside.
std::vector<Expr> extremum_parts(const Expr& expr);
/// The summands of `rest` that cancel inside c * min(members), divided by |c|.
Expr cancelling_part(const Expr& rest, int64_t c, const std::vector<Expr>& members);
/// True if taking `part` (of two or more summands) out makes the sum shorter by all of them but
/// one.
bool contains_sum(const Expr& expr, const Expr& part);

// Whole expressions.

/// expr = left * right, neither of them 1.
std::vector<Operands> factors(const Expr& expr);
/// expr = left % right.
std::vector<Operands> remainders(const Expr& expr);
/// expr = left / right, the quotient as it stands or with the other summands moved inside where
/// that makes it shorter.
std::vector<Operands> quotients_of(const Expr& expr);
/// expr = min(left, right).
std::vector<Operands> minima(const Expr& expr);
/// expr = max(left, right).
std::vector<Operands> maxima(const Expr& expr);
/// expr = (left <= right), and expr = (left < right).
std::vector<Operands> at_most(const Expr& expr);
std::vector<Operands> below(const Expr& expr);
/// expr = (left == right), and expr = (left != right).
std::vector<Operands> equalities(const Expr& expr);
std::vector<Operands> differences(const Expr& expr);
/// expr = (left or right), both truth values.
std::vector<Operands> alternatives(const Expr& expr);
/// expr = (0 <= left < right) with right >= 0 proved.
std::vector<Operands> ranges(const Expr& expr);

/// expr = condition ? if_true : if_false.
struct Choice {
  Expr condition, if_true, if_false;
};
std::vector<Choice> choices(const Expr& expr);

/// A quotient that takes two values only: the smaller plus a comparison.
std::optional<Expr> quotient_as_test(const Expr& expr);

}  // namespace luminal::rules

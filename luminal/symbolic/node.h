// The interned nodes behind Expr, for the implementation only. A node is a constant, an atom
// (variable, axis, floor-div, minimum, test) or a polynomial over atoms; a polynomial that is just
// one atom or one constant is that node itself, so every normal form has exactly one node.
#pragma once

#include <atomic>
#include <compare>
#include <cstdint>
#include <string>
#include <vector>

#include "luminal/support/error.h"
#include "luminal/support/small_vector.h"
#include "luminal/symbolic/expr.h"

namespace luminal::symbolic {

/// Wide enough for any sum of products of two 64-bit integers that occurs here.
__extension__ typedef __int128 Int128;

/// What a node is. The order of the atoms is the order in which they stand in a product.
enum class Kind : uint8_t {
  kConstant,
  kVariable,     // name, interval
  kAxis,         // value = id, operands = {extent}
  kFloorDiv,     // operands = {numerator, divisor}
  kMinimum,      // operands = {0, differences...} from a pivot (minimum.cpp)
  kNonNegative,  // 1 if operands[0] >= 0 else 0
  kZero,         // 1 if operands[0] == 0 else 0
  kPolynomial,   // value + sum of terms
};

/// A power of an atom.
struct Factor {
  const Node* atom;
  int32_t power;
  bool operator==(const Factor&) const = default;
};

/// A product of powers of atoms, sorted by compare_atoms; empty means 1.
using Monomial = support::SmallVector<Factor, 2>;

/// coefficient * monomial; the coefficient is not 0.
struct Term {
  int64_t coefficient;
  Monomial monomial;
  bool operator==(const Term&) const = default;
};

/// A polynomial being worked on: constant + terms, sorted by compare_monomials, no zero terms.
struct Polynomial {
  int64_t constant = 0;
  std::vector<Term> terms;
};

/// One interned normal form. Everything but the memo is fixed before others can see the node.
struct Node {
  Kind kind;
  uint64_t hash = 0;
  int64_t value = 0;
  Interval interval;
  std::string name;
  std::vector<Expr> operands;
  std::vector<Term> terms;  // of an atom: itself
  std::vector<Expr> variables;
  std::vector<Expr> axes;

  // Bounds and what it cost to find them are pure functions of the node, so threads that race
  // compute the same numbers.
  mutable std::atomic<bool> bounds_known{false};
  mutable std::atomic<int64_t> bounds_lo{0};
  mutable std::atomic<int64_t> bounds_hi{0};
  mutable std::atomic<int64_t> bounds_cost{0};
};

/// A node that is not interned yet.
struct NodeContent {
  Kind kind = Kind::kConstant;
  int64_t value = 0;
  Interval interval = {0, 0};
  std::string name = {};
  std::vector<Expr> operands = {};
  std::vector<Term> terms = {};
};

/// The one node with this content (which must be normal already).
Expr intern(NodeContent&& content);

/// True for the atoms that are 0 or 1, whose powers are themselves.
inline bool is_test(const Node* node) {
  return node->kind == Kind::kNonNegative || node->kind == Kind::kZero;
}

std::strong_ordering compare_atoms(const Node* a, const Node* b);
/// The order of terms: higher degree first, then by atoms. It respects multiplication, as division
/// of polynomials needs.
std::strong_ordering compare_monomials(const Monomial& a, const Monomial& b);

/// Sum, difference, product of 64-bit integers; a UserError on overflow.
int64_t checked_add(int64_t a, int64_t b);
int64_t checked_sub(int64_t a, int64_t b);
int64_t checked_mul(int64_t a, int64_t b);
int64_t checked_neg(int64_t a);
/// Floor division of numbers; the divisor is not 0.
int64_t checked_floor_div(int64_t a, int64_t b);

/// Thrown by the checked arithmetic. Proofs catch it and answer "not proved".
class OverflowError : public UserError {
 public:
  using UserError::UserError;
};

Polynomial as_polynomial(const Expr& expr);
Expr from_polynomial(Polynomial&& polynomial);
Expr from_term(int64_t coefficient, const Monomial& monomial);
Expr from_atom(const Node* atom, int32_t power = 1);

/// The constant summand.
int64_t constant_part(const Expr& expr);
/// The terms beside the constant, in order.
inline const std::vector<Term>& terms_of(const Expr& expr) { return expr.node()->terms; }
/// The coefficient of the leading term, or the constant if there is no term.
int64_t leading_coefficient(const Expr& expr);

Monomial multiply(const Monomial& a, const Monomial& b);
/// a / b if b divides a as a product of atoms.
std::optional<Monomial> divide(const Monomial& a, const Monomial& b);
Monomial common_factor(const Monomial& a, const Monomial& b);

/// The largest term c * m (c > 0) that divides every term and the constant; 0 for the zero
/// polynomial.
Term content(const Expr& expr);
/// The largest term that divides both terms.
Term common_factor(const Term& a, const Term& b);

struct Division {
  Expr quotient;
  Expr remainder;
};
/// Division of polynomials: expr = quotient * divisor + remainder, where no term of the remainder
/// can be divided further. A constant remainder of a constant divisor d > 0 lies in [0, d).
Division divide_polynomial(const Expr& expr, const Expr& divisor);

/// expr = coefficient * atom + rest, where rest is free of this power of the atom. Nothing if the
/// atom occurs in a higher power (or not at all).
struct Linear {
  Expr coefficient;
  Expr rest;
};
std::optional<Linear> split_linear(const Expr& expr, const Node* atom);

/// expr = rest + factor * mod(value, divisor), recognised from value - divisor * (value / divisor).
struct ModuloForm {
  Expr rest, factor, value, divisor;
};
/// Finds the first remainder hidden in a sum that makes the sum shorter.
std::optional<ModuloForm> find_modulo(const Expr& expr);

/// Replaces a symbol where its value is used, and leaves the extents of axes as they are.
Expr substitute_value(const Expr& expr, const Expr& symbol, const Expr& value);

/// The minimum of one or more values.
Expr minimum_of(const std::vector<Expr>& exprs);

/// Test of a normal form: 1 if expr >= 0, or expr == 0, else 0.
Expr non_negative(const Expr& expr);
Expr is_zero(const Expr& expr);

}  // namespace luminal::symbolic

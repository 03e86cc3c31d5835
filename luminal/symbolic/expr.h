// Integer expressions over named dims and index axes, kept in one normal form. An Expr is a
// one-pointer value handle to an immutable, interned node; every operation normalises, so two
// expressions with equal normal forms are the same pointer and == costs nothing. Facts about the
// symbols (the interval of a variable, the extent of an axis) are part of their identity, so
// simplification needs no context and never depends on what was built before.
//
// Laws: arithmetic is exact over the integers (an overflow of 64 bits is a UserError, never a
// wrap); division rounds towards minus infinity; a divisor is assumed to be non-zero (dividing by
// the constant zero is a UserError, evaluating with a zero divisor too).
#pragma once

#include <fmt/core.h>

#include <compare>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace luminal::symbolic {

/// A closed interval of integers; kNegInf and kPosInf mark a missing bound.
struct Interval {
  static constexpr int64_t kNegInf = std::numeric_limits<int64_t>::min();  ///< no lower bound
  static constexpr int64_t kPosInf = std::numeric_limits<int64_t>::max();  ///< no upper bound

  int64_t lo = 0;        ///< the least value
  int64_t hi = kPosInf;  ///< the largest value

  bool operator==(const Interval&) const = default;
  auto operator<=>(const Interval&) const = default;
  /// True if `value` lies inside.
  bool contains(int64_t value) const { return lo <= value && value <= hi; }
  /// True if both bounds are known.
  bool is_finite() const { return lo != kNegInf && hi != kPosInf; }
};

/// The upper bound of a variable about which nothing is known.
inline constexpr int64_t kUnbounded = Interval::kPosInf;

struct Node;

/// The same number; a UserError if it does not fit.
int64_t signed_integer(uint64_t value);

/// Any integer as 64 bits; a UserError if it does not fit.
template <std::integral T>
int64_t integer(T value) {
  if constexpr (std::is_unsigned_v<T> && sizeof(T) >= sizeof(int64_t))
    return signed_integer(value);
  else
    return static_cast<int64_t>(value);
}

/// An integer expression in normal form. Default constructed it is 0. Copying is free.
class Expr {
 public:
  /// Zero.
  Expr();
  /// A constant, from any integer type; implicit, so that `n + 1` and `{values.size(), 3}` read
  /// naturally. A UserError if it does not fit.
  template <std::integral T>
  Expr(T value) : node_(constant(integer(value))) {}  // NOLINT(google-explicit-constructor)

  /// A named variable with the values it may take (inclusive). The name is a C identifier that is
  /// not a word of the text form (min, max, ...) nor an axis name (i0, i1, ...). Name and interval
  /// together are its identity. An interval with one value gives that constant.
  static Expr variable(std::string_view name, Interval interval = {0, kUnbounded});
  /// The index axis `i<id>` with 0 <= i < extent. Id and extent together are its identity; the
  /// extent may be symbolic but holds no axis. An axis of extent 1 is the constant 0.
  static Expr axis(int64_t id, const Expr& extent);

  /// True if this is a number.
  bool is_constant() const;
  /// True if this is the constant `value`.
  bool is_constant(int64_t value) const;
  /// The number, if this is one.
  std::optional<int64_t> constant_value() const;
  /// True if this is exactly one variable.
  bool is_variable() const;
  /// True if this is exactly one axis.
  bool is_axis() const;
  /// The name of a variable or axis; a UserError for other expressions.
  std::string name() const;
  /// The id of an axis; a UserError for other expressions.
  int64_t axis_id() const;
  /// The extent of an axis; a UserError for other expressions.
  Expr axis_extent() const;

  /// Constant bounds of all values this can take. Correct, and tight for what view algebra builds.
  Interval bounds() const;
  /// The variables that occur (not those in extents of axes only), sorted.
  const std::vector<Expr>& variables() const;
  /// The axes that occur, sorted.
  const std::vector<Expr>& axes() const;
  /// True if `symbol` (a variable or an axis) occurs; extents of axes are not searched.
  bool depends_on(const Expr& symbol) const;

  /// A hash of the structure: the same in every process.
  uint64_t hash() const;

  /// Equal normal forms.
  friend bool operator==(const Expr& a, const Expr& b) { return a.node_ == b.node_; }

  /// For the implementation: the interned node and back.
  const Node* node() const { return node_; }
  /// For the implementation.
  explicit Expr(const Node* node) : node_(node) {}

 private:
  static const Node* constant(int64_t value);

  const Node* node_;
};

/// A total order by structure (names, ids, values), the same in every process.
std::strong_ordering compare(const Expr& a, const Expr& b);

Expr operator+(const Expr& a, const Expr& b);  ///< UserError on overflow, as below
Expr operator-(const Expr& a, const Expr& b);  ///< difference
Expr operator*(const Expr& a, const Expr& b);  ///< product
Expr operator-(const Expr& a);                 ///< negated
inline Expr& operator+=(Expr& a, const Expr& b) { return a = a + b; }  ///< adds to a
inline Expr& operator-=(Expr& a, const Expr& b) { return a = a - b; }  ///< subtracts from a
inline Expr& operator*=(Expr& a, const Expr& b) { return a = a * b; }  ///< multiplies a

/// a / b rounded towards minus infinity.
Expr floor_div(const Expr& a, const Expr& b);
/// a / b rounded towards plus infinity.
Expr ceil_div(const Expr& a, const Expr& b);
/// a - b * floor_div(a, b): the remainder with the sign of the divisor.
Expr mod(const Expr& a, const Expr& b);
/// The smaller of two values.
Expr min(const Expr& a, const Expr& b);
/// The larger of two values.
Expr max(const Expr& a, const Expr& b);

/// Comparisons, as expressions with the value 1 (true) or 0.
Expr less(const Expr& a, const Expr& b);
Expr less_equal(const Expr& a, const Expr& b);     ///< a <= b
Expr greater(const Expr& a, const Expr& b);        ///< a > b
Expr greater_equal(const Expr& a, const Expr& b);  ///< a >= b
Expr equal(const Expr& a, const Expr& b);          ///< a == b
Expr not_equal(const Expr& a, const Expr& b);      ///< a != b
/// Logic on expressions whose bounds are within [0, 1]; a UserError for others.
Expr logical_and(const Expr& a, const Expr& b);
Expr logical_or(const Expr& a, const Expr& b);  ///< either is 1
Expr logical_not(const Expr& a);                ///< it is 0
/// a where the condition is 1, b where it is 0.
Expr select(const Expr& condition, const Expr& a, const Expr& b);

/// True if a >= b is proved for all values of the symbols; false means "not proved".
bool provably_ge(const Expr& a, const Expr& b);
/// True if a < b is proved.
bool provably_less(const Expr& a, const Expr& b);
/// True if a == b is proved: by equal normal forms, or by the bounds of the difference.
bool provably_equal(const Expr& a, const Expr& b);
/// True if b is proved to divide a (b may be symbolic).
bool divisible_by(const Expr& a, const Expr& b);
/// The quotient where b is proved to divide a.
std::optional<Expr> exact_div(const Expr& a, const Expr& b);

/// One summand `coefficient * axis` of an affine expression; the coefficient holds no axis.
struct AffineTerm {
  Expr axis;         ///< the variable
  Expr coefficient;  ///< what it is multiplied by
};

/// constant + sum of coefficient * axis; terms sorted by axis, none with coefficient 0.
struct Affine {
  Expr constant;                  ///< what is left with all axes 0
  std::vector<AffineTerm> terms;  ///< by axis

  /// The coefficient of an axis, 0 if it does not occur.
  Expr coefficient(const Expr& axis) const;
};

/// The affine form, if the expression is linear in its axes.
std::optional<Affine> as_affine(const Expr& expr);

/// What replaces a variable or an axis.
struct Binding {
  Expr symbol;  ///< a variable or an axis
  Expr value;   ///< in its place
};

/// Replaces symbols, all at once, and renormalises. Variables are replaced in the extents of axes
/// too, except where the axis is itself bound.
Expr substitute(const Expr& expr, std::span<const Binding> bindings);
/// The same for a braced list: substitute(e, {{i, j + 1}}).
inline Expr substitute(const Expr& expr, std::initializer_list<Binding> bindings) {
  return substitute(expr, std::span<const Binding>(bindings.begin(), bindings.size()));
}

/// Readable text, which parse() (text.h) reads back to the same expression.
std::string to_string(const Expr& expr);

}  // namespace luminal::symbolic

template <>
struct std::hash<luminal::symbolic::Expr> {
  std::size_t operator()(const luminal::symbolic::Expr& expr) const { return expr.hash(); }
};

template <>
struct fmt::formatter<luminal::symbolic::Expr> {
  constexpr auto parse(fmt::format_parse_context& context) { return context.begin(); }
  template <typename Context>
  auto format(const luminal::symbolic::Expr& expr, Context& context) const {
    return fmt::format_to(context.out(), "{}", luminal::symbolic::to_string(expr));
  }
};

// Polynomials over atoms: order, sums, products and division. Everything here is algebra; nothing
// looks at the values that symbols can take.
#include <algorithm>
#include <numeric>

#include "luminal/support/check.h"
#include "luminal/symbolic/node.h"

namespace luminal::symbolic {
namespace {

[[noreturn]] void overflow(int64_t a, const char* operation, int64_t b) {
  throw OverflowError("symbolic", "{} {} {} does not fit into 64 bits", a, operation, b);
}

// a + scale * b, exact in between: -1 - INT64_MIN fits although -INT64_MIN does not.
int64_t add_product(int64_t a, int64_t scale, int64_t b) {
  const Int128 sum = Int128{a} + Int128{scale} * b;
  const auto result = static_cast<int64_t>(sum);
  if (result != sum) overflow(a, scale < 0 ? "-" : "+", b);
  return result;
}

int64_t degree(const Monomial& monomial) {
  int64_t sum = 0;
  for (const Factor& factor : monomial) sum += factor.power;
  return sum;
}

// The gcd of INT64_MIN and itself or 0 does not fit; 2^62 divides too, and is all we can say.
int64_t positive_gcd(int64_t a, int64_t b) {
  const auto magnitude = [](int64_t value) {
    return value < 0 ? 0 - static_cast<uint64_t>(value) : static_cast<uint64_t>(value);
  };
  const uint64_t divisor = std::gcd(magnitude(a), magnitude(b));
  return divisor >> 63 != 0 ? int64_t{1} << 62 : static_cast<int64_t>(divisor);
}

bool holds_test(const Expr& expr) {
  for (const Term& term : terms_of(expr)) {
    for (const Factor& factor : term.monomial) {
      if (is_test(factor.atom)) return true;
    }
  }
  return false;
}

std::strong_ordering compare_operands(const Node* a, const Node* b) {
  if (auto order = a->operands.size() <=> b->operands.size(); order != 0) return order;
  for (size_t k = 0; k < a->operands.size(); ++k) {
    if (auto order = compare(a->operands[k], b->operands[k]); order != 0) return order;
  }
  return std::strong_ordering::equal;
}

// Merges terms that are sorted except for repetitions after sorting.
void sort_and_combine(std::vector<Term>& terms) {
  std::sort(terms.begin(), terms.end(), [](const Term& a, const Term& b) {
    return compare_monomials(a.monomial, b.monomial) < 0;
  });
  size_t kept = 0;
  for (size_t k = 0; k < terms.size(); ++k) {
    if (kept > 0 && terms[kept - 1].monomial == terms[k].monomial) {
      int64_t& sum = terms[kept - 1].coefficient;
      sum = checked_add(sum, terms[k].coefficient);
      if (sum == 0) --kept;
    } else {
      if (kept != k) terms[kept] = std::move(terms[k]);
      ++kept;
    }
  }
  terms.resize(kept);
}

Polynomial add_scaled(const Expr& a, const Expr& b, int64_t scale) {
  Polynomial sum = as_polynomial(a);
  sum.constant = add_product(sum.constant, scale, constant_part(b));
  std::vector<Term> merged;
  merged.reserve(sum.terms.size() + terms_of(b).size());
  auto left = sum.terms.begin();
  for (const Term& term : terms_of(b)) {
    auto order = std::strong_ordering::greater;
    while (left != sum.terms.end() &&
           (order = compare_monomials(left->monomial, term.monomial)) == std::strong_ordering::less)
      merged.push_back(std::move(*left++));
    if (left != sum.terms.end() && order == std::strong_ordering::equal) {
      const int64_t coefficient = add_product(left->coefficient, scale, term.coefficient);
      if (coefficient != 0) merged.push_back({coefficient, std::move(left->monomial)});
      ++left;
    } else {
      merged.push_back({checked_mul(scale, term.coefficient), term.monomial});
    }
  }
  std::move(left, sum.terms.end(), std::back_inserter(merged));
  sum.terms = std::move(merged);
  return sum;
}

}  // namespace

int64_t checked_add(int64_t a, int64_t b) {
  int64_t result;
  if (__builtin_add_overflow(a, b, &result)) overflow(a, "+", b);
  return result;
}

int64_t checked_sub(int64_t a, int64_t b) {
  int64_t result;
  if (__builtin_sub_overflow(a, b, &result)) overflow(a, "-", b);
  return result;
}

int64_t checked_mul(int64_t a, int64_t b) {
  int64_t result;
  if (__builtin_mul_overflow(a, b, &result)) overflow(a, "*", b);
  return result;
}

int64_t checked_neg(int64_t a) { return checked_sub(0, a); }

int64_t checked_floor_div(int64_t a, int64_t b) {
  if (b == -1) return checked_neg(a);
  const int64_t quotient = a / b;
  return a % b != 0 && (a < 0) != (b < 0) ? quotient - 1 : quotient;
}

std::strong_ordering compare_atoms(const Node* a, const Node* b) {
  if (a == b) return std::strong_ordering::equal;
  if (auto order = a->kind <=> b->kind; order != 0) return order;
  if (auto order = a->name.compare(b->name) <=> 0; order != 0) return order;
  if (auto order = a->value <=> b->value; order != 0) return order;
  if (auto order = a->interval <=> b->interval; order != 0) return order;
  return compare_operands(a, b);
}

std::strong_ordering compare_monomials(const Monomial& a, const Monomial& b) {
  if (auto order = degree(b) <=> degree(a); order != 0) return order;
  const size_t size = std::min(a.size(), b.size());
  for (size_t k = 0; k < size; ++k) {
    if (auto order = compare_atoms(a[k].atom, b[k].atom); order != 0) return order;
    if (auto order = b[k].power <=> a[k].power; order != 0) return order;
  }
  return b.size() <=> a.size();
}

std::strong_ordering compare(const Expr& a, const Expr& b) {
  if (a == b) return std::strong_ordering::equal;
  const std::vector<Term>&left = terms_of(a), &right = terms_of(b);
  const size_t size = std::min(left.size(), right.size());
  for (size_t k = 0; k < size; ++k) {
    if (auto order = compare_monomials(left[k].monomial, right[k].monomial); order != 0)
      return order;
    if (auto order = left[k].coefficient <=> right[k].coefficient; order != 0) return order;
  }
  if (auto order = left.size() <=> right.size(); order != 0) return order;
  return constant_part(a) <=> constant_part(b);
}

Polynomial as_polynomial(const Expr& expr) { return {constant_part(expr), terms_of(expr)}; }

Expr from_polynomial(Polynomial&& polynomial) {
  if (polynomial.terms.empty()) return Expr(polynomial.constant);
  const Term& first = polynomial.terms.front();
  if (polynomial.constant == 0 && polynomial.terms.size() == 1 && first.coefficient == 1 &&
      first.monomial.size() == 1 && first.monomial[0].power == 1)
    return Expr(first.monomial[0].atom);
  return intern({.kind = Kind::kPolynomial,
                 .value = polynomial.constant,
                 .terms = std::move(polynomial.terms)});
}

Expr from_term(int64_t coefficient, const Monomial& monomial) {
  if (coefficient == 0 || monomial.empty()) return Expr(coefficient);
  return from_polynomial({0, {Term{coefficient, monomial}}});
}

Expr from_atom(const Node* atom, int32_t power) {
  return from_term(1, Monomial{Factor{atom, power}});
}

int64_t constant_part(const Expr& expr) {
  const Node* node = expr.node();
  return node->kind == Kind::kConstant || node->kind == Kind::kPolynomial ? node->value : 0;
}

int64_t leading_coefficient(const Expr& expr) {
  return expr.is_constant() ? expr.node()->value : terms_of(expr).front().coefficient;
}

Expr operator+(const Expr& a, const Expr& b) {
  if (a.is_constant(0)) return b;
  if (b.is_constant(0)) return a;
  return from_polynomial(add_scaled(a, b, 1));
}

Expr operator-(const Expr& a, const Expr& b) {
  if (a == b) return 0;
  if (b.is_constant(0)) return a;
  return from_polynomial(add_scaled(a, b, -1));
}

Expr operator-(const Expr& a) { return Expr(0) - a; }

Monomial multiply(const Monomial& a, const Monomial& b) {
  Monomial product;
  auto left = a.begin();
  auto right = b.begin();
  while (left != a.end() || right != b.end()) {
    const auto order = left == a.end()    ? std::strong_ordering::greater
                       : right == b.end() ? std::strong_ordering::less
                                          : compare_atoms(left->atom, right->atom);
    if (order < 0) {
      product.push_back(*left++);
    } else if (order > 0) {
      product.push_back(*right++);
    } else {
      // A test is 0 or 1, so its square is itself.
      const int32_t power = is_test(left->atom) ? 1 : left->power + right->power;
      product.push_back({left->atom, power});
      ++left, ++right;
    }
  }
  return product;
}

Expr operator*(const Expr& a, const Expr& b) {
  if (a.is_constant(0) || b.is_constant(0)) return 0;
  if (a.is_constant(1)) return b;
  if (b.is_constant(1)) return a;
  const Polynomial left = as_polynomial(a), right = as_polynomial(b);
  Polynomial product;
  product.constant = checked_mul(left.constant, right.constant);
  for (const Term& x : left.terms) {
    for (const Term& y : right.terms)
      product.terms.push_back(
          {checked_mul(x.coefficient, y.coefficient), multiply(x.monomial, y.monomial)});
    if (right.constant != 0)
      product.terms.push_back({checked_mul(x.coefficient, right.constant), x.monomial});
  }
  if (left.constant != 0) {
    for (const Term& y : right.terms)
      product.terms.push_back({checked_mul(left.constant, y.coefficient), y.monomial});
  }
  sort_and_combine(product.terms);
  return from_polynomial(std::move(product));
}

std::optional<Monomial> divide(const Monomial& a, const Monomial& b) {
  Monomial quotient;
  auto right = b.begin();
  for (const Factor& factor : a) {
    if (right == b.end() || right->atom != factor.atom) {
      quotient.push_back(factor);
      continue;
    }
    if (factor.power < right->power) return std::nullopt;
    if (factor.power > right->power) quotient.push_back({factor.atom, factor.power - right->power});
    ++right;
  }
  if (right != b.end()) return std::nullopt;
  return quotient;
}

Monomial common_factor(const Monomial& a, const Monomial& b) {
  Monomial common;
  for (const Factor& x : a) {
    for (const Factor& y : b) {
      if (x.atom == y.atom) common.push_back({x.atom, std::min(x.power, y.power)});
    }
  }
  return common;
}

Term common_factor(const Term& a, const Term& b) {
  return {positive_gcd(a.coefficient, b.coefficient), common_factor(a.monomial, b.monomial)};
}

Term content(const Expr& expr) {
  Term common{constant_part(expr), {}};
  if (common.coefficient == 0 && !expr.is_constant()) common.monomial = terms_of(expr)[0].monomial;
  for (const Term& term : terms_of(expr)) common = common_factor(common, term);
  return common;
}

Division divide_polynomial(const Expr& expr, const Expr& divisor) {
  if (auto number = divisor.constant_value()) {
    Polynomial quotient, remainder;
    quotient.constant = checked_floor_div(constant_part(expr), *number);
    // The remainder fits although the product in between may not.
    remainder.constant =
        static_cast<int64_t>(constant_part(expr) - Int128{quotient.constant} * *number);
    for (const Term& term : terms_of(expr)) {
      const int64_t whole =
          *number == -1 ? checked_neg(term.coefficient) : term.coefficient / *number;
      const int64_t rest = term.coefficient - whole * *number;
      if (whole != 0) quotient.terms.push_back({whole, term.monomial});
      if (rest != 0) remainder.terms.push_back({rest, term.monomial});
    }
    return {from_polynomial(std::move(quotient)), from_polynomial(std::move(remainder))};
  }
  // Tests do not multiply like free symbols (t * t = t), so a sum of them is no divisor.
  if (terms_of(divisor).size() + (constant_part(divisor) != 0) > 1 && holds_test(divisor))
    return {0, expr};
  const Term& leading = terms_of(divisor).front();
  Expr quotient = 0, rest = expr, remainder = 0;
  // Each step removes the leading term of `rest` for good: the order respects multiplication.
  while (!rest.is_constant()) {
    Term first = terms_of(rest).front();
    const auto monomial = divide(first.monomial, leading.monomial);
    const int64_t whole = monomial ? first.coefficient / leading.coefficient : 0;
    if (whole != 0) {
      const Expr part = from_term(whole, *monomial);
      quotient += part;
      rest -= part * divisor;
      first.coefficient -= whole * leading.coefficient;
    }
    const Expr left = from_term(first.coefficient, first.monomial);
    remainder += left;
    rest -= left;
  }
  return {quotient, remainder + rest};
}

std::optional<Linear> split_linear(const Expr& expr, const Node* atom) {
  Polynomial coefficient, rest;
  rest.constant = constant_part(expr);
  bool linear = true;
  const Monomial unit{Factor{atom, 1}};
  for (const Term& term : terms_of(expr)) {
    const auto quotient = divide(term.monomial, unit);
    if (!quotient) {
      rest.terms.push_back(term);
    } else if (quotient->empty()) {
      coefficient.constant = term.coefficient;
    } else {
      linear = linear && !divide(*quotient, unit);
      coefficient.terms.push_back({term.coefficient, *quotient});
    }
  }
  if (!linear || (coefficient.terms.empty() && coefficient.constant == 0)) return std::nullopt;
  // Dividing by one atom can change the order of terms of different shape.
  sort_and_combine(coefficient.terms);
  return Linear{from_polynomial(std::move(coefficient)), from_polynomial(std::move(rest))};
}

}  // namespace luminal::symbolic

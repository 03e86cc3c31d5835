// Printing: one printer for the readable text and for C-like code. Remainders, minima and maxima
// are recognised in the normal form, so that text reads as it was written; the two dialects differ
// only in how a division is spelled.
#include "luminal/symbolic/text.h"

#include <algorithm>
#include <limits>

#include "luminal/symbolic/node.h"

namespace luminal::symbolic {
namespace {

// Has no magnitude, so it is never printed behind a minus sign.
constexpr int64_t kLeast = std::numeric_limits<int64_t>::min();

enum class Dialect { kReadable, kC };

// How tightly the outermost operator of a text binds. Quotients stand apart from products because
// -a*b may be read as (-a)*b, but -a/b may not.
enum class Level { kComparison, kSum, kQuotient, kProduct, kAtom };

struct Text {
  std::string text;
  Level level;
};

std::string enclosed(const Text& text, Level least) {
  return text.level >= least ? text.text : "(" + text.text + ")";
}

class Printer {
 public:
  explicit Printer(Dialect dialect) : dialect_(dialect) {}

  Text print(const Expr& expr) const {
    if (const auto negated = negated_test(expr)) return print_test(negated, true);
    return expr.node()->kind == Kind::kPolynomial ? print_sum(expr) : print_atom(expr.node());
  }

 private:
  struct Summand {
    bool minus;
    Text magnitude;
  };

  // A sum under construction.
  struct Sum {
    std::string text;
    int count = 0;
    Level last_level = Level::kAtom;

    void add(const Summand& summand) {
      const auto& [minus, magnitude] = summand;
      if (count == 0) {
        text =
            minus ? "-" + enclosed(magnitude, Level::kProduct) : enclosed(magnitude, Level::kSum);
        last_level = minus ? Level::kProduct : magnitude.level;
      } else {
        text += (minus ? " - " : " + ") + enclosed(magnitude, Level::kQuotient);
        last_level = Level::kSum;
      }
      ++count;
    }
  };

  // The test t if the expression is 1 - t.
  static const Node* negated_test(const Expr& expr) {
    if (expr.node()->kind != Kind::kPolynomial || constant_part(expr) != 1) return nullptr;
    const Expr test = 1 - expr;
    return is_test(test.node()) ? test.node() : nullptr;
  }

  Text print_constant(int64_t value) const {
    if (value == kLeast && dialect_ == Dialect::kC)
      return {"-9223372036854775807 - 1", Level::kSum};  // C has no literal for it
    return {fmt::format("{}", value), value < 0 ? Level::kSum : Level::kAtom};
  }

  Text print_atom(const Node* atom) const {
    const auto& operands = atom->operands;
    switch (atom->kind) {
      case Kind::kConstant:
        return print_constant(atom->value);
      case Kind::kVariable:
      case Kind::kAxis:
        return {Expr(atom).name(), Level::kAtom};
      case Kind::kFloorDiv:
        return print_quotient(operands[0], operands[1]);
      case Kind::kMinimum:
        return print_call("min", operands);
      default:
        return print_test(atom, false);
    }
  }

  Text print_infix(const Expr& a, const char* op, const Expr& b) const {
    return {fmt::format("{} {} {}", enclosed(print(a), Level::kQuotient), op,
                        enclosed(print(b), Level::kAtom)),
            Level::kQuotient};
  }

  // C truncates towards zero, which is the floor only of non-negative quotients.
  bool may_use_operator(const Expr& numerator, const Expr& divisor) const {
    return dialect_ == Dialect::kReadable ||
           (numerator.bounds().lo >= 0 && divisor.bounds().lo >= 0);
  }

  // floor(p / d) = -1 - floor((-p - 1) / d) for d > 0.
  static std::optional<Expr> mirror(const Expr& numerator) {
    try {
      return -numerator - 1;
    } catch (const OverflowError&) {
      return std::nullopt;
    }
  }

  Text print_quotient(const Expr& numerator, const Expr& divisor) const {
    if (may_use_operator(numerator, divisor)) return print_infix(numerator, "/", divisor);
    const auto mirrored = mirror(numerator);
    if (mirrored && may_use_operator(*mirrored, divisor))
      return {"-1 - " + print_infix(*mirrored, "/", divisor).text, Level::kSum};
    return {fmt::format("floor_div({}, {})", print(numerator).text, print(divisor).text),
            Level::kAtom};
  }

  // In C, calls of more than two arguments nest.
  Text print_call(const char* function, const std::vector<Expr>& operands) const {
    std::string text = print(operands[0]).text;
    for (size_t k = 1; k < operands.size(); ++k) {
      if (k > 1 && dialect_ == Dialect::kC) text = fmt::format("{}({})", function, text);
      text += ", " + print(operands[k]).text;
    }
    return {fmt::format("{}({})", function, text), Level::kAtom};
  }

  // What is negative moves to the other side of the comparison.
  Text print_test(const Node* test, bool negated) const {
    Polynomial left, right;
    const Expr& difference = test->operands[0];
    for (const Term& term : terms_of(difference)) {
      if (!has_minus(term.coefficient)) {
        left.terms.push_back(term);
      } else {
        right.terms.push_back({checked_neg(term.coefficient), term.monomial});
      }
    }
    int64_t constant = constant_part(difference);
    // a - b - 1 >= 0 is a > b, and a - b - 1 < 0 is a <= b.
    const bool strict = test->kind == Kind::kNonNegative && constant == -1 && !right.terms.empty();
    if (strict) constant = 0;
    if (constant == kLeast || (constant > 0 && !right.terms.empty())) {
      left.constant = constant;
    } else {
      right.constant = checked_neg(constant);
    }
    return {fmt::format("{} {} {}", enclosed(print(from_polynomial(std::move(left))), Level::kSum),
                        relation(test->kind, negated, strict),
                        enclosed(print(from_polynomial(std::move(right))), Level::kSum)),
            Level::kComparison};
  }

  static const char* relation(Kind kind, bool negated, bool strict) {
    if (kind == Kind::kZero) return negated ? "!=" : "==";
    if (strict) return negated ? "<=" : ">";
    return negated ? "<" : ">=";
  }

  Text print_product(const Expr& factor, const Text& text) const {
    if (factor.is_constant(1)) return text;
    return {
        fmt::format("{}*{}", enclosed(print(factor), Level::kAtom), enclosed(text, Level::kAtom)),
        Level::kProduct};
  }

  // The magnitude of a term; its sign is printed by the sum.
  Text print_term(const Term& term) const {
    std::string text;
    Level level = Level::kAtom;
    const auto append = [&](const Text& factor) {
      level = text.empty() ? factor.level : Level::kProduct;
      text = text.empty() ? factor.text : text + "*" + enclosed(factor, Level::kAtom);
    };
    if (term.coefficient != 1 && term.coefficient != -1) append(print_magnitude(term.coefficient));
    const bool alone = text.empty() && term.monomial.size() == 1 && term.monomial[0].power == 1;
    for (const Factor& factor : term.monomial) {
      const Text atom = print(Expr(factor.atom));
      for (int32_t k = 0; k < factor.power; ++k)
        append(alone ? atom : Text{enclosed(atom, Level::kAtom), Level::kAtom});
    }
    return {text, level};
  }

  // A number whose sign the sum prints; kLeast keeps its own.
  Text print_magnitude(int64_t value) const {
    if (value == kLeast) return {enclosed(print_constant(value), Level::kAtom), Level::kAtom};
    return {fmt::format("{}", value < 0 ? -value : value), Level::kAtom};
  }

  static bool has_minus(int64_t value) { return value < 0 && value != kLeast; }

  // Takes what belongs to a remainder out of the expression and adds it to the sum.
  bool take_modulo(Expr& expr, std::vector<Summand>& summands) const {
    const auto form = find_modulo(expr);
    if (!form) return false;
    if (dialect_ == Dialect::kC && !may_use_operator(form->value, form->divisor)) return false;
    const bool minus = leading_coefficient(form->factor) < 0;
    summands.push_back({minus, print_product(minus ? -form->factor : form->factor,
                                             print_infix(form->value, "%", form->divisor))});
    expr = form->rest;
    return true;
  }

  static bool holds_minimum(const Term& term) {
    return std::any_of(term.monomial.begin(), term.monomial.end(),
                       [](const Factor& factor) { return factor.atom->kind == Kind::kMinimum; });
  }

  // The part of `rest` that cancels against the members of c * min(members).
  static Expr cancelling_part(const Expr& rest, int64_t c, const std::vector<Expr>& members) {
    Polynomial part;
    for (const Expr& member : members) {
      if (constant_part(rest) != 0 && constant_part(rest) == -(Int128{c} * constant_part(member)))
        part.constant = constant_part(rest);
    }
    for (const Term& term : terms_of(rest)) {
      // A minimum among the members would be read as more members.
      if (holds_minimum(term)) continue;
      for (const Expr& member : members) {
        const auto& others = terms_of(member);
        const bool cancels = std::any_of(others.begin(), others.end(), [&](const Term& other) {
          return other.monomial == term.monomial &&
                 term.coefficient == -(Int128{c} * other.coefficient);
        });
        if (!cancels) continue;
        part.terms.push_back(term);
        break;
      }
    }
    return from_polynomial(std::move(part));
  }

  static bool reads_before(const Expr& a, const Expr& b) {
    if (a.is_constant() != b.is_constant()) return b.is_constant();  // numbers last
    return compare(a, b) < 0;
  }

  // Takes c * min(members) out, with what turns the differences into the members as written.
  bool take_minimum(Expr& expr, std::vector<Summand>& summands) const {
    for (const Term& term : terms_of(expr)) {
      const Node* atom = term.monomial[0].atom;
      if (term.monomial.size() != 1 || term.monomial[0].power != 1) continue;
      if (atom->kind != Kind::kMinimum) continue;
      const int64_t c = term.coefficient;
      if (c == kLeast) continue;
      const Expr rest = expr - from_term(c, term.monomial);
      const Expr part = cancelling_part(rest, c, atom->operands);
      const Expr common = divide_polynomial(part, c).quotient;
      std::vector<Expr> members;
      for (const Expr& member : atom->operands)
        members.push_back(c < 0 ? -(member + common) : member + common);
      std::sort(members.begin(), members.end(), reads_before);
      const int64_t scale = c < 0 ? -c : c;
      summands.push_back({false, print_product(scale, print_call(c < 0 ? "max" : "min", members))});
      expr = rest - part;
      return true;
    }
    return false;
  }

  Text print_sum(const Expr& expr) const {
    Expr rest = expr;
    std::vector<Summand> special;  // printed after the plain terms
    while (take_modulo(rest, special)) {
    }
    while (take_minimum(rest, special)) {
    }
    Sum sum;
    for (const Term& term : terms_of(rest))
      sum.add({has_minus(term.coefficient), print_term(term)});
    for (const Summand& summand : special) sum.add(summand);
    const int64_t constant = constant_part(rest);
    if (constant != 0) sum.add({has_minus(constant), print_magnitude(constant)});
    if (sum.count == 0) return {"0", Level::kAtom};
    return {sum.text, sum.count > 1 ? Level::kSum : sum.last_level};
  }

  Dialect dialect_;
};

}  // namespace

std::string to_string(const Expr& expr) { return Printer(Dialect::kReadable).print(expr).text; }

std::string c_text(const Expr& expr) { return Printer(Dialect::kC).print(expr).text; }

}  // namespace luminal::symbolic

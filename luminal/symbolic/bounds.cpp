// Bounds of expressions, and the proofs that rest on them. Interval arithmetic forgets that the
// same symbol occurs twice, so a sum is improved in ways that keep the connection: parts without
// common symbols are bounded alone; a symbol in which the sum is monotone is put at the end of its
// range (an axis at its symbolic extent); a floor-div is replaced by its numerator less a
// remainder; minima and tests are split into their cases. Each step removes a symbol or an atom,
// so the search ends; a question that takes too many steps is answered by interval arithmetic.
//
// The answer is a function of the node alone, although answers are remembered: a remembered answer
// costs as many steps as it took to find it, so whether a question is too hard does not depend on
// what was asked before.
#include <algorithm>

#include "luminal/symbolic/interval.h"
#include "luminal/symbolic/node.h"

namespace luminal::symbolic {
namespace {

// Sums longer than this are bounded by interval arithmetic alone.
constexpr size_t kMaxTerms = 24;

// The steps left to the outermost question of this thread.
class Search {
 public:
  static constexpr int64_t kMaxSteps = 1000;
  struct Exhausted {};

  Search() { steps_left = kMaxSteps; }
  ~Search() { steps_left = -1; }
  Search(const Search&) = delete;
  Search& operator=(const Search&) = delete;

  static bool is_running() { return steps_left >= 0; }
  static int64_t left() { return steps_left; }
  // Outside of a search, steps are free.
  static void spend(int64_t steps) {
    if (!is_running()) return;
    if (steps > steps_left) throw Exhausted();
    steps_left -= steps;
  }

 private:
  static thread_local int64_t steps_left;
};

thread_local int64_t Search::steps_left = -1;

Interval atom_bounds(const Node* atom) {
  const auto& operands = atom->operands;
  switch (atom->kind) {
    case Kind::kVariable:
      return atom->interval;
    case Kind::kAxis:
      // An axis without values satisfies every bound; [0, 0] keeps the arithmetic simple.
      return {0, std::max<int64_t>(add(operands[0].bounds(), {-1, -1}).hi, 0)};
    case Kind::kFloorDiv:
      return floor_divide(operands[0].bounds(), operands[1].bounds());
    case Kind::kMinimum: {
      Interval result = operands[0].bounds();
      for (const Expr& operand : operands) {
        const Interval bounds = operand.bounds();
        result = {std::min(result.lo, bounds.lo), std::min(result.hi, bounds.hi)};
      }
      return result;
    }
    default:
      return {0, 1};
  }
}

Interval term_bounds(const Term& term) {
  Interval product{term.coefficient, term.coefficient};
  for (const Factor& factor : term.monomial)
    product = multiply(product, power(Expr(factor.atom).bounds(), factor.power));
  return product;
}

Interval interval_arithmetic(const Expr& expr) {
  Interval sum{constant_part(expr), constant_part(expr)};
  for (const Term& term : terms_of(expr)) sum = add(sum, term_bounds(term));
  return sum;
}

// Interval arithmetic on the bounds of the atoms, or of the operands of an atom.
Interval simple_bounds(const Expr& expr) {
  return expr.node()->kind == Kind::kPolynomial ? interval_arithmetic(expr)
                                                : atom_bounds(expr.node());
}

// Symbols of a term, with the variables that bound its axes.
std::vector<Expr> connected_symbols(const Term& term) {
  std::vector<Expr> symbols;
  for (const Factor& factor : term.monomial) {
    const Node* atom = factor.atom;
    symbols.insert(symbols.end(), atom->variables.begin(), atom->variables.end());
    for (const Expr& axis : atom->axes) {
      symbols.push_back(axis);
      const auto& more = axis.axis_extent().variables();
      symbols.insert(symbols.end(), more.begin(), more.end());
    }
  }
  return symbols;
}

bool share_symbol(const std::vector<Expr>& a, const std::vector<Expr>& b) {
  return std::any_of(a.begin(), a.end(), [&](const Expr& symbol) {
    return std::find(b.begin(), b.end(), symbol) != b.end();
  });
}

// The terms in groups that have no symbol in common, so that the groups vary independently.
std::vector<Expr> independent_parts(const Expr& expr) {
  struct Part {
    std::vector<Expr> symbols;
    Polynomial sum;
  };
  std::vector<Part> parts;
  for (const Term& term : terms_of(expr)) {
    Part merged{connected_symbols(term), {}};
    std::vector<Part> others;
    for (Part& part : parts) {
      if (!share_symbol(part.symbols, merged.symbols)) {
        others.push_back(std::move(part));
        continue;
      }
      merged.symbols.insert(merged.symbols.end(), part.symbols.begin(), part.symbols.end());
      for (Term& earlier : part.sum.terms) merged.sum.terms.push_back(std::move(earlier));
    }
    merged.sum.terms.push_back(term);
    others.push_back(std::move(merged));
    parts = std::move(others);
  }
  std::vector<Expr> sums;
  for (Part& part : parts) {
    std::sort(part.sum.terms.begin(), part.sum.terms.end(), [](const Term& a, const Term& b) {
      return compare_monomials(a.monomial, b.monomial) < 0;
    });
    sums.push_back(from_polynomial(std::move(part.sum)));
  }
  return sums;
}

// Interval arithmetic is exact for one product of different symbols.
bool is_plain_product(const Expr& part) {
  if (terms_of(part).size() != 1) return false;
  const Monomial& monomial = terms_of(part)[0].monomial;
  return std::all_of(monomial.begin(), monomial.end(), [](const Factor& factor) {
    return factor.atom->kind == Kind::kVariable ||
           (factor.atom->kind == Kind::kAxis && factor.atom->operands[0].is_constant());
  });
}

int64_t negate(int64_t bound) { return bound == Interval::kNegInf ? Interval::kPosInf : -bound; }

enum class Sign { kZero, kPositive, kNegative, kUnknown };

Sign sign_of(const Expr& expr) {
  const Interval bounds = expr.bounds();
  if (bounds == Interval{0, 0}) return Sign::kZero;
  if (bounds.lo >= 0) return Sign::kPositive;
  return bounds.hi <= 0 ? Sign::kNegative : Sign::kUnknown;
}

Sign multiply(Sign a, Sign b) {
  if (a == Sign::kZero || b == Sign::kZero) return Sign::kZero;
  if (a == Sign::kUnknown || b == Sign::kUnknown) return Sign::kUnknown;
  return a == b ? Sign::kPositive : Sign::kNegative;
}

// The sign of a sum of two things with known signs.
Sign add(Sign a, Sign b) {
  if (a == Sign::kZero || a == b) return b;
  return b == Sign::kZero ? a : Sign::kUnknown;
}

Sign direction(const Expr& expr, const Expr& symbol);

// Whether an atom rises or falls with a symbol.
Sign atom_direction(const Node* atom, const Expr& symbol) {
  if (atom == symbol.node()) return Sign::kPositive;
  if (!Expr(atom).depends_on(symbol)) return Sign::kZero;
  if (atom->kind == Kind::kFloorDiv) {
    const Expr& divisor = atom->operands[1];
    if (divisor.depends_on(symbol) || divisor.bounds().lo < 0) return Sign::kUnknown;
    return direction(atom->operands[0], symbol);
  }
  if (is_test(atom) && atom->kind == Kind::kZero) return Sign::kUnknown;
  Sign sum = Sign::kZero;
  for (const Expr& operand : atom->operands) sum = add(sum, direction(operand, symbol));
  return sum;
}

// Whether an expression rises or falls with a symbol, over all values of the others.
Sign direction(const Expr& expr, const Expr& symbol) {
  Sign sum = Sign::kZero;
  std::vector<const Node*> seen;
  for (const Term& term : terms_of(expr)) {
    const Node* moving = nullptr;
    for (const Factor& factor : term.monomial) {
      if (!Expr(factor.atom).depends_on(symbol)) continue;
      if (moving != nullptr || factor.power != 1) return Sign::kUnknown;
      moving = factor.atom;
    }
    if (moving == nullptr || std::find(seen.begin(), seen.end(), moving) != seen.end()) continue;
    seen.push_back(moving);
    const auto split = split_linear(expr, moving);
    if (!split) return Sign::kUnknown;
    sum = add(sum, multiply(sign_of(split->coefficient), atom_direction(moving, symbol)));
    if (sum == Sign::kUnknown) return sum;
  }
  return sum;
}

// Puts one symbol at the end of its range where the expression is least. Axes go first, while the
// variables of their extents are still there; an axis that stays keeps its own extent.
std::optional<Expr> at_least_end(const Expr& expr) {
  const auto try_symbol = [&](const Expr& symbol) -> std::optional<Expr> {
    const Sign sign = direction(expr, symbol);
    if (sign == Sign::kUnknown) return std::nullopt;
    if (symbol.is_axis()) {
      const Expr end = sign == Sign::kNegative ? symbol.axis_extent() - 1 : Expr(0);
      return substitute_value(expr, symbol, end);
    }
    const Interval range = symbol.bounds();
    const int64_t end = sign == Sign::kNegative ? range.hi : range.lo;
    if (end == Interval::kNegInf || end == Interval::kPosInf) return std::nullopt;
    return substitute_value(expr, symbol, end);
  };
  for (const Expr& axis : expr.axes()) {
    if (auto result = try_symbol(axis)) return result;
  }
  for (const Expr& variable : expr.variables()) {
    if (auto result = try_symbol(variable)) return result;
  }
  return std::nullopt;
}

// The last atom of a kind among the factors; the last is the one with the largest contents.
const Node* last_atom(const Expr& expr, bool (*wanted)(const Node*)) {
  const Node* found = nullptr;
  for (const Term& term : terms_of(expr)) {
    for (const Factor& factor : term.monomial) {
      if (wanted(factor.atom) && (!found || compare_atoms(found, factor.atom) < 0))
        found = factor.atom;
    }
  }
  return found;
}

// A lower bound of rest + coefficient * (e / d), by d * (e / d) = e - (e mod d), 0 <= e mod d < d.
int64_t lower_without_floor_div(const Linear& split, const Node* quotient) {
  const Expr &value = quotient->operands[0], &divisor = quotient->operands[1];
  if (divisor.bounds().lo < 0) return Interval::kNegInf;
  if (const Division exact = divide_polynomial(split.coefficient, divisor);
      exact.remainder.is_constant(0)) {
    const Sign sign = sign_of(exact.quotient);
    if (sign == Sign::kUnknown) return Interval::kNegInf;
    const Expr remainder = sign == Sign::kPositive ? divisor - 1 : Expr(0);
    return (split.rest + exact.quotient * (value - remainder)).bounds().lo;
  }
  const Sign sign = sign_of(split.coefficient);
  if (sign == Sign::kUnknown) return Interval::kNegInf;
  const Expr remainder = sign == Sign::kPositive ? divisor - 1 : Expr(0);
  const Expr scaled = divisor * split.rest + split.coefficient * (value - remainder);
  if (auto number = divisor.constant_value()) {
    const int64_t lower = scaled.bounds().lo;
    return lower == Interval::kNegInf ? lower : -checked_floor_div(-lower, *number);
  }
  // d * x >= 1 - d means x >= 0 for integers.
  return (scaled + divisor - 1).bounds().lo >= 0 ? 0 : Interval::kNegInf;
}

// A lower bound of rest + factor * mod(value, divisor) by 0 <= mod < divisor.
int64_t lower_without_modulo(const ModuloForm& form) {
  if (form.divisor.bounds().lo < 0) return Interval::kNegInf;
  switch (sign_of(form.factor)) {
    case Sign::kUnknown:
      return Interval::kNegInf;
    case Sign::kNegative:
      return (form.rest + form.factor * (form.divisor - 1)).bounds().lo;
    default:
      return form.rest.bounds().lo;
  }
}

// rest + coefficient * min(members), coefficient >= 0: the least of the cases.
int64_t lower_of_added_minimum(const Linear& split, const std::vector<Expr>& members) {
  int64_t least = Interval::kPosInf;
  for (const Expr& member : members)
    least = std::min(least, (split.rest + split.coefficient * member).bounds().lo);
  return least;
}

// rest - coefficient * min(members): replacing the minimum by any member bounds it from below, and
// so does the mean of two members (which proves min(a, b) <= max(a, b)).
int64_t lower_of_subtracted_minimum(const Linear& split, const std::vector<Expr>& members) {
  int64_t best = Interval::kNegInf;
  const Division half = divide_polynomial(split.coefficient, 2);
  for (size_t j = 0; j < members.size(); ++j) {
    best = std::max(best, (split.rest + split.coefficient * members[j]).bounds().lo);
    for (size_t k = 0; k < j && half.remainder.is_constant(0); ++k)
      best = std::max(best, (split.rest + half.quotient * (members[j] + members[k])).bounds().lo);
  }
  return best;
}

int64_t lower_of_minimum(const Linear& split, const Node* minimum) {
  switch (sign_of(split.coefficient)) {
    case Sign::kUnknown:
      return Interval::kNegInf;
    case Sign::kNegative:
      return lower_of_subtracted_minimum(split, minimum->operands);
    default:
      return lower_of_added_minimum(split, minimum->operands);
  }
}

int64_t lower_without_quotients(const Expr& expr, const Node* quotient) {
  int64_t best = Interval::kNegInf;
  if (const auto split = split_linear(expr, quotient))
    best = lower_without_floor_div(*split, quotient);
  // With numbers as divisors the step above is tight already.
  if (const auto form = find_modulo(expr); form && !form->divisor.is_constant())
    best = std::max(best, lower_without_modulo(*form));
  return best;
}

// The cases of a test or of a minimum; nothing if there is neither.
std::optional<int64_t> lower_of_cases(const Expr& expr) {
  if (const Node* test = last_atom(expr, [](const Node* atom) { return is_test(atom); })) {
    const auto split = split_linear(expr, test);
    return std::min(split->rest.bounds().lo, (split->rest + split->coefficient).bounds().lo);
  }
  const auto is_minimum = [](const Node* atom) { return atom->kind == Kind::kMinimum; };
  if (const Node* minimum = last_atom(expr, is_minimum)) {
    if (const auto split = split_linear(expr, minimum)) return lower_of_minimum(*split, minimum);
  }
  return std::nullopt;
}

int64_t improved_lower(const Expr& expr) {
  const auto is_floor_div = [](const Node* atom) { return atom->kind == Kind::kFloorDiv; };
  const Node* quotient = last_atom(expr, is_floor_div);
  const auto cases = lower_of_cases(expr);
  // Cases lose nothing, except that the same atom may occur once more inside of a quotient.
  if (cases && quotient == nullptr) return *cases;
  int64_t best = cases.value_or(Interval::kNegInf);
  if (quotient != nullptr) best = std::max(best, lower_without_quotients(expr, quotient));
  if (cases) return best;
  if (const auto moved = at_least_end(expr)) best = std::max(best, moved->bounds().lo);
  return best;
}

// Numbers that overflow on the way, or an end of a range where a divisor is 0, prove nothing.
int64_t improved_lower_or_nothing(const Expr& expr) {
  try {
    return improved_lower(expr);
  } catch (const UserError&) {
    return Interval::kNegInf;
  }
}

int64_t improved_upper_or_nothing(const Expr& expr) {
  try {
    return negate(improved_lower(-expr));
  } catch (const UserError&) {
    return Interval::kPosInf;
  }
}

Interval bounds_of_part(const Expr& part) {
  Interval simple = simple_bounds(part);
  if (is_plain_product(part) || terms_of(part).size() > kMaxTerms) return simple;
  if (simple.lo == simple.hi) return simple;
  // A common factor hides how far the rest can be rounded.
  const Term common = content(part);
  if (terms_of(part).size() > 1 && (common.coefficient > 1 || !common.monomial.empty())) {
    const Expr factor = from_term(common.coefficient, common.monomial);
    const Expr cofactor = divide_polynomial(part, factor).quotient;
    const Interval product = multiply(factor.bounds(), cofactor.bounds());
    if (common.monomial.empty()) return product;
    simple = intersect(simple, product);
  }
  const Interval improved{improved_lower_or_nothing(part), improved_upper_or_nothing(part)};
  return intersect(simple, improved);
}

Interval compute_bounds(const Expr& expr) {
  const std::vector<Expr> parts = independent_parts(expr);
  const int64_t constant = constant_part(expr);
  if (parts.size() == 1 && constant == 0) return bounds_of_part(expr);
  Interval sum{constant, constant};
  for (const Expr& part : parts) sum = add(sum, part.bounds());
  return sum;
}

struct Answer {
  Interval bounds;
  int64_t cost;
};

Answer bounds_within_search(const Expr& expr) {
  const int64_t before = Search::left();
  Search::spend(1);
  const Interval bounds = compute_bounds(expr);
  return {bounds, before - Search::left()};
}

Answer search(const Expr& expr) {
  try {
    const Search search;
    return bounds_within_search(expr);
  } catch (const Search::Exhausted&) {
    // Nobody else's search may count on more than this one.
    return {simple_bounds(expr), Search::kMaxSteps + 1};
  }
}

}  // namespace

Interval Expr::bounds() const {
  const Node* node = node_;
  if (node->kind == Kind::kConstant) return {node->value, node->value};
  if (node->kind == Kind::kVariable) return node->interval;
  if (node->bounds_known.load(std::memory_order_acquire)) {
    Search::spend(node->bounds_cost.load(std::memory_order_relaxed));
    return {node->bounds_lo.load(std::memory_order_relaxed),
            node->bounds_hi.load(std::memory_order_relaxed)};
  }
  const auto [bounds, cost] = Search::is_running() ? bounds_within_search(*this) : search(*this);
  node->bounds_lo.store(bounds.lo, std::memory_order_relaxed);
  node->bounds_hi.store(bounds.hi, std::memory_order_relaxed);
  node->bounds_cost.store(cost, std::memory_order_relaxed);
  node->bounds_known.store(true, std::memory_order_release);
  return bounds;
}

bool provably_ge(const Expr& a, const Expr& b) {
  if (a == b) return true;
  try {
    return (a - b).bounds().lo >= 0;
  } catch (const OverflowError&) {
    return false;
  }
}

bool provably_less(const Expr& a, const Expr& b) {
  try {
    return (a - b).bounds().hi < 0;
  } catch (const OverflowError&) {
    return false;
  }
}

bool provably_equal(const Expr& a, const Expr& b) {
  if (a == b) return true;
  try {
    return (a - b).bounds() == Interval{0, 0};
  } catch (const OverflowError&) {
    return false;
  }
}

}  // namespace luminal::symbolic

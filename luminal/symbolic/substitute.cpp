// Simultaneous substitution. Every subexpression is rebuilt once, through the normalising
// constructors, so the result is a normal form again.
#include <unordered_map>

#include "luminal/symbolic/node.h"

namespace luminal::symbolic {
namespace {

class Substituter {
 public:
  Substituter(std::span<const Binding> bindings, bool in_extents) : in_extents_(in_extents) {
    for (const Binding& binding : bindings) {
      if (!binding.symbol.is_variable() && !binding.symbol.is_axis())
        throw UserError("substitute", "{} is neither a variable nor an axis", binding.symbol);
      done_.emplace(binding.symbol.node(), binding.value);
    }
  }

  Expr apply(const Expr& expr) {
    if (expr.is_constant()) return expr;
    if (const auto found = done_.find(expr.node()); found != done_.end()) return found->second;
    const Expr result = expr.node()->kind == Kind::kPolynomial ? apply_sum(expr) : apply_atom(expr);
    done_.emplace(expr.node(), result);
    return result;
  }

 private:
  Expr apply_sum(const Expr& expr) {
    Expr sum = constant_part(expr);
    for (const Term& term : terms_of(expr)) {
      Expr product = term.coefficient;
      for (const Factor& factor : term.monomial) {
        const Expr base = apply(Expr(factor.atom));
        for (int32_t k = 0; k < factor.power; ++k) product *= base;
      }
      sum += product;
    }
    return sum;
  }

  Expr apply_atom(const Expr& expr) {
    const Node* atom = expr.node();
    if (atom->kind == Kind::kVariable) return expr;
    if (atom->kind == Kind::kAxis && !in_extents_) return expr;
    std::vector<Expr> operands;
    for (const Expr& operand : atom->operands) operands.push_back(apply(operand));
    if (operands == atom->operands) return expr;
    switch (atom->kind) {
      case Kind::kAxis:
        return Expr::axis(atom->value, operands[0]);
      case Kind::kFloorDiv:
        return floor_div(operands[0], operands[1]);
      case Kind::kNonNegative:
        return non_negative(operands[0]);
      case Kind::kZero:
        return is_zero(operands[0]);
      default:
        return minimum_of(operands);
    }
  }

  bool in_extents_;
  std::unordered_map<const Node*, Expr> done_;
};

}  // namespace

Expr substitute(const Expr& expr, std::span<const Binding> bindings) {
  return Substituter(bindings, true).apply(expr);
}

Expr substitute_value(const Expr& expr, const Expr& symbol, const Expr& value) {
  const Binding binding{symbol, value};
  return Substituter({&binding, 1}, false).apply(expr);
}

}  // namespace luminal::symbolic

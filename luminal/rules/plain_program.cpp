#include "luminal/rules/plain_program.h"

#include <unordered_map>

#include "luminal/rules/index_forms.h"
#include "luminal/symbolic/node.h"

namespace luminal::rules {
namespace {

using symbolic::constant_part;
using symbolic::from_term;
using symbolic::Kind;
using symbolic::Node;
using symbolic::Term;
using symbolic::terms_of;

class Builder {
 public:
  explicit Builder(IndexProgram& program) : program_(program) {}

  IndexId build(const Expr& expr) {
    if (const auto found = built_.find(expr); found != built_.end()) return found->second;
    const IndexId id = build_new(expr);
    built_.emplace(expr, id);
    return id;
  }

 private:
  IndexId build_new(const Expr& expr) {
    if (is_leaf(expr)) return program_.add_leaf(expr);
    if (const auto sides = at_most(expr); !sides.empty())
      return binary(IndexOp::kLessEqual, sides.front(), expr);
    if (const auto sides = equalities(expr); !sides.empty())
      return binary(IndexOp::kEqual, sides.front(), expr);
    if (const auto sides = differences(expr); !sides.empty())
      return binary(IndexOp::kNotEqual, sides.front(), expr);
    const Node* node = expr.node();
    if (node->kind == Kind::kFloorDiv)
      return binary(IndexOp::kFloorDiv, {node->operands[0], node->operands[1]}, expr);
    if (node->kind == Kind::kMinimum) return extremum(node, 1, 0, expr);
    return sum(expr);
  }

  IndexId binary(IndexOp op, const Operands& sides, const Expr& value) {
    const IndexId left = build(sides.left);
    return program_.add(op, {left, build(sides.right)}, value);
  }

  /// min or max of sign * member + common.
  IndexId extremum(const Node* minimum, int64_t sign, const Expr& common, const Expr& value) {
    const auto member = [&](size_t k) { return sign * minimum->operands[k] + common; };
    Expr so_far = member(0);
    IndexId id = build(so_far);
    for (size_t k = 1; k < minimum->operands.size(); ++k) {
      const bool last = k + 1 == minimum->operands.size();
      const IndexId next = build(member(k));
      so_far = sign > 0 ? symbolic::min(so_far, member(k)) : symbolic::max(so_far, member(k));
      id = program_.add(sign > 0 ? IndexOp::kMinimum : IndexOp::kMaximum, {id, next},
                        last ? value : so_far);
    }
    return id;
  }

  /// A sum under construction.
  struct Sum {
    Expr value = 0;
    IndexId id = 0;
    bool is_empty = true;
  };

  void add(Sum& sum, IndexId summand, const Expr& value, bool minus) {
    if (sum.is_empty && minus) {
      sum.id = program_.add(IndexOp::kSubtract, {program_.add_leaf(0), summand}, -value);
    } else if (sum.is_empty) {
      sum.id = summand;
    } else {
      sum.id = program_.add(minus ? IndexOp::kSubtract : IndexOp::kAdd, {sum.id, summand},
                            minus ? sum.value - value : sum.value + value);
    }
    sum.value = minus ? sum.value - value : sum.value + value;
    sum.is_empty = false;
  }

  IndexId scaled(const Expr& factor, IndexId id, const Expr& value) {
    if (factor.is_constant(1)) return id;
    return program_.add(IndexOp::kMultiply, {build(factor), id}, factor * value);
  }

  /// The magnitude of a term; a coefficient without a magnitude keeps its sign.
  void add_term(Sum& sum, const Term& term) {
    const bool minus = term.coefficient < 0 && term.coefficient != INT64_MIN;
    Expr value = minus ? -term.coefficient : term.coefficient;
    std::optional<IndexId> product;
    if (!value.is_constant(1) || term.monomial.empty()) product = build(value);
    for (const symbolic::Factor& factor : term.monomial) {
      for (int32_t k = 0; k < factor.power; ++k) {
        const Expr atom{factor.atom};
        const IndexId id = build(atom);
        value = product ? value * atom : atom;
        product = product ? program_.add(IndexOp::kMultiply, {*product, id}, value) : id;
      }
    }
    add(sum, *product, value, minus);
  }

  /// A summand that is printed after the plain terms.
  struct Special {
    IndexId id;
    Expr value;
    bool minus;
  };

  bool take_remainder(Expr& rest, std::vector<Special>& special) {
    const auto form = symbolic::find_modulo(rest);
    // Where % does not round down, the printer keeps the difference.
    if (!form || form->value.bounds().lo < 0 || form->divisor.bounds().lo < 0) return false;
    const bool minus = symbolic::leading_coefficient(form->factor) < 0;
    const Expr factor = minus ? -form->factor : form->factor;
    const Expr value = symbolic::mod(form->value, form->divisor);
    const IndexId id = binary(IndexOp::kRemainder, {form->value, form->divisor}, value);
    special.push_back({scaled(factor, id, value), factor * value, minus});
    rest = form->rest;
    return true;
  }

  bool take_extremum(Expr& rest, std::vector<Special>& special) {
    for (const Term& term : terms_of(rest)) {
      const Node* atom = term.monomial[0].atom;
      if (term.monomial.size() != 1 || term.monomial[0].power != 1) continue;
      if (atom->kind != Kind::kMinimum || term.coefficient == INT64_MIN) continue;
      const int64_t sign = term.coefficient < 0 ? -1 : 1, scale = sign * term.coefficient;
      const Expr others = rest - from_term(term.coefficient, term.monomial);
      const Expr common = cancelling_part(others, term.coefficient, atom->operands);
      const Expr value = sign * Expr(atom) + common;
      const IndexId id = scaled(scale, extremum(atom, sign, common, value), value);
      special.push_back({id, scale * value, false});
      rest -= scale * value;
      return true;
    }
    return false;
  }

  IndexId sum(const Expr& expr) {
    Expr rest = expr;
    std::vector<Special> special;
    while (take_remainder(rest, special)) {
    }
    while (take_extremum(rest, special)) {
    }
    Sum total;
    for (const Term& term : terms_of(rest)) add_term(total, term);
    for (const auto& [id, value, minus] : special) add(total, id, value, minus);
    if (constant_part(rest) != 0) add_term(total, {constant_part(rest), {}});
    return total.is_empty ? program_.add_leaf(0) : total.id;
  }

  IndexProgram& program_;
  std::unordered_map<Expr, IndexId> built_;
};

}  // namespace

IndexProgram plain_program(std::span<const Expr> exprs) {
  IndexProgram program;
  Builder builder(program);
  for (const Expr& expr : exprs) program.add_output(builder.build(expr));
  return program;
}

}  // namespace luminal::rules

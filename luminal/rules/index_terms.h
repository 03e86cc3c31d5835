// Helpers over terms and atoms that the files of index_forms.h share. Internal to them.
#pragma once

#include <algorithm>
#include <optional>
#include <vector>

#include "luminal/rules/index_forms.h"
#include "luminal/symbolic/node.h"

namespace luminal::rules {

using symbolic::constant_part;
using symbolic::Factor;
using symbolic::from_atom;
using symbolic::from_term;
using symbolic::Int128;
using symbolic::Kind;
using symbolic::Node;
using symbolic::split_linear;
using symbolic::Term;
using symbolic::terms_of;

template <typename T>
void add_unique(std::vector<T>& list, const T& item) {
  if (std::find(list.begin(), list.end(), item) == list.end()) list.push_back(item);
}

/// The terms, and the constant as a term without atoms.
inline std::vector<Term> summands(const Expr& expr) {
  std::vector<Term> result = terms_of(expr);
  if (constant_part(expr) != 0) result.push_back({constant_part(expr), {}});
  return result;
}

inline bool is_one(const Term& term) { return term.coefficient == 1 && term.monomial.empty(); }

inline Expr as_expr(const Term& term) { return from_term(term.coefficient, term.monomial); }

/// Atoms of one kind that stand linearly in a product of the sum, each once, in order.
template <typename Select>
std::vector<const Node*> atoms_where(const Expr& expr, Select select) {
  std::vector<const Node*> atoms;
  for (const Term& term : terms_of(expr)) {
    for (const Factor& factor : term.monomial) {
      if (factor.power == 1 && select(factor.atom)) add_unique(atoms, factor.atom);
    }
  }
  return atoms;
}

inline std::vector<const Node*> atoms_of(const Expr& expr, Kind kind) {
  return atoms_where(expr, [&](const Node* atom) { return atom->kind == kind; });
}

inline std::vector<const Node*> tests_of(const Expr& expr) {
  return atoms_where(expr, symbolic::is_test);
}

inline bool is_atom(const Expr& expr, Kind kind) { return expr.node()->kind == kind; }

inline bool divides(const Term& factor, const Term& term) {
  return term.coefficient % factor.coefficient == 0 &&
         symbolic::divide(term.monomial, factor.monomial).has_value();
}

inline std::optional<Expr> divide_exactly(const Expr& a, const Expr& b) {
  const symbolic::Division split = symbolic::divide_polynomial(a, b);
  if (!split.remainder.is_constant(0)) return std::nullopt;
  return split.quotient;
}

}  // namespace luminal::rules

// The host side of index_expressions.egg: the sort Form, whose values are normal forms of
// `symbolic`, and the primitives that the rules use. Everything that a rule must know about bounds,
// divisibility or polynomials is asked here.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "luminal/egraph/builder.h"
#include "luminal/rules/index_forms.h"

namespace luminal::rules {

/// Declares Form and its primitives in an e-graph, and keeps lists that were already asked for.
/// Must live as long as the e-graph runs rules.
class IndexHost {
 public:
  explicit IndexHost(egraph::EGraph& egraph);
  IndexHost(const IndexHost&) = delete;
  IndexHost& operator=(const IndexHost&) = delete;

  /// The value of a form.
  egraph::Value intern(const Expr& form) { return forms_->intern(form); }
  /// The form of a value.
  Expr form(egraph::Value value) const { return forms_->get(value); }
  /// Forgets the lists, which are of use within one simplification only.
  void forget_lists() { lists_.clear(); }

 private:
  class Registrar;

  egraph::Builder builder_;
  egraph::HostSort<Expr>* forms_ = nullptr;                // owned by the e-graph
  std::unordered_map<uint64_t, std::vector<Expr>> lists_;  // by question and form
};

}  // namespace luminal::rules

#include "luminal/symbolic/quotients.h"

#include <unordered_set>

#include "luminal/symbolic/node.h"

namespace luminal::symbolic {

namespace {

struct Collector {
  std::unordered_set<const Node*> seen;  // shared parts are walked once
  std::vector<Quotient> found;

  void visit(const Node* node) {
    if (!seen.insert(node).second) return;
    if (node->kind == Kind::kAxis) return;  // extents are facts, not parts
    for (const Expr& operand : node->operands) visit(operand.node());
    for (const Term& term : node->terms)
      for (const Factor& factor : term.monomial) visit(factor.atom);
    if (node->kind == Kind::kFloorDiv) found.push_back({node->operands[0], node->operands[1]});
  }
};

}  // namespace

std::vector<Quotient> quotients(const Expr& expr) {
  Collector collector;
  collector.visit(expr.node());
  return std::move(collector.found);
}

}  // namespace luminal::symbolic

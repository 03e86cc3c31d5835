// A rule of one's own: another way to compute a value, which the search may then choose. What the
// rule files of the library hold looks the same (luminal/rules).
#include <iostream>

#include "luminal/graph/text.h"
#include "luminal/luminal.h"
#include "luminal/rules/choices.h"

using namespace luminal;

namespace {

/// exp a * exp b = exp(a + b), which rounds elsewhere: one exponential instead of two.
constexpr const char* kRule = R"(
(rule ((Times y t (See v p) (See w q)) (is-identity v) (is-identity w)
       (= p (Unary "exp" tp a)) (= q (Unary "exp" tq b)))
      ((union y (Unary "exp" t (See (whole t)
                  (Binary "add" t (ordering-min a b) (ordering-max a b))))))
      :ruleset reassociation :name "product-of-exponentials")
)";

/// Prints every definition that there is of a value, and says how many.
size_t show(const rules::Choices& choices, graph::NodeId value) {
  const kernel::NodeId place = choices.place[value.value];
  const size_t count = choices.program.definitions(place);
  for (size_t k = 0; k < count; ++k)
    std::cout << "  " << graph::to_text(choices.program.definition(place, k)) << "\n";
  return count;
}

}  // namespace

int main() {
  Graph g;
  Tensor a = g.input("a", {4}), b = g.input("b", {4});
  Tensor y = exp(a) * exp(b);
  graph::Graph ir = g.ir();
  ir.add_output("y", y.edge());

  std::cout << "as written\n";
  const size_t before = show(rules::choices(ir), y.edge().node);
  std::cout << "with the rule\n";
  const rules::Choices choices = rules::choices(ir, {.more_rules = kRule});
  const size_t after = show(choices, y.edge().node);
  return after == before + 1 ? 0 : 1;
}

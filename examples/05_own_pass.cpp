// A pass of one's own: a pattern, and what takes its place.
#include <iostream>

#include "luminal/graph/listing.h"
#include "luminal/graph/pattern.h"
#include "luminal/luminal.h"

using namespace luminal;
namespace pattern = luminal::graph::pattern;

namespace {

/// pow(x, 2) becomes x * x.
graph::Pass square_by_product() {
  pattern::Pattern square = pattern::op(graph::Op::kPow, pattern::any("x"), pattern::constant(2.0));
  return pattern::rewrite_pass(
      "square_by_product", square,
      [](graph::Graph& to, const pattern::Match& match) -> std::optional<graph::Edge> {
        const graph::Edge& x = match.edge("x");
        return to.whole(to.add(graph::Op::kMul, {x, x}));
      });
}

}  // namespace

int main() {
  Graph g;
  Tensor x = g.input("x", {3});
  Tensor y = pow(x, 2) + pow(x, 3);

  Executable plain = compile(g, {y});
  Executable rewritten = compile(g, {y}, {.passes = {square_by_product()}});
  std::cout << "before\n" << graph::list_steps(plain.ir());
  std::cout << "after\n" << graph::list_steps(rewritten.ir());

  for (Executable* exe : {&plain, &rewritten}) {
    exe->set(x, {1, -2, 3});
    exe->run();
    std::cout << exe->get(y) << "\n";
  }
}

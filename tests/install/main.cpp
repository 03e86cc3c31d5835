// Uses the installed headers and links the installed library.
#include <iostream>
#include <vector>

#include "luminal/luminal.h"

int main() {
  luminal::Graph g;
  auto x = g.input("x", {3});
  auto y = sum(x * x, {0});

  auto exe = compile(g, {y});
  exe.set(x, {1, 2, 3});
  exe.run();
  std::cout << "the installed package computes " << exe.get(y) << "\n";
  return exe.get<float>(y) == std::vector<float>{14} ? 0 : 1;
}

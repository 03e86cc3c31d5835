// Dims that are decided when the graph runs: one graph serves every batch size and length.
#include <iostream>

#include "luminal/luminal.h"

using namespace luminal;

int main() {
  Graph g;
  Dim batch = g.dim("batch", 1, 64);
  Dim past = g.dim("past", 0, 4096);
  Dim seq = g.dim("seq", 1, 4096);
  Tensor cache = g.input("cache", {batch, past, 2});
  Tensor fresh = g.input("fresh", {batch, seq, 2});

  Tensor all = concat({cache, fresh}, 1);
  std::cout << "concat gives " << graph::to_string(all.shape()) << "\n";
  Tensor back = slice(all, 1, {.begin = past});  // (past + seq) - past is seq: decided, not guessed
  std::cout << "its tail is " << graph::to_string(back.shape()) << "\n";

  Executable exe = compile(g, {all, back});
  exe.set(cache, Array::from<float>(f32, {1, 2, 2}, std::vector<float>{1, 2, 3, 4}));
  exe.set(fresh, Array::from<float>(f32, {1, 1, 2}, std::vector<float>{5, 6}));
  exe.run();  // batch = 1, past = 2, seq = 1 follow from the data
  std::cout << "all =\n" << exe.get(all) << "\nback =\n" << exe.get(back) << "\n";

  // Flat data: one unknown dim is found from the number of values.
  exe.set_dim("batch", 1);
  exe.set_dim("past", 0);
  exe.set(cache, std::vector<float>{});
  exe.set(fresh, std::vector<float>{1, 2, 3, 4, 5, 6});
  exe.run();
  std::cout << "all without a past =\n" << exe.get(all) << "\n";
}

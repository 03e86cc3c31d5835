// Tensors, broadcasting, dtypes: the first things to know.
#include <iostream>

#include "luminal/luminal.h"

using namespace luminal;

int main() {
  Graph g;
  Tensor x = g.input("x", {2, 3});  // f32 unless said
  Tensor ids = g.input("ids", {2}, i64);
  Tensor scaled = x * 2 + 1;               // numbers take on the tensor's dtype
  Tensor centered = x - mean(x, 1, true);  // NumPy broadcasting: [2, 3] - [2, 1]
  Tensor half = cast(scaled, bf16);        // conversions are exact and documented (graph/dtype.h)
  Tensor picked = gather(x, 1, unsqueeze(ids, 1));

  Executable exe = compile(g, {scaled, centered, half, picked});
  exe.set(x, {{1, 2, 3}, {4, 5, 6}});
  exe.set(ids, std::vector<int64_t>{2, 0});
  exe.run();
  std::cout << "x * 2 + 1 =\n" << exe.get(scaled) << "\n";
  std::cout << "x - mean =\n" << exe.get(centered) << "\n";
  std::cout << "as bf16 =\n" << exe.get(half) << "\n";
  std::cout << "picked =\n" << exe.get(picked) << "\n";

  // Inputs stay valid: only what changes is set again.
  exe.set(ids, std::vector<int64_t>{0, 1});
  exe.run();
  std::cout << "picked again =\n" << exe.get(picked) << "\n";

  // Mistakes are explained.
  try {
    matmul(x, x);
  } catch (const UserError& error) {
    std::cout << "error: " << error.what() << "\n";
  }
}

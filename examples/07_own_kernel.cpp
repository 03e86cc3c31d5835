// A kernel written in C as an op: every element becomes the mean of itself and its neighbours. It
// is turned into primitives, so it is one kernel with the ops around it.
#include <iostream>

#include "luminal/luminal.h"

using namespace luminal;

int main() {
  Graph g;
  Dim rows = g.dim("rows", 1, 1000), width = g.dim("width", 1, 1000);
  Tensor x = g.input("x", {rows, width});
  const char* blur = R"(
    float sum = 0;
    int count = 0;
    for (int d = 0; d < 3; d++) {
      long k = j + d - 1;
      if (k >= 0 && k < width) { sum += x[i][k]; count += 1; }
    }
    out[i][j] = sum / count;
  )";
  Tensor y = custom_kernel("blur", blur, {{"x", x * 2.0}}, {f32, {rows, width}});

  Executable exe = compile(g, {y});
  exe.set(x, {{1, 2, 6}, {0, 3, 0}});
  exe.run();
  std::cout << exe.get(y) << "\n" << exe.explain();

  try {
    custom_kernel("shifted", "out[i][j] = x[i][j + 1];", {{"x", x}}, {f32, {rows, width}});
  } catch (const UserError& error) {
    std::cout << error.what() << "\n";
  }
}

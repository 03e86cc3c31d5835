// A C++ function as an op. Nothing is fused across it; everything around it stays an ordinary
// graph.
#include <algorithm>
#include <iostream>

#include "luminal/luminal.h"

using namespace luminal;

namespace {

/// The median of each row, which has no primitive.
void row_medians(std::span<const Array> operands, Array& result) {
  const Array& x = operands[0];
  const int64_t rows = x.extents()[0], columns = x.extents()[1];
  std::span<const float> values = x.as<float>();
  for (int64_t row = 0; row < rows; ++row) {
    std::vector<float> sorted(values.begin() + row * columns, values.begin() + (row + 1) * columns);
    std::sort(sorted.begin(), sorted.end());
    result.mutable_as<float>()[static_cast<size_t>(row)] = sorted[sorted.size() / 2];
  }
}

}  // namespace

int main() {
  Graph g;
  Dim rows = g.dim("rows", 1, 1000);
  Tensor x = g.input("x", {rows, 3});
  Tensor medians = custom("row_medians", {x}, f32, {rows}, row_medians);
  Tensor centered = x - unsqueeze(medians, 1);

  Executable exe = compile(g, {centered});
  exe.set(x, {{1, 5, 3}, {9, 7, 8}});
  exe.run();
  std::cout << exe.get(centered) << "\n";
}

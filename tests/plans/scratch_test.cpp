// Steps share scratch memory. What one of them leaves there is not seen by the next.
#include <gtest/gtest.h>

#include <bit>
#include <functional>

#include "luminal/compiler/make_compiled.h"
#include "luminal/luminal.h"
#include "luminal/plan/compiled_program.h"

namespace luminal::test {
namespace {

constexpr int64_t kK = 32;

graph::Array filled(DType dtype, const graph::Extents& extents, double scale) {
  graph::Array array(dtype, extents);
  for (int64_t i = 0; i < array.size(); ++i)
    array.set(i, graph::Scalar::of(dtype, scale * (static_cast<double>(i * 37 % 101) / 50 - 1)));
  return array;
}

/// The bits of function(a b), after a product of as many rows whose rows are so large.
std::vector<uint64_t> bits_beside(plan::CompiledProgram& program, DType dtype, int64_t columns,
                                  double scale) {
  const graph::Array a = filled(dtype, {64, kK}, 1);
  const graph::Array b = filled(dtype, {kK, columns}, 1);
  const graph::Array before_a = filled(dtype, {64, kK}, scale);
  const graph::Array before_b = filled(dtype, {kK, 256}, 1);
  graph::RunRequest request;
  request.inputs = {{"a", &a}, {"b", &b}, {"before a", &before_a}, {"before b", &before_b}};
  const graph::Array result = program.run(request)[1];
  std::vector<uint64_t> bits;
  for (int64_t i = 0; i < result.size(); ++i)
    bits.push_back(std::bit_cast<uint64_t>(result.at(i).as_double()));
  return bits;
}

/// Functions that look at all lanes of a vector at once, where the last one is not full.
TEST(Scratch, FunctionsAfterProductsSeeNothingOfOtherProducts) {
  const std::vector<std::function<Tensor(const Tensor&)>> functions = {
      [](const Tensor& x) { return sin(x); },
      [](const Tensor& x) { return cos(x); },
      [](const Tensor& x) { return cast(exp(x), bf16); },
  };
  for (const DType dtype : {f32, f64, bf16})
    for (const auto& function : functions)
      for (const int64_t columns : {3, 5, 7, 20, 39}) {
        Graph g;
        const Tensor before = function(
            matmul(g.input("before a", {64, kK}, dtype), g.input("before b", {kK, 256}, dtype)));
        const Tensor y =
            function(matmul(g.input("a", {64, kK}, dtype), g.input("b", {kK, columns}, dtype)));
        graph::Graph ir = g.ir();
        ir.add_output("before", before.edge());
        ir.add_output("y", y.edge());
        compiler::Options options;
        options.cache = false;
        options.threads = 1;
        const auto program = compiler::make_compiled(ir, options);
        EXPECT_EQ(bits_beside(*program, dtype, columns, 1),
                  bits_beside(*program, dtype, columns, 1e9))
            << graph::name(dtype) << ", " << columns << " columns";
      }
}

}  // namespace
}  // namespace luminal::test

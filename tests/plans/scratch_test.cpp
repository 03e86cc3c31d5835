// Steps share scratch memory. What one of them leaves there is not seen by the next.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <functional>
#include <map>

#include "luminal/compiler/make_compiled.h"
#include "luminal/graph/dim_binding.h"
#include "luminal/luminal.h"
#include "luminal/plan/compiled_program.h"

namespace luminal::test {
namespace {

using Function = std::function<Tensor(const Tensor&)>;

/// Functions that look at all lanes of a vector at once.
const std::vector<Function> kFunctions = {
    [](const Tensor& x) { return sin(x); },
    [](const Tensor& x) { return cos(x); },
    [](const Tensor& x) { return cast(exp(x), bf16); },
};

graph::Array filled(const graph::TensorType& type, double scale) {
  graph::Array array(type.dtype, graph::extents_of(type.shape, {}));
  for (int64_t i = 0; i < array.size(); ++i)
    array.set(i,
              graph::Scalar::of(type.dtype, scale * (static_cast<double>(i * 37 % 101) / 50 - 1)));
  return array;
}

/// The bits of the second result, after a first one whose input "large" is so large.
std::vector<uint64_t> bits_beside(const graph::Graph& graph, plan::CompiledProgram& program,
                                  double scale) {
  std::map<std::string, graph::Array> inputs;
  for (uint32_t id = 0; id < graph.size(); ++id) {
    const graph::Node& node = graph.node({id});
    if (node.op != graph::Op::kInput) continue;
    const std::string& name = node.attribute<graph::InputAttribute>().name;
    inputs.emplace(name, filled(node.type, name == "large" ? scale : 0.3));
  }
  graph::RunRequest request;
  for (const auto& [name, array] : inputs) request.inputs[name] = &array;
  const graph::Array result = program.run(request)[1];
  std::vector<uint64_t> bits;
  for (int64_t i = 0; i < result.size(); ++i)
    bits.push_back(std::bit_cast<uint64_t>(result.at(i).as_double()));
  return bits;
}

void expect_apart(const Tensor& before, const Tensor& y) {
  graph::Graph graph = y.graph().ir();
  graph.add_output("before", before.edge());
  graph.add_output("y", y.edge());
  compiler::Options options;
  options.cache = false;
  options.threads = 1;
  const auto program = compiler::make_compiled(graph, options);
  EXPECT_EQ(bits_beside(graph, *program, 1), bits_beside(graph, *program, 1e9));
}

TEST(Scratch, FunctionsAfterProductsSeeNothingOfOtherProducts) {
  for (const DType dtype : {f32, f64, bf16})
    for (const Function& function : kFunctions)
      for (const int64_t columns : {3, 5, 7, 20, 39}) {
        SCOPED_TRACE(fmt::format("{}, {} columns", dtype, columns));
        Graph g;
        const auto input = [&](const char* name, const Shape& shape) {
          return g.input(name, shape, dtype);
        };
        expect_apart(function(matmul(input("large", {64, 32}), input("b of it", {32, 256}))),
                     function(matmul(input("a", {64, 32}), input("b", {32, columns}))));
      }
}

TEST(Scratch, FunctionsAfterConvolutionsSeeNothingOfOthers) {
  for (const DType dtype : {f32, bf16})
    for (const Function& function : kFunctions)
      for (const int64_t width : {7, 9, 24, 43}) {
        SCOPED_TRACE(fmt::format("{}, {} pixels", dtype, width));
        Graph g;
        const auto input = [&](const char* name, const Shape& shape) {
          return g.input(name, shape, dtype);
        };
        expect_apart(function(conv2d(input("large", {1, 16, 16, 16}),
                                     input("filters of it", {64, 16, 3, 3}))),
                     function(conv2d(input("image", {2, 11, 9, width}),
                                     input("filters", {width, 11, 3, 3}))));
      }
}

/// Sums with an element for every position of what reads them lie along its last axis, whichever
/// axis lanes run along elsewhere.
TEST(Scratch, SumsAreReadAsTheyLie) {
  const std::vector<std::vector<int>> orders = {{0, 1, 2}, {1, 2, 0}};
  for (const int64_t rows : {3, 8, 17})
    for (const int64_t width : {2, 3, 33})
      for (const std::vector<int>& order : orders)
        for (const auto& scan : {cumsum, cummax}) {
          SCOPED_TRACE(fmt::format("{}x8x{}, {}", rows, width, order[0]));
          Graph g;
          const Tensor x = g.input("x", {rows, 8, width});
          const Tensor y = permute(scan(x + sum(x, {0, 2}, true), 1), order);
          const auto run = [&](Backend backend) {
            Executable exe = compile(g, {y}, {.backend = backend});
            exe.set(x, filled({f32, {rows, 8, width}}, 3));
            exe.run();
            return exe.get<float>(y);
          };
          const std::vector<float> expected = run(Backend::kInterpreter);
          const std::vector<float> found = run(Backend::kCpu);
          for (size_t k = 0; k < expected.size(); ++k)
            ASSERT_NEAR(found[k], expected[k], 1e-4 * std::max(1.0F, std::abs(expected[k]))) << k;
        }
}

}  // namespace
}  // namespace luminal::test

// A fault that only a run shows is told in the same words by compiled programs and by the
// interpreter, whatever the kernel is that would have met it.
#include "error_cases.h"
#include "luminal/graph/dim_binding.h"

namespace luminal::errors {
namespace {

/// A program with one fault: its results, data, and the value of its dim n.
struct Fault {
  std::string name;
  std::function<std::vector<Tensor>(const Graph& graph, const Dim& n)> write;
  int64_t n;
  std::string message;
};

std::ostream& operator<<(std::ostream& out, const Fault& value) { return out << value.name; }

std::string message_of(const Fault& fault, Backend backend) {
  const Graph graph;
  const std::vector<Tensor> results = fault.write(graph, graph.dim("n", 0, 9));
  Executable executable = compile(graph, results, {.backend = backend});
  for (const graph::Node& node : graph.ir().nodes()) {
    if (node.op != graph::Op::kInput) continue;
    Array data(node.dtype(), graph::extents_of(node.shape(), {{"n", fault.n}}));
    for (int64_t i = 0; i < data.size(); ++i) data.set(i, Scalar::of(node.dtype(), i * 3));
    executable.set(node.attribute<graph::InputAttribute>().name, data);
  }
  if (graph.ir().dims().contains("n")) executable.set_dim("n", fault.n);
  return errors::message_of([&] { executable.run(); });
}

std::vector<Fault> faults() {
  const auto table = [](const Graph& g) { return g.input("table", {7, 2}); };
  const auto index = [](const Graph& g) { return g.input("index", {4}, i64); };  // 0, 3, 6, 9
  const std::string too_far =
      "gather: index 9 at position [3, 0] is out of range: it must be 0 <= index < 7";
  return {
      {"PositionsThatAreData",
       [=](const Graph& g, const Dim&) { return std::vector{embedding(table(g), index(g)) * 2}; },
       1, too_far},
      {"PositionsThatAreComputed",
       [=](const Graph& g, const Dim&) {
         return std::vector{sum(embedding(table(g), index(g) + 1), -1)};
       },
       1, "gather: index 7 at position [2, 0] is out of range: it must be 0 <= index < 7"},
      {"PositionsBelowZero",
       [=](const Graph& g, const Dim&) { return std::vector{embedding(table(g), index(g) - 4)}; },
       1, "gather: index -4 at position [0, 0] is out of range: it must be 0 <= index < 7"},
      {"PositionsThatDimsGive",
       [=](const Graph& g, const Dim& n) {
         return std::vector{embedding(table(g), arange(g, n + 1)) + 1};
       },
       8, "gather: index 7 at position [7, 0] is out of range: it must be 0 <= index < 7"},
      {"PositionsOfAProductsOperand",
       [=](const Graph& g, const Dim&) {
         return std::vector{matmul(embedding(table(g), index(g)), g.input("w", {2, 5}))};
       },
       1, too_far},
      {"PositionsOfAScatter",
       [=](const Graph& g, const Dim&) {
         return std::vector{scatter(g.input("x", {7}), 0, index(g), g.input("updates", {4}))};
       },
       1, "scatter: index 9 at position [3] is out of range: it must be 0 <= index < 7"},
      {"ARowBehindTheEnd",
       [=](const Graph& g, const Dim& n) {
         return std::vector{softmax(select(g.input("x", {5, 3}), 0, n))};
       },
       5, ""},
      {"WindowsThatDoNotFit",
       [=](const Graph& g, const Dim& n) {
         return std::vector{sum(unfold(g.input("x", {n}), 0, 3), -1)};
       },
       1, ""},
  };
}

class SameFault : public testing::TestWithParam<Fault> {};

TEST_P(SameFault, IsToldInTheSameWords) {
  const std::string oracle = message_of(GetParam(), Backend::kInterpreter);
  EXPECT_EQ(message_of(GetParam(), Backend::kCpu), oracle);
  EXPECT_NE(oracle, "no error");
  if (!GetParam().message.empty()) {
    EXPECT_EQ(oracle, GetParam().message);
  }
}

INSTANTIATE_TEST_SUITE_P(All, SameFault, testing::ValuesIn(faults()),
                         [](const auto& each) { return each.param.name; });

TEST(SeveralFaults, OfOneScatterAreToldFromTheFirstOnHoweverManyThreadsMeetThem) {
  const Graph graph;
  const Tensor x = graph.input("x", {64, 512});
  const Tensor index = graph.input("index", {64, 1}, i64);
  Executable executable = compile(graph, {scatter(x, 1, index, graph.input("updates", {64, 1}))});
  std::vector<int64_t> positions(64, 5);
  positions[40] = 900;
  positions[63] = 901;
  executable.set("x", Array(f32, {64, 512}));
  executable.set("updates", Array(f32, {64, 1}));
  executable.set(index, positions);
  for (int attempt = 0; attempt < 50; ++attempt)
    ASSERT_EQ(errors::message_of([&] { executable.run(); }),
              "scatter: index 900 at position [40, 0] is out of range: it must be 0 <= index < "
              "512");
}

}  // namespace
}  // namespace luminal::errors

#include "luminal/graph/verify.h"

#include <gtest/gtest.h>

#include "luminal/graph/test_graphs.h"

namespace luminal::graph {
namespace {

using test::seq;

/// Parts that can be broken.
struct Broken {
  std::vector<Node> nodes;
  std::vector<Output> outputs;
  std::vector<NamedDefinition> named;
  std::map<std::string, symbolic::Interval> dims;

  explicit Broken(const Graph& graph)
      : nodes(graph.nodes().begin(), graph.nodes().end()),
        outputs(graph.outputs()),
        named(graph.named()),
        dims(graph.dims()) {}

  std::vector<std::string> found() const { return problems({nodes, outputs, named, dims}); }
};

/// %0 input x, %1 input y, %2 = x + y, %3 = sum of %2; output "sum".
Graph small_graph() {
  Graph g;
  const NodeId x = g.add_input("x", DType::kF32, {2, seq()});
  const NodeId y = g.add_input("y", DType::kF32, {2, seq()});
  const NodeId z = g.add(Op::kAdd, {g.whole(x), g.whole(y)});
  const NodeId s = g.add(Op::kSum, {g.whole(z)}, ReduceAttribute{1});
  g.add_output("sum", g.whole(s));
  g.add_named({"add_up", {}, {g.whole(z)}, g.whole(s)});
  return g;
}

void expect_problem(const Broken& broken, const std::string& text) {
  const std::vector<std::string> found = broken.found();
  for (const std::string& problem : found)
    if (problem.find(text) != std::string::npos) return;
  std::string all;
  for (const std::string& problem : found) all += "\n  " + problem;
  ADD_FAILURE() << "expected a problem with '" << text << "', found:" << all;
}

TEST(Verify, GoodGraphsHaveNoProblems) {
  EXPECT_EQ(problems(Graph{}), std::vector<std::string>{});
  EXPECT_EQ(problems(small_graph()), std::vector<std::string>{});
  EXPECT_EQ(problems(test::sample_graph()), std::vector<std::string>{});
  for (uint64_t seed = 0; seed < 50; ++seed)
    EXPECT_EQ(problems(test::random_graph(seed)), std::vector<std::string>{}) << seed;
  EXPECT_NO_THROW(verify(test::sample_graph()));
}

TEST(Verify, OperandsComeBeforeTheirUsers) {
  Broken broken(small_graph());
  broken.nodes[2].operands[1].node = NodeId{2};
  expect_problem(broken, "%2 (add): operand 1 refers to %2, which is not computed before");
  broken.nodes[2].operands[1].node = NodeId{77};
  expect_problem(broken, "%2 (add): operand 1 refers to %77");
}

TEST(Verify, AnEdgesViewIsOfItsNode) {
  Broken broken(small_graph());
  broken.nodes[2].operands[0].view = View::identity({3, seq()});
  expect_problem(broken,
                 "%2 (add): operand 0 sees %0 of shape [2, seq] through a view of [3, seq]");
}

TEST(Verify, TypesAreThoseThatTheOperandsGive) {
  Broken broken(small_graph());
  broken.nodes[3].type.dtype = DType::kF64;
  expect_problem(broken, "%3 (sum): is f64[2] but its operands give f32[2]");
  broken.nodes[3].type = {DType::kF32, {2, 1}};
  expect_problem(broken, "%3 (sum): is f32[2, 1] but its operands give f32[2]");
}

TEST(Verify, DomainsMustFitTheOp) {
  Broken broken(small_graph());
  broken.nodes[2].operands[1].view = broken.nodes[2].operands[1].view.slice(0, 0, 1);
  expect_problem(broken, "%2 (add): operands do not fit: add: operands have different shapes");
}

TEST(Verify, DtypesMustFitTheOp) {
  Broken broken(small_graph());
  broken.nodes[1].type.dtype = DType::kI32;
  expect_problem(broken, "%2 (add): operands do not fit: add: operands have different dtypes");
}

TEST(Verify, TheNumberOfOperandsIsTheArity) {
  Broken broken(small_graph());
  broken.nodes[2].operands.pop_back();
  expect_problem(broken, "%2 (add): takes 2 operands, has 1");
}

TEST(Verify, AttributesAreOfTheOpsKind) {
  Broken broken(small_graph());
  broken.nodes[3].attributes = ArgSortAttribute{};
  expect_problem(broken, "%3 (sum): has attributes of another op");
  broken.nodes[3].attributes = ReduceAttribute{5};
  expect_problem(broken, "%3 (sum): operands do not fit: sum: cannot reduce 5 axes");
  broken.nodes[2].attributes = ReduceAttribute{};
  expect_problem(broken, "%2 (add): has attributes of another op");
}

TEST(Verify, ConstantsHaveTheTypeOfTheirValue) {
  Graph g;
  g.add_constant(Array(DType::kF32, {3}));
  Broken broken(g);
  broken.nodes[0].type.shape = {4};
  expect_problem(broken, "%0 (constant): is f32[4] but its value is f32[3]");
}

TEST(Verify, AnIotaUsesOnlyItsAxesAndKnownDims) {
  Graph g;
  g.add_iota(DType::kI64, {2, 3}, Expr::axis(0, 2));
  Broken broken(g);
  broken.nodes[0].attributes = IotaAttribute{Expr::axis(2, 5)};
  expect_problem(broken, "%0 (iota): its value uses axis i2, which does not exist");
  broken.nodes[0].attributes = IotaAttribute{Expr::axis(1, 5)};
  expect_problem(broken, "%0 (iota): its value uses axis i1 with extent 5 instead of 3");
  broken.nodes[0].attributes = IotaAttribute{seq()};
  expect_problem(broken, "%0 (iota): its value uses the dim seq, which the graph does not know");
}

TEST(Verify, ADimHasOneInterval) {
  Broken broken(small_graph());
  const Shape other{2, Expr::variable("seq", {1, 7})};
  broken.nodes[1].type.shape = other;
  broken.nodes[2].operands[1].view = View::identity(other);
  expect_problem(broken, "uses the dim seq in [1, 7], which is in [1, 6] in the graph");
}

TEST(Verify, InputsHaveNamesOfTheirOwn) {
  Broken broken(small_graph());
  broken.nodes[1].attributes = InputAttribute{"x"};
  expect_problem(broken, "%1 (input): another input is named 'x'");
  broken.nodes[1].attributes = InputAttribute{""};
  expect_problem(broken, "%1 (input): has no name to bind data to");
}

TEST(Verify, AViewMustNotReadOutsideForSure) {
  Graph g;
  const NodeId x = g.add_input("x", DType::kF32, {4});
  g.add(Op::kCopy, {g.whole(x)});
  Broken broken(g);
  broken.nodes[1].operands[0].view = View({4}, {4}, {Expr::axis(0, 4) + 4});
  expect_problem(broken,
                 "%1 (copy): operand 0 reads position i0 + 4 of axis 0, which has extent 4");
  broken.nodes[1].operands[0].view = View({4}, {4}, {Expr::axis(0, 4) - 9});
  expect_problem(broken,
                 "%1 (copy): operand 0 reads position i0 - 9 of axis 0, which has extent 4");
}

TEST(Verify, AViewMustNotReadOutsideForOneElementEither) {
  Graph g;
  const NodeId x = g.add_input("x", DType::kF32, {4, seq()});
  g.add(Op::kCopy, {g.whole(x)});
  Broken broken(g);
  const Expr i = Expr::axis(0, 4), j = Expr::axis(1, seq());
  auto see = [&](const Expr& row, const Expr& column) {
    broken.nodes[1].operands[0].view = View({4, seq()}, {4, seq()}, {row, column});
  };
  see(i + 1, j);
  expect_problem(broken, "operand 0 reads position i0 + 1 of axis 0, which has extent 4");
  see(2 - i, j);
  expect_problem(broken, "operand 0 reads position -i0 + 2 of axis 0, which has extent 4");
  see(i, j + 1);
  expect_problem(broken, "operand 0 reads position i1 + 1 of axis 1, which has extent seq");
  see(i, seq() - j);
  expect_problem(broken, "operand 0 reads position seq - i1 of axis 1, which has extent seq");
  see(3 - i, seq() - 1 - j);
  EXPECT_EQ(broken.found(), std::vector<std::string>{});
  see(symbolic::mod(2 * i, 4), symbolic::floor_div(j, 2));
  EXPECT_EQ(broken.found(), std::vector<std::string>{});
}

TEST(Verify, TheFillHasTheDtypeOfTheNode) {
  Graph g;
  const NodeId x = g.add_input("x", DType::kF32, {4});
  g.add(Op::kCopy, {g.whole(x)});
  Broken broken(g);
  broken.nodes[1].operands[0].view =
      *g.whole(x).view.slice(0, 0, 3).pad(0, 1, 0, Scalar::of(DType::kI8, 0));
  expect_problem(broken, "%1 (copy): operand 0 is filled with i8 but %0 holds f32");
}

TEST(Verify, OutputsReferToNodesThroughFittingViews) {
  Broken broken(small_graph());
  broken.outputs[0].edge.node = NodeId{9};
  expect_problem(broken, "output 'sum': it refers to %9");
  broken.outputs[0].edge = {View::identity({3}), NodeId{3}};
  expect_problem(broken, "output 'sum': it sees %3 of shape [2] through a view of [3]");
  broken.outputs.push_back(broken.outputs[0]);
  expect_problem(broken, "output 'sum': another output has this name");
}

TEST(Verify, NamedDefinitionsReferToNodesThroughFittingViews) {
  Broken broken(small_graph());
  broken.named[0].operands[0].node = NodeId{9};
  expect_problem(broken, "named definition 'add_up': operand 0 refers to %9");
  broken.named[0].result.view = View::identity({1});
  expect_problem(broken, "named definition 'add_up': its result sees %3");
  broken.named[0].parameters["n"] = Expr::variable("other");
  expect_problem(broken, "named definition 'add_up': n uses the dim other");
}

TEST(Verify, ACustomNodeHasAFunction) {
  Graph g;
  g.add_custom(test::custom_negate(), {}, {DType::kF32, {}});
  Broken broken(g);
  broken.nodes[0].attributes = CustomAttribute{nullptr};
  expect_problem(broken, "%0 (custom): has no function");
}

TEST(Verify, AllProblemsAreListedAtOnce) {
  Broken broken(small_graph());
  broken.nodes[2].type.dtype = DType::kF64;
  broken.nodes[3].type.dtype = DType::kI8;
  broken.outputs[0].edge.node = NodeId{9};
  EXPECT_GE(broken.found().size(), 3u);
}

}  // namespace
}  // namespace luminal::graph

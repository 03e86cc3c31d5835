// Definitions and cuts chosen together.
#include <gtest/gtest.h>

#include "luminal/kernel/choice.h"
#include "models.h"

namespace luminal::kernel {
namespace {

using luminal::Graph;

/// (x A) B with x (A B) as its other definition.
struct Products {
  graph::Graph ir;
  NodeId left_first, right_first;
  Products(int64_t rows, int64_t inner) {
    Graph g;
    Tensor x = g.input("x", {rows, 256}), a = g.input("a", {256, inner});
    Tensor b = g.input("b", {inner, 256});
    Tensor left = matmul(matmul(x, a), b);
    Tensor right = matmul(x, matmul(a, b));
    ir = g.ir();
    ir.add_output("y", left.edge());
    left_first = left.edge().node;
    right_first = right.edge().node;
  }
};

size_t chosen(int64_t rows, int64_t inner, const Machine& machine) {
  const Products products(rows, inner);
  const GraphProgram graph(products.ir);
  ChoiceProgram program(graph);
  program.add(products.left_first, products.ir.node(products.right_first));
  Arena arena;
  CutSearchOptions options;
  options.machine = machine;
  const CutPlan plan = search_choice(arena, program, options);
  EXPECT_LE(plan.kernels.size(), 2U);
  return program.choice(products.left_first);
}

TEST(ChoiceSearch, ProductsAreAssociatedByTheirShapes) {
  for (const Machine& machine : {Machine::h200(), Machine::cpu(2)}) {
    SCOPED_TRACE(machine.name);
    EXPECT_EQ(chosen(8192, 256, machine), 1U);
    EXPECT_EQ(chosen(1, 4096, machine), 0U);
  }
}

TEST(ChoiceSearch, CyclicChoicesAreRefused) {
  Graph g;
  Tensor x = g.input("x", {64});
  Tensor y = exp(x), z = tanh(y);
  graph::Graph ir = g.ir();
  ir.add_output("z", z.edge());
  const GraphProgram graph(ir);
  ChoiceProgram program(graph);
  // y = z and z = tanh(y) would be a circle.
  graph::Node copy;
  copy.op = graph::Op::kCopy;
  copy.type = ir.node(y.edge().node).type;
  copy.operands = {ir.whole(z.edge().node)};
  program.add(y.edge().node, copy);
  Arena arena;
  const CutPlan plan = search_choice(arena, program, {});
  EXPECT_EQ(program.choice(y.edge().node), 0U);
  EXPECT_EQ(plan.kernels.size(), 1U);
}

TEST(ChoiceSearch, AValueThatOnlyOneDefinitionNeedsCostsNothingElsewhere) {
  Graph g;
  Tensor x = g.input("x", {1024, 1024});
  Tensor y = exp(x);
  graph::Graph ir = g.ir();
  ir.add_output("y", y.edge());
  const GraphProgram graph(ir);
  ChoiceProgram program(graph);
  // The other definition of y sorts first, which is much dearer.
  const NodeId sorted = program.add_node();
  graph::Node sort;
  sort.op = graph::Op::kArgSort;
  sort.type = {DType::kI64, {1024, 1024}};
  sort.operands = {ir.whole(x.edge().node)};
  sort.attributes = graph::ArgSortAttribute{};
  program.add(sorted, sort);
  graph::Node cast;
  cast.op = graph::Op::kCast;
  cast.type = {DType::kF32, {1024, 1024}};
  cast.operands = {{graph::View::identity({1024, 1024}), sorted}};
  program.add(y.edge().node, cast);
  program.choose(y.edge().node, 1);
  Arena arena;
  const CutPlan plan = search_choice(arena, program, {});
  EXPECT_EQ(program.choice(y.edge().node), 0U);
  EXPECT_FALSE(plan.cut.contains(sorted));
}

TEST(ChoiceSearch, DefinitionsOfOneNodeHaveOneType) {
  ChoiceProgram program(1, {NodeId{0}});
  graph::Node first, second;
  first.type = {DType::kF32, {2}};
  second.type = {DType::kF32, {3}};
  program.add(NodeId{0}, first);
  EXPECT_THROW(program.add(NodeId{0}, second), InternalError);
}

}  // namespace
}  // namespace luminal::kernel

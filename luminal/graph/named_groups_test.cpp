#include "luminal/graph/named_groups.h"

#include <gtest/gtest.h>

#include "luminal/graph/repeat.h"

namespace luminal::graph {
namespace {

// x -> exp -> sqrt -> sin -> tanh, each reading the one before.
struct Chain {
  Graph graph;
  NodeId x, exp, sqrt, sin, tanh;

  Chain() {
    x = graph.add_input("x", DType::kF32, {4});
    exp = graph.add(Op::kExp, {graph.whole(x)});
    sqrt = graph.add(Op::kSqrt, {graph.whole(exp)});
    sin = graph.add(Op::kSin, {graph.whole(sqrt)});
    tanh = graph.add(Op::kTanh, {graph.whole(sin)});
  }
  void name(const std::string& name, NodeId operand, NodeId result) {
    graph.add_named({name, {}, {graph.whole(operand)}, graph.whole(result)});
  }
  // The name of the group a node is in, with those around it: "outer/inner".
  std::string place(NodeId id) const {
    const NamedGroups groups = named_groups(graph);
    std::string place;
    for (int g = groups.group_of_node[id.value]; g != NamedGroups::kNone;) {
      const NamedGroups::Group& group = groups.groups[static_cast<size_t>(g)];
      if (!place.empty()) place.insert(0, "/");
      place.insert(0, graph.named()[group.definition].name);
      EXPECT_LT(group.parent, g);
      g = group.parent;
    }
    return place;
  }
};

TEST(NamedGroups, AGraphWithoutNamesHasNone) {
  const Chain chain;
  EXPECT_TRUE(named_groups(chain.graph).groups.empty());
  EXPECT_EQ(chain.place(chain.exp), "");
  EXPECT_TRUE(named_groups(Graph()).group_of_node.empty());
}

TEST(NamedGroups, ADefinitionHoldsWhatItsResultReadsDownToItsOperands) {
  Chain chain;
  chain.name("f", chain.exp, chain.sin);
  EXPECT_EQ(chain.place(chain.x), "");
  EXPECT_EQ(chain.place(chain.exp), "");
  EXPECT_EQ(chain.place(chain.sqrt), "f");
  EXPECT_EQ(chain.place(chain.sin), "f");
  EXPECT_EQ(chain.place(chain.tanh), "");
}

TEST(NamedGroups, InputsBelongToNoDefinition) {
  Chain chain;
  chain.graph.add_named({"f", {}, {}, chain.graph.whole(chain.exp)});  // operands not recorded
  EXPECT_EQ(chain.place(chain.exp), "f");
  EXPECT_EQ(chain.place(chain.x), "");
}

TEST(NamedGroups, SmallerDefinitionsStandInsideLargerOnes) {
  Chain chain;
  chain.name("inner", chain.exp, chain.sin);
  chain.name("outer", chain.x, chain.tanh);
  chain.name("innermost", chain.exp, chain.sqrt);
  EXPECT_EQ(chain.place(chain.exp), "outer");
  EXPECT_EQ(chain.place(chain.sqrt), "outer/inner/innermost");
  EXPECT_EQ(chain.place(chain.sin), "outer/inner");
  EXPECT_EQ(chain.place(chain.tanh), "outer");
}

TEST(NamedGroups, OfEqualDefinitionsTheOneRecordedLastIsTheOuterOne) {
  Chain chain;
  chain.name("first", chain.x, chain.exp);
  chain.name("last", chain.x, chain.exp);
  EXPECT_EQ(chain.place(chain.exp), "last/first");
}

TEST(NamedGroups, OverlappingDefinitionsStandSideBySideInsideWhatHoldsBoth) {
  Chain chain;
  chain.name("whole", chain.x, chain.tanh);
  chain.name("early", chain.x, chain.sin);     // exp, sqrt, sin
  chain.name("late", chain.sqrt, chain.tanh);  // sin, tanh
  EXPECT_EQ(chain.place(chain.exp), "whole/early");
  EXPECT_EQ(chain.place(chain.sqrt), "whole/early");
  EXPECT_EQ(chain.place(chain.sin), "whole/late");
  EXPECT_EQ(chain.place(chain.tanh), "whole/late");
}

// The labels of the groups around a node, the outermost first.
std::string labels(const Graph& graph, NodeId id) {
  const NamedGroups groups = named_groups(graph);
  std::string text;
  for (int g = groups.group_of_node[id.value]; g != NamedGroups::kNone;
       g = groups.groups[static_cast<size_t>(g)].parent)
    text = groups.groups[static_cast<size_t>(g)].label + (text.empty() ? "" : "/") + text;
  return text;
}

TEST(NamedGroups, InstancesOfARepeatAreCountedAsPeopleDo) {
  Chain chain;
  Graph& graph = chain.graph;
  chain.name("root", chain.x, chain.exp);
  add_repeat_mark(graph, {"layer", 0, 0, graph.whole(chain.x), graph.whole(chain.sqrt)});
  add_repeat_mark(graph, {"layer", 1, 0, graph.whole(chain.sqrt), graph.whole(chain.tanh)});
  EXPECT_EQ(labels(graph, chain.exp), "layer 1 of 2/root()");
  EXPECT_EQ(labels(graph, chain.sqrt), "layer 1 of 2");
  EXPECT_EQ(labels(graph, chain.sin), "layer 2 of 2");
  EXPECT_EQ(labels(graph, chain.tanh), "layer 2 of 2");
}

TEST(NamedGroups, ANumberInTheNameOfARepeatIsNotThatOfItsInstance) {
  Chain chain;
  Graph& graph = chain.graph;
  add_repeat_mark(graph, {"layer 2", 0, 0, graph.whole(chain.x), graph.whole(chain.exp)});
  EXPECT_EQ(labels(graph, chain.exp), "layer 2, 1 of 1");
}

TEST(NamedGroups, AnInstanceThatHandsOnSeveralValuesIsOneGroup) {
  Graph graph;
  const NodeId h = graph.add_input("h", DType::kF32, {4}),
               c = graph.add_input("c", DType::kF32, {4});
  const NodeId both = graph.add(Op::kAdd, {graph.whole(h), graph.whole(c)});
  const NodeId next_h = graph.add(Op::kTanh, {graph.whole(both)});
  const NodeId next_c = graph.add(Op::kSin, {graph.whole(both)});
  add_repeat_mark(graph, {"cell", 0, 0, graph.whole(h), graph.whole(next_h)});
  add_repeat_mark(graph, {"cell", 0, 1, graph.whole(c), graph.whole(next_c)});
  EXPECT_EQ(named_groups(graph).groups.size(), 1U);
  for (const NodeId id : {both, next_h, next_c}) EXPECT_EQ(labels(graph, id), "cell 1 of 1");
}

TEST(NamedGroups, WhatSeveralInstancesReadBelongsToNone) {
  Graph graph;
  const NodeId x = graph.add_input("x", DType::kF32, {4}),
               w = graph.add_input("w", DType::kF32, {4});
  const NodeId shared = graph.add(Op::kExp, {graph.whole(w)});
  NodeId at = x;
  std::vector<NodeId> layers;
  for (int64_t k = 0; k < 3; ++k) {
    const NodeId next = graph.add(Op::kMul, {graph.whole(at), graph.whole(shared)});
    add_repeat_mark(graph, {"layer", k, 0, graph.whole(at), graph.whole(next)});
    layers.push_back(at = next);
  }
  EXPECT_EQ(labels(graph, shared), "");
  EXPECT_EQ(labels(graph, layers[0]), "layer 1 of 3");
  EXPECT_EQ(labels(graph, layers[2]), "layer 3 of 3");
}

TEST(NamedGroups, ANumberThatTwoLayersShareLeavesTheirDefinitionsInside) {
  Graph graph;
  const NodeId half = graph.add_constant(Scalar::of(DType::kF32, 0.5));
  const Edge halves{View().expand({4}), half};
  NodeId at = graph.add_input("x", DType::kF32, {4});
  std::vector<NodeId> scaled, last;
  for (int64_t k = 0; k < 2; ++k) {
    const NodeId begin = at;
    const NodeId own = graph.add_constant(Scalar::of(DType::kF32, 7.0 + static_cast<double>(k)));
    const Edge sevens{View().expand({4}), own};
    scaled.push_back(graph.add(Op::kMul, {graph.whole(at), halves}));
    const NodeId shifted = graph.add(Op::kAdd, {graph.whole(scaled.back()), sevens});
    graph.add_named({"scale", {}, {graph.whole(begin)}, graph.whole(shifted)});
    last.push_back(at = graph.add(Op::kExp, {graph.whole(shifted)}));
    add_repeat_mark(graph, {"layer", k, 0, graph.whole(begin), graph.whole(at)});
    EXPECT_EQ(labels(graph, own), fmt::format("layer {} of {}/scale()", k + 1, k + 1));
  }
  EXPECT_EQ(labels(graph, half), "");
  for (size_t k = 0; k < 2; ++k) {
    EXPECT_EQ(labels(graph, scaled[k]), fmt::format("layer {} of 2/scale()", k + 1));
    EXPECT_EQ(labels(graph, last[k]), fmt::format("layer {} of 2", k + 1));
  }
}

TEST(NamedGroups, WhatLaterInstancesReadOfAnEarlierOneStaysThere) {
  Graph graph;
  const NodeId x = graph.add_input("x", DType::kF32, {4});
  const NodeId inside = graph.add(Op::kExp, {graph.whole(x)});
  const NodeId first = graph.add(Op::kSin, {graph.whole(inside)});
  const NodeId second = graph.add(Op::kMul, {graph.whole(first), graph.whole(inside)});
  add_repeat_mark(graph, {"layer", 0, 0, graph.whole(x), graph.whole(first)});
  add_repeat_mark(graph, {"layer", 1, 0, graph.whole(first), graph.whole(second)});
  EXPECT_EQ(labels(graph, inside), "layer 1 of 2");
  EXPECT_EQ(labels(graph, first), "layer 1 of 2");
  EXPECT_EQ(labels(graph, second), "layer 2 of 2");
}

TEST(NamedGroups, ADefinitionThatIsItsOperandIsNoGroup) {
  Chain chain;
  chain.name("nothing", chain.exp, chain.exp);
  EXPECT_TRUE(named_groups(chain.graph).groups.empty());
}

}  // namespace
}  // namespace luminal::graph

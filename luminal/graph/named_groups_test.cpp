#include "luminal/graph/named_groups.h"

#include <gtest/gtest.h>

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

TEST(NamedGroups, ADefinitionThatIsItsOperandIsNoGroup) {
  Chain chain;
  chain.name("nothing", chain.exp, chain.exp);
  EXPECT_TRUE(named_groups(chain.graph).groups.empty());
}

}  // namespace
}  // namespace luminal::graph

// Which kernels share a launch: texts, what is refused and why, and the moves between choices.
#include "luminal/kernel/launch_groups.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "models.h"

namespace luminal::kernel {
namespace {

/// Two products of one input, a softmax of another one, and a product of both products: four
/// kernels, the last of which needs the first two.
struct Four {
  models::IR graph;
  NodeId q, k, v, y;
  std::optional<GraphProgram> program;
  CutSearchOptions options;
  Arena arena;
  CutPlan plan{Cut(0), {}, {}};

  Four() {
    Graph g;
    const Tensor x = g.input("x", {64, 128});
    const Tensor a = matmul(x, g.input("wq", {128, 64}));
    const Tensor b = matmul(x, g.input("wk", {128, 64}));
    const Tensor c = softmax(g.input("z", {64, 64}), -1);
    const Tensor d = matmul(a, b);
    graph = g.ir();
    for (const Tensor& each : {a, b, c, d})
      graph.add_output("y" + std::to_string(graph.outputs().size()), each.edge());
    program.emplace(graph);
    q = program->output(0);
    k = program->output(1);
    v = program->output(2);
    y = program->output(3);
    options.machine = Machine::cpu(2);
    plan = search_cut(arena, *program, options);
  }
  std::string why(const LaunchGroups& groups) const {
    return refusal(*program, plan, groups).value_or("");
  }
  std::set<std::string> moves(LaunchMove::Kind kind) const {
    std::set<std::string> texts;
    for (const LaunchMove& move : launch_moves(*program, plan))
      if (move.kind == kind) texts.insert(to_text(move.groups));
    return texts;
  }
};

TEST(LaunchGroups, TextIsReadAsItWasWrittenAndOtherTextIsNot) {
  const LaunchGroups groups{{NodeId{3}, NodeId{5}}, {NodeId{7}, NodeId{8}, NodeId{19}}};
  EXPECT_EQ(to_text(groups), "3+5 7+8+19");
  EXPECT_EQ(parse_launch_groups("3+5 7+8+19"), groups);
  EXPECT_EQ(to_text({}), "apart");
  EXPECT_EQ(parse_launch_groups("apart"), LaunchGroups{});
  for (const char* text :
       {"", " ", "3+", "+3", "3 + 5", "3+x", "-1+2", "3+5 ", "03+5", "apart 3+5", "3+99999999999"})
    EXPECT_FALSE(parse_launch_groups(text).has_value()) << "'" << text << "'";
}

TEST(LaunchGroups, TheRuleJoinsWhatIsAlikeAndReadsTheSame) {
  const Four four;
  ASSERT_EQ(four.plan.kernels.size(), 4U);
  EXPECT_EQ(launch_groups(four.plan), (LaunchGroups{{four.q, four.k}}));
}

TEST(LaunchGroups, GroupsThatCannotRunAreRefusedWithTheReason) {
  const Four four;
  const auto name = [](NodeId id) { return "%" + std::to_string(id.value); };
  EXPECT_EQ(four.why({}), "");
  EXPECT_EQ(four.why({{four.q, four.k, four.v}}), "");
  EXPECT_EQ(four.why({{four.v, four.y}}), "");
  EXPECT_EQ(four.why({{four.q}}), "a group of less than two kernels");
  EXPECT_EQ(four.why({{four.q, four.k}, {four.q, four.v}}), name(four.q) + " is in two groups");
  EXPECT_EQ(four.why({{four.q, four.q}}), name(four.q) + " is in two groups");
  EXPECT_EQ(four.why({{four.q, NodeId{0}}}), "no kernel stores %0 first");
  EXPECT_EQ(four.why({{four.k, four.y}}),
            name(four.y) + " needs what " + name(four.k) + " computes");
}

/// a -> b and c -> d: a may run with d and b with c, but not both.
TEST(LaunchGroups, LaunchesThatWaitForEachOtherAreRefused) {
  Graph g;
  const Tensor a = softmax(g.input("x", {32, 64}), -1);
  const Tensor b = softmax(a, 0);
  const Tensor c = softmax(g.input("y", {32, 64}), -1);
  const Tensor d = softmax(c, 0);
  models::IR graph = g.ir();
  for (const Tensor& each : {a, b, c, d})
    graph.add_output("y" + std::to_string(graph.outputs().size()), each.edge());
  const GraphProgram program(graph);
  Arena arena;
  CutPlan plan = search_cut(arena, program, {.machine = Machine::cpu(2)});
  ASSERT_EQ(plan.kernels.size(), 4U);
  std::vector<NodeId> ids;
  for (size_t k = 0; k < 4; ++k) ids.push_back(program.output(k));
  EXPECT_FALSE(refusal(program, plan, {{ids[0], ids[3]}}).has_value());
  EXPECT_FALSE(refusal(program, plan, {{ids[1], ids[2]}}).has_value());
  const auto why = refusal(program, plan, {{ids[0], ids[3]}, {ids[1], ids[2]}});
  ASSERT_TRUE(why.has_value());
  EXPECT_NE(why->find("waits for others that wait for it"), std::string::npos) << *why;
  // No move leads there either.
  set_launch_groups(program, plan, {{ids[0], ids[3]}}, Machine::cpu(2));
  for (const LaunchMove& move : launch_moves(program, plan))
    EXPECT_FALSE(refusal(program, plan, move.groups).has_value()) << to_text(move.groups);
}

TEST(LaunchGroups, MovesSplitWhatIsJoinedAndJoinNeighbours) {
  const Four four;
  const auto text = [](const LaunchGroups& groups) { return to_text(groups); };
  EXPECT_EQ(four.moves(LaunchMove::Kind::kSplit), std::set<std::string>{"apart"});
  const std::set<std::string> joins = four.moves(LaunchMove::Kind::kJoin);
  EXPECT_EQ(joins.size(), 2U);  // the softmax with the two products, or with the last one
  for (const std::string& each : joins) EXPECT_EQ(four.why(*parse_launch_groups(each)), "") << each;
  EXPECT_TRUE(std::any_of(joins.begin(), joins.end(), [&](const std::string& each) {
    return parse_launch_groups(each)->front().size() == 3;
  }));
  // Everything is reached from everything: what is joined can be split again.
  Four joined;
  const LaunchGroups all = joined_groups(*joined.program, joined.plan, joined.options.machine);
  EXPECT_NE(text(all), text(launch_groups(joined.plan)));
  const double before = joined.plan.microseconds;
  set_launch_groups(*joined.program, joined.plan, all, joined.options.machine);
  EXPECT_EQ(launch_groups(joined.plan), all);
  EXPECT_DOUBLE_EQ(joined.plan.microseconds, before - joined.options.machine.launch_us);
  EXPECT_TRUE(joined.moves(LaunchMove::Kind::kJoin).empty());
  EXPECT_FALSE(joined.moves(LaunchMove::Kind::kSplit).empty());
}

TEST(LaunchGroups, WhatIsSharedIsCounted) {
  const Four four;
  EXPECT_EQ(shared_launches(*four.program, four.plan, {}), 0);
  EXPECT_EQ(shared_launches(*four.program, four.plan, {{four.q, four.k}}), 1);
  EXPECT_EQ(shared_launches(*four.program, four.plan, {{four.q, four.k, four.v}}), 2);
}

}  // namespace
}  // namespace luminal::kernel

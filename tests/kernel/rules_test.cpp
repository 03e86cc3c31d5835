// The choices that rules give for whole networks: how many, how equal, and what the search makes of
// them.
#include <gtest/gtest.h>

#include "luminal/kernel/choice.h"
#include "luminal/rules/choices.h"
#include "models.h"
#include "tests/rules/choice_checks.h"
#include "tests/rules/decoder.h"

namespace luminal::kernel {
namespace {

using rules::Choices;

const models::BlockSizes kSmall;
const models::BlockSizes kPrefill{
    .tokens = 128, .heads = 12, .kv_heads = 12, .d = 64, .hidden = 3072, .cache = 1024};
const models::BlockSizes kDecode{
    .tokens = 1, .heads = 32, .kv_heads = 8, .d = 128, .hidden = 14336, .cache = 1024};

std::string matches_text(const rules::RuleStats& stats) {
  std::string text;
  for (const auto& [rule, matches] : stats.matches)
    if (matches > 0) text += fmt::format("{:>8} {}\n", matches, rule);
  return text;
}

TEST(RulesOnNetworks, TheEGraphStaysSmallAndGrowsWithTheLayersOnly) {
  for (const bool is_gpt : {true, false}) {
    SCOPED_TRACE(is_gpt ? "gpt" : "llama");
    const auto stats_of = [&](int layers) {
      return rules::choices(is_gpt ? models::gpt_block(kPrefill, layers)
                                   : models::llama_block(kDecode, layers))
          .stats;
    };
    const rules::RuleStats one = stats_of(1), two = stats_of(2);
    const size_t per_layer = two.nodes - one.nodes;
    const uint64_t iterations = one.iterations;
    for (const int layers : {1, 2, 4, 8}) {
      const rules::RuleStats stats = stats_of(layers);
      EXPECT_LE(stats.nodes, 2 * stats.graph_nodes) << matches_text(stats);
      EXPECT_EQ(stats.stop, egraph::StopReason::kFinished);
      EXPECT_EQ(stats.nodes, one.nodes + static_cast<size_t>(layers - 1) * per_layer);
      EXPECT_LE(stats.iterations, iterations + 8);
    }
  }
}

TEST(RulesOnNetworks, ADecoderStaysSmallWithJoinedSiblingsToo) {
  for (const bool join : {false, true}) {
    const auto nodes = [&](int layers) {
      const rules::RuleStats stats =
          rules::choices(rules::test::decoder(layers), {.join_siblings = join}).stats;
      // A joined product is also seen through the parts that each reader needs.
      EXPECT_LE(stats.nodes, (join ? 3 : 2) * stats.graph_nodes) << matches_text(stats);
      EXPECT_EQ(stats.stop, egraph::StopReason::kFinished);
      return stats.nodes;
    };
    EXPECT_EQ(nodes(6) - nodes(4), nodes(4) - nodes(2));
  }
}

TEST(RulesOnNetworks, TheFirstChoiceIsTheGraphAsWritten) {
  const models::IR graph = models::llama_block(kSmall);
  const GraphProgram written(graph);
  const Choices choices = rules::choices(graph);
  const auto order = topological_order(choices.program);
  ASSERT_TRUE(order.has_value());
  for (const NodeId id : *order) {
    ASSERT_LT(id.value, written.size()) << "a new value is read by the first choice";
    EXPECT_EQ(choices.program.node(id).op, written.node(id).op);
    EXPECT_EQ(choices.program.node(id).type, written.node(id).type);
  }
}

TEST(RulesOnNetworks, ChoicesAreTheSameEveryTime) {
  const models::IR graph = models::gpt_block(kPrefill, 2);
  const Choices a = rules::choices(graph), b = rules::choices(graph);
  ASSERT_EQ(a.program.size(), b.program.size());
  for (uint32_t id = 0; id < a.program.size(); ++id) {
    const NodeId node{id};
    ASSERT_EQ(a.program.definitions(node), b.program.definitions(node));
    for (size_t k = 0; k < a.program.definitions(node); ++k)
      EXPECT_EQ(graph::to_text(a.program.definition(node, k)),
                graph::to_text(b.program.definition(node, k)));
  }
  EXPECT_TRUE(std::equal(a.program.joint_choices().begin(), a.program.joint_choices().end(),
                         b.program.joint_choices().begin(), b.program.joint_choices().end()));
}

TEST(RulesOnNetworks, EveryChoiceComputesTheSame) {
  const std::vector<models::IR> graphs{models::softmax(3, 5),     models::layer_norm(3, 5),
                                       models::rms_norm(3, 5),    models::mlp(3, 5, 7, 4),
                                       models::cnn(2, 8, 3),      models::attention(2, 2, 3, 5, 4),
                                       models::gpt_block(kSmall), models::llama_block(kSmall)};
  int changed = 0;
  for (const models::IR& graph : graphs)
    for (const bool reassociate : {false, true}) {
      changed +=
          rules::test::check_choices(graph, {.reassociate = reassociate}, 5, reassociate ? 12 : 4);
      if (::testing::Test::HasFailure()) return;
    }
  EXPECT_GT(changed, 50);
}

TEST(RulesOnNetworks, TheSearchNeverEndsAboveTheGraphAsWritten) {
  const std::vector<models::IR> graphs{models::mlp(128, 256, 512, 256), models::gpt_block(kPrefill),
                                       models::llama_block(kDecode)};
  for (const models::IR& graph : graphs) {
    const CutSearchOptions options{.machine = Machine::cpu(2)};
    Arena arena;
    const double written = search_cut(arena, GraphProgram(graph), options).microseconds;
    Choices choices = rules::choices(graph);
    EXPECT_LE(search_choice(arena, choices.program, options).microseconds, written * 1.0001);
  }
}

TEST(RulesOnNetworks, TheLastRowAloneIsComputedIfTheOthersAreNotRead) {
  luminal::Graph g;
  Tensor x = g.input("x", {64, 256}), w = g.input("w", {256, 512});
  Tensor logits = matmul(x, w) + g.input("b", {512});
  models::IR graph = g.ir();
  graph.add_output("last", slice(logits, 0, {.begin = 63}).edge());
  Choices choices = rules::choices(graph);
  Arena arena;
  const CutPlan plan = search_choice(arena, choices.program, {.machine = Machine::cpu(2)});
  const Cut& cut = plan.cut;
  for (const PlannedKernel& kernel : plan.kernels)
    for (const NodeId id : kernel.nodes) {
      EXPECT_TRUE(cut.contains(id));
      EXPECT_TRUE(choices.program.node(id).shape()[0].is_constant(1)) << id.value;
    }
}

}  // namespace
}  // namespace luminal::kernel

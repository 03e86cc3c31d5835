// Plans found on one instance per region and copied to all: they are legal, compute what the oracle
// computes, cost what a search of the whole graph finds, and take no more work for more layers.
#include "luminal/compiler/outline_expand.h"

#include <gtest/gtest.h>

#include <set>

#include "luminal/compiler/planned_program.h"
#include "luminal/kernel/canonical.h"
#include "networks.h"
#include "random_network.h"
#include "samples.h"

namespace luminal::compiler {
namespace {

using kernel::Arena;
using kernel::CutPlan;
using kernel::GraphProgram;
using kernel::PlannedKernel;
using networks::IR;

/// A graph and its plan, found with outlining and without rules: every value as it is written.
struct Planned {
  IR graph;
  PlannedProgram planned;
  const kernel::Program& program;
  Arena& arena;
  CutPlan& plan;

  explicit Planned(IR ir, const OutlineOptions& options = {}, std::span<const NodeId> stored = {})
      : graph(std::move(ir)),
        planned(graph, stored,
                {.cut = search_options(), .outline = options, .rules = std::nullopt}),
        program(planned.program()),
        arena(planned.arena()),
        plan(planned.plan()) {
    for (const std::string& problem : problems(program, plan)) ADD_FAILURE() << problem;
  }
  std::string regions() const { return to_string(planned.outline(), graph); }
};

CutPlan direct_plan(const IR& graph) {
  const GraphProgram program(graph);
  Arena arena;
  return kernel::search_cut(arena, program, search_options());
}

/// Runs a plan kernel by kernel as loops and compares the outputs with the oracle.
void expect_right(Planned& planned, uint64_t seed) {
  std::vector<NodeId> results;
  for (size_t k = 0; k < planned.graph.outputs().size(); ++k)
    results.push_back(planned.planned.output(k));
  SCOPED_TRACE(planned.regions());
  expect_plan_right(planned.graph, planned.program, planned.arena, planned.plan, results, seed);
}

/// Every kernel is derived anew from the whole graph and compared with what the plan says.
void expect_kernels_as_derived(Planned& planned) {
  std::set<std::string> keys;
  for (size_t k = 0; k < planned.plan.kernels.size(); ++k) {
    const PlannedKernel whole = written_out(planned.arena, planned.program, planned.plan, k);
    const auto derived =
        kernel::derive_together(planned.arena, planned.program, planned.plan.cut, whole.nodes);
    ASSERT_TRUE(std::holds_alternative<kernel::Kernel>(derived));
    const auto expected = canonicalize(planned.arena, std::get<kernel::Kernel>(derived));
    const auto actual = canonicalize(planned.arena, whole.kernel);
    EXPECT_EQ(expected.text, actual.text) << "kernel " << k;
    EXPECT_EQ(std::set<NodeId>(expected.tensors.begin(), expected.tensors.end()),
              std::set<NodeId>(actual.tensors.begin(), actual.tensors.end()));
    if (const auto& copy = planned.plan.kernels[k].copy) {
      const PlannedKernel& original = planned.plan.kernels[copy->of];
      EXPECT_EQ(canonicalize(planned.arena, original.kernel).key, expected.key) << "kernel " << k;
    }
  }
}

TEST(ExpandedPlan, ComputesWhatTheOracleComputesByTheKernelsOfTheWholeGraph) {
  const std::vector<std::pair<std::string, IR>> cases{
      {"gpt", networks::gpt(4)},
      {"llama prefill", networks::llama(3)},
      {"llama decode", networks::llama(3, {.tokens = 1})},
      {"alternating", networks::alternating(6)},
      {"encoder and decoder", networks::encoder_decoder(3, 3)},
      {"mixture", networks::mixture(3, 2)},
      {"resnet", networks::resnet({3, 3})},
      {"lstm", networks::lstm(8)},
      {"mlp", networks::mlp(12)},
      {"chain", networks::elementwise_chain(10)}};
  for (const auto& [name, graph] : cases) {
    SCOPED_TRACE(name);
    Planned planned(graph);
    expect_right(planned, 5);
    expect_kernels_as_derived(planned);
  }
}

TEST(ExpandedPlan, EveryLayerCostsWhatASearchOfTheWholeGraphFinds) {
  const auto check = [](const auto& network, const networks::Sizes& sizes) {
    const double few = Planned(network(3, sizes)).plan.microseconds;
    const double more = Planned(network(4, sizes)).plan.microseconds;
    const double direct_few = direct_plan(network(3, sizes)).microseconds;
    const double direct_more = direct_plan(network(4, sizes)).microseconds;
    EXPECT_NEAR(more - few, direct_more - direct_few, 0.005 * (direct_more - direct_few));
    // What the first layer reads is stored, which a search of the whole may do without.
    EXPECT_LE(more, direct_more * 1.02);
  };
  check(networks::gpt, networks::large());
  check(networks::llama, networks::decoding());
}

TEST(ExpandedPlan, MoreLayersAreNoMoreWork) {
  for (const bool decode : {false, true}) {
    const auto network = [&](int layers) {
      return decode ? networks::llama(layers, networks::decoding())
                    : networks::gpt(layers, networks::large());
    };
    const Planned few(network(4)), many(network(40));
    EXPECT_EQ(few.plan.estimated, many.plan.estimated);
    EXPECT_EQ(few.planned.searched_nodes(), many.planned.searched_nodes());
    const auto written = [](const CutPlan& plan) {
      return std::count_if(plan.kernels.begin(), plan.kernels.end(),
                           [](const PlannedKernel& kernel) { return !kernel.copy; });
    };
    EXPECT_EQ(written(few.plan), written(many.plan));
    EXPECT_GT(many.plan.kernels.size(), 8 * few.plan.kernels.size());
  }
}

TEST(ExpandedPlan, LaunchesOfOneLayerStayTogether) {
  const Planned planned(networks::llama(6, networks::decoding()));
  std::set<size_t> seen;
  for (const std::vector<size_t>& launch : planned.plan.launches)
    for (size_t kernel : launch) EXPECT_TRUE(seen.insert(kernel).second);
  EXPECT_EQ(seen.size(), planned.plan.kernels.size());
  EXPECT_LT(planned.plan.launches.size(), planned.plan.kernels.size());
}

TEST(ExpandedPlan, ValuesThatMustBeInMemoryAreInEveryLayer) {
  const IR graph = networks::gpt(4);
  const Outline outline = find_outline(graph);
  ASSERT_EQ(outline.regions.size(), 1);
  const NodeId inside[] = {outline.regions[0].instances[2][5]};
  const Planned planned(graph, {}, inside);
  for (const std::vector<NodeId>& instance : outline.regions[0].instances)
    EXPECT_TRUE(planned.plan.cut.contains(planned.planned.place(instance[5])));
}

TEST(ExpandedPlan, OutputsOfEveryKindAreKept) {
  Graph g;
  Tensor x = g.input("x", {3, 8});
  networks::Outputs outputs;
  for (int k = 0; k < 5; ++k) {
    const networks::Layer l = networks::layer_of(g, "l", k);
    const Tensor h = l.biased(layer_norm(x), "w", 8);
    outputs.push_back({fmt::format("turned{}", k), transpose(h)});
    x = x + tanh(h);
    outputs.push_back({fmt::format("whole{}", k), x});
    if (k == 3) outputs.push_back({"row", select(x, 0, 1)});
  }
  outputs.push_back({"again", outputs[1].second});
  Planned planned(networks::finished(g, outputs));
  EXPECT_LT(planned.planned.searched_nodes(), planned.graph.size()) << planned.regions();
  expect_right(planned, 9);
}

TEST(ExpandedPlan, RandomNetworksWithPlantedRepeatsAreRight) {
  size_t reduced = 0;
  for (uint64_t seed = 1; seed <= 25; ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    const IR graph = networks::random_network(seed);
    const Outline outline = find_outline(graph);
    for (const std::string& problem : problems(outline, graph)) ADD_FAILURE() << problem;
    // Small bodies are taken here too: the borders are what is tested.
    Planned planned(graph, {.smallest_body = 2, .fewest_saved = 4, .smallest_unnatural_body = 2});
    reduced += planned.planned.searched_nodes() < planned.graph.size() ? 1 : 0;
    expect_right(planned, seed);
    expect_kernels_as_derived(planned);
    if (HasFailure()) return;
  }
  EXPECT_GT(reduced, 12);
}

}  // namespace
}  // namespace luminal::compiler

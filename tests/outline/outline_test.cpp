// Which parts of networks are found to repeat.
#include "luminal/compiler/outline.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "luminal/compiler/outline_reduce.h"
#include "luminal/graph/verify.h"
#include "networks.h"

namespace luminal::compiler {
namespace {

using networks::IR;

/// The outline, with all its laws checked and those of the reduced graph.
Outline checked_outline(const IR& graph, const OutlineOptions& options = {}) {
  Outline outline = find_outline(graph, options);
  for (const std::string& problem : problems(outline, graph)) ADD_FAILURE() << problem;
  const ReducedGraph reduced = reduce(graph, outline);
  graph::verify(reduced.graph);
  EXPECT_EQ(reduced.origin.size(), reduced.graph.size());
  EXPECT_EQ(reduced.part.size(), reduced.graph.size());
  return outline;
}

size_t count(const Region& region, RegionInputKind kind) {
  return static_cast<size_t>(
      std::count_if(region.inputs.begin(), region.inputs.end(),
                    [&](const RegionInput& input) { return input.kind == kind; }));
}

/// How often the regions occur, sorted.
std::vector<size_t> instances(const Outline& outline) {
  std::vector<size_t> result;
  for (const Region& region : outline.regions) result.push_back(region.instances.size());
  std::sort(result.begin(), result.end());
  return result;
}

/// Names of a region's parameters in an instance.
std::set<std::string> parameters(const IR& graph, const Region& region, size_t instance) {
  std::set<std::string> names;
  for (const RegionInput& input : region.inputs)
    if (input.kind == RegionInputKind::kParameter)
      names.insert(graph.node(input.nodes[instance]).attribute<graph::InputAttribute>().name);
  return names;
}

TEST(Outline, TheLayersOfAGptAreOneRegion) {
  for (const int layers : {3, 4, 12}) {
    SCOPED_TRACE(layers);
    const IR graph = networks::gpt(layers);
    const Outline outline = checked_outline(graph);
    ASSERT_EQ(instances(outline), std::vector<size_t>{static_cast<size_t>(layers)})
        << to_string(outline, graph);
    const Region& region = outline.regions[0];
    // The residual stream is all that goes from layer to layer, and all that leaves.
    EXPECT_EQ(count(region, RegionInputKind::kCarried), 1);
    EXPECT_EQ(count(region, RegionInputKind::kInvariant), 0);
    EXPECT_EQ(region.outputs.size(), 1);
    for (int k = 0; k < layers; ++k)
      for (const std::string& name : parameters(graph, region, static_cast<size_t>(k)))
        EXPECT_TRUE(name.starts_with(fmt::format("l{}_", k))) << name << " in instance " << k;
    EXPECT_EQ(parameters(graph, region, 0).size(), 16);
  }
}

TEST(Outline, RotaryTablesAreInvariantAndCachesLeaveEveryLayer) {
  for (const Dim& tokens : {Dim(3), Dim(1)}) {
    const IR graph = networks::llama(5, {.tokens = tokens});
    const Outline outline = checked_outline(graph);
    ASSERT_EQ(instances(outline), std::vector<size_t>{5}) << to_string(outline, graph);
    const Region& region = outline.regions[0];
    EXPECT_EQ(count(region, RegionInputKind::kCarried), 1);
    EXPECT_EQ(count(region, RegionInputKind::kInvariant), 2) << to_string(outline, graph);
    EXPECT_EQ(region.outputs.size(), 3);
  }
}

TEST(Outline, SymbolicTokensAreNoHindrance) {
  const Dim tokens = symbolic::Expr::variable("tokens", {1, 4});
  const IR graph = networks::llama(4, {.tokens = tokens});
  EXPECT_EQ(instances(checked_outline(graph)), std::vector<size_t>{4});
}

TEST(Outline, LayersOfTwoKindsByTurnsRepeatInPairs) {
  const IR graph = networks::alternating(8);
  const Outline outline = checked_outline(graph);
  ASSERT_EQ(instances(outline), std::vector<size_t>{4}) << to_string(outline, graph);
  EXPECT_EQ(parameters(graph, outline.regions[0], 0).size(), 32);
}

TEST(Outline, EncoderAndDecoderAreTwoRegions) {
  const IR graph = networks::encoder_decoder(4, 6);
  const Outline outline = checked_outline(graph);
  ASSERT_EQ(instances(outline), (std::vector<size_t>{4, 6})) << to_string(outline, graph);
  // What the encoder gives is the same for all decoder layers.
  const Region& decoder =
      outline.regions[0].instances.size() == 6 ? outline.regions[0] : outline.regions[1];
  EXPECT_EQ(count(decoder, RegionInputKind::kInvariant), 1) << to_string(outline, graph);
}

TEST(Outline, ResultsOnTheSideBelongToTheirLayer) {
  const IR graph = networks::mixture(5, 3);
  const Outline outline = checked_outline(graph);
  ASSERT_EQ(instances(outline), std::vector<size_t>{5}) << to_string(outline, graph);
  EXPECT_EQ(outline.regions[0].outputs.size(), 2);
}

TEST(Outline, EveryStageOfAResNetIsARegion) {
  const IR graph = networks::resnet({3, 4, 6, 3});
  const Outline outline = checked_outline(graph);
  // The first block of a stage halves the picture and is unlike the others.
  EXPECT_EQ(instances(outline), (std::vector<size_t>{2, 3, 3, 5})) << to_string(outline, graph);
}

TEST(Outline, TwoValuesMayGoFromStepToStep) {
  const IR graph = networks::lstm(12);
  const Outline outline = checked_outline(graph);
  ASSERT_EQ(outline.regions.size(), 1) << to_string(outline, graph);
  EXPECT_GE(outline.regions[0].instances.size(), 11);
  EXPECT_EQ(count(outline.regions[0], RegionInputKind::kCarried), 2);
  EXPECT_EQ(count(outline.regions[0], RegionInputKind::kInvariant), 2);
}

TEST(Outline, LayersOfAnMlpAreSmallButRepeat) {
  EXPECT_EQ(instances(checked_outline(networks::mlp(20))), std::vector<size_t>{20});
}

TEST(Outline, WhatMayBeOneKernelIsLeftWhole) {
  EXPECT_EQ(instances(checked_outline(networks::elementwise_chain(40))), std::vector<size_t>{});
}

TEST(Outline, AFewLayersAreNotWorthIt) {
  EXPECT_EQ(instances(checked_outline(networks::mlp(3))), std::vector<size_t>{});
  EXPECT_EQ(instances(checked_outline(networks::gpt(1))), std::vector<size_t>{});
}

TEST(Outline, GraphsWithoutNodesOrRepeatsHaveNoRegion) {
  EXPECT_TRUE(checked_outline(IR()).regions.empty());
  Graph g;
  const Tensor x = g.input("x", {4, 4});
  EXPECT_TRUE(
      checked_outline(networks::finished(g, {{"y", softmax(matmul(x, x), -1)}})).regions.empty());
  EXPECT_EQ(to_string(Outline{}, IR()), "nothing repeats\n");
}

TEST(Outline, AConstantThatDiffersMakesAnotherBody) {
  Graph g;
  Tensor x = g.input("x", {3, 8});
  for (int k = 0; k < 12; ++k) {
    const networks::Layer l = networks::layer_of(g, "l", k);
    x = x + l.biased(gelu(l.biased(x, "a", 16)) * (k < 6 ? 0.5 : 0.25), "b", 8);
  }
  EXPECT_EQ(instances(checked_outline(networks::finished(g, {{"y", x}}))),
            (std::vector<size_t>{6, 6}));
}

TEST(Outline, WeightsMayBeConstants) {
  Graph g;
  Tensor x = g.input("x", {3, 8});
  for (int k = 0; k < 8; ++k) {
    std::vector<float> values(64);
    for (int i = 0; i < 64; ++i) values[static_cast<size_t>(i)] = static_cast<float>(i * (k + 1));
    const Tensor w = g.constant(graph::Array::from<float>(f32, {8, 8}, values));
    x = x + tanh(matmul(layer_norm(x), w));
  }
  const Outline outline = checked_outline(networks::finished(g, {{"y", x}}));
  ASSERT_EQ(instances(outline), std::vector<size_t>{8});
  EXPECT_EQ(count(outline.regions[0], RegionInputKind::kParameter), 1);
}

TEST(Outline, TheFirstValueMayBeReadByAllLayers) {
  Graph g;
  const Tensor first = g.input("x", {3, 8});
  Tensor x = first;
  for (int k = 0; k < 8; ++k)
    x = first + tanh(networks::layer_of(g, "l", k).biased(layer_norm(x), "w", 8)) * x;
  const IR graph = networks::finished(g, {{"y", x}});
  const Outline outline = checked_outline(graph);
  ASSERT_EQ(instances(outline), std::vector<size_t>{8}) << to_string(outline, graph);
  EXPECT_EQ(count(outline.regions[0], RegionInputKind::kInvariant), 1);
}

TEST(Outline, ValuesOfAllLayersMayBeReadOutside) {
  Graph g;
  Tensor x = g.input("x", {3, 8});
  std::vector<Tensor> all;
  for (int k = 0; k < 6; ++k) {
    x = networks::gpt_layer(networks::layer_of(g, "l", k), x, {});
    all.push_back(x);
  }
  const IR graph = networks::finished(g, {{"y", sum(stack(all), 0)}});
  EXPECT_EQ(instances(checked_outline(graph)), std::vector<size_t>{6});
}

TEST(Outline, TheTextSaysWhatGoesInAndOut) {
  Graph g;
  Tensor x = g.input("x", {2, 8});
  for (int k = 0; k < 8; ++k) {
    const Tensor w = g.input(fmt::format("w{}", k), {8, 8});
    const Tensor b = g.input(fmt::format("b{}", k), {8});
    x = relu(matmul(x, w) + b);
  }
  const IR graph = networks::finished(g, {{"y", x}});
  EXPECT_EQ(to_string(find_outline(graph), graph),
            "region0: 8 instances of 4 nodes\n"
            "  carried 3 from %0 \"x\" f32[2, 8]\n"
            "  parameter %1 \"w0\" f32[8, 8], then %3 \"w1\" f32[8, 8]\n"
            "  parameter %2 \"b0\" f32[8], then %4 \"b1\" f32[8]\n"
            "  gives 3: %21 max f32[2, 8]\n");
}

TEST(Outline, HundredsOfLayersReduceToOne) {
  const IR graph = networks::gpt(512);
  EXPECT_GT(graph.size(), 40000);
  const Outline outline = checked_outline(graph);
  EXPECT_EQ(instances(outline), std::vector<size_t>{512});
  EXPECT_EQ(reduce(graph, outline).graph.size(),
            reduce(networks::gpt(4), checked_outline(networks::gpt(4))).graph.size());
}

TEST(OutlineProblems, BrokenOutlinesAreNamed) {
  const IR graph = networks::mlp(20);
  const Outline good = find_outline(graph);
  ASSERT_EQ(good.regions.size(), 1);
  const auto all_problems = [&](const Outline& outline) {
    std::string text;
    for (const std::string& problem : problems(outline, graph)) text += problem + "\n";
    return text;
  };
  EXPECT_EQ(all_problems(good), "");
  Outline twice = good;
  twice.regions[0].instances[1] = twice.regions[0].instances[0];
  EXPECT_NE(all_problems(twice).find("is in two places"), std::string::npos);
  Outline mixed = good;
  std::swap(mixed.regions[0].instances[1][0], mixed.regions[0].instances[1][1]);
  EXPECT_NE(all_problems(mixed).find("at position 0 differ"), std::string::npos);
  Outline wrong = good;
  for (RegionInput& input : wrong.regions[0].inputs) input.kind = RegionInputKind::kInvariant;
  EXPECT_NE(all_problems(wrong).find("varies"), std::string::npos);
  Outline small = good;
  small.regions[0].instances[2].pop_back();
  EXPECT_NE(all_problems(small).find("instance 2 has 3 nodes, not 4"), std::string::npos);
}

}  // namespace
}  // namespace luminal::compiler

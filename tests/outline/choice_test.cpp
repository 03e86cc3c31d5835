// Definitions chosen for a body are those of all its instances.
#include "luminal/compiler/outline_choice.h"

#include <gtest/gtest.h>

#include "luminal/compiler/outline_expand.h"
#include "luminal/rules/choices.h"
#include "networks.h"
#include "random_network.h"
#include "samples.h"

namespace luminal::compiler {
namespace {

using kernel::Arena;
using kernel::ChoiceProgram;
using kernel::CutPlan;
using networks::IR;

/// Every sum also reads its first operand by way of a copy, a value that the graph does not have.
size_t add_detours(ChoiceProgram& program) {
  size_t detours = 0;
  for (uint32_t k = 0, count = static_cast<uint32_t>(program.size()); k < count; ++k) {
    const NodeId id{k};
    graph::Node node = program.node(id);
    if (node.op != graph::Op::kAdd) continue;
    const NodeId copy = program.add_node();
    graph::Node detour;
    detour.op = graph::Op::kCopy;
    detour.type = {program.node(node.operands[0].node).dtype(), node.operands[0].view.domain()};
    detour.operands = {node.operands[0]};
    program.add(copy, detour);
    node.operands[0] = {graph::View::identity(detour.type.shape), copy};
    program.add(id, node);
    program.choose(id, 1);
    ++detours;
  }
  return detours;
}

void expect_choices_right(const IR& graph, uint64_t seed, const OutlineOptions& options = {}) {
  const Outline outline = find_outline(graph, options);
  const ReducedGraph reduced = reduce(graph, outline);
  const kernel::GraphProgram source(reduced.graph);
  ChoiceProgram program(source);
  EXPECT_GT(add_detours(program), 0);
  std::vector<NodeId> nodes, outputs;
  for (NodeId id : reduced.graph.ids()) nodes.push_back(id);
  for (size_t k = 0; k < reduced.graph.outputs().size(); ++k) outputs.push_back(source.output(k));
  assign_parts(program, outline, reduced, {nodes, outputs});
  Arena arena, into;
  const CutPlan plan = kernel::search_cut(arena, program, search_options());
  ExpandedProgram whole(graph, outline, reduced, program, {nodes, outputs});
  const CutPlan expanded = expand(outline, program, arena, plan, whole, into);
  for (const std::string& problem : problems(whole, expanded)) ADD_FAILURE() << problem;
  std::vector<NodeId> results;
  for (size_t k = 0; k < graph.outputs().size(); ++k) results.push_back(whole.output(k));
  expect_plan_right(graph, whole, into, expanded, results, seed);
}

TEST(ExpandedChoices, EveryInstanceHasTheDefinitionsOfItsBody) {
  for (const IR& graph : {networks::gpt(3), networks::encoder_decoder(3, 3), networks::lstm(8),
                          networks::mixture(3, 2)})
    expect_choices_right(graph, 3);
}

TEST(ExpandedChoices, ConstantsOfOneInstanceAreNotThoseOfAnother) {
  Graph g;
  Tensor x = g.input("x", {3, 8});
  for (int k = 0; k < 6; ++k) {
    std::vector<float> values(64);
    for (int i = 0; i < 64; ++i)
      values[static_cast<size_t>(i)] = 0.01F * static_cast<float>(i * (k + 1));
    x = x + tanh(matmul(layer_norm(x), g.constant(graph::Array::from<float>(f32, {8, 8}, values))));
  }
  expect_choices_right(networks::finished(g, {{"y", x}}), 4);
}

TEST(ExpandedChoices, WeightsThatAreReadOutsideTooStayApart) {
  Graph g;
  const Tensor shared = g.input("shared", {8, 8});
  Tensor x = tanh(matmul(g.input("x", {3, 8}), shared));
  for (int k = 0; k < 6; ++k) {
    const Tensor w = k == 5 ? shared : g.input(fmt::format("w{}", k), {8, 8});
    x = x + tanh(matmul(layer_norm(x), w));
  }
  expect_choices_right(networks::finished(g, {{"y", matmul(x, shared)}}), 5);
}

TEST(ExpandedChoices, RulesSeeABodyOnce) {
  std::vector<size_t> nodes;
  for (const int layers : {3, 6}) {
    const IR graph = networks::gpt(layers);
    const Outline outline = find_outline(graph);
    const ReducedGraph reduced = reduce(graph, outline);
    rules::Choices choices = rules::choices(reduced.graph);
    nodes.push_back(choices.stats.nodes);
    if (layers > 3) continue;  // the body is the same, and so is its plan
    const ChosenPlaces places{choices.place, choices.outputs};
    assign_parts(choices.program, outline, reduced, places);
    Arena arena, into;
    const CutPlan plan = kernel::search_choice(arena, choices.program, search_options());
    ExpandedProgram whole(graph, outline, reduced, choices.program, places);
    const CutPlan expanded = expand(outline, choices.program, arena, plan, whole, into);
    for (const std::string& problem : problems(whole, expanded)) ADD_FAILURE() << problem;
    const NodeId results[] = {whole.output(0)};
    expect_plan_right(graph, whole, into, expanded, results, 6);
  }
  EXPECT_EQ(nodes[0], nodes[1]);
}

TEST(ExpandedChoices, RandomNetworksAreRight) {
  for (uint64_t seed = 1; seed <= 15; ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    const IR graph = networks::random_network(seed);
    bool adds = false;
    for (const graph::Node& node : graph.nodes()) adds = adds || node.op == graph::Op::kAdd;
    if (!adds) continue;
    expect_choices_right(graph, seed,
                         {.smallest_body = 2, .fewest_saved = 4, .smallest_unnatural_body = 2});
    if (HasFailure()) return;
  }
}

}  // namespace
}  // namespace luminal::compiler

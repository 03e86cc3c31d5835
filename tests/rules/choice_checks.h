// For tests: programs drawn from the choices of a graph, evaluated by the interpreter and compared
// with the graph itself.
#pragma once

#include <gtest/gtest.h>

#include <random>

#include "luminal/graph/dim_binding.h"
#include "luminal/graph/test_graphs.h"
#include "luminal/rules/choices.h"

namespace luminal::rules::test {

/// Draws definitions at random; changes that would make the program cyclic are taken back. Gives
/// how many nodes differ from the graph as written.
inline size_t choose_at_random(Choices& choices, std::mt19937_64& random, double probability) {
  kernel::ChoiceProgram& program = choices.program;
  for (uint32_t id = 0; id < program.size(); ++id) program.choose(kernel::NodeId{id}, 0);
  for (uint32_t id = 0; id < program.size(); ++id) {
    const kernel::NodeId node{id};
    const size_t count = program.definitions(node);
    if (count == 1 || std::uniform_real_distribution<>(0, 1)(random) >= probability) continue;
    program.choose(node, random() % count);
    if (!kernel::topological_order(program)) program.choose(node, 0);
  }
  const std::optional<std::vector<kernel::NodeId>> order = kernel::topological_order(program);
  EXPECT_TRUE(order.has_value()) << "the first choice is cyclic";
  size_t changed = 0;
  for (const kernel::NodeId id : *order) changed += program.choice(id) != 0 ? 1 : 0;
  return changed;
}

/// The program as it is chosen now, as a graph with the outputs of the original.
inline graph::Graph chosen_graph(const Choices& choices, const graph::Graph& original) {
  graph::Graph result;
  std::map<kernel::NodeId, kernel::NodeId> map;
  const std::optional<std::vector<kernel::NodeId>> order =
      kernel::topological_order(choices.program);
  for (const kernel::NodeId id : *order) {
    const graph::Node& node = choices.program.node(id);
    std::vector<graph::Edge> operands;
    for (const graph::Edge& edge : node.operands)
      operands.push_back({edge.view, map.at(edge.node)});
    map[id] = result.add_like(node, std::move(operands));
    EXPECT_EQ(result.node(map[id]).type, node.type) << "the type is another when inferred";
  }
  for (size_t k = 0; k < original.outputs().size(); ++k)
    result.add_output(original.outputs()[k].name, result.whole(map.at(choices.output(k))));
  return result;
}

/// Values for dims and inputs.
struct Sample {
  graph::DimValues dims;
  std::map<std::string, graph::Array> inputs;

  std::vector<graph::Array> run(const graph::Graph& graph) const {
    graph::RunRequest request;
    for (const auto& [name, value] : inputs)
      if (graph.find_input(name)) request.inputs[name] = &value;
    for (const auto& [dim, interval] : graph.dims()) request.dims[dim] = dims.at(dim);
    std::ostringstream text;
    request.text = &text;
    return graph::make_interpreter(graph)->run(request);
  }
};

/// `special` puts NaN, infinities, zeros of both signs and the ends of ranges among the values;
/// without it they are moderate, as reassociation wants them.
inline Sample random_sample(const graph::Graph& graph, uint64_t seed, bool special) {
  std::mt19937_64 random(seed);
  Sample sample;
  for (const auto& [dim, interval] : graph.dims()) {
    const auto above = static_cast<int64_t>(random() % 4);
    // Nothing at all is as likely as something.
    sample.dims[dim] = std::clamp<int64_t>(interval.lo == 0 ? above - 1 : interval.lo + above,
                                           interval.lo, interval.hi);
  }
  std::normal_distribution<> normal(0.0, 1.5);
  for (const graph::Node& node : graph.nodes()) {
    if (node.op != graph::Op::kInput) continue;
    graph::Array array(node.dtype(), graph::extents_of(node.shape(), sample.dims));
    for (int64_t k = 0; k < array.size(); ++k) {
      const graph::Scalar drawn = graph::Scalar::of(node.dtype(), normal(random));
      const bool is_odd = special && random() % 3 == 0;
      array.set(k, is_odd ? graph::test::special_value(random, node.dtype()) : drawn);
    }
    sample.inputs.emplace(node.attribute<graph::InputAttribute>().name, std::move(array));
  }
  return sample;
}

/// Near, measured by the largest value of the output: what another order of sums may give.
inline ::testing::AssertionResult near(const graph::Array& actual, const graph::Array& expected) {
  if (actual.dtype() != expected.dtype() || actual.extents() != expected.extents())
    return ::testing::AssertionFailure() << "types differ";
  if (!graph::is_float(expected.dtype())) return graph::test::same_values(actual, expected);
  double largest = 0;
  for (int64_t i = 0; i < expected.size(); ++i)
    if (std::isfinite(expected.at(i).as_double()))
      largest = std::max(largest, std::abs(expected.at(i).as_double()));
  const int bits = graph::bits(expected.dtype());
  const double unit = bits >= 64 ? 1e-13 : bits == 32 ? 2e-6 : 0.02;
  for (int64_t i = 0; i < expected.size(); ++i) {
    const graph::Scalar a = actual.at(i), e = expected.at(i);
    if (a == e) continue;
    const double distance = std::abs(a.as_double() - e.as_double());
    if (distance <= unit * (largest + std::abs(e.as_double()))) continue;
    return ::testing::AssertionFailure()
           << "element " << i << " is " << a.to_string() << ", not " << e.to_string();
  }
  return ::testing::AssertionSuccess();
}

/// Draws programs and compares them. Gives how many of them differ from the graph as written.
inline int check_choices(const graph::Graph& graph, const RuleOptions& options, uint64_t seed,
                         int draws) {
  Choices found = choices(graph, options);
  std::mt19937_64 random(seed);
  int changed = 0;
  const Sample sample = random_sample(graph, seed, !options.reassociate);
  const std::vector<graph::Array> expected = sample.run(graph);
  for (int draw = 0; draw < draws; ++draw) {
    if (choose_at_random(found, random, draw % 2 == 0 ? 0.9 : 0.4) == 0) continue;
    ++changed;
    const graph::Graph chosen = chosen_graph(found, graph);
    const std::vector<graph::Array> actual = sample.run(chosen);
    for (size_t k = 0; k < expected.size(); ++k) {
      const ::testing::AssertionResult result =
          options.reassociate ? near(actual[k], expected[k])
                              : graph::test::same_values(actual[k], expected[k]);
      EXPECT_TRUE(result) << "output " << k << ", seed " << seed << "\nas written:\n"
                          << graph::to_text(graph) << "\nchosen:\n"
                          << graph::to_text(chosen);
      if (!result) return changed;
    }
  }
  return changed;
}

}  // namespace luminal::rules::test

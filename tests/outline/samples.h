// Runs plans of whole programs on random data, kernel by kernel as loops, and compares with the
// oracle.
#pragma once

#include <gtest/gtest.h>

#include "luminal/graph/dim_binding.h"
#include "luminal/kernel/cut_search.h"
#include "luminal/kernel/test_kernels.h"

namespace luminal::compiler {

inline kernel::CutSearchOptions search_options() {
  kernel::CutSearchOptions options;
  options.machine = kernel::Machine::cpu(2);
  return options;
}

/// Random data for all inputs of a graph.
inline kernel::test::Sample sample_of(const graph::Graph& graph, uint64_t seed) {
  std::mt19937_64 random(seed);
  kernel::test::Sample sample{graph, {}, {}};
  for (const auto& [dim, interval] : graph.dims())
    sample.dims[dim] = std::min<int64_t>(interval.lo + 2, interval.hi);
  std::normal_distribution<> normal(0.0, 0.6);
  for (const graph::Node& node : graph.nodes()) {
    if (node.op != graph::Op::kInput) continue;
    graph::Array array(node.dtype(), graph::extents_of(node.shape(), sample.dims));
    for (int64_t k = 0; k < array.size(); ++k)
      array.set(k, is_float(node.dtype())
                       ? graph::Scalar::of(node.dtype(), normal(random))
                       : graph::Scalar::of(node.dtype(), static_cast<int64_t>(random() % 5)));
    sample.inputs.emplace(node.attribute<graph::InputAttribute>().name, std::move(array));
  }
  return sample;
}

/// `results` are the nodes of the program that hold the graph's outputs.
inline void expect_plan_right(const graph::Graph& graph, const kernel::Program& program,
                              kernel::Arena& arena, const kernel::CutPlan& plan,
                              std::span<const graph::NodeId> results, uint64_t seed) {
  const kernel::test::Sample sample = sample_of(graph, seed);
  graph::RunRequest request;
  for (const auto& [name, value] : sample.inputs) request.inputs[name] = &value;
  request.dims = sample.dims;
  const std::vector<graph::Array> expected = graph::make_interpreter(graph)->run(request);
  kernel::Tensors tensors;
  const std::vector<graph::NodeId> order = *kernel::topological_order(program);
  for (graph::NodeId id : order) {
    const graph::Node& node = program.node(id);
    if (const auto* input = std::get_if<graph::InputAttribute>(&node.attributes))
      tensors.emplace(id, sample.inputs.at(input->name));
    else if (kernel::is_source(node))
      tensors.emplace(id, node.attribute<graph::ConstantAttribute>().value);
  }
  for (size_t k = 0; k < plan.kernels.size(); ++k) {
    const kernel::PlannedKernel whole = written_out(arena, program, plan, k);
    // Region updates need their memory shared, so here the kernel as derived stands in.
    const kernel::Kernel& code = whole.estimate.in_place_of ? whole.kernel : whole.estimate.kernel;
    kernel::test::run_by_nest(whole.estimate.nest)(arena, code, sample.dims, tensors);
  }
  for (size_t k = 0; k < results.size(); ++k)
    EXPECT_TRUE(kernel::test::near(tensors.at(results[k]), expected[k], {1e-4, 1e-3}))
        << "output " << graph.outputs()[k].name << ", seed " << seed;
}

}  // namespace luminal::compiler

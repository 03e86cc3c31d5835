// Graphs of tensors with random inputs, for suites that run single kernels.
#pragma once

#include <random>

#include "luminal/kernel/test_kernels.h"
#include "luminal/luminal.h"

namespace luminal::codegen {

/// Numbers with some bits to spare, so that sums of a few hundred products stay small.
inline graph::Array random_values(graph::DType dtype, const graph::Extents& extents,
                                  uint64_t seed) {
  graph::Array array(dtype, extents);
  std::mt19937_64 random(seed);
  for (int64_t i = 0; i < array.size(); ++i)
    kernel::store(array, i,
                  {std::uniform_real_distribution<>(-1, 1)(random),
                   static_cast<int64_t>(random() % 256) - (graph::is_unsigned(dtype) ? 0 : 128)});
  return array;
}

/// The inputs of a graph.
inline std::vector<kernel::NodeId> inputs_of(const graph::Graph& graph) {
  std::vector<kernel::NodeId> result;
  for (uint32_t i = 0; i < static_cast<uint32_t>(graph.size()); ++i)
    if (graph.node({i}).op == graph::Op::kInput) result.push_back({i});
  return result;
}

/// A sample of a graph of tensors, with random inputs.
inline kernel::test::Sample sample_of(const std::vector<Tensor>& outputs,
                                      const graph::DimValues& dims = {}, uint64_t seed = 1) {
  kernel::test::Sample sample{outputs[0].graph().ir(), dims, {}};
  for (size_t k = 0; k < outputs.size(); ++k)
    sample.graph.add_output("y" + std::to_string(k), outputs[k].edge());
  for (const kernel::NodeId id : inputs_of(sample.graph)) {
    const graph::Node& node = sample.graph.node(id);
    sample.inputs.emplace(
        node.attribute<graph::InputAttribute>().name,
        random_values(node.type.dtype, graph::extents_of(node.type.shape, dims), ++seed));
  }
  return sample;
}

}  // namespace luminal::codegen

// For tests: runs a program cut into kernels, each by a function of the caller's choice, and
// compares what every materialised node holds with the oracle.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <random>
#include <set>

#include "luminal/graph/dim_binding.h"
#include "luminal/graph/query.h"
#include "luminal/graph/test_graphs.h"
#include "luminal/graph/text.h"
#include "luminal/kernel/derive.h"
#include "luminal/kernel/evaluate.h"
#include "luminal/kernel/nest.h"
#include "luminal/kernel/verify.h"

namespace luminal::kernel::test {

using graph::Array;
using graph::Graph;

/// A graph, and values for its dims and inputs.
struct Sample {
  Graph graph;
  graph::DimValues dims;
  std::map<std::string, Array> inputs;
};

/// What the oracle gives for every node that the roots need.
inline Tensors oracle_values(const Sample& sample, const Program& program,
                             std::span<const NodeId> order) {
  Graph all = sample.graph;
  std::vector<NodeId> ids;
  Graph bare;
  std::map<NodeId, NodeId> map;
  for (NodeId id : order) {
    const graph::Node& node = program.node(id);
    std::vector<graph::Edge> operands;
    for (const graph::Edge& edge : node.operands)
      operands.push_back({edge.view, map.at(edge.node)});
    const NodeId copy = bare.add_like(node, std::move(operands));
    map[id] = copy;
    bare.add_output("v" + std::to_string(id.value), bare.whole(copy));
    ids.push_back(id);
  }
  graph::RunRequest request;
  for (const auto& [name, value] : sample.inputs)
    if (bare.find_input(name)) request.inputs[name] = &value;
  for (const auto& [dim, interval] : bare.dims()) request.dims[dim] = sample.dims.at(dim);
  std::ostringstream text;
  request.text = &text;
  std::vector<Array> results = graph::make_interpreter(bare)->run(request);
  Tensors tensors;
  for (size_t k = 0; k < ids.size(); ++k) tensors.emplace(ids[k], std::move(results[k]));
  return tensors;
}

/// A cut drawn at random: every optional node is in it with this probability.
inline Cut random_cut(const Program& program, std::span<const NodeId> order,
                      std::mt19937_64& random, double probability) {
  Cut cut = smallest_cut(program, order);
  for (NodeId id : optional_nodes(program, order))
    if (std::uniform_real_distribution<>(0, 1)(random) < probability) cut.insert(id);
  return cut;
}

/// How near to the oracle results must be.
struct Closeness {
  double absolute = 0.0;
  double relative = 0.0;
};

inline ::testing::AssertionResult near(const Array& actual, const Array& expected,
                                       const Closeness& closeness) {
  if (actual.dtype() != expected.dtype() || actual.extents() != expected.extents())
    return ::testing::AssertionFailure() << "types differ";
  for (int64_t i = 0; i < actual.size(); ++i) {
    const Scalar a = actual.at(i), e = expected.at(i);
    if (a == e) continue;
    const double distance = std::abs(a.as_double() - e.as_double());
    if (distance <= closeness.absolute + closeness.relative * std::abs(e.as_double())) continue;
    return ::testing::AssertionFailure()
           << "element " << i << " is " << a.to_string() << ", not " << e.to_string();
  }
  return ::testing::AssertionSuccess();
}

/// Computes one kernel from `tensors` into `tensors`.
using RunKernel = std::function<void(Arena& arena, const Kernel& kernel,
                                     const graph::DimValues& dims, Tensors& tensors)>;

/// Runs every kernel of the cut on the oracle's operands and compares. Gives the number of kernels.
inline int check_cut(Arena& arena, const Sample& sample, const Program& program,
                     std::span<const NodeId> order, const Cut& cut, const Tensors& oracle,
                     const RunKernel& run, const Closeness& closeness) {
  int kernels = 0;
  for (NodeId id : order) {
    const graph::Node& node = program.node(id);
    if (!cut.contains(id) || (is_opaque(node) && node.op != Op::kGraphBreak)) continue;
    const auto derived = derive(arena, program, cut, id);
    if (std::holds_alternative<Rejected>(derived)) continue;
    const Kernel& kernel = std::get<Kernel>(derived);
    Tensors tensors;
    for (const auto& [tensor, value] : oracle)
      if (cut.contains(tensor) && tensor != id) tensors.emplace(tensor, value);
    run(arena, kernel, sample.dims, tensors);
    ++kernels;
    EXPECT_TRUE(near(tensors.at(id), oracle.at(id), closeness))
        << "node " << id.value << " (" << graph::name(node.op) << ")\n"
        << to_string(arena, kernel) << graph::to_text(sample.graph);
    if (::testing::Test::HasFailure()) return kernels;
  }
  return kernels;
}

/// Checks the smallest cut of a sample, and so many random ones.
inline void check_cuts(const Sample& sample, const RunKernel& run, const Closeness& closeness,
                       int random_cuts = 0) {
  const GraphProgram program(sample.graph);
  const auto order = *topological_order(program);
  const Tensors oracle = oracle_values(sample, program, order);
  std::mt19937_64 random(11);
  for (int i = 0; i <= random_cuts && !::testing::Test::HasFailure(); ++i) {
    Arena arena;
    const Cut cut = i == 0 ? smallest_cut(program, order) : random_cut(program, order, random, 0.3);
    check_cut(arena, sample, program, order, cut, oracle, run, closeness);
  }
}

/// The reference run of a kernel.
inline void run_by_body(Arena& arena, const Kernel& kernel, const graph::DimValues& dims,
                        Tensors& tensors) {
  run_kernel(arena, kernel, dims, tensors);
}

/// The run of a kernel as loops.
inline RunKernel run_by_nest(const NestOptions& options) {
  return [options](Arena& arena, const Kernel& kernel, const graph::DimValues& dims,
                   Tensors& tensors) {
    verify(arena, kernel);
    const Nest nest = build_nest(arena, kernel, options);
    verify(arena, nest);
    run_nest(arena, nest, dims, tensors);
  };
}

/// Floats between -bound and bound, integers from 0 to 4.
inline Array random_array(DType dtype, const graph::Extents& extents, uint64_t seed, double bound) {
  Array array(dtype, extents);
  std::mt19937_64 random(seed);
  for (int64_t i = 0; i < array.size(); ++i)
    store(array, i,
          {std::uniform_real_distribution<>(-bound, bound)(random),
           static_cast<int64_t>(random() % 5)});
  return array;
}

/// A random graph with random data.
inline Sample random_sample(uint64_t seed, int nodes) {
  Sample sample{graph::test::random_graph(seed, nodes), {}, {}};
  const graph::test::RandomRun run(sample.graph, seed);
  sample.dims = run.dims;
  for (const auto& [name, value] : run.inputs) sample.inputs.emplace(name, value);
  return sample;
}

}  // namespace luminal::kernel::test

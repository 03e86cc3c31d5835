// Runs the whole of a graph as one kernel per output, in every way there is, and compares with the
// oracle.
#pragma once

#include <gtest/gtest.h>

#include "luminal/kernel/laws.h"
#include "models.h"

namespace luminal::kernel {

/// Ways to build loops.
inline std::vector<std::pair<std::string, NestOptions>> nest_variants() {
  return {{"plain", {.online = false, .interchange = false, .lets = false}},
          {"lets", {.online = false, .interchange = false}},
          {"interchange", {.online = false}},
          {"online", {}},
          {"rows", {.keep_rows = true}}};
}

/// Exact for bodies and plain nests; `closeness` for online ones and after laws.
inline void expect_every_way_right(const test::Sample& sample, const test::Closeness& closeness) {
  const GraphProgram program(sample.graph);
  const std::vector<NodeId> order = *topological_order(program);
  const Tensors oracle = test::oracle_values(sample, program, order);
  const Cut cut = smallest_cut(program, order);
  const auto check = [&](const std::string& way, const test::RunKernel& run,
                         const test::Closeness& near) {
    SCOPED_TRACE(way);
    Arena arena({.merge_reductions = false});
    const int kernels = test::check_cut(arena, sample, program, order, cut, oracle, run, near);
    EXPECT_GT(kernels, 0);
  };
  check("body", test::run_by_body, {});
  for (const auto& [name, options] : nest_variants())
    check(name, test::run_by_nest(options), options.online ? closeness : test::Closeness{});
  for (const Law& law : all_laws()) {
    const auto run = [&](Arena& arena, const Kernel& kernel, const graph::DimValues& dims,
                         Tensors& tensors) {
      const Kernel changed = law.apply(arena, kernel).value_or(kernel);
      verify(arena, changed);
      run_kernel(arena, changed, dims, tensors);
      test::run_by_nest({})(arena, changed, dims, tensors);
    };
    check(std::string(law.name), run, closeness);
  }
}

/// A graph of tensors with outputs y0, y1, ...
inline graph::Graph graph_of(const std::vector<Tensor>& outputs) {
  graph::Graph ir = outputs[0].graph().ir();
  for (size_t k = 0; k < outputs.size(); ++k)
    ir.add_output("y" + std::to_string(k), outputs[k].edge());
  return ir;
}

}  // namespace luminal::kernel

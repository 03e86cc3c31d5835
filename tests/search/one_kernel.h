// For tests: a graph that is one kernel, as a task of the search.
#pragma once

#include <functional>
#include <memory>
#include <variant>

#include "luminal/kernel/canonical.h"
#include "luminal/kernel/derive.h"
#include "luminal/luminal.h"
#include "luminal/search/kernel_bench.h"

namespace luminal::search {

/// The task of a graph that is one kernel.
inline KernelTask task_of(const std::function<Tensor(Graph&)>& write, int threads = 2) {
  Graph g;
  const Tensor y = write(g);
  graph::Graph graph = g.ir();
  graph.add_output("y", y.edge());
  const kernel::GraphProgram program(graph);
  const kernel::Cut cut = kernel::smallest_cut(program, *kernel::topological_order(program));
  kernel::Arena arena;
  const auto kernel =
      std::get<kernel::Kernel>(kernel::derive(arena, program, cut, program.output(0)));
  const kernel::CanonicalKernel names = kernel::canonicalize(arena, kernel);
  KernelTask task;
  task.text = names.text;
  task.label = "a kernel";
  task.arena = std::make_shared<kernel::Arena>();
  task.kernel = kernel::rebuild(arena, kernel, names, *task.arena);
  task.options.threads = threads;
  return task;
}

}  // namespace luminal::search

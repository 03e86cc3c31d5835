// For tests: a graph of one kernel, and right and planted candidates for it.
#pragma once

#include <gtest/gtest.h>

#include <functional>

#include "luminal/kernel/derive.h"
#include "luminal/luminal.h"
#include "luminal/search/kernel_check.h"

namespace luminal::search {

using Why = Rejected::Why;

/// So long that what comes to an end does so before, however busy the machine is, and so short that
/// nobody minds waiting for what has none.
inline constexpr std::chrono::milliseconds kAmple = std::chrono::minutes(5), kShort{200};

/// A graph of one kernel, and code for it.
class Subject {
 public:
  explicit Subject(const std::function<Tensor(Graph&)>& write, graph::DimValues dims = {})
      : dims_(std::move(dims)) {
    Graph g;
    const Tensor y = write(g);
    graph_ = g.ir();
    graph_.add_output("y", y.edge());
    const kernel::GraphProgram program(graph_);
    const auto order = *kernel::topological_order(program);
    const kernel::Cut cut = kernel::smallest_cut(program, order);
    kernel_ = std::get<kernel::Kernel>(kernel::derive(arena_, program, cut, program.output(0)));
  }

  Candidate candidate() {
    codegen::CpuKernelOptions options;
    options.dims = dims_;
    return std::get<Candidate>(
        load_candidate(codegen::cpu_kernel(arena_, kernel_, codegen::host_target(), options),
                       codegen::KernelCompiler(), dims_));
  }
  /// The candidate with other code for its last launch.
  Candidate with(runtime::CpuEntry entry) {
    Candidate result = candidate();
    result.launches.back().entry = entry;
    return result;
  }
  /// What is quick gets no less time than the limit: how quick it is depends on the machine.
  KernelCheck check(std::chrono::milliseconds limit = kAmple,
                    std::chrono::milliseconds least = kAmple) const {
    return {arena_, kernel_, dims_, {.limit = limit, .least = least}};
  }

 private:
  graph::Graph graph_;
  graph::DimValues dims_;
  kernel::Arena arena_;
  kernel::Kernel kernel_;
};

/// Twice a thousand values.
inline Tensor doubled(Graph& g) { return g.input("x", {1000}) * 2.0F; }

/// Why a planted candidate is rejected, after a right one has passed.
inline Rejected rejection(runtime::CpuEntry entry,
                          const std::function<Tensor(Graph&)>& write = doubled,
                          const graph::DimValues& dims = {}) {
  Subject subject(write, dims);
  KernelCheck check = subject.check();
  EXPECT_EQ(check.check(subject.candidate()), std::nullopt);
  return check.check(subject.with(entry)).value_or(Rejected{Why::kCompile, "it passed"});
}

}  // namespace luminal::search

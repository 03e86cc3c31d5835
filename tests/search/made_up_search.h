// A small network and searches of it whose times are made up: what is chosen and kept follows from
// names, and what is asked for is counted.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "luminal/compiler/search_plan.h"
#include "luminal/luminal.h"
#include "luminal/search/grid_space_for_tests.h"
#include "luminal/search/kernel_bench.h"

namespace luminal::compiler {

/// A layer and a softmax: some kernels, which can be cut in several ways.
struct Net {
  Graph g;
  Tensor y;
  Net() {
    const Tensor x = g.input("x", {32, 64});
    y = softmax(silu(layer_norm(matmul(x, g.input("w", {64, 64})), 1)) + x, -1);
  }
  graph::Graph ir() const {
    graph::Graph graph = g.ir();
    graph.add_output("y", y.edge());
    return graph;
  }
};

/// Rules find more structures, but take most of the time. What is fused and launched together
/// depends on the number of threads, and schedules, by whose names times are made up, on the
/// processor: both are the same on every machine, most of which cannot run the code.
inline const Options kPlain{.target = codegen::cpu_target("znver4"), .threads = 2, .rules = false};
/// For those who run what they get.
inline const Options kPlainHere{.threads = 2, .rules = false};

/// A time of a kernel or plan that follows from its name.
inline double made_up(const std::string& name) {
  return 1.0 + static_cast<double>(support::hash128(name).hi % 1000) / 100.0;
}

/// Options of a search whose times are made up. Counts what is asked for.
struct MadeUp {
  search::TuningDatabase database = search::TuningDatabase::in_memory();
  SearchOptions options;
  int kernel_trials = 0;
  int plan_trials = 0;
  std::function<search::Measurement(const search::KernelTask&, const std::string&)> kernel_time =
      [](const search::KernelTask& task, const std::string& schedule) -> search::Measurement {
    return search::Timing{made_up(task.text + schedule), 0.01, 10};
  };
  std::function<search::Measurement(const std::string&)> plan_time =
      [](const std::string& name) -> search::Measurement {
    return search::Timing{made_up(name), 0.01, 10};
  };

  MadeUp() {
    options.seconds = 1000;
    options.structures = 3;
    options.most_trials = 6;
    options.progress = false;
    options.database = &database;
    options.tools.kernels =
        [this](const search::KernelTask& task) -> std::unique_ptr<search::Workbench> {
      return std::make_unique<search::FormulaBench>([this, &task](const std::string& schedule) {
        ++kernel_trials;
        return kernel_time(task, schedule);
      });
    };
    options.tools.plans =
        [this](
            const std::function<Plan(const std::string&)>&) -> std::unique_ptr<search::Workbench> {
      return std::make_unique<search::FormulaBench>([this](const std::string& name) {
        ++plan_trials;
        return plan_time(name);
      });
    };
  }
};

}  // namespace luminal::compiler

// The networks whose compile time is looked at, as they are written, before passes.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "luminal/graph/graph.h"

namespace luminal::benchmarks {

/// One of them.
struct CompileCase {
  std::string name;
  std::function<graph::Graph()> write;
  /// Weights are constants of the graph, with data: running takes a while to prepare them.
  bool has_data = false;
};

/// All of them; language models in each of these depths.
std::vector<CompileCase> compile_cases(const std::vector<int>& layers);

}  // namespace luminal::benchmarks

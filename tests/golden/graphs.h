// The fixed graphs whose plans are kept as text.
#pragma once

#include <string>
#include <vector>

#include "luminal/compiler/options.h"
#include "luminal/graph/graph.h"

namespace luminal::golden {

/// A graph after passes, and the inputs of it that are weights.
struct FixedGraph {
  std::string name;
  graph::Graph graph;
  std::vector<std::string> weights = {};
};

/// All of them, at the sizes people run them at.
std::vector<FixedGraph> all_graphs();
/// The one of that name.
FixedGraph graph_named(const std::string& name);

/// What plans are made for: Zen 4, two cores, two threads, whatever machine the test runs on.
compiler::Options fixed_options(const FixedGraph& graph);

}  // namespace luminal::golden

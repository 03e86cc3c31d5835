// The reduced graph: what is outside of regions, and one instance of each region. Where values
// cross the border of an instance the graph is cut: who reads them reads an input that stands for
// them, and they are outputs. So whatever is found out about a body there (equal definitions, a
// good cut, code) holds for every instance, whatever stands around it.
#pragma once

#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "luminal/compiler/outline.h"
#include "luminal/kernel/program.h"

namespace luminal::compiler {

/// A graph with one instance per region, and how it lies in the whole graph.
struct ReducedGraph {
  graph::Graph graph;
  /// By node of the reduced graph: the node of the whole graph that it is. Inputs that stand for
  /// values from elsewhere are these values.
  std::vector<NodeId> origin;
  /// By node of the reduced graph: 0 outside of regions, else one more than the region.
  std::vector<uint32_t> part;
  /// By part: how often it runs.
  std::vector<double> repeats;
  /// By region: what nodes of the reduced graph are to it.
  struct Place {
    bool is_input = false;
    size_t index = 0;  // of an input, or a position of the body
  };
  std::vector<std::unordered_map<uint32_t, Place>> places;
  /// By region: what it reads of the rest of the reduced graph. Who reads its values waits for
  /// that.
  std::vector<std::vector<NodeId>> reads;
  /// By node of the reduced graph that stands for a value of a region: that value.
  struct RegionValue {
    size_t region = 0;
    NodeId node = {};  // the one of the body, in the reduced graph
  };
  std::unordered_map<uint32_t, RegionValue> stands_for;
  /// By output of the whole graph: the output of the reduced graph that stands for it.
  std::vector<size_t> outputs;
};

/// Cuts a graph down to one instance per region.
ReducedGraph reduce(const graph::Graph& graph, const Outline& outline);

/// Which node of the whole graph is to an instance what `id` (of the reduced graph) is to the
/// pattern. Nodes outside of the region are themselves.
NodeId counterpart(const Outline& outline, const ReducedGraph& reduced, NodeId id, size_t region,
                   size_t instance);

/// By node of the whole graph: its node in the reduced graph; for a node of an instance that of the
/// pattern. Nothing for data that only left-out instances read.
std::vector<std::optional<NodeId>> representatives(const graph::Graph& graph,
                                                   const Outline& outline,
                                                   const ReducedGraph& reduced);

}  // namespace luminal::compiler

// From a graph to its choices: the graph as an e-graph, saturated with the rules, read back as a
// program in which every value has all the definitions that were found. kernel::search_choice picks
// among them together with the cut. The first choice everywhere is the graph as written.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "luminal/kernel/choice.h"
#include "luminal/rules/tensor_egraph.h"

namespace luminal::rules {

/// What making the choices took and gave.
struct RuleStats {
  size_t graph_nodes = 0;
  size_t nodes = 0;         // of sort Tensor, after saturation
  size_t classes = 0;       // of sort Tensor
  size_t alternatives = 0;  // definitions besides the first ones
  uint64_t iterations = 0;
  egraph::StopReason stop = egraph::StopReason::kFinished;
  double build_seconds = 0, saturate_seconds = 0, read_seconds = 0;
  std::map<std::string, uint64_t> matches;  // by rule
};

/// A program with alternatives, and where the graph's values are in it.
struct Choices {
  kernel::ChoiceProgram program;
  /// The node that holds output k, as GraphProgram::output.
  kernel::NodeId output(size_t k) const { return outputs[k]; }
  std::vector<kernel::NodeId> outputs;
  /// Where each node of the graph is. Equal ones share a place.
  std::vector<kernel::NodeId> place;
  /// What values are called, the graph's names and those that rules derived: what libraries match.
  /// Edges refer to nodes of the program.
  std::vector<graph::NamedDefinition> names;
  RuleStats stats;
};

/// The choices of a graph. Ids below graph.size() are the graph's own where a value was not found
/// equal to an earlier one.
Choices choices(const graph::Graph& graph, const RuleOptions& options = {});

/// The graph alone, in the same form.
Choices as_written(const graph::Graph& graph);

}  // namespace luminal::rules

// What the interpreter does, worked out once per graph: which nodes are computed at all, which are
// computed on the way into a reduction instead of being stored, and when each array is read last.
#pragma once

#include <map>
#include <optional>
#include <vector>

#include "luminal/graph/graph.h"

namespace luminal::graph {

/// An operand of a step: a stored node seen through a view, or a node computed on the way from
/// operands of its own (then `view` is not used).
struct StepOperand {
  NodeId node;
  View view;
  bool computed = false;
  std::vector<StepOperand> operands;
};

/// The computation of one stored node.
struct Step {
  NodeId node;
  std::string name;  // "add", or "mul + sum" where the mul is computed on the way
  std::vector<StepOperand> operands;
  std::vector<NodeId> last_reads;  // arrays that no later step and no output needs
};

/// The steps of a graph, in order. Nodes that neither outputs nor effects need are left out. An
/// elementwise node with one use, read by a reduction (or by another such node) without repetition
/// or padding, is computed on the way: the result is the same, and the whole of it never exists.
std::vector<Step> plan_steps(const Graph& graph);

/// The named dims that the steps and outputs use.
std::vector<Expr> used_dims(const Graph& graph, const std::vector<Step>& steps);

}  // namespace luminal::graph

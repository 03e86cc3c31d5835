// The verifier of whole graphs. Building a graph node by node already checks every node; the
// verifier checks everything again from outside, trusting nothing that was stored, and is run
// after every pass in tests. What it finds is a bug of ours, never a user's mistake.
#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

#include "luminal/graph/graph.h"

namespace luminal::graph {

/// The parts of a graph. Graph itself refuses most broken contents, so the verifier looks at the
/// parts: a caller (or a test) can ask about nodes that no Graph would hold.
struct GraphParts {
  std::span<const Node> nodes;                     ///< all of them
  std::span<const Output> outputs;                 ///< all of them
  std::span<const NamedDefinition> named;          ///< all of them
  std::map<std::string, symbolic::Interval> dims;  ///< that were declared, with their ranges
};

/// The parts of an existing graph. They refer into it.
GraphParts parts_of(const Graph& graph);

/// One sentence per broken law, each naming node, op and what is wrong; empty if all is well.
///
/// The laws: operands come before their users; an operand's view fits its node, reads only axes of
/// its domain and known dims, and no position that is provably outside of the node; domains are
/// what node.h says for the op; stored types are the inferred ones; attributes are of the op's kind
/// and fit the type; every dim has one interval; names of inputs and outputs are unique; outputs
/// and named definitions refer to nodes of the graph through fitting views.
std::vector<std::string> problems(const GraphParts& parts);
std::vector<std::string> problems(const Graph& graph);  ///< of a whole graph

/// Throws InternalError listing the problems, if there are any.
void verify(const Graph& graph);

}  // namespace luminal::graph

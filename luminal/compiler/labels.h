// What a kernel computes, in words: the names of the definitions it holds, and the ops beside them.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "luminal/graph/graph.h"
#include "luminal/kernel/program.h"

namespace luminal::compiler {

/// The nodes that a kernel computes: from what it stores up to what it reads, ascending.
std::vector<graph::NodeId> nodes_inside(const kernel::Program& program,
                                        std::span<const graph::NodeId> stored,
                                        std::span<const graph::NodeId> read);

/// How a program is talked of in terms of the graph it is of.
struct GraphTerms {
  /// What a named region is called, by its definition.
  std::function<std::string(size_t)> name;
  /// The node of the graph that a node belongs to: words come in the graph's order.
  std::function<graph::NodeId(graph::NodeId)> origin;
  /// True for nodes that the graph does not have: rules made them.
  std::function<bool(graph::NodeId)> is_new;
};

/// What a kernel computes, in words: {"rms_norm", "matmul", "add"}. A definition of which other
/// kernels compute something is "part of" it here, but for those about one product: the kernel of
/// the product has the name ("conv"), and what another one does to the sums is told by its ops.
std::vector<std::string> words_of(const kernel::Program& program,
                                  std::span<const graph::NodeId> inside, const GraphTerms& terms);

/// The first of them: "rms_norm + matmul + add".
std::string label_of(std::span<const std::string> words);

}  // namespace luminal::compiler

// What a kernel should compute, as a graph of its own: the nodes between what it stores and what it
// reads. The interpreter runs it on the kernel's actual inputs, so that an error is seen where it
// happens and not where it shows.
#pragma once

#include <span>
#include <vector>

#include "luminal/graph/graph.h"
#include "luminal/kernel/program.h"

namespace luminal::compiler {

/// A part of a program as a graph.
struct Definition {
  graph::Graph graph;
  std::vector<graph::NodeId> inputs;  ///< the node that each input stands for, in order
};

/// The graph that computes `stored` (its outputs, in this order) from the nodes in `read`, which
/// become inputs, as does whatever no kernel looks through. An input has the name that it has in
/// the program, other values are called after their id.
Definition definition_of(const kernel::Program& program, std::span<const graph::NodeId> stored,
                         std::span<const graph::NodeId> read);

}  // namespace luminal::compiler

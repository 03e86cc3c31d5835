// What a kernel computes, in words: the names of the definitions it holds, and the ops beside them.
#pragma once

#include <span>
#include <string>

#include "luminal/graph/graph.h"
#include "luminal/kernel/program.h"

namespace luminal::compiler {

/// The nodes that a kernel computes: from what it stores up to what it reads, ascending.
std::vector<graph::NodeId> nodes_inside(const kernel::Program& program,
                                        std::span<const graph::NodeId> stored,
                                        std::span<const graph::NodeId> read);

/// "rms_norm + matmul + add". Names are those of `graph`, whose ids the program shares.
std::string label_of(const graph::Graph& graph, const kernel::Program& program,
                     std::span<const graph::NodeId> inside);

}  // namespace luminal::compiler

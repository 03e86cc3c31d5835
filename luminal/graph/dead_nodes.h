// Removes nodes whose value nobody asks for.
#pragma once

#include "luminal/graph/pass.h"

namespace luminal::graph {

struct DeadNodeOptions {
  /// Keep inputs that nothing reads: they are part of the graph's interface, and a dim may take its
  /// value from their data.
  bool keep_inputs = true;
};

/// Keeps outputs, nodes with effects, and all that these need. A node that would have failed (a
/// gather out of range) does not fail any more if nobody asked for it.
Pass dead_nodes(const DeadNodeOptions& options = {});

}  // namespace luminal::graph

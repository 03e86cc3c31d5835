// The search for a cut, with each repeated region looked at once: outline, reduce, search, expand.
#pragma once

#include "luminal/compiler/outline.h"
#include "luminal/kernel/cut_search.h"

namespace luminal::compiler {

/// What outlining did, for reports.
struct OutlineReport {
  /// The regions, as text.
  std::string regions;
  /// Nodes of the graph, and of what was searched instead.
  size_t nodes = 0;
  size_t reduced_nodes = 0;
};

/// The plan of a graph's program. Nodes in `more` have to be in memory besides the outputs; `whole`
/// is the program with them among its roots. Where nothing repeats, this is kernel::search_cut.
kernel::CutPlan search_outlined(kernel::Arena& arena, const kernel::GraphProgram& source,
                                const kernel::Program& whole, std::span<const NodeId> more,
                                const kernel::CutSearchOptions& search,
                                const OutlineOptions& options = {},
                                OutlineReport* report = nullptr);

}  // namespace luminal::compiler

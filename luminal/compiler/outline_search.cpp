#include "luminal/compiler/outline_search.h"

#include "luminal/compiler/outline_expand.h"
#include "luminal/support/check.h"

namespace luminal::compiler {

kernel::CutPlan search_outlined(kernel::Arena& arena, const kernel::GraphProgram& source,
                                const kernel::Program& whole, std::span<const NodeId> more,
                                const kernel::CutSearchOptions& search,
                                const OutlineOptions& options, OutlineReport* report) {
  const graph::Graph& graph = source.graph();
  const Outline outline = find_outline(graph, options);
  if (report != nullptr) *report = {to_string(outline, graph), graph.size(), graph.size()};
  if (outline.regions.empty()) return kernel::search_cut(arena, whole, search);
  const ReducedGraph reduced = reduce(graph, outline);
  if (report != nullptr) report->reduced_nodes = reduced.graph.size();
  const auto representative = representatives(graph, outline, reduced);
  std::vector<NodeId> roots;
  for (NodeId id : more)
    if (representative[id.value]) roots.push_back(*representative[id.value]);
  const ReducedProgram program(reduced, roots);
  // Regions that read each other's values by turns cannot be told apart from the outside.
  if (!kernel::topological_order(program)) return kernel::search_cut(arena, whole, search);
  kernel::Arena reduced_arena;
  const kernel::CutPlan plan = kernel::search_cut(reduced_arena, program, search);
  return expand({outline, reduced, program, reduced_arena, plan}, source, whole, arena);
}

}  // namespace luminal::compiler

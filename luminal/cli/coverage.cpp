#include "luminal/cli/coverage.h"

#include <algorithm>
#include <map>

#include "luminal/kernel/program.h"

namespace luminal::cli {
namespace {

/// What build_plan makes of a node.
Lowering on_cpu(const graph::Node& node) {
  if (kernel::is_source(node)) return Lowering::kData;
  if (node.op == graph::Op::kGraphBreak || !kernel::is_opaque(node)) return Lowering::kKernel;
  return Lowering::kHost;
}

/// A function that came from a file has a name and no code.
bool can_run(const graph::Node& node) {
  const auto* custom = std::get_if<graph::CustomAttribute>(&node.attributes);
  return custom == nullptr || (custom->function != nullptr && custom->function->call);
}

/// How much is missing where a device gives this.
int gap(Lowering lowering) {
  switch (lowering) {
    case Lowering::kNone:
      return 2;
    case Lowering::kHost:
      return 1;
    default:
      return 0;
  }
}

void add(OpCoverage& row, const graph::Node& node) {
  const Lowering cpu = can_run(node) ? on_cpu(node) : Lowering::kNone;
  const Lowering interpreter = !can_run(node)            ? Lowering::kNone
                               : kernel::is_source(node) ? Lowering::kData
                                                         : Lowering::kInterpret;
  const std::array lowerings{cpu, interpreter};
  for (size_t device = 0; device < lowerings.size(); ++device) {
    // Data counts only where there is nothing else: a named op of inputs is still computed.
    const bool first = row.on[device] == Lowering::kData;
    if (first || gap(lowerings[device]) > gap(row.on[device])) row.on[device] = lowerings[device];
  }
  const std::string op(graph::name(node.op));
  auto& missing = row.without_kernel;
  if (row.named && gap(cpu) > 0 && std::find(missing.begin(), missing.end(), op) == missing.end())
    missing.push_back(op);
}

}  // namespace

const char* to_string(Lowering lowering) {
  switch (lowering) {
    case Lowering::kKernel:
      return "kernel";
    case Lowering::kData:
      return "data";
    case Lowering::kHost:
      return "host";
    case Lowering::kInterpret:
      return "interpreted";
    case Lowering::kNone:
      return "none";
  }
  return "none";
}

std::vector<OpCoverage> coverage(const graph::Graph& graph) {
  std::map<std::pair<bool, std::string>, OpCoverage> rows;
  const auto row = [&](bool named, const std::string& op) -> OpCoverage& {
    OpCoverage& found = rows[{named, op}];
    if (found.count++ == 0) {
      found.op = op;
      found.named = named;
      found.on.fill(Lowering::kData);
    }
    return found;
  };
  for (const graph::Node& node : graph.nodes()) add(row(false, std::string(name(node.op))), node);
  const kernel::GraphProgram program(graph);
  for (const kernel::NamedRegion& region : program.named_regions()) {
    OpCoverage& named = row(true, graph.named()[region.definition].name);
    add(named, program.node(region.result));
    for (const kernel::NodeId id : region.inside) add(named, program.node(id));
  }
  std::vector<OpCoverage> result;
  for (auto& [key, found] : rows) result.push_back(std::move(found));
  return result;
}

}  // namespace luminal::cli

#include "luminal/compiler/fusion_notes.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "luminal/compiler/labels.h"
#include "luminal/kernel/derive.h"

namespace luminal::compiler {
namespace {

bool contains(std::span<const NodeId> nodes, NodeId id) {
  return std::find(nodes.begin(), nodes.end(), id) != nodes.end();
}

}  // namespace

FusionNotes::FusionNotes(PlannedProgram& planned, const kernel::CutSearchOptions& cut,
                         const Options& options, const std::vector<std::vector<std::string>>& words)
    : planned_(planned),
      cut_(cut),
      options_(options),
      words_(words),
      costs_(planned.arena(), planned.program(), cut),
      readers_of_(planned.program().size()),
      host_readers_(planned.program().size()) {
  const std::vector<kernel::PlannedKernel>& kernels = planned.plan().kernels;
  for (size_t k = 0; k < kernels.size(); ++k)
    for (const NodeId read : kernels[k].reads) readers_of_[read.value].push_back(k);
  for (const NodeId id : costs_.order()) {
    const graph::Node& node = planned.program().node(id);
    if (!kernel::reads_memory(node)) continue;
    for (const graph::Edge& edge : node.operands) host_readers_[edge.node.value].push_back(id);
  }
}

std::vector<plan::Boundary> FusionNotes::boundaries(size_t kernel) {
  std::vector<plan::Boundary> result;
  // Arenas grow while kernels are compared, and the plan's kernels with them.
  const std::vector<NodeId> stored = planned_.plan().kernels[kernel].nodes;
  for (const NodeId id : stored) describe(id, kernel, result.emplace_back());
  return result;
}

void FusionNotes::describe(NodeId id, size_t kernel, plan::Boundary& boundary) {
  const NodeId origin = planned_.origin(id);
  boundary.value = fmt::format("{}%{}", planned_.is_made_by_rules(id) ? "for " : "", origin.value);
  const std::vector<Reader> readers = this->readers(id, kernel);
  std::set<std::string> seen;
  for (const Reader& reader : readers)
    if (const std::string label = label_of(words_[reader.kernel]); seen.insert(label).second)
      boundary.readers.push_back(label);
  boundary.why = obstacle(id, readers);
  if (boundary.why.empty()) compare(id, readers, boundary);
}

std::vector<FusionNotes::Reader> FusionNotes::readers(NodeId id, size_t kernel) {
  std::vector<Reader> result;
  for (const size_t reader : readers_of_[id.value]) {
    if (reader == kernel) continue;
    const kernel::PlannedKernel& planned = planned_.plan().kernels[reader];
    NodeId node = planned.nodes.back();
    if (planned.nodes.size() > 1)
      for (const NodeId each : planned.nodes)
        if (contains(costs_.kernel(planned_.plan().cut, each).reads, id)) node = each;
    result.push_back({reader, node});
  }
  return result;
}

/// What makes every plan store the value; empty if a plan could do without.
std::string FusionNotes::obstacle(NodeId id, const std::vector<Reader>& readers) const {
  const kernel::Program& program = planned_.program();
  for (const Reader& reader : readers)
    if (!planned_.is_in_same_instance(id, reader.node))
      return "it goes from one repeated layer to the next, which share their code";
  if (contains(program.roots(), id)) return "it is a result";
  for (const NodeId reader : host_readers_[id.value])
    return fmt::format("{} on the host reads it from memory", graph::name(program.node(reader).op));
  if (readers.empty()) return "nothing reads it but kernels that store it too";
  if (planned_.is_kept(id)) return "it is made of weights alone, once for all runs";
  for (const Reader& reader : readers)
    if (planned_.plan().kernels[reader.kernel].estimate.in_place_of == id)
      return "it is updated in its place";
  return "";
}

void FusionNotes::compare(NodeId id, const std::vector<Reader>& readers, plan::Boundary& boundary) {
  const kernel::Cut& cut = planned_.plan().cut;
  kernel::Cut without = cut;
  without.erase(id);
  double stored = costs_.kernel(cut, id).microseconds;
  double fused = 0;
  for (const Reader& reader : readers) {
    stored += costs_.kernel(cut, reader.node).microseconds;
    fused += costs_.kernel(without, reader.node).microseconds;
  }
  boundary.stored_us = stored;
  if (!std::isfinite(fused)) {
    boundary.why = refusal(without, readers);
    return;
  }
  boundary.fused_us = fused;
  const std::string times =
      readers.size() == 1 ? "" : fmt::format(" {} times over", readers.size());
  if (fused >= stored)
    boundary.why =
        fmt::format("computed{} inside of what reads it, it would cost more by the model", times);
  else
    boundary.why = "the model would gain by it, but the search looked at other moves first";
  note_fused_way(without, readers.front().node, boundary);
}

std::string FusionNotes::refusal(const kernel::Cut& without, const std::vector<Reader>& readers) {
  for (const Reader& reader : readers) {
    const kernel::CutCosts::Costed& costed = costs_.kernel(without, reader.node);
    if (std::isfinite(costed.microseconds)) continue;
    if (costed.region.size() > cut_.most_nodes)
      return fmt::format("a kernel of {} nodes is more than the {} that are tried",
                         costed.region.size(), cut_.most_nodes);
    const auto derived = kernel::derive(planned_.arena(), planned_.program(), without, reader.node,
                                        {.most_nodes = cut_.most_nodes});
    if (const auto* rejected = std::get_if<kernel::Rejected>(&derived)) return rejected->why;
  }
  return fmt::format("more than {} reductions would stand one after the other", cut_.most_nested);
}

/// Which template would compute the first reader, and what the others say to it.
void FusionNotes::note_fused_way(const kernel::Cut& without, NodeId reader,
                                 plan::Boundary& boundary) {
  kernel::Arena& arena = planned_.arena();
  const auto derived =
      kernel::derive(arena, planned_.program(), without, reader, {.most_nodes = cut_.most_nodes});
  if (std::holds_alternative<kernel::Rejected>(derived)) return;
  const kernel::Estimate estimate =
      kernel::estimate(arena, std::get<kernel::Kernel>(derived), cut_.machine, cut_.estimate);
  KernelSet alone(options_);
  std::vector<NodeId> constants;
  for (const NodeId id : costs_.kernel(without, reader).reads)
    if (planned_.is_kept(id)) constants.push_back(id);
  const KernelUse use = alone.add(arena, estimate.kernel, "", kNestOfKernels, constants);
  const search::KernelTask task = alone.task(use.kernel);
  const codegen::CpuKernel code =
      codegen::cpu_kernel(*task.arena, task.kernel, task.target, task.options);
  boundary.fused_way = code.schedule.family();
  for (const codegen::TemplateRefusal& refused : code.refused)
    boundary.refused.push_back({refused.name, refused.why});
}

}  // namespace luminal::compiler

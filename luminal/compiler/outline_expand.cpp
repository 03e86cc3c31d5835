#include "luminal/compiler/outline_expand.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <queue>

#include "luminal/kernel/rename.h"
#include "luminal/support/check.h"

namespace luminal::compiler {
namespace {

using kernel::CutPlan;
using kernel::PlannedKernel;

/// A kernel of the reduced plan in one of its instances.
struct Copy {
  size_t kernel = 0;
  size_t launch = 0;
  size_t instance = 0;
  std::vector<NodeId> nodes;
  std::vector<NodeId> reads;
};

class Expander {
 public:
  Expander(const Outline& outline, const kernel::Program& program, const kernel::Arena& from,
           const CutPlan& plan, ExpandedProgram& whole, kernel::Arena& into)
      : outline_(outline),
        program_(program),
        from_(from),
        plan_(plan),
        whole_(whole),
        into_(into),
        order_(order_of(whole)) {}

  CutPlan run() {
    CutPlan result{whole_cut(), {}, {}, plan_.microseconds, plan_.estimated, plan_.work};
    std::vector<Copy> copies = in_order(all_copies());
    for (const Copy& copy : copies) result.kernels.push_back(planned(copy, result));
    group(copies, result);
    return result;
  }

 private:
  static std::vector<NodeId> order_of(const kernel::Program& whole) {
    std::optional<std::vector<NodeId>> order = kernel::topological_order(whole);
    LUMINAL_CHECK(order.has_value(), "definitions chosen for a body are cyclic in the whole");
    return *order;
  }
  size_t instances(uint32_t part) const {
    return part == 0 ? 1 : outline_.regions[part - 1].instances.size();
  }
  uint32_t part(NodeId id) const { return whole_.part_of(id); }
  NodeId translated(NodeId id, uint32_t part, size_t instance) {
    return whole_.in_instance(id, part, instance);
  }

  kernel::Cut whole_cut() {
    kernel::Cut cut = kernel::smallest_cut(whole_, order_);
    const std::vector<NodeId> reduced = *kernel::topological_order(program_);
    for (NodeId id : reduced) {
      if (!plan_.cut.contains(id)) continue;
      for (size_t k = 0; k < instances(part(id)); ++k) cut.insert(translated(id, part(id), k));
    }
    return cut;
  }

  std::vector<Copy> all_copies() {
    std::vector<Copy> copies;
    for (size_t launch = 0; launch < plan_.launches.size(); ++launch)
      for (size_t k : plan_.launches[launch]) {
        const PlannedKernel& kernel = plan_.kernels[k];
        const uint32_t where = part(kernel.nodes[0]);
        for (size_t instance = 0; instance < instances(where); ++instance) {
          Copy copy{k, launch, instance, {}, {}};
          for (NodeId id : kernel.nodes) copy.nodes.push_back(translated(id, where, instance));
          for (NodeId id : kernel.reads) copy.reads.push_back(translated(id, where, instance));
          std::sort(copy.reads.begin(), copy.reads.end());
          copy.reads.erase(std::unique(copy.reads.begin(), copy.reads.end()), copy.reads.end());
          copies.push_back(std::move(copy));
        }
      }
    return copies;
  }

  /// Kernels after those whose results they read, else in the order of the program.
  std::vector<Copy> in_order(std::vector<Copy> copies) const {
    std::vector<uint32_t> position(whole_.size(), 0);
    for (uint32_t k = 0; k < order_.size(); ++k) position[order_[k].value] = k;
    // What computes a node: a kernel, or (beyond those) an opaque node.
    std::vector<uint32_t> maker(whole_.size(), UINT32_MAX);
    for (uint32_t k = 0; k < copies.size(); ++k)
      for (NodeId id : copies[k].nodes) maker[id.value] = k;
    std::vector<NodeId> opaque;
    for (NodeId id : order_)
      if (maker[id.value] == UINT32_MAX && kernel::reads_memory(whole_.node(id))) {
        maker[id.value] = static_cast<uint32_t>(copies.size() + opaque.size());
        opaque.push_back(id);
      }
    const size_t count = copies.size() + opaque.size();
    std::vector<std::vector<uint32_t>> readers(count);
    std::vector<size_t> waiting(count, 0);
    std::vector<uint32_t> rank(count, 0);
    const auto wait = [&](uint32_t item, NodeId read) {
      if (maker[read.value] == UINT32_MAX || maker[read.value] == item) return;
      readers[maker[read.value]].push_back(item);
      ++waiting[item];
    };
    for (uint32_t item = 0; item < count; ++item) {
      if (item < copies.size()) {
        for (NodeId id : copies[item].nodes) rank[item] = std::max(rank[item], position[id.value]);
        for (NodeId read : copies[item].reads) wait(item, read);
      } else {
        const NodeId id = opaque[item - copies.size()];
        rank[item] = position[id.value];
        for (const graph::Edge& edge : whole_.node(id).operands) wait(item, edge.node);
      }
    }
    std::priority_queue<std::pair<uint32_t, uint32_t>, std::vector<std::pair<uint32_t, uint32_t>>,
                        std::greater<>>
        ready;
    for (uint32_t item = 0; item < count; ++item)
      if (waiting[item] == 0) ready.push({rank[item], item});
    std::vector<Copy> result;
    size_t done = 0;
    while (!ready.empty()) {
      const uint32_t item = ready.top().second;
      ready.pop();
      ++done;
      if (item < copies.size()) result.push_back(std::move(copies[item]));
      for (uint32_t reader : readers[item])
        if (--waiting[reader] == 0) ready.push({rank[reader], reader});
    }
    LUMINAL_CHECK(done == count, "kernels of an expanded plan wait for each other");
    return result;
  }

  /// The tensors of a kernel under their names in an instance.
  std::vector<kernel::Renaming> renamings(const PlannedKernel& kernel, size_t instance) {
    const uint32_t where = part(kernel.nodes[0]);
    std::vector<kernel::Renaming> result;
    for (const std::vector<NodeId>* list : {&kernel.nodes, &kernel.reads})
      for (NodeId id : *list) result.push_back({id, translated(id, where, instance)});
    return result;
  }

  PlannedKernel planned(const Copy& copy, const CutPlan& made) {
    const PlannedKernel& pattern = plan_.kernels[copy.kernel];
    const std::vector<kernel::Renaming> names = renamings(pattern, copy.instance);
    PlannedKernel result;
    result.nodes = copy.nodes;
    result.reads = copy.reads;
    result.estimate = pattern.estimate;
    if (pattern.estimate.in_place_of)
      result.estimate.in_place_of =
          translated(*pattern.estimate.in_place_of, part(pattern.nodes[0]), copy.instance);
    const bool different = kernel::is_one_to_one(names);
    const auto original = originals_.find(copy.kernel);
    if (different && original != originals_.end()) {
      result.kernel = {};
      result.estimate.kernel = {};
      result.copy = kernel::KernelCopy{original->second, {}};
      const std::vector<kernel::Renaming> first = renamings(pattern, first_.at(copy.kernel));
      for (size_t k = 0; k < names.size(); ++k)
        result.copy->tensors.push_back({first[k].to, names[k].to});
      return result;
    }
    for (const kernel::Renaming& name : names)
      into_.declare_tensor(name.to, whole_.node(name.to).type);
    result.kernel = kernel::renamed(from_, pattern.kernel, names, into_);
    result.estimate.kernel = kernel::renamed(from_, pattern.estimate.kernel, names, into_);
    if (different) {
      originals_[copy.kernel] = made.kernels.size();
      first_[copy.kernel] = copy.instance;
    }
    return result;
  }

  /// Kernels that share a launch in a body share one in every instance.
  void group(const std::vector<Copy>& copies, CutPlan& result) const {
    std::map<std::pair<size_t, size_t>, size_t> launches;
    for (size_t k = 0; k < copies.size(); ++k) {
      const auto [found, fresh] =
          launches.emplace(std::pair(copies[k].launch, copies[k].instance), result.launches.size());
      if (fresh) result.launches.emplace_back();
      result.launches[found->second].push_back(k);
    }
  }

  const Outline& outline_;
  const kernel::Program& program_;
  const kernel::Arena& from_;
  const CutPlan& plan_;
  ExpandedProgram& whole_;
  kernel::Arena& into_;
  std::vector<NodeId> order_;
  std::map<size_t, size_t> originals_;  // kernels of the reduced plan: where each is written out
  std::map<size_t, size_t> first_;      // and for which instance
};

}  // namespace

CutPlan expand(const Outline& outline, const kernel::Program& chosen, const kernel::Arena& from,
               const CutPlan& plan, ExpandedProgram& whole, kernel::Arena& into) {
  return Expander(outline, chosen, from, plan, whole, into).run();
}

std::vector<std::string> problems(const kernel::Program& program, const CutPlan& plan) {
  std::vector<std::string> result;
  const auto complain = [&](std::string text) { result.push_back(std::move(text)); };
  const std::vector<NodeId> order = *kernel::topological_order(program);
  std::vector<uint32_t> stored(program.size(), UINT32_MAX);  // by which kernel
  for (uint32_t k = 0; k < plan.kernels.size(); ++k)
    for (NodeId id : plan.kernels[k].nodes) {
      if (!plan.cut.contains(id)) complain(fmt::format("%{} is stored, not in the cut", id.value));
      if (stored[id.value] != UINT32_MAX) complain(fmt::format("%{} is stored twice", id.value));
      stored[id.value] = k;
    }
  const kernel::Cut smallest = kernel::smallest_cut(program, order);
  for (NodeId id : order) {
    const graph::Node& node = program.node(id);
    if (smallest.contains(id) && !plan.cut.contains(id))
      complain(fmt::format("%{} must be in the cut", id.value));
    const bool computed = !kernel::is_opaque(node) || node.op == graph::Op::kGraphBreak;
    if (plan.cut.contains(id) && computed && stored[id.value] == UINT32_MAX)
      complain(fmt::format("%{} is in the cut and nothing stores it", id.value));
  }
  for (uint32_t k = 0; k < plan.kernels.size(); ++k) {
    const PlannedKernel& kernel = plan.kernels[k];
    for (NodeId read : kernel.reads) {
      const bool early = stored[read.value] == UINT32_MAX || stored[read.value] < k;
      if (!plan.cut.contains(read) || !early)
        complain(fmt::format("kernel {} reads %{}, which is not there yet", k, read.value));
    }
    if (kernel.copy && kernel.copy->of >= k)
      complain(fmt::format("kernel {} is a copy of a later one", k));
  }
  return result;
}

}  // namespace luminal::compiler

#include "luminal/kernel/store_through.h"

#include <algorithm>

#include "luminal/support/check.h"

namespace luminal::kernel {
namespace {

bool contains(const std::vector<NodeId>& nodes, NodeId id) {
  return std::find(nodes.begin(), nodes.end(), id) != nodes.end();
}

class Joiner {
 public:
  Joiner(Arena& arena, const Program& program, CutPlan& plan, const CutSearchOptions& options)
      : arena_(arena),
        program_(program),
        plan_(plan),
        options_(options),
        ancestors_(program.size(), std::vector<bool>(program.size(), false)) {
    const std::vector<NodeId> order = *topological_order(program);
    for (NodeId id : order) {
      std::vector<bool>& above = ancestors_[id.value];
      for (const graph::Edge& edge : program.node(id).operands) {
        above[edge.node.value] = true;
        for (size_t k = 0; k < above.size(); ++k)
          if (ancestors_[edge.node.value][k]) above[k] = true;
      }
    }
  }

  void run() {
    bool joined = false;
    for (size_t consumer = 0; consumer < plan_.kernels.size(); ++consumer)
      for (size_t producer = 0; producer < plan_.kernels.size(); ++producer)
        if (producer != consumer && join(producer, consumer)) {
          joined = true;
          consumer -= producer < consumer ? 1 : 0;  // the producer is gone
          producer = static_cast<size_t>(-1);       // more may join
        }
    if (joined) sort();
  }

 private:
  /// True if `id` is one of the nodes or computed from one.
  bool depends_on(NodeId id, const std::vector<NodeId>& nodes) const {
    return std::any_of(nodes.begin(), nodes.end(),
                       [&](NodeId node) { return node == id || ancestors_[id.value][node.value]; });
  }

  /// True if one kernel has to wait for the other.
  bool waits_for(const PlannedKernel& kernel, const PlannedKernel& other) const {
    return std::any_of(kernel.reads.begin(), kernel.reads.end(),
                       [&](NodeId read) { return depends_on(read, other.nodes); });
  }

  /// True if a chain of other kernels leads from the producer to the consumer.
  bool others_between(size_t producer, size_t consumer) const {
    std::vector<bool> seen(plan_.kernels.size(), false);
    std::vector<size_t> pending{producer};
    seen[producer] = true;
    while (!pending.empty()) {
      const size_t from = pending.back();
      pending.pop_back();
      for (size_t k = 0; k < plan_.kernels.size(); ++k) {
        if (seen[k] || !waits_for(plan_.kernels[k], plan_.kernels[from])) continue;
        if (k != consumer) {
          seen[k] = true;
          pending.push_back(k);
        } else if (from != producer) {
          return true;
        }
      }
    }
    return false;
  }

  bool may_join(const PlannedKernel& producer, const PlannedKernel& consumer) const {
    const bool reads = std::any_of(producer.nodes.begin(), producer.nodes.end(),
                                   [&](NodeId id) { return contains(consumer.reads, id); });
    if (!reads || producer.estimate.in_place_of || consumer.estimate.in_place_of) return false;
    if (program_.node(producer.nodes[0]).shape() != program_.node(consumer.nodes[0]).shape())
      return false;
    // Nothing may look through a graph break.
    for (NodeId id : consumer.nodes)
      if (is_opaque(program_.node(id))) return false;
    for (NodeId read : consumer.reads)
      if (!contains(producer.nodes, read) && depends_on(read, producer.nodes)) return false;
    return true;
  }

  bool join(size_t producer, size_t consumer) {
    const PlannedKernel& first = plan_.kernels[producer];
    const PlannedKernel& second = plan_.kernels[consumer];
    if (!may_join(first, second)) return false;
    if (others_between(producer, consumer)) return false;
    PlannedKernel both;
    both.nodes = first.nodes;
    both.nodes.insert(both.nodes.end(), second.nodes.begin(), second.nodes.end());
    auto derived = derive_together(arena_, program_, plan_.cut, both.nodes,
                                   {.most_nodes = options_.most_nodes});
    if (std::holds_alternative<Rejected>(derived)) return false;
    both.kernel = std::get<Kernel>(std::move(derived));
    both.estimate = estimate(arena_, both.kernel, options_.machine, options_.estimate);
    const double apart = first.estimate.microseconds + second.estimate.microseconds;
    if (!(both.estimate.microseconds < apart - 1e-9)) return false;
    plan_.microseconds += both.estimate.microseconds - apart;
    for (const PlannedKernel* part : {&first, &second})
      for (NodeId read : part->reads)
        if (!contains(both.nodes, read) && !contains(both.reads, read)) both.reads.push_back(read);
    std::sort(both.reads.begin(), both.reads.end());
    plan_.kernels[consumer] = std::move(both);
    plan_.kernels.erase(plan_.kernels.begin() + static_cast<std::ptrdiff_t>(producer));
    return true;
  }

  /// Kernels whose operands are there first, otherwise in the order in which they are.
  void sort() {
    std::vector<PlannedKernel> sorted;
    std::vector<PlannedKernel> waiting = std::move(plan_.kernels);
    while (!waiting.empty()) {
      const auto ready = std::find_if(waiting.begin(), waiting.end(), [&](const PlannedKernel& k) {
        return std::all_of(waiting.begin(), waiting.end(), [&](const PlannedKernel& other) {
          return &other == &k || !waits_for(k, other);
        });
      });
      LUMINAL_CHECK(ready != waiting.end(), "joined kernels wait for each other");
      sorted.push_back(std::move(*ready));
      waiting.erase(ready);
    }
    plan_.kernels = std::move(sorted);
  }

  Arena& arena_;
  const Program& program_;
  CutPlan& plan_;
  const CutSearchOptions& options_;
  std::vector<std::vector<bool>> ancestors_;  // of every node
};

}  // namespace

void store_through(Arena& arena, const Program& program, CutPlan& plan,
                   const CutSearchOptions& options) {
  Joiner(arena, program, plan, options).run();
}

}  // namespace luminal::kernel

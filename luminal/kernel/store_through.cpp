#include "luminal/kernel/store_through.h"

#include <algorithm>
#include <map>

#include "luminal/support/check.h"

namespace luminal::kernel {
namespace {

bool contains(const std::vector<NodeId>& nodes, NodeId id) {
  return std::find(nodes.begin(), nodes.end(), id) != nodes.end();
}

class Joiner {
 public:
  Joiner(Arena& arena, const Program& program, CutPlan& plan, const CutSearchOptions& options)
      : arena_(arena), program_(program), plan_(plan), options_(options), words_(0) {
    for (const PlannedKernel& kernel : plan.kernels)
      for (NodeId id : kernel.nodes) numbers_.emplace(id, numbers_.size());
    // Only what kernels store matters, so sets of these are small.
    words_ = numbers_.size() / 64 + 1;
    ancestors_.resize(program.size());
    const std::vector<NodeId> order = *topological_order(program);
    for (NodeId id : order) {
      std::vector<uint64_t>& above = ancestors_[id.value];
      above.resize(words_, 0);
      for (const graph::Edge& edge : program.node(id).operands) add_above(edge.node, above);
      for (NodeId awaited : program.awaited(id)) add_above(awaited, above);
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
  void add_above(NodeId id, std::vector<uint64_t>& above) const {
    if (const auto number = numbers_.find(id); number != numbers_.end())
      above[number->second / 64] |= uint64_t{1} << number->second % 64;
    const std::vector<uint64_t>& further = ancestors_[id.value];
    for (size_t k = 0; k < further.size(); ++k) above[k] |= further[k];
  }

  /// True if a stored node is among those that `id` is computed from.
  bool is_above(NodeId node, NodeId id) const {
    const size_t number = numbers_.at(node);
    return (ancestors_[id.value][number / 64] >> number % 64 & 1) != 0;
  }

  /// True if `id` is one of the nodes or computed from one.
  bool depends_on(NodeId id, const std::vector<NodeId>& nodes) const {
    return std::any_of(nodes.begin(), nodes.end(),
                       [&](NodeId node) { return node == id || is_above(node, id); });
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
    if (program_.part(producer.nodes[0]) != program_.part(consumer.nodes[0])) return false;
    if (program_.repeats(producer.nodes[0]) != program_.repeats(consumer.nodes[0])) return false;
    if (program_.node(producer.nodes[0]).shape() != program_.node(consumer.nodes[0]).shape())
      return false;
    // Nothing may look through a graph break.
    for (NodeId id : consumer.nodes)
      if (is_opaque(program_.node(id))) return false;
    for (NodeId read : consumer.reads)
      if (!contains(producer.nodes, read) && depends_on(read, producer.nodes)) return false;
    return true;
  }

  /// As the search of the cut has it: loops are not what every kernel becomes.
  double time_of(const PlannedKernel& kernel) const {
    if (options_.cost)
      if (const auto known = options_.cost(arena_, kernel.kernel)) return *known;
    return kernel.estimate.microseconds;
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
    const double apart = time_of(first) + time_of(second);
    const double together = time_of(both);
    if (!(together < apart - 1e-9)) return false;
    plan_.microseconds += (together - apart) * program_.repeats(second.nodes[0]);
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
  std::map<NodeId, size_t> numbers_;  // of stored nodes
  size_t words_;
  std::vector<std::vector<uint64_t>> ancestors_;  // of every node: which stored ones
};

}  // namespace

void store_through(Arena& arena, const Program& program, CutPlan& plan,
                   const CutSearchOptions& options) {
  Joiner(arena, program, plan, options).run();
}

}  // namespace luminal::kernel

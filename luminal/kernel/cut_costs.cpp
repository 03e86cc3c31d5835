#include <algorithm>
#include <limits>
#include <unordered_map>

#include "luminal/kernel/cut_search.h"
#include "luminal/support/check.h"

namespace luminal::kernel {
namespace {

constexpr double kRejected = std::numeric_limits<double>::infinity();

/// A region is its root, the nodes where it ends, and what lies between, which follows.
struct RegionKey {
  NodeId root;
  std::vector<NodeId> border;
  std::vector<NodeId> inside;
  std::vector<size_t> variants;  // of the definitions inside
  bool operator==(const RegionKey&) const = default;
};
struct HashRegionKey {
  size_t operator()(const RegionKey& key) const {
    uint64_t hash = key.root.value;
    for (NodeId id : key.border) hash = support::hash_combine(hash, id.value);
    hash = support::hash_combine(hash, 0);
    for (NodeId id : key.inside) hash = support::hash_combine(hash, id.value);
    for (size_t variant : key.variants) hash = support::hash_combine(hash, variant);
    return hash;
  }
};

}  // namespace

struct CutCosts::State {
  Arena& arena;
  const Program& program;
  const CutSearchOptions& options;
  std::vector<NodeId> order;
  std::unordered_map<RegionKey, Costed, HashRegionKey> kernels;
  size_t estimated = 0;

  /// Nodes computed by the kernel of `root`, and the materialised ones it reads.
  RegionKey region(const Cut& cut, NodeId root) const {
    RegionKey key{root, {}, {}, {}};
    std::vector<NodeId> pending{root};
    std::vector<bool> seen(program.size(), false);
    seen[root.value] = true;
    while (!pending.empty()) {
      const NodeId id = pending.back();
      pending.pop_back();
      if (id != root && cut.contains(id)) {
        key.border.push_back(id);
        continue;
      }
      key.inside.push_back(id);
      for (const graph::Edge& edge : program.node(id).operands) {
        if (seen[edge.node.value]) continue;
        seen[edge.node.value] = true;
        pending.push_back(edge.node);
      }
    }
    std::sort(key.border.begin(), key.border.end());
    std::sort(key.inside.begin(), key.inside.end());
    for (NodeId id : key.inside) key.variants.push_back(program.variant(id));
    return key;
  }

  double time_of_opaque(NodeId id) const {
    double bytes = 0.0;
    const auto add = [&](const TensorType& type) {
      double size = graph::bits(type.dtype) / 8.0;
      for (const Expr& extent : type.shape) size *= typical_value(extent, options.estimate);
      bytes += size;
    };
    add(program.node(id).type);
    for (const graph::Edge& edge : program.node(id).operands) add(program.node(edge.node).type);
    return options.machine.launch_us + 1e6 * bytes / options.machine.memory_bytes;
  }

  double time_of(const Cut& cut, NodeId id) {
    if (is_opaque(program.node(id)) && program.node(id).op != Op::kGraphBreak)
      return time_of_opaque(id);
    ++estimated;
    const auto derived = derive(arena, program, cut, id, {.most_nodes = options.most_nodes});
    const Kernel* kernel = std::get_if<Kernel>(&derived);
    if (kernel == nullptr) return kRejected;
    if (options.cost)
      if (const auto known = options.cost(arena, *kernel)) return *known;
    return estimate(arena, *kernel, options.machine, options.estimate).microseconds;
  }
};

CutCosts::CutCosts(Arena& arena, const Program& program, const CutSearchOptions& options)
    : state_(new State{arena, program, options, {}, {}, 0}) {
  LUMINAL_CHECK(refresh(), "the definitions of a program are cyclic");
}

bool CutCosts::refresh() {
  std::optional<std::vector<NodeId>> order = topological_order(state_->program);
  if (!order) return false;
  state_->order = std::move(*order);
  return true;
}

CutCosts::~CutCosts() = default;

const std::vector<NodeId>& CutCosts::order() const { return state_->order; }
size_t CutCosts::estimated() const { return state_->estimated; }

const CutCosts::Costed& CutCosts::kernel(const Cut& cut, NodeId id) {
  RegionKey key = state_->region(cut, id);
  const auto found = state_->kernels.find(key);
  if (found != state_->kernels.end()) return found->second;
  const double time = state_->time_of(cut, id) * state_->program.repeats(id);
  Costed costed{time, key.inside, key.border};
  return state_->kernels.emplace(std::move(key), std::move(costed)).first->second;
}

double CutCosts::total(const Cut& cut) {
  double sum = 0.0;
  for (NodeId id : state_->order)
    if (cut.contains(id) && !is_source(state_->program.node(id)))
      sum += kernel(cut, id).microseconds;
  return sum;
}

}  // namespace luminal::kernel

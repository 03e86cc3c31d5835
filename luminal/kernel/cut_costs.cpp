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

support::Hash128 type_hash(const TensorType& type) {
  support::Hasher hasher;
  hasher.add(type.dtype);
  for (const Expr& extent : type.shape) hasher.add(extent.hash());
  return hasher.finish128();
}

struct HashOfHash {
  size_t operator()(const support::Hash128& hash) const { return hash.lo; }
};

}  // namespace

struct CutCosts::State {
  Arena& arena;
  const Program& program;
  const CutSearchOptions& options;
  std::vector<NodeId> order;
  std::unordered_map<RegionKey, Costed, HashRegionKey> kernels;
  size_t estimated = 0;
  /// Times by what regions compute, whatever their nodes are called: steps of a recurrence and
  /// layers that were not outlined are alike.
  std::unordered_map<support::Hash128, double, HashOfHash> times = {};
  std::vector<std::vector<std::optional<support::Hash128>>> definitions = {};  // by node, variant
  std::vector<std::optional<support::Hash128>> types = {};                     // by node
  /// Which walk saw a node last, and as which one of its nodes.
  std::vector<std::pair<size_t, uint32_t>> seen = {};
  size_t walks = 0;
  uint32_t visited = 0;  // in this walk
  size_t work = 0;       // bodies looked at and made
  size_t allowed = 0;

  /// Nodes computed by the kernel of `root`, and the materialised ones it reads.
  RegionKey region(const Cut& cut, NodeId root) {
    return *region_within(cut, root, program.size());
  }

  /// The same, if no more than `most` nodes are computed.
  std::optional<RegionKey> region_within(const Cut& cut, NodeId root, size_t most) {
    RegionKey key{root, {}, {}, {}};
    std::vector<NodeId> pending{root};
    begin_walk();
    first_visit(root);
    while (!pending.empty()) {
      const NodeId id = pending.back();
      pending.pop_back();
      if (id != root && cut.contains(id)) {
        key.border.push_back(id);
        continue;
      }
      if (key.inside.size() == most) return std::nullopt;
      key.inside.push_back(id);
      for (const graph::Edge& edge : program.node(id).operands)
        if (first_visit(edge.node)) pending.push_back(edge.node);
    }
    std::sort(key.border.begin(), key.border.end());
    std::sort(key.inside.begin(), key.inside.end());
    for (NodeId id : key.inside) key.variants.push_back(program.variant(id));
    return key;
  }

  void begin_walk() {
    seen.resize(program.size(), {0, 0});
    ++walks;
    visited = 0;
  }
  bool first_visit(NodeId id) {
    if (seen[id.value].first == walks) return false;
    seen[id.value] = {walks, visited++};
    return true;
  }

  /// What a region computes: equal for regions that differ in which nodes they are only.
  support::Hash128 shape_of(const Cut& cut, NodeId root) {
    support::Hasher hasher;
    std::vector<NodeId> pending{root};
    begin_walk();
    first_visit(root);
    while (!pending.empty()) {
      const NodeId id = pending.back();
      pending.pop_back();
      const bool border = id != root && cut.contains(id);
      hasher.add(border).add(border ? hash_of_type(id) : hash_of_definition(id));
      if (border) continue;
      for (const graph::Edge& edge : program.node(id).operands) {
        if (first_visit(edge.node)) pending.push_back(edge.node);
        hasher.add(seen[edge.node.value].second);
      }
    }
    return hasher.finish128();
  }

  support::Hash128 hash_of_type(NodeId id) {
    types.resize(program.size());
    std::optional<support::Hash128>& known = types[id.value];
    if (!known) known = type_hash(program.node(id).type);
    return *known;
  }

  support::Hash128 hash_of_definition(NodeId id) {
    definitions.resize(program.size());
    std::vector<std::optional<support::Hash128>>& variants = definitions[id.value];
    const size_t variant = program.variant(id);
    if (variants.size() <= variant) variants.resize(variant + 1);
    if (!variants[variant]) variants[variant] = definition_hash(program.node(id));
    return *variants[variant];
  }

  /// How many reductions of a region stand one after the other at most.
  int nesting(const Cut& cut, NodeId root) {
    begin_walk();
    return nesting_above(cut, root, root);
  }
  int nesting_above(const Cut& cut, NodeId id, NodeId root) {
    if (id != root && cut.contains(id)) return 0;
    auto& [walk, depth] = seen[id.value];
    if (walk == walks) return static_cast<int>(depth);
    int deepest = 0;
    for (const graph::Edge& edge : program.node(id).operands)
      deepest = std::max(deepest, nesting_above(cut, edge.node, root));
    if (graph::is_reduction(program.node(id).op)) ++deepest;
    seen[id.value] = {walks, static_cast<uint32_t>(deepest)};
    return deepest;
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
    const support::Hash128 shape = shape_of(cut, id);
    if (const auto known = times.find(shape); known != times.end()) return known->second;
    const size_t before = arena.size();
    const double time = time_of_kernel(cut, id);
    work += arena.size() - before;
    times.emplace(shape, time);
    return time;
  }

  double time_of_kernel(const Cut& cut, NodeId id) {
    ++estimated;
    if (nesting(cut, id) > options.most_nested) return kRejected;
    const auto derived = derive(arena, program, cut, id, {.most_nodes = options.most_nodes});
    const Kernel* kernel = std::get_if<Kernel>(&derived);
    if (kernel == nullptr) return kRejected;
    work += arena.reachable(std::span(&kernel->roots[0].value, 1)).size();
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

void CutCosts::restore(std::vector<NodeId> order) { state_->order = std::move(order); }

CutCosts::~CutCosts() = default;

const std::vector<NodeId>& CutCosts::order() const { return state_->order; }
size_t CutCosts::estimated() const { return state_->estimated; }

const CutCosts::Costed& CutCosts::kernel(const Cut& cut, NodeId id) {
  RegionKey key = state_->region(cut, id);
  const auto found = state_->kernels.find(key);
  if (found != state_->kernels.end()) return found->second;
  // More nodes than a body may have are not even derived.
  const double time = key.inside.size() > state_->options.most_nodes
                          ? kRejected
                          : state_->time_of(cut, id) * state_->program.repeats(id);
  Costed costed{time, key.inside, key.border};
  return state_->kernels.emplace(std::move(key), std::move(costed)).first->second;
}

const CutCosts::Costed* CutCosts::known(const Cut& cut, NodeId id) {
  // Moves inside of one endless chain would walk all of it each time.
  static const Costed kTooLarge{kRejected, {}, {}};
  const std::optional<RegionKey> key = state_->region_within(cut, id, state_->options.most_nodes);
  if (!key) return &kTooLarge;
  const auto found = state_->kernels.find(*key);
  if (found != state_->kernels.end()) return &found->second;
  return is_known(cut, id) ? &kernel(cut, id) : nullptr;
}

const CutCosts::Costed* CutCosts::affordable(const Cut& cut, NodeId id) {
  if (is_spent() && !is_known(cut, id)) return nullptr;
  return &kernel(cut, id);
}

bool CutCosts::is_known(const Cut& cut, NodeId id) const {
  const graph::Node& node = state_->program.node(id);
  return (is_opaque(node) && node.op != Op::kGraphBreak) ||
         state_->times.contains(state_->shape_of(cut, id));
}

void CutCosts::allow(size_t work) { state_->allowed += work; }
bool CutCosts::is_spent() const { return state_->work >= state_->allowed; }
size_t CutCosts::work() const { return state_->work; }

double CutCosts::total(const Cut& cut, double most) {
  double sum = 0.0;
  for (NodeId id : state_->order) {
    if (!cut.contains(id) || is_source(state_->program.node(id))) continue;
    sum += kernel(cut, id).microseconds;
    if (sum > most) break;
  }
  return sum;
}

}  // namespace luminal::kernel

#include "luminal/graph/common_subexpressions.h"

#include <algorithm>
#include <unordered_map>

#include "luminal/graph/rewriter.h"
#include "luminal/support/hash.h"

namespace luminal::graph {
namespace {

bool may_merge(const Node& node) {
  return node.op != Op::kInput && node.op != Op::kCustom && !has_effect(node.op);
}

uint64_t hash_of(const Edge& edge) {
  support::Hasher hasher;
  hasher.add(edge.node.value);
  edge.view.add_to(hasher);
  return hasher.finish64();
}

/// Some of a constant's bytes: equal ones are compared in full, others rarely have the same.
void add_samples(support::Hasher& hasher, std::span<const std::byte> bytes) {
  constexpr size_t kPart = 256, kParts = 16;
  if (bytes.size() <= kPart * kParts) {
    hasher.add(bytes);
    return;
  }
  const size_t stride = (bytes.size() - kPart) / (kParts - 1);
  for (size_t k = 0; k < kParts; ++k) hasher.add(bytes.subspan(k * stride, kPart));
  hasher.add(bytes.last(kPart));
}

struct AttributeHash {
  support::Hasher& hasher;
  void operator()(const std::monostate&) const {}
  void operator()(const InputAttribute& input) const { hasher.add(input.name).add(input.weight); }
  void operator()(const ConstantAttribute& constant) const {
    add_samples(hasher, constant.value.bytes());
  }
  void operator()(const IotaAttribute& iota) const { hasher.add(iota.value.hash()); }
  void operator()(const ReduceAttribute& reduce) const { hasher.add(reduce.axes); }
  void operator()(const ScatterAttribute& scatter) const { hasher.add(scatter.mode); }
  void operator()(const ArgSortAttribute& sort) const { hasher.add(sort.descending); }
  void operator()(const PrintAttribute& print) const { hasher.add(print.label); }
  void operator()(const DiffAttribute& diff) const { hasher.add(diff.file); }
  void operator()(const CustomAttribute& custom) const { hasher.add(custom.function->name); }
};

/// Equal nodes have equal hashes; the order of commutative operands does not matter.
uint64_t hash_of(const Node& node) {
  support::Hasher hasher;
  hasher.add(node.op).add(node.dtype());
  for (const Expr& extent : node.shape()) hasher.add(extent.hash());
  std::vector<uint64_t> operands;
  for (const Edge& edge : node.operands) operands.push_back(hash_of(edge));
  if (info(node.op).commutative) std::sort(operands.begin(), operands.end());
  hasher.add_all(operands);
  std::visit(AttributeHash{hasher}, node.attributes);
  return hasher.finish64();
}

bool same_operands(const Node& a, const Node& b) {
  if (a.operands == b.operands) return true;
  return info(a.op).commutative && a.operands[0] == b.operands[1] && a.operands[1] == b.operands[0];
}

/// Same value; the names do not matter.
bool equal_value(const Node& a, const Node& b) {
  return a.op == b.op && a.type == b.type && a.attributes == b.attributes && same_operands(a, b);
}

/// The nodes of the new graph by hash.
class Table {
 public:
  std::optional<NodeId> find(const Graph& graph, uint64_t hash, const Node& node) const {
    auto bucket = buckets_.find(hash);
    if (bucket == buckets_.end()) return std::nullopt;
    for (NodeId candidate : bucket->second)
      if (equal_value(graph.node(candidate), node)) return candidate;
    return std::nullopt;
  }
  void add(uint64_t hash, NodeId id) { buckets_[hash].push_back(id); }

 private:
  std::unordered_map<uint64_t, std::vector<NodeId>> buckets_;
};

PassResult merge(const Graph& graph) {
  Rewriter rewriter(graph);
  Table table;
  for (NodeId id : graph.ids()) {
    Node node = graph.node(id);
    if (!may_merge(node)) {
      rewriter.keep(id);
      continue;
    }
    node.operands = rewriter.translated_operands(node);
    const uint64_t hash = hash_of(node);
    if (std::optional<NodeId> found = table.find(rewriter.to(), hash, node))
      rewriter.replace(id, rewriter.to().whole(*found));
    else
      table.add(hash, rewriter.keep(id));
  }
  return std::move(rewriter).finish();
}

}  // namespace

Pass common_subexpressions() { return {"common_subexpressions", merge}; }

}  // namespace luminal::graph

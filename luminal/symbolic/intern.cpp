// The process-wide table of nodes. Sharded by hash, one lock per shard; nodes live for ever, so
// handles need no counts.
#include <algorithm>
#include <array>
#include <memory>
#include <mutex>
#include <unordered_set>

#include "luminal/support/hash.h"
#include "luminal/symbolic/node.h"

namespace luminal::symbolic {
namespace {

using support::hash_combine;

uint64_t content_hash(const NodeContent& content) {
  uint64_t hash = hash_combine(static_cast<uint64_t>(content.kind), content.value);
  if (content.kind == Kind::kVariable) {
    hash = hash_combine(hash, support::hash64(content.name));
    hash = hash_combine(hash_combine(hash, content.interval.lo), content.interval.hi);
  }
  for (const Expr& operand : content.operands) hash = hash_combine(hash, operand.hash());
  for (const Term& term : content.terms) {
    hash = hash_combine(hash, term.coefficient);
    for (const Factor& factor : term.monomial)
      hash = hash_combine(hash_combine(hash, factor.atom->hash), factor.power);
    hash = hash_combine(hash, term.monomial.size());
  }
  return hash;
}

struct Key {
  uint64_t hash;
  const NodeContent* content;
};

struct NodeHash {
  using is_transparent = void;
  size_t operator()(const std::unique_ptr<Node>& node) const { return node->hash; }
  size_t operator()(const Key& key) const { return key.hash; }
};

struct NodeEqual {
  using is_transparent = void;
  bool operator()(const std::unique_ptr<Node>& a, const std::unique_ptr<Node>& b) const {
    return a == b;
  }
  bool operator()(const Key& key, const std::unique_ptr<Node>& node) const {
    const NodeContent& content = *key.content;
    return key.hash == node->hash && content.kind == node->kind && content.value == node->value &&
           content.interval == node->interval && content.name == node->name &&
           content.operands == node->operands &&
           (content.kind != Kind::kPolynomial || content.terms == node->terms);
  }
  bool operator()(const std::unique_ptr<Node>& node, const Key& key) const {
    return (*this)(key, node);
  }
};

struct Shard {
  std::mutex mutex;
  std::unordered_set<std::unique_ptr<Node>, NodeHash, NodeEqual> nodes;
};

constexpr size_t kShardCount = 64;

// Never destroyed: expressions in static objects may outlive it otherwise.
std::array<Shard, kShardCount>& shards() {
  static auto* table = new std::array<Shard, kShardCount>;
  return *table;
}

void insert_sorted(std::vector<Expr>& set, const std::vector<Expr>& more) {
  for (const Expr& expr : more) {
    auto position = std::lower_bound(
        set.begin(), set.end(), expr,
        [](const Expr& a, const Expr& b) { return compare(a, b) == std::strong_ordering::less; });
    if (position == set.end() || *position != expr) set.insert(position, expr);
  }
}

void collect_symbols(Node& node) {
  if (node.kind == Kind::kVariable) node.variables.push_back(Expr(&node));
  if (node.kind == Kind::kAxis) {
    node.axes.push_back(Expr(&node));
    return;  // an extent is a fact about the axis, not a part of the value
  }
  for (const Expr& operand : node.operands) {
    insert_sorted(node.variables, operand.variables());
    insert_sorted(node.axes, operand.axes());
  }
  for (const Term& term : node.terms) {
    for (const Factor& factor : term.monomial) {
      insert_sorted(node.variables, factor.atom->variables);
      insert_sorted(node.axes, factor.atom->axes);
    }
  }
}

}  // namespace

Expr intern(NodeContent&& content) {
  const uint64_t hash = content_hash(content);
  Shard& shard = shards()[(hash >> 48) % kShardCount];
  const std::lock_guard lock(shard.mutex);
  const auto found = shard.nodes.find(Key{hash, &content});
  if (found != shard.nodes.end()) return Expr(found->get());
  auto node = std::make_unique<Node>();
  node->kind = content.kind;
  node->hash = hash;
  node->value = content.value;
  node->interval = content.interval;
  node->name = std::move(content.name);
  node->operands = std::move(content.operands);
  node->terms = std::move(content.terms);
  collect_symbols(*node);
  // An atom is also the polynomial 1 * atom, so that every node can be read by its terms.
  if (node->kind != Kind::kPolynomial && node->kind != Kind::kConstant)
    node->terms.push_back({1, Monomial{Factor{node.get(), 1}}});
  const Node* result = node.get();
  shard.nodes.insert(std::move(node));
  return Expr(result);
}

}  // namespace luminal::symbolic

#include "luminal/egraph/trie_index.h"

namespace luminal::egraph {

TrieIndex::TrieIndex(std::vector<uint32_t> columns) : columns_(std::move(columns)) {
  nodes_.push_back({kNone, kNoValue, kNone, kNone, kNone, kNone, 0});
  hash_.assign(16, kNone);
}

/// The slot that holds the child, or the free one where it would be.
size_t TrieIndex::place(uint32_t parent, Value value) const {
  const size_t mask = hash_.size() - 1;
  const uint64_t mixed = mix_hash(mix_hash(0x243F6A8885A308D3ull, parent), value);
  size_t at = static_cast<size_t>(mixed >> 20) & mask;
  while (hash_[at] != kNone) {
    const Node& node = nodes_[hash_[at]];
    if (node.parent == parent && node.value == value) break;
    at = (at + 1) & mask;
  }
  return at;
}

void TrieIndex::grow() {
  hash_.assign(hash_.size() * 2, kNone);
  for (uint32_t node = 1; node < nodes_.size(); ++node)
    hash_[place(nodes_[node].parent, nodes_[node].value)] = node;
}

uint32_t TrieIndex::child(uint32_t node, Value value) const { return hash_[place(node, value)]; }

void TrieIndex::add(const Value* cells, uint32_t row) {
  uint32_t at = kRoot;
  if (nodes_[at].first_row == kNone) nodes_[at].first_row = row;
  for (const uint32_t column : columns_) {
    if (nodes_.size() * 4 > hash_.size() * 3) grow();
    uint32_t& slot = hash_[place(at, cells[column])];
    if (slot == kNone) {
      slot = static_cast<uint32_t>(nodes_.size());
      Node& parent = nodes_[at];
      if (parent.first == kNone) {
        parent.first = slot;
      } else {
        nodes_[parent.last].next = slot;
      }
      parent.last = slot;
      ++parent.num_children;
      nodes_.push_back({at, cells[column], row, kNone, kNone, kNone, 0});
    }
    at = slot;
  }
  entries_.push_back({row, nodes_[at].last});
  nodes_[at].last = static_cast<uint32_t>(entries_.size() - 1);
}

}  // namespace luminal::egraph

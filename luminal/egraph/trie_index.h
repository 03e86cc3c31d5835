// A table's rows as a tree of distinct values, one level per column in a chosen order: what a join
// that goes variable by variable intersects. It grows by appending rows in ascending order, so the
// children of a node are listed in the order of their first rows and "old rows only" is a prefix of
// them. Like the other indexes it may still list rows that died.
#pragma once

#include <span>
#include <vector>

#include "luminal/egraph/big_vector.h"
#include "luminal/egraph/value.h"

namespace luminal::egraph {

/// A tree over columns; nodes are numbers, and the root is node 0.
class TrieIndex {
 public:
  static constexpr uint32_t kRoot = 0;

  explicit TrieIndex(std::vector<uint32_t> columns);

  const std::vector<uint32_t>& columns() const { return columns_; }
  /// Adds a row, larger than every row before.
  void add(const Value* cells, uint32_t row);

  /// The child of a node that holds a value, or kNone.
  uint32_t child(uint32_t node, Value value) const;
  uint32_t num_children(uint32_t node) const { return nodes_[node].num_children; }
  /// Children in the order of their first rows; kNone ends the list.
  uint32_t first_child(uint32_t node) const { return nodes_[node].first; }
  uint32_t next_sibling(uint32_t node) const { return nodes_[node].next; }
  Value value(uint32_t node) const { return nodes_[node].value; }
  /// The smallest row below a node, kNone for the root of an empty tree.
  uint32_t first_row(uint32_t node) const { return nodes_[node].first_row; }

  /// Rows of a leaf, newest first: entries of a list that kNone ends.
  uint32_t newest_entry(uint32_t leaf) const { return nodes_[leaf].last; }
  uint32_t row(uint32_t entry) const { return entries_[entry].row; }
  uint32_t earlier_entry(uint32_t entry) const { return entries_[entry].earlier; }

 private:
  struct Node {
    uint32_t parent;
    Value value;
    uint32_t first_row;
    uint32_t first;  // child
    uint32_t last;   // child; of a leaf, its newest entry
    uint32_t next;   // sibling
    uint32_t num_children;
  };
  struct Entry {
    uint32_t row;
    uint32_t earlier;
  };

  size_t place(uint32_t parent, Value value) const;
  void grow();

  std::vector<uint32_t> columns_;
  BigVector<Node> nodes_;
  BigVector<uint32_t> hash_;  // node per slot, kNone: free
  BigVector<Entry> entries_;
};

}  // namespace luminal::egraph

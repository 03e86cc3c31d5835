// Disjoint sets of ids. The smaller id always leads, which makes results independent of the order
// of unions, and the log of displaced ids is what a rebuild works from.
#pragma once

#include <span>
#include <vector>

#include "luminal/egraph/big_vector.h"
#include "luminal/egraph/value.h"

namespace luminal::egraph {

/// Union-find over ids 0, 1, 2, …; containers share the ids of e-classes.
class UnionFind {
 public:
  /// A new id, its own leader.
  Value make() {
    const auto id = static_cast<Value>(parent_.size());
    parent_.push_back(id);
    return id;
  }

  /// Leader of the set, halving the path on the way.
  Value find(Value id) {
    while (parent_[id] != id) {
      parent_[id] = parent_[parent_[id]];
      id = parent_[id];
    }
    return id;
  }
  /// Leader of the set, without writing: safe while several threads read.
  Value find(Value id) const {
    while (parent_[id] != id) id = parent_[id];
    return id;
  }

  /// Joins two sets and returns the leader, the smaller of the two leaders.
  Value join(Value a, Value b) {
    a = find(a);
    b = find(b);
    if (a == b) return a;
    if (b < a) std::swap(a, b);
    parent_[b] = a;
    displaced_.push_back(b);
    return a;
  }

  /// Every id that ever stopped leading, in order.
  std::span<const Value> displaced() const { return displaced_; }
  uint32_t size() const { return static_cast<uint32_t>(parent_.size()); }

 private:
  BigVector<Value> parent_;
  std::vector<Value> displaced_;
};

}  // namespace luminal::egraph

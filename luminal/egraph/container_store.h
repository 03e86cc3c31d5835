// Containers: values made of other values (vectors, sets, maps, multisets, pairs, functions). Each
// is a flat list of words under an id from the union-find, interned so that equal contents have
// equal ids; a rebuild rewrites contents whose elements were displaced.
#pragma once

#include <span>
#include <unordered_map>
#include <vector>

#include "luminal/egraph/sort.h"
#include "luminal/egraph/union_find.h"
#include "luminal/egraph/value.h"

namespace luminal::egraph {

/// What a function value calls: a table or a primitive, with its sorts known.
struct FunctionTarget {
  std::string name;
  FunctionId function = kNone;  // a table, or
  uint32_t primitive = kNone;   // a primitive
  std::vector<SortId> inputs;   // all of them, partial ones first
  SortId output = kNone;
};

/// Layout of the words: Vec and Pair their elements; Set ascending; Map key, value, … ascending by
/// key; MultiSet element, count, … ascending; Fn target index, then the partial arguments.
class ContainerStore {
 public:
  /// The container of that sort with those words, which must be in the normal form above.
  Value intern(SortId sort, std::vector<Value> words, UnionFind& ids);
  std::span<const Value> words(Value id) const { return entries_[index_of(id)].words; }
  SortId sort_of(Value id) const { return entries_[index_of(id)].sort; }
  bool contains(Value id) const { return by_id_.count(id) != 0; }

  uint32_t add_target(FunctionTarget target);
  const FunctionTarget& target(uint32_t index) const { return targets_[index]; }

  /// Rewrites every container that holds displaced ids. Containers that become equal are joined;
  /// ids whose contents changed in place are appended to `changed`.
  void rebuild(const SortRegistry& sorts, UnionFind& ids, std::vector<Value>& changed);
  /// Adds to `changed` the ids of containers that hold one of them, directly or deeper.
  void add_holders(const SortRegistry& sorts, std::vector<Value>& changed) const;

  uint32_t size() const { return static_cast<uint32_t>(entries_.size()); }

  /// Calls `visit(sort, word)` for each element, counts and target indexes left out.
  template <typename Visit>
  void for_each_element(const SortRegistry& sorts, Value id, Visit visit) const {
    const Entry& entry = entries_[index_of(id)];
    for (size_t i = 0; i < entry.words.size(); ++i) {
      const SortId element = element_sort(sorts, entry, i);
      if (element != kNone) visit(element, entry.words[i]);
    }
  }

 private:
  struct Entry {
    Value id;
    SortId sort;
    std::vector<Value> words;
    bool alive = true;
  };

  uint32_t index_of(Value id) const;
  static uint64_t hash(SortId sort, std::span<const Value> words);
  uint32_t lookup(SortId sort, std::span<const Value> words, uint64_t hash) const;
  void forget(uint32_t index, uint64_t hash);
  /// Sort of a word, kNone for a count or target index.
  SortId element_sort(const SortRegistry& sorts, const Entry& entry, size_t position) const;
  bool canonicalize(const SortRegistry& sorts, UnionFind& ids, Entry& entry,
                    std::vector<Value>& words) const;

  std::vector<Entry> entries_;
  std::unordered_map<Value, uint32_t> by_id_;
  std::unordered_multimap<uint64_t, uint32_t> by_content_;
  std::vector<FunctionTarget> targets_;
};

/// Puts words in the normal form of a set, map or multiset; others stay as they are. Of equal map
/// keys the last wins; counts of equal multiset elements add up.
void normalize_words(SortKind kind, std::vector<Value>& words);

}  // namespace luminal::egraph

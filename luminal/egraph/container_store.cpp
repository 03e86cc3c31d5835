#include "luminal/egraph/container_store.h"

#include <algorithm>
#include <unordered_set>

#include "luminal/support/check.h"

namespace luminal::egraph {

void normalize_words(SortKind kind, std::vector<Value>& words) {
  if (kind == SortKind::kSet) {
    std::sort(words.begin(), words.end());
    words.erase(std::unique(words.begin(), words.end()), words.end());
    return;
  }
  if (kind != SortKind::kMap && kind != SortKind::kMultiSet) return;
  std::vector<std::pair<Value, Value>> pairs;
  for (size_t i = 0; i + 1 < words.size(); i += 2) pairs.push_back({words[i], words[i + 1]});
  std::stable_sort(pairs.begin(), pairs.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  words.clear();
  for (const auto& [key, value] : pairs) {
    if (words.empty() || words[words.size() - 2] != key) {
      words.push_back(key);
      words.push_back(value);
    } else if (kind == SortKind::kMap) {
      words.back() = value;
    } else {
      words.back() += value;
    }
  }
}

uint32_t ContainerStore::index_of(Value id) const {
  const auto entry = by_id_.find(id);
  LUMINAL_CHECK(entry != by_id_.end(), "value {} is no container", id);
  return entry->second;
}

uint64_t ContainerStore::hash(SortId sort, std::span<const Value> words) {
  uint64_t result = mix_hash(words.size(), sort);
  for (Value word : words) result = mix_hash(result, word);
  return result;
}

uint32_t ContainerStore::lookup(SortId sort, std::span<const Value> words, uint64_t hash) const {
  const auto [first, last] = by_content_.equal_range(hash);
  for (auto at = first; at != last; ++at) {
    const Entry& entry = entries_[at->second];
    if (entry.sort == sort &&
        std::equal(words.begin(), words.end(), entry.words.begin(), entry.words.end()))
      return at->second;
  }
  return kNone;
}

void ContainerStore::forget(uint32_t index, uint64_t hash) {
  const auto [first, last] = by_content_.equal_range(hash);
  for (auto at = first; at != last; ++at) {
    if (at->second != index) continue;
    by_content_.erase(at);
    return;
  }
}

Value ContainerStore::intern(SortId sort, std::vector<Value> words, UnionFind& ids) {
  const uint64_t key = hash(sort, words);
  const uint32_t known = lookup(sort, words, key);
  if (known != kNone) return ids.find(entries_[known].id);
  const auto index = static_cast<uint32_t>(entries_.size());
  const Value id = ids.make();
  entries_.push_back({id, sort, std::move(words)});
  by_id_.emplace(id, index);
  by_content_.emplace(key, index);
  return id;
}

uint32_t ContainerStore::add_target(FunctionTarget target) {
  for (uint32_t i = 0; i < targets_.size(); ++i) {
    const FunctionTarget& known = targets_[i];
    if (known.name == target.name && known.function == target.function &&
        known.primitive == target.primitive && known.inputs == target.inputs)
      return i;
  }
  targets_.push_back(std::move(target));
  return static_cast<uint32_t>(targets_.size() - 1);
}

SortId ContainerStore::element_sort(const SortRegistry& sorts, const Entry& entry,
                                    size_t position) const {
  const Sort& sort = sorts[entry.sort];
  switch (sort.kind) {
    case SortKind::kMap:
    case SortKind::kPair:
      return sort.args[position % 2];
    case SortKind::kMultiSet:
      return position % 2 == 0 ? sort.args[0] : kNone;
    case SortKind::kFn:
      return position == 0 ? kNone : targets_[entry.words[0]].inputs[position - 1];
    default:
      return sort.args[0];
  }
}

bool ContainerStore::canonicalize(const SortRegistry& sorts, UnionFind& ids, Entry& entry,
                                  std::vector<Value>& words) const {
  words.clear();
  bool moved = false;
  for (size_t i = 0; i < entry.words.size(); ++i) {
    const SortId element = element_sort(sorts, entry, i);
    const Value word = entry.words[i];
    const bool is_id = element != kNone && sorts[element].is_id();
    words.push_back(is_id ? ids.find(word) : word);
    moved |= words.back() != word;
  }
  if (moved) normalize_words(sorts[entry.sort].kind, words);
  return moved;
}

void ContainerStore::rebuild(const SortRegistry& sorts, UnionFind& ids,
                             std::vector<Value>& changed) {
  std::vector<Value> words;
  bool again = true;
  while (again) {  // joining two inner containers can displace an element of an outer one
    again = false;
    for (uint32_t index = 0; index < entries_.size(); ++index) {
      Entry& entry = entries_[index];
      if (!entry.alive || !canonicalize(sorts, ids, entry, words)) continue;
      again = true;
      forget(index, hash(entry.sort, entry.words));
      const uint64_t key = hash(entry.sort, words);
      const uint32_t twin = lookup(entry.sort, words, key);
      if (twin == kNone) {
        entry.words = words;
        by_content_.emplace(key, index);
        changed.push_back(entry.id);
        continue;
      }
      const Value leader = ids.join(entry.id, entries_[twin].id);
      // Rows under the old id keep it, but what it holds is new to them.
      if (leader == entry.id) changed.push_back(leader);
      entry.words = words;  // readers that still hold the old id see the same contents
      entry.alive = false;
      if (leader == ids.find(entries_[twin].id)) entries_[twin].id = leader;
      by_id_[leader] = twin;
    }
  }
  for (Value& id : changed) id = ids.find(id);
  std::sort(changed.begin(), changed.end());
  changed.erase(std::unique(changed.begin(), changed.end()), changed.end());
}

void ContainerStore::add_holders(const SortRegistry& sorts, std::vector<Value>& changed) const {
  std::unordered_set<Value> seen(changed.begin(), changed.end());
  bool again = !changed.empty();
  while (again) {
    again = false;
    for (const Entry& entry : entries_) {
      if (!entry.alive || seen.count(entry.id) != 0) continue;
      bool holds = false;
      for (size_t i = 0; i < entry.words.size() && !holds; ++i) {
        const SortId element = element_sort(sorts, entry, i);
        holds =
            element != kNone && sorts[element].is_container() && seen.count(entry.words[i]) != 0;
      }
      if (!holds) continue;
      seen.insert(entry.id);
      changed.push_back(entry.id);
      again = true;
    }
  }
}

}  // namespace luminal::egraph

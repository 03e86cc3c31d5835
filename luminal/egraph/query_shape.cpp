#include "luminal/egraph/query_shape.h"

#include <algorithm>
#include <vector>

namespace luminal::egraph {
namespace {

/// A set of slots, 64 to a word: long bodies have hundreds.
class SlotSet {
 public:
  explicit SlotSet(uint32_t num_slots) : words_((num_slots + 63) / 64, 0) {}

  bool has(uint32_t slot) const { return (words_[slot / 64] >> (slot % 64) & 1) != 0; }
  /// Whether a term is settled: a constant, or a slot of the set.
  bool has(const Term& term) const { return term.is_constant || has(term.word); }
  void add(uint32_t slot) { words_[slot / 64] |= uint64_t{1} << (slot % 64); }
  void remove(const SlotSet& other) {
    for (size_t i = 0; i < words_.size(); ++i) words_[i] &= ~other.words_[i];
  }
  bool is_part_of(const SlotSet& other) const {
    for (size_t i = 0; i < words_.size(); ++i)
      if ((words_[i] & ~other.words_[i]) != 0) return false;
    return true;
  }
  /// Splits the slots of many sets into those of one set and those of several.
  static SlotSet held_by_one(const std::vector<SlotSet>& sets) {
    SlotSet once(sets[0]);
    std::vector<uint64_t> twice(once.words_.size(), 0);
    for (size_t s = 1; s < sets.size(); ++s) {
      for (size_t i = 0; i < twice.size(); ++i) {
        twice[i] |= once.words_[i] & sets[s].words_[i];
        once.words_[i] |= sets[s].words_[i];
      }
    }
    for (size_t i = 0; i < twice.size(); ++i) once.words_[i] &= ~twice[i];
    return once;
  }

 private:
  std::vector<uint64_t> words_;
};

/// Adds all that a set determines: values of atoms whose keys are in it, results of primitives.
void close(const Query& query, SlotSet& slots) {
  const auto known = [&](const Term& term) { return slots.has(term); };
  for (bool changed = true; changed;) {
    changed = false;
    const auto add = [&](const Term& term) {
      if (slots.has(term)) return;
      slots.add(term.word);
      changed = true;
    };
    for (const TableAtom& atom : query.atoms)
      if (std::all_of(atom.terms.begin(), atom.terms.end() - 1, known)) add(atom.terms.back());
    for (const PrimitiveAtom& atom : query.primitives)
      if (std::all_of(atom.inputs.begin(), atom.inputs.end(), known)) add(atom.output);
  }
}

/// One set of slots per atom: its own and what they determine, less what constants determine.
std::vector<SlotSet> edges_of(const Query& query) {
  SlotSet settled(query.num_slots);
  close(query, settled);
  std::vector<SlotSet> edges;
  for (const TableAtom& atom : query.atoms) {
    SlotSet edge = settled;
    for (const Term& term : atom.terms)
      if (!term.is_constant) edge.add(term.word);
    close(query, edge);
    edge.remove(settled);
    edges.push_back(std::move(edge));
  }
  return edges;
}

/// Takes every edge out that is part of another. True if there was one.
bool drop_contained_edges(std::vector<SlotSet>& edges) {
  const size_t before = edges.size();
  for (size_t a = 0; a < edges.size();) {
    bool contained = false;
    for (size_t b = 0; b < edges.size() && !contained; ++b)
      contained = a != b && edges[a].is_part_of(edges[b]);
    if (contained) {
      edges.erase(edges.begin() + static_cast<ptrdiff_t>(a));
    } else {
      ++a;
    }
  }
  return edges.size() != before;
}

}  // namespace

// The reduction of Graham, Yu and Özsoyoğlu: slots of one edge alone go, edges within others go,
// and what neither takes apart is a cycle.
bool is_cyclic(const Query& query) {
  if (query.atoms.size() < 3) return false;
  std::vector<SlotSet> edges = edges_of(query);
  do {
    const SlotSet lone = SlotSet::held_by_one(edges);
    for (SlotSet& edge : edges) edge.remove(lone);
  } while (drop_contained_edges(edges) && edges.size() > 1);
  return edges.size() > 1;
}

}  // namespace luminal::egraph

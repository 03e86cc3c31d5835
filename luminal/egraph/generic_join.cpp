#include "luminal/egraph/generic_join.h"

#include <algorithm>

#include "luminal/support/check.h"

namespace luminal::egraph {
namespace {

/// A delta is worth an order of its own if it is this much smaller than its table.
constexpr uint32_t kSmallDelta = 4;

/// Builds a SlotOrder: keeps what is bound, and appends steps.
class OrderBuilder {
 public:
  OrderBuilder(const QueryPlan& plan, SlotOrder& order)
      : plan_(plan), query_(*plan.query), order_(order), bound_(query_.num_slots, false) {
    primitive_done_.assign(query_.primitives.size(), false);
    order_.columns.resize(query_.atoms.size());
    for (size_t a = 0; a < query_.atoms.size(); ++a) {
      const auto& terms = query_.atoms[a].terms;
      for (uint32_t c = 0; c < terms.size(); ++c)
        if (terms[c].is_constant) order_.columns[a].push_back(c);
    }
  }

  void build(uint32_t first_atom) {
    settle();
    if (first_atom != kNone) {
      for (const Term& term : query_.atoms[first_atom].terms) {
        if (term.is_constant || !is_open(term.word)) continue;
        bind(term.word, SlotOrder::Step::Do::kEnumerate);
        settle();
      }
    }
    for (uint32_t slot = next_slot(); slot != kNone; slot = next_slot()) {
      bind(slot, SlotOrder::Step::Do::kEnumerate);
      settle();
    }
  }

 private:
  using Do = SlotOrder::Step::Do;

  bool is_open(uint32_t slot) const {
    return plan_.shared[slot] && !bound_[slot] && !plan_.in_atoms[slot].empty();
  }
  bool is_bound(const Term& term) const { return term.is_constant || bound_[term.word]; }

  void bind(uint32_t slot, Do what) {
    bound_[slot] = true;
    SlotOrder::Step step{what, slot, {}};
    for (const auto& [atom, column] : plan_.in_atoms[slot]) {
      auto& columns = order_.columns[atom];
      if (!step.descents.empty() && step.descents.back().atom == atom) {
        ++step.descents.back().levels;
      } else {
        step.descents.push_back({atom, static_cast<uint32_t>(columns.size()), 1});
      }
      columns.push_back(column);
    }
    order_.steps.push_back(std::move(step));
  }

  /// Runs primitives whose inputs are bound and binds values whose keys are.
  void settle() {
    for (bool changed = true; changed;) {
      changed = false;
      for (uint32_t p = 0; p < query_.primitives.size(); ++p) {
        const PrimitiveAtom& atom = query_.primitives[p];
        if (primitive_done_[p]) continue;
        if (!std::all_of(atom.inputs.begin(), atom.inputs.end(),
                         [&](const Term& term) { return is_bound(term); }))
          continue;
        primitive_done_[p] = changed = true;
        order_.steps.push_back({Do::kPrimitive, p, {}});
        if (!is_bound(atom.output)) bind(atom.output.word, Do::kDescend);
      }
      for (const TableAtom& atom : query_.atoms) {
        const Term& out = atom.terms.back();
        if (out.is_constant || !is_open(out.word)) continue;
        if (!std::all_of(atom.terms.begin(), atom.terms.end() - 1,
                         [&](const Term& term) { return is_bound(term); }))
          continue;
        bind(out.word, Do::kEnumerate);
        changed = true;
      }
    }
  }

  /// The open slot that most atoms hold; among equals one of an atom already entered, then the
  /// first.
  uint32_t next_slot() const {
    uint32_t best = kNone;
    std::pair<size_t, bool> best_rank;
    for (uint32_t slot = 0; slot < query_.num_slots; ++slot) {
      if (!is_open(slot)) continue;
      const auto& places = plan_.in_atoms[slot];
      const bool entered = std::any_of(places.begin(), places.end(), [&](const auto& place) {
        return !order_.columns[place.atom].empty();
      });
      const std::pair<size_t, bool> rank{places.size(), entered};
      if (best != kNone && rank <= best_rank) continue;
      best = slot;
      best_rank = rank;
    }
    return best;
  }

  const QueryPlan& plan_;
  const Query& query_;
  SlotOrder& order_;
  std::vector<bool> bound_;
  std::vector<bool> primitive_done_;
};

/// The atom whose few new rows the search should start from, or kNone.
uint32_t small_delta(const Database& db, const Query& query, std::span<const RowRange> ranges) {
  for (uint32_t a = 0; a < ranges.size(); ++a) {
    const uint32_t end = db.functions[query.atoms[a].function].table.end_row();
    if (ranges[a].first > 0 && (end - ranges[a].first) < end / kSmallDelta) return a;
  }
  return kNone;
}

}  // namespace

SlotOrder::SlotOrder(const QueryPlan& plan, uint32_t first_atom) {
  OrderBuilder(plan, *this).build(first_atom);
}

GenericJoin::GenericJoin(Database& db, const QueryPlan& plan, Evaluator& evaluator,
                         std::span<const RowRange> ranges, const SearchLimit& limit)
    : db_(db),
      query_(*plan.query),
      evaluator_(evaluator),
      ranges_(ranges.begin(), ranges.end()),
      order_(plan, small_delta(db, query_, ranges)),
      meter_(limit),
      trees_(query_.atoms.size(), nullptr),
      own_trees_(query_.atoms.size()),
      checks_rows_(query_.atoms.size()),
      slots_(query_.num_slots, kNoValue) {
  for (uint32_t a = 0; a < query_.atoms.size(); ++a) {
    first_node_.push_back(static_cast<uint32_t>(nodes_.size()));
    nodes_.resize(nodes_.size() + order_.columns[a].size() + 1, TrieIndex::kRoot);
    Table& rows = db_.functions[query_.atoms[a].function].table;
    checks_rows_[a] = !rows.all_visible();
    if (ranges_[a].first > 0) continue;
    uint32_t added = 0;
    trees_[a] = &rows.trie(order_.columns[a], &added);
    meter_.add_rows(added);
  }
}

bool GenericJoin::build_new_rows_trees() {
  for (uint32_t a = 0; a < query_.atoms.size(); ++a) {
    if (trees_[a] != nullptr) continue;
    own_trees_[a] = std::make_unique<TrieIndex>(order_.columns[a]);
    const Table& rows = table(a);
    const uint32_t end = std::min(ranges_[a].end, rows.end_row());
    for (uint32_t row = ranges_[a].first; row < end; ++row) {
      if (!rows.live(row)) continue;
      if (!meter_.count_row()) return false;
      own_trees_[a]->add(rows.row(row), row);
    }
    trees_[a] = own_trees_[a].get();
  }
  return true;
}

bool GenericJoin::run(const Matcher::OnMatch& on_match) {
  on_match_ = &on_match;
  if (!build_new_rows_trees()) return false;
  return !descend_constants() || search(0);
}

bool GenericJoin::descend_constants() {
  for (uint32_t a = 0; a < query_.atoms.size(); ++a) {
    const TrieIndex& tree = *trees_[a];
    uint32_t level = 0;
    uint32_t at = TrieIndex::kRoot;
    for (const uint32_t column : order_.columns[a]) {
      const Term& term = query_.atoms[a].terms[column];
      if (!term.is_constant) break;
      meter_.add_row();
      at = tree.child(at, term.word);
      if (at == kNone || tree.first_row(at) >= ranges_[a].end) return false;
      node(a, ++level) = at;
    }
    const bool leaf = level == order_.columns[a].size();
    if (leaf && (tree.first_row(at) >= ranges_[a].end || !has_usable_row(a, at))) return false;
  }
  return true;
}

bool GenericJoin::has_usable_row(uint32_t atom, uint32_t leaf) const {
  if (!checks_rows_[atom]) return true;
  const TrieIndex& tree = *trees_[atom];
  const Table& rows = table(atom);
  for (uint32_t e = tree.newest_entry(leaf); e != kNone; e = tree.earlier_entry(e)) {
    const uint32_t row = tree.row(e);
    if (row >= ranges_[atom].end) continue;
    if (query_.include_subsumed ? rows.live(row) : rows.visible(row)) return true;
  }
  return false;
}

/// Goes down to a value in every atom that holds the slot; false if one of them has none.
bool GenericJoin::descend(const Step& step, Value value) {
  for (const auto& [atom, level, levels] : step.descents) {
    const TrieIndex& tree = *trees_[atom];
    uint32_t at = node(atom, level);
    for (uint32_t i = 0; i < levels; ++i) {
      meter_.add_row();
      at = tree.child(at, value);
      if (at == kNone || tree.first_row(at) >= ranges_[atom].end) return false;
      node(atom, level + i + 1) = at;
    }
    if (level + levels == order_.columns[atom].size() && !has_usable_row(atom, at)) return false;
  }
  return true;
}

bool GenericJoin::enumerate(size_t index) {
  const Step& step = order_.steps[index];
  const SlotOrder::Descent* best = nullptr;
  uint32_t fewest = kNone;
  for (const SlotOrder::Descent& descent : step.descents) {
    const uint32_t count = trees_[descent.atom]->num_children(node(descent.atom, descent.level));
    if (best != nullptr && count >= fewest) continue;
    best = &descent;
    fewest = count;
  }
  const TrieIndex& tree = *trees_[best->atom];
  const uint32_t end = ranges_[best->atom].end;
  uint32_t at = tree.first_child(node(best->atom, best->level));
  bool go_on = true;
  for (; at != kNone && tree.first_row(at) < end && go_on; at = tree.next_sibling(at)) {
    if (!meter_.count_row()) {
      go_on = false;
    } else if (descend(step, tree.value(at))) {
      slots_[step.target] = tree.value(at);
      go_on = search(index + 1);
    }
  }
  slots_[step.target] = kNoValue;
  return go_on;
}

/// Runs a primitive. A slot it binds is descended by the next step.
bool GenericJoin::evaluate(size_t index) {
  const PrimitiveAtom& atom = query_.primitives[order_.steps[index].target];
  inputs_.clear();
  for (const Term& term : atom.inputs) inputs_.push_back(value_of(term));
  meter_.add_call();
  const Value result = atom.primitive->body(evaluator_, inputs_);
  if (result == kNoValue) return true;
  const Value known = value_of(atom.output);
  if (known != kNoValue) return known != result || search(index + 1);
  slots_[atom.output.word] = result;
  const bool go_on = !descend(order_.steps[index + 1], result) || search(index + 2);
  slots_[atom.output.word] = kNoValue;
  return go_on;
}

bool GenericJoin::search(size_t index) {
  if (index == order_.steps.size()) return (*on_match_)(slots_);
  return order_.steps[index].what == Step::Do::kPrimitive ? evaluate(index) : enumerate(index);
}

}  // namespace luminal::egraph

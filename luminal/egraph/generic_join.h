// A worst-case-optimal join: binds one variable after the other, each by intersecting the values
// that all atoms holding it still allow, the smallest set first. It looks at no more rows than the
// largest result that tables of these sizes could have, up to a factor. The matcher (matcher.h) is
// quicker where its buckets are small; this is what a cyclic query falls back on.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "luminal/egraph/matcher.h"
#include "luminal/egraph/trie_index.h"

namespace luminal::egraph {

/// The order in which the slots of a query are bound, and what each binding descends.
struct SlotOrder {
  /// One level (or several: a slot may be in one atom twice) of one atom's tree.
  struct Descent {
    uint32_t atom;
    uint32_t level;
    uint32_t levels;
  };
  struct Step {
    enum class Do : uint8_t { kPrimitive, kDescend, kEnumerate };
    Do what;
    uint32_t target;  // primitive or slot
    std::vector<Descent> descents;
  };
  /// Per atom the columns of its tree, constants first, then slots as they are bound. Columns that
  /// nobody compares or reads are left out.
  std::vector<std::vector<uint32_t>> columns;
  std::vector<Step> steps;

  /// Slots of `first_atom` come first; kNone for no such atom. What the bound slots determine
  /// comes at once, then the slot that most atoms hold.
  SlotOrder(const QueryPlan& plan, uint32_t first_atom);
};

/// One run of a query.
class GenericJoin {
 public:
  /// Takes the rows the query may use. Trees over whole tables are kept by the tables and brought
  /// up to date here, so only one thread may construct; trees over new rows are made by `run`.
  GenericJoin(Database& db, const QueryPlan& plan, Evaluator& evaluator,
              std::span<const RowRange> ranges, const SearchLimit& limit = {});

  /// Enumerates matches as Matcher::run does: each once. Returns false if stopped.
  bool run(const Matcher::OnMatch& on_match);

  uint64_t rows_visited() const { return meter_.rows(); }
  /// Why the search ended early, if not because of `on_match`.
  StopReason stop() const { return meter_.stop(); }

 private:
  using Step = SlotOrder::Step;

  bool build_new_rows_trees();
  bool descend_constants();
  bool search(size_t step);
  bool enumerate(size_t step);
  bool descend(const Step& step, Value value);
  bool evaluate(size_t step);
  bool has_usable_row(uint32_t atom, uint32_t leaf) const;
  uint32_t& node(uint32_t atom, uint32_t level) { return nodes_[first_node_[atom] + level]; }
  const Table& table(uint32_t atom) const {
    return db_.functions[query_.atoms[atom].function].table;
  }
  Value value_of(const Term& term) const {
    return term.is_constant ? term.word : slots_[term.word];
  }

  Database& db_;
  const Query& query_;
  Evaluator& evaluator_;
  std::vector<RowRange> ranges_;
  SlotOrder order_;
  SearchMeter meter_;
  const Matcher::OnMatch* on_match_ = nullptr;
  std::vector<const TrieIndex*> trees_;                // per atom
  std::vector<std::unique_ptr<TrieIndex>> own_trees_;  // over new rows
  std::vector<bool> checks_rows_;                      // per atom: some rows are dead or hidden
  std::vector<uint32_t> nodes_;  // per atom and level: where the search stands
  std::vector<uint32_t> first_node_;
  std::vector<Value> slots_;
  std::vector<Value> inputs_;
};

}  // namespace luminal::egraph

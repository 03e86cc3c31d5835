// The matcher: finds every way to satisfy a query. The order of atoms is chosen anew at every step:
// rows whose keys are known are looked up first, primitives run as soon as their inputs are known,
// and otherwise the atom with the fewest candidate rows is next. "New rows only" is a filter on
// rows, never a place to start from.
#pragma once

#include <functional>
#include <mutex>
#include <span>
#include <vector>

#include "luminal/egraph/database.h"
#include "luminal/egraph/rule_ir.h"
#include "luminal/egraph/search_meter.h"

namespace luminal::egraph {

/// Rows [first, end) of one atom's table that a match may use.
struct RowRange {
  uint32_t first = 0;
  uint32_t end = kNone;
};

/// A query with its occurrence lists, ready to be matched many times.
struct QueryPlan {
  struct Occurrence {
    uint32_t atom;
    uint32_t column;
  };
  const Query* query;
  std::vector<std::vector<Occurrence>> in_atoms;     // per slot
  std::vector<std::vector<uint32_t>> in_primitives;  // per slot, as input, once per position
  std::vector<bool> joined;                          // per slot: occurs more than once
  std::vector<bool> shared;  // per slot: joined, or needed by whoever reads the match

  explicit QueryPlan(const Query& of);

  /// Whether the atoms form a cycle (query_shape.h). Found out on the first call: most rules of a
  /// large set never match, and for them nobody asks.
  bool cyclic() const;

 private:
  mutable std::once_flag asked_;
  mutable bool cyclic_ = false;
};

/// Finds matches of one query. Holds scratch memory, so keep it for many runs.
class Matcher {
 public:
  /// Called with the value of each slot; kNoValue where the slot is not needed. Return false to
  /// stop.
  using OnMatch = std::function<bool(std::span<const Value>)>;
  /// Called with the number of an atom (primitives follow tables) that could not be satisfied.
  using OnFailure = std::function<void(uint32_t depth, uint32_t atom)>;

  /// `may_build_indexes` is false while several threads match at once.
  Matcher(Database& db, const QueryPlan& plan, Evaluator& evaluator, bool may_build_indexes = true,
          const SearchLimit& limit = {});

  /// Enumerates matches with each atom restricted to its range. Returns false if stopped.
  bool run(std::span<const RowRange> ranges, const OnMatch& on_match);
  /// The same with some slots given in advance.
  bool run(std::span<const RowRange> ranges, std::span<const std::pair<uint32_t, Value>> given,
           const OnMatch& on_match);

  void watch_failures(OnFailure on_failure) { on_failure_ = std::move(on_failure); }
  /// Goes from the given slots to what they are joined with, and to the rest of the query only
  /// where nothing is: slower, but what has matched at a failure is about the given values.
  void follow_given() { follow_given_ = true; }
  /// The slots that are bound right now, in the order of binding: for who watches.
  std::vector<std::pair<uint32_t, Value>> bound() const {
    std::vector<std::pair<uint32_t, Value>> result;
    for (const uint32_t slot : bound_) result.emplace_back(slot, slots_[slot]);
    return result;
  }
  /// Makes searches of a cyclic query give up after `rows` rows since construction, and some more
  /// per match.
  void set_allowance(uint64_t rows) { meter_.set_allowance(rows); }
  /// Rows looked at since construction.
  uint64_t rows_visited() const { return meter_.rows(); }
  /// Why a search ended early, if not because of `on_match`.
  StopReason stop() const { return meter_.stop(); }
  /// Whether a search used its allowance up.
  bool gave_up() const { return meter_.gave_up(); }

 private:
  /// What is known of one atom at this point of the search.
  struct AtomState {
    uint32_t best_size;    // rows of the smallest bucket found, kNone before any
    uint32_t best_column;  // its column
    bool done;
  };
  struct Change {
    uint32_t atom;
    AtomState before;
  };

  /// What to do with one column of the rows of an atom, settled once for all of them.
  struct ColumnStep {
    enum class Do : uint8_t { kCompare, kBind, kStore, kRepeat };
    Do what;
    uint32_t column;
    uint32_t word;  // a value, a slot, or the column to be equal to
  };

  bool start(std::span<const std::pair<uint32_t, Value>> given);
  bool search();
  /// Counts a row; false if the search must end.
  bool count_row() { return meter_.count_row() || (meter_.gave_up() && lift_allowance()); }
  bool lift_allowance();
  bool report() {
    meter_.add_match();
    return (*on_match_)(slots_);
  }
  bool try_rows(uint32_t atom);
  bool report_rows(std::span<const ColumnStep> steps, const Table& rows,
                   std::span<const uint32_t> candidates, bool open);
  /// Appends the steps of an atom to steps_. True if some slot is bound or stored.
  bool plan_columns(uint32_t atom);
  bool match_row(std::span<const ColumnStep> steps, const Value* cells);
  bool visit_row(uint32_t atom, size_t first_step, bool last, const Value* cells, bool& found);
  bool bind(uint32_t slot, Value value);
  bool propagate();
  bool settle(uint32_t slot);
  bool narrow(uint32_t atom, uint32_t column, Value value);
  bool look_up(uint32_t atom);
  bool evaluate(uint32_t primitive);
  void finish_atom(uint32_t atom);
  void undo(size_t slots, size_t changes);
  bool reject(uint32_t atom);

  /// The part of an ascending row list that lies in the atom's range.
  std::span<const uint32_t> clip(uint32_t atom, std::span<const uint32_t> rows) const;
  /// The smallest bucket found of an atom with at least one bound column.
  std::span<const uint32_t> bucket(uint32_t atom);
  /// Rows to try for such an atom: of its bucket, or by an index of all columns that are bound.
  std::span<const uint32_t> candidates(uint32_t atom);
  bool usable(const Table& table, uint32_t row) const {
    return query_.include_subsumed ? table.live(row) : table.visible(row);
  }
  const RowIndex* index(Table& table, uint32_t column);
  /// The atom to try next.
  uint32_t choose();
  /// The joined atom with the fewest candidates, kNone if no atom holds a bound slot.
  uint32_t choose_joined() const;
  /// Whether an atom holds a slot that depends on a choice made so far.
  bool connected(uint32_t atom) const;
  /// About how many rows the next step has to look at if this atom is next.
  uint64_t rows_after(uint32_t atom);
  /// The fewest rows that some other atom has left once this row is chosen.
  uint32_t rows_left(uint32_t atom, const Value* cells);
  uint64_t num_candidates(uint32_t atom) const;
  Value value_of(const Term& term) const {
    return term.is_constant ? term.word : slots_[term.word];
  }
  Table& table(uint32_t atom) { return db_.functions[query_.atoms[atom].function].table; }

  Database& db_;
  const QueryPlan& plan_;
  const Query& query_;
  Evaluator& evaluator_;
  bool may_build_;
  bool follow_given_ = false;
  std::span<const RowRange> ranges_;
  const OnMatch* on_match_ = nullptr;
  OnFailure on_failure_;

  std::vector<Value> slots_;
  std::vector<AtomState> atoms_;
  std::vector<uint32_t> unbound_keys_;    // per atom
  std::vector<uint32_t> unbound_inputs_;  // per primitive
  std::vector<Change> trail_;
  std::vector<ColumnStep> steps_;  // of all atoms being tried, outermost first
  std::vector<uint32_t> bound_;    // slots in binding order
  std::vector<bool> fixed_;        // slots bound before the first choice
  size_t settled_ = 0;             // bound slots whose lookups and primitives are done
  size_t narrowed_ = 0;            // bound slots whose buckets are probed
  std::vector<Value> key_;
  std::vector<uint32_t> columns_;
  uint32_t num_done_ = 0;
  SearchMeter meter_;
};

}  // namespace luminal::egraph

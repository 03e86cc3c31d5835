#include "luminal/egraph/matcher.h"

#include <algorithm>

#include "luminal/egraph/query_shape.h"

namespace luminal::egraph {
namespace {

/// Scans longer than this, with several columns bound, are worth an index of all of them.
constexpr uint32_t kLongScan = 16;
/// How many rows of an atom are looked at to see where it leads.
constexpr uint32_t kLookAhead = 16;

}  // namespace

QueryPlan::QueryPlan(const Query& of)
    : query(&of),
      in_atoms(of.num_slots),
      in_primitives(of.num_slots),
      joined(of.num_slots, false),
      shared(of.needed) {
  shared.resize(of.num_slots, false);
  std::vector<uint32_t> uses(of.num_slots, 0);
  for (uint32_t a = 0; a < of.atoms.size(); ++a) {
    const auto& terms = of.atoms[a].terms;
    for (uint32_t c = 0; c < terms.size(); ++c) {
      if (terms[c].is_constant) continue;
      in_atoms[terms[c].word].push_back({a, c});
      ++uses[terms[c].word];
    }
  }
  for (uint32_t p = 0; p < of.primitives.size(); ++p) {
    for (const Term& term : of.primitives[p].inputs) {
      if (term.is_constant) continue;
      in_primitives[term.word].push_back(p);
      ++uses[term.word];
    }
    if (!of.primitives[p].output.is_constant) ++uses[of.primitives[p].output.word];
  }
  for (uint32_t s = 0; s < of.num_slots; ++s)
    if (uses[s] > 1) shared[s] = joined[s] = true;
}

bool QueryPlan::cyclic() const {
  std::call_once(asked_, [this] { cyclic_ = is_cyclic(*query); });
  return cyclic_;
}

Matcher::Matcher(Database& db, const QueryPlan& plan, Evaluator& evaluator, bool may_build_indexes,
                 const SearchLimit& limit)
    : db_(db),
      plan_(plan),
      query_(*plan.query),
      evaluator_(evaluator),
      may_build_(may_build_indexes),
      meter_(limit) {}

bool Matcher::run(std::span<const RowRange> ranges, const OnMatch& on_match) {
  return run(ranges, {}, on_match);
}

bool Matcher::run(std::span<const RowRange> ranges,
                  std::span<const std::pair<uint32_t, Value>> given, const OnMatch& on_match) {
  ranges_ = ranges;
  on_match_ = &on_match;
  return start(given) ? search() : true;
}

/// Only on a cycle is there a better way.
bool Matcher::lift_allowance() {
  if (plan_.cyclic()) return false;
  meter_.lift_allowance();
  return meter_.stop() == StopReason::kFinished;
}

bool Matcher::reject(uint32_t atom) {
  if (on_failure_) on_failure_(num_done_, atom);
  return false;
}

bool Matcher::start(std::span<const std::pair<uint32_t, Value>> given) {
  slots_.assign(query_.num_slots, kNoValue);
  atoms_.assign(query_.atoms.size(), AtomState{kNone, kNone, false});
  unbound_keys_.assign(query_.atoms.size(), 0);
  unbound_inputs_.assign(query_.primitives.size(), 0);
  trail_.clear();
  steps_.clear();
  bound_.clear();
  settled_ = narrowed_ = 0;
  num_done_ = 0;
  for (uint32_t a = 0; a < query_.atoms.size(); ++a) {
    const bool is_empty = ranges_[a].first >= std::min(ranges_[a].end, table(a).end_row());
    if (is_empty && !follow_given_) return reject(a);
    const auto& terms = query_.atoms[a].terms;
    for (size_t c = 0; c + 1 < terms.size(); ++c) unbound_keys_[a] += !terms[c].is_constant;
  }
  for (uint32_t p = 0; p < query_.primitives.size(); ++p)
    for (const Term& term : query_.primitives[p].inputs) unbound_inputs_[p] += !term.is_constant;
  for (const auto& [slot, value] : given)
    if (!bind(slot, value)) return false;
  for (uint32_t p = 0; p < query_.primitives.size(); ++p)
    if (unbound_inputs_[p] == 0 && !evaluate(p)) return false;
  for (uint32_t a = 0; a < query_.atoms.size(); ++a)
    if (unbound_keys_[a] == 0 && !look_up(a)) return false;
  for (uint32_t a = 0; a < query_.atoms.size() && !follow_given_; ++a) {
    const auto& terms = query_.atoms[a].terms;
    for (uint32_t c = 0; c < terms.size() && !atoms_[a].done; ++c)
      if (terms[c].is_constant && !narrow(a, c, terms[c].word)) return false;
  }
  if (!propagate()) return false;
  fixed_.assign(query_.num_slots, false);
  for (const uint32_t slot : bound_) fixed_[slot] = true;
  return true;
}

bool Matcher::bind(uint32_t slot, Value value) {
  if (slots_[slot] != kNoValue) return slots_[slot] == value;
  slots_[slot] = value;
  bound_.push_back(slot);
  return true;
}

/// Works off what new bindings imply: first everything that costs one step, then the buckets.
bool Matcher::propagate() {
  while (settled_ < bound_.size())
    if (!settle(bound_[settled_])) return false;
  for (; narrowed_ < bound_.size(); ++narrowed_) {
    const uint32_t slot = bound_[narrowed_];
    for (const auto& [atom, column] : plan_.in_atoms[slot])
      if (!atoms_[atom].done && !narrow(atom, column, slots_[slot])) return false;
  }
  return true;
}

/// Counts down what waits for a slot, all of it before anything can fail, then runs what is ready.
bool Matcher::settle(uint32_t slot) {
  ++settled_;
  for (const uint32_t primitive : plan_.in_primitives[slot]) --unbound_inputs_[primitive];
  for (const auto& [atom, column] : plan_.in_atoms[slot])
    if (column + 1 < query_.atoms[atom].terms.size()) --unbound_keys_[atom];
  uint32_t last = kNone;
  for (const uint32_t primitive : plan_.in_primitives[slot]) {
    if (primitive == last) continue;  // the slot is two inputs of it
    last = primitive;
    if (unbound_inputs_[primitive] == 0 && !evaluate(primitive)) return false;
  }
  for (const auto& [atom, column] : plan_.in_atoms[slot]) {
    const bool is_key = column + 1 < query_.atoms[atom].terms.size();
    if (is_key && unbound_keys_[atom] == 0 && !atoms_[atom].done && !look_up(atom)) return false;
  }
  return true;
}

bool Matcher::evaluate(uint32_t index) {
  const PrimitiveAtom& atom = query_.primitives[index];
  Value inputs[16];
  std::vector<Value> many;
  Value* args = inputs;
  if (atom.inputs.size() > std::size(inputs)) {
    many.resize(atom.inputs.size());
    args = many.data();
  }
  for (size_t i = 0; i < atom.inputs.size(); ++i) args[i] = value_of(atom.inputs[i]);
  meter_.add_call();
  const Value result = atom.primitive->body(evaluator_, {args, atom.inputs.size()});
  const auto number = static_cast<uint32_t>(query_.atoms.size() + index);
  if (result == kNoValue) return reject(number);
  if (atom.output.is_constant) return atom.output.word == result || reject(number);
  return bind(atom.output.word, result) || reject(number);
}

void Matcher::finish_atom(uint32_t atom) {
  trail_.push_back({atom, atoms_[atom]});
  atoms_[atom].done = true;
  ++num_done_;
}

bool Matcher::look_up(uint32_t atom) {
  const auto& terms = query_.atoms[atom].terms;
  const Table& rows = table(atom);
  key_.resize(terms.size());
  for (size_t c = 0; c + 1 < terms.size(); ++c) key_[c] = value_of(terms[c]);
  meter_.add_row();
  const uint32_t row = rows.find(key_.data());
  if (row == kNone || row < ranges_[atom].first || row >= ranges_[atom].end || !usable(rows, row))
    return reject(atom);
  const Term out = terms.back();
  const Value value = rows.value(row);
  if (out.is_constant ? out.word != value : (plan_.shared[out.word] && !bind(out.word, value)))
    return reject(atom);
  finish_atom(atom);
  return true;
}

const RowIndex* Matcher::index(Table& rows, uint32_t column) {
  if (const RowIndex* ready = rows.ready_index(column)) return ready;
  return may_build_ ? &rows.index(column) : nullptr;
}

std::span<const uint32_t> Matcher::clip(uint32_t atom, std::span<const uint32_t> rows) const {
  const RowRange& range = ranges_[atom];
  auto first = rows.begin();
  auto last = rows.end();
  if (range.first > 0) first = std::lower_bound(first, last, range.first);
  if (range.end != kNone) last = std::lower_bound(first, last, range.end);
  return {first, last};
}

bool Matcher::narrow(uint32_t atom, uint32_t column, Value value) {
  AtomState& state = atoms_[atom];
  if (state.best_size <= 1) return true;
  const RowIndex* rows = index(table(atom), column);
  if (rows == nullptr) return true;
  const auto size = static_cast<uint32_t>(clip(atom, rows->rows(value)).size());
  if (size == 0) return reject(atom);
  if (size >= state.best_size) return true;
  trail_.push_back({atom, state});
  state.best_size = size;
  state.best_column = column;
  return true;
}

uint64_t Matcher::num_candidates(uint32_t atom) const {
  if (atoms_[atom].best_size != kNone) return atoms_[atom].best_size;
  const Table& rows = db_.functions[query_.atoms[atom].function].table;
  return std::min(ranges_[atom].end, rows.end_row()) - ranges_[atom].first;
}

bool Matcher::connected(uint32_t atom) const {
  const auto& terms = query_.atoms[atom].terms;
  return std::any_of(terms.begin(), terms.end(), [&](const Term& term) {
    return !term.is_constant && slots_[term.word] != kNoValue && !fixed_[term.word];
  });
}

uint32_t Matcher::rows_left(uint32_t atom, const Value* cells) {
  const auto& terms = query_.atoms[atom].terms;
  uint32_t fewest = kNone;
  for (uint32_t c = 0; c < terms.size(); ++c) {
    const Value known = value_of(terms[c]);
    if (known != kNoValue) {
      if (known != cells[c]) return 0;
      continue;
    }
    for (const auto& [other, column] : plan_.in_atoms[terms[c].word]) {
      if (other == atom || atoms_[other].done) continue;
      const RowIndex* rows = index(table(other), column);
      if (rows == nullptr) continue;
      fewest = std::min(fewest, static_cast<uint32_t>(clip(other, rows->rows(cells[c])).size()));
    }
  }
  return fewest;
}

uint64_t Matcher::rows_after(uint32_t atom) {
  Table& rows = table(atom);
  std::span<const uint32_t> listed;
  uint64_t count = num_candidates(atom);
  if (atoms_[atom].best_column != kNone) {
    listed = bucket(atom);  // not by more columns: what is chosen must not depend on the threads
    count = listed.size();
  }
  const auto looks = std::min<uint64_t>(count, kLookAhead);
  uint64_t total = 0;
  for (uint64_t i = 0; i < looks; ++i) {
    const uint64_t place = i * count / looks;  // evenly: neighbours are alike
    const uint32_t row =
        listed.empty() ? ranges_[atom].first + static_cast<uint32_t>(place) : listed[place];
    meter_.add_row();
    if (usable(rows, row)) total += rows_left(atom, rows.row(row));
  }
  return looks == 0 ? 0 : total * count / looks;
}

uint32_t Matcher::choose_joined() const {
  uint32_t best = kNone;
  for (uint32_t a = 0; a < atoms_.size(); ++a) {
    const auto& terms = query_.atoms[a].terms;
    const bool is_joined = std::any_of(terms.begin(), terms.end(), [&](const Term& term) {
      return !term.is_constant && slots_[term.word] != kNoValue;
    });
    if (atoms_[a].done || !is_joined) continue;
    if (best == kNone || num_candidates(a) < num_candidates(best)) best = a;
  }
  return best;
}

// The fewest candidates come first, unless they have nothing to do with what was chosen before:
// every such choice multiplies the work that follows. Then they must lead to fewer rows than the
// best atom that continues what was begun.
uint32_t Matcher::choose() {
  uint32_t best = follow_given_ ? choose_joined() : kNone;
  if (best != kNone) return best;
  uint64_t best_cost = UINT64_MAX;
  for (uint32_t a = 0; a < atoms_.size(); ++a) {
    if (atoms_[a].done) continue;
    const uint64_t cost = num_candidates(a);
    if (cost >= best_cost) continue;
    best = a;
    best_cost = cost;
    if (cost <= 1) return best;
  }
  if (num_done_ + 2 >= atoms_.size() || connected(best)) return best;
  uint32_t next = kNone;
  for (uint32_t a = 0; a < atoms_.size(); ++a)
    if (!atoms_[a].done && connected(a) &&
        (next == kNone || num_candidates(a) < num_candidates(next)))
      next = a;
  if (next == kNone) return best;
  const uint64_t limit = num_candidates(next);
  best = next;
  best_cost = limit;
  for (uint32_t a = 0; a < atoms_.size(); ++a) {
    if (atoms_[a].done || num_candidates(a) >= limit || connected(a)) continue;
    const uint64_t cost = rows_after(a);
    if (cost >= best_cost) continue;
    best = a;
    best_cost = cost;
  }
  return best;
}

std::span<const uint32_t> Matcher::bucket(uint32_t atom) {
  const uint32_t column = atoms_[atom].best_column;
  const Value value = value_of(query_.atoms[atom].terms[column]);
  return clip(atom, index(table(atom), column)->rows(value));
}

std::span<const uint32_t> Matcher::candidates(uint32_t atom) {
  const auto& terms = query_.atoms[atom].terms;
  Table& rows = table(atom);
  const auto by_one = bucket(atom);
  if (!may_build_ || by_one.size() <= kLongScan) return by_one;
  columns_.clear();
  key_.clear();
  for (uint32_t c = 0; c < terms.size(); ++c) {
    const Value value = value_of(terms[c]);
    if (value == kNoValue) continue;
    columns_.push_back(c);
    key_.push_back(value);
  }
  if (columns_.size() < 2 || !rows.note_wasted(static_cast<uint32_t>(by_one.size()))) return by_one;
  const uint32_t hash = hash_words(key_.data(), static_cast<uint32_t>(key_.size()));
  return clip(atom, rows.index(columns_).rows(hash));
}

bool Matcher::plan_columns(uint32_t atom) {
  using Do = ColumnStep::Do;
  const auto& terms = query_.atoms[atom].terms;
  const size_t first = steps_.size();
  bool open = false;
  for (uint32_t c = 0; c < terms.size(); ++c) {
    const Value known = value_of(terms[c]);
    if (known != kNoValue) {
      steps_.push_back({Do::kCompare, c, known});
      continue;
    }
    const uint32_t slot = terms[c].word;
    if (!plan_.shared[slot]) continue;
    const auto same = [&](const ColumnStep& step) {
      return step.what == Do::kBind && step.word == slot;
    };
    const auto earlier =
        std::find_if(steps_.begin() + static_cast<ptrdiff_t>(first), steps_.end(), same);
    if (earlier != steps_.end()) {
      steps_.push_back({Do::kRepeat, c, earlier->column});
    } else {
      steps_.push_back({plan_.joined[slot] ? Do::kBind : Do::kStore, c, slot});
      open = true;
    }
  }
  // Comparisons first: a row that fails must not have bound anything.
  std::stable_partition(
      steps_.begin() + static_cast<ptrdiff_t>(first), steps_.end(),
      [](const ColumnStep& step) { return step.what == Do::kCompare || step.what == Do::kRepeat; });
  return open;
}

bool Matcher::match_row(std::span<const ColumnStep> steps, const Value* cells) {
  using Do = ColumnStep::Do;
  for (const ColumnStep& step : steps) {
    const Value cell = cells[step.column];
    switch (step.what) {
      case Do::kCompare:
        if (cell != step.word) return false;
        break;
      case Do::kRepeat:
        if (cell != cells[step.word]) return false;
        break;
      case Do::kBind:
        slots_[step.word] = cell;
        bound_.push_back(step.word);
        break;
      case Do::kStore:  // occurs nowhere else: nothing to propagate, nothing to undo
        slots_[step.word] = cell;
        break;
    }
  }
  return true;
}

/// Tries one row; returns false to stop the whole search.
bool Matcher::visit_row(uint32_t atom, size_t first_step, bool last, const Value* cells,
                        bool& found) {
  if (!count_row()) return false;
  const size_t slots = bound_.size();
  const std::span<const ColumnStep> steps(steps_.data() + first_step, steps_.size() - first_step);
  if (!match_row(steps, cells)) return true;
  found = true;
  if (last && bound_.size() == slots) return report();
  const size_t changes = trail_.size();
  finish_atom(atom);
  const bool go_on = !propagate() || search();
  undo(slots, changes);
  return go_on;
}

/// The innermost loop: the last atom binds nothing that others wait for, so a row that agrees is a
/// match.
bool Matcher::report_rows(std::span<const ColumnStep> steps, const Table& rows,
                          std::span<const uint32_t> candidates, bool open) {
  const bool check = !rows.all_visible();
  for (const uint32_t row : candidates) {
    if (check && !usable(rows, row)) continue;
    if (!count_row()) return false;
    if (!match_row(steps, rows.row(row))) continue;
    if (!report()) return false;
    if (!open) return true;
  }
  return true;
}

bool Matcher::try_rows(uint32_t atom) {
  using Do = ColumnStep::Do;
  Table& rows = table(atom);
  const size_t first_step = steps_.size();
  const bool open = plan_columns(atom);
  const bool last = num_done_ + 1 == atoms_.size();
  bool binds = false;
  for (size_t i = first_step; i < steps_.size(); ++i) binds |= steps_[i].what == Do::kBind;
  bool found = false;
  bool go_on = true;
  if (atoms_[atom].best_column == kNone) {
    const uint32_t end = std::min(ranges_[atom].end, rows.end_row());
    for (uint32_t row = ranges_[atom].first; row < end && go_on && (open || !found); ++row)
      if (usable(rows, row)) go_on = visit_row(atom, first_step, last, rows.row(row), found);
  } else if (last && !binds && !on_failure_) {
    go_on = report_rows({steps_.data() + first_step, steps_.size() - first_step}, rows,
                        candidates(atom), open);
    found = true;
  } else {
    for (const uint32_t row : candidates(atom)) {
      if (usable(rows, row)) go_on = visit_row(atom, first_step, last, rows.row(row), found);
      if (!go_on || (found && !open)) break;
    }
  }
  for (size_t i = first_step; i < steps_.size(); ++i)
    if (steps_[i].what == Do::kStore) slots_[steps_[i].word] = kNoValue;
  steps_.resize(first_step);
  if (!found) reject(atom);
  return go_on;
}

bool Matcher::search() {
  if (num_done_ == atoms_.size()) return report();
  return try_rows(choose());
}

void Matcher::undo(size_t slots, size_t changes) {
  while (bound_.size() > slots) {
    const uint32_t slot = bound_.back();
    bound_.pop_back();
    if (settled_ > bound_.size()) {
      settled_ = bound_.size();
      for (const uint32_t primitive : plan_.in_primitives[slot]) ++unbound_inputs_[primitive];
      for (const auto& [atom, column] : plan_.in_atoms[slot])
        if (column + 1 < query_.atoms[atom].terms.size()) ++unbound_keys_[atom];
    }
    slots_[slot] = kNoValue;
  }
  narrowed_ = std::min(narrowed_, bound_.size());
  while (trail_.size() > changes) {
    const Change& change = trail_.back();
    if (atoms_[change.atom].done && !change.before.done) --num_done_;
    atoms_[change.atom] = change.before;
    trail_.pop_back();
  }
}

}  // namespace luminal::egraph

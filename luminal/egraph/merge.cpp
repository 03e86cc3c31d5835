// Merge and rebuild: staged writes become rows, and unions are worked into every table.
#include <algorithm>
#include <utility>

#include "luminal/egraph/engine.h"
#include "luminal/support/check.h"

namespace luminal::egraph {
namespace {

/// Rows that a rebuild moves together, so that the latency of memory is paid once.
constexpr size_t kRebuildBatch = 32;
/// How many staged rows ahead their hash slots are fetched from memory.
constexpr size_t kPrefetchDistance = 12;
/// A scan looks at this many rows in the time that one displaced id takes through an index.
constexpr size_t kScanFactor = 32;

}  // namespace

void Engine::record_origin(FunctionId function, uint32_t row, uint32_t origin) {
  if (!db_.origins.enabled) return;
  auto& tables = db_.origins.by_function;
  if (tables.size() < db_.functions.size()) tables.resize(db_.functions.size());
  tables[function].resize(row + 1, kNone);
  tables[function][row] = origin;
}

bool Engine::merged_value(Function& function, Value old_value, Value new_value, Value& result) {
  result = old_value;
  const bool is_id = db_.sorts[function.output].is_id();
  // A primitive merge runs even for equal values: `(+ old new)` counts every write.
  const bool same =
      old_value == new_value || (is_id && db_.ids.find(old_value) == db_.ids.find(new_value));
  if (same && (function.merge != MergeKind::kProgram || function.merge_is_table_call)) return false;
  switch (function.merge) {
    case MergeKind::kUnion:
      result = db_.ids.join(old_value, new_value);
      return true;
    case MergeKind::kAssert:
      throw ProgramError(ProgramError::Kind::kRun,
                         "Illegal merge attempted for function " + function.name);
    case MergeKind::kOld:
      return false;
    case MergeKind::kNew:
      ++num_overwrites_;
      result = new_value;
      return true;
    case MergeKind::kProgram:
      break;
  }
  const Value inputs[] = {old_value, new_value};
  const Term term = function.merge_result;
  const auto program = function.merge_program;  // staging may move the function
  execute(*program, inputs);
  result = value_after(term);
  if (is_id) result = db_.ids.find(result);
  return result != old_value;
}

bool Engine::insert(FunctionId id, Value* row, bool subsumed, uint32_t origin, uint32_t hash) {
  Function& function = db_.functions[id];
  const uint32_t known = function.table.find(row, hash);
  if (known == kNone) {
    record_origin(id, function.table.append_new(row, subsumed, db_.epoch, hash), origin);
    return true;
  }
  const Value old_value = function.table.value(known);
  const bool was_subsumed = function.table.subsumed(known);
  const uint32_t num_keys = function.table.num_keys();
  Value result;
  const bool changed = merged_value(function, old_value, row[num_keys], result);
  const bool now_subsumed = was_subsumed || subsumed;
  if (result != old_value || now_subsumed != was_subsumed) {
    row[num_keys] = result;
    record_origin(id, db_.functions[id].table.append(row, now_subsumed, db_.epoch, hash), origin);
    return true;
  }
  return changed;
}

bool Engine::merge_table(FunctionId id) {
  StagedWrites writes;
  std::swap(writes, staged_[id]);
  const uint32_t num_keys = db_.functions[id].table.num_keys();
  for (uint32_t d = 0; d < writes.num_deletes; ++d) {
    Table& table = db_.functions[id].table;
    // A row that this batch wrote stays: deletions come first, whatever the order of matches.
    const Value* keys = writes.deletes.data() + size_t{d} * num_keys;
    const uint32_t row = find_frozen(table, keys, table.hash(keys));
    if (row != kNone) table.erase(row);
  }
  bool changed = false;
  for (size_t r = 0; r < writes.subsumed.size(); ++r) {
    if (r + kPrefetchDistance < writes.hashes.size())
      db_.functions[id].table.prefetch(writes.hashes[r + kPrefetchDistance]);
    const uint32_t origin = r < writes.origins.size() ? writes.origins[r] : kNone;
    changed |= insert(id, writes.rows.data() + r * (num_keys + 1), writes.subsumed[r] != 0, origin,
                      writes.hashes[r]);
  }
  compact(id);
  // Give the buffers back, so that the next iteration need not allocate them again.
  writes.rows.clear();
  writes.subsumed.clear();
  writes.hashes.clear();
  writes.origins.clear();
  writes.deletes.clear();
  writes.num_deletes = 0;
  if (staged_[id].empty()) std::swap(writes, staged_[id]);
  return changed;
}

bool Engine::merge() {
  bool changed = std::exchange(wrote_new_, false);
  for (const auto& [a, b] : unions_) {
    if (db_.ids.find(a) == db_.ids.find(b)) continue;
    db_.ids.join(a, b);
    changed = true;
  }
  unions_.clear();
  while (!touched_.empty()) {
    std::vector<FunctionId> tables;
    tables.swap(touched_);
    std::sort(tables.begin(), tables.end());
    tables.erase(std::unique(tables.begin(), tables.end()), tables.end());
    for (size_t i = 0; i < tables.size(); ++i) {
      try {
        changed |= merge_table(tables[i]);
      } catch (...) {  // an illegal merge loses the rest of its own table only
        touched_.insert(touched_.end(), tables.begin() + static_cast<ptrdiff_t>(i) + 1,
                        tables.end());
        ++db_.epoch;  // what is written from now on is another batch
        throw;
      }
    }
    for (const auto& [a, b] : unions_) {
      changed |= db_.ids.find(a) != db_.ids.find(b);
      db_.ids.join(a, b);
    }
    unions_.clear();
    changed |= std::exchange(wrote_new_, false);
  }
  return changed;
}

bool Engine::flush() {
  const bool changed = merge();
  ++db_.epoch;
  rebuild();
  return changed;
}

/// Rows that mention a displaced id: by index where few ids moved and the indexes are nearly up to
/// date, else by a scan that asks a bitmap, which fits the cache where the union-find does not.
std::vector<uint32_t> Engine::rows_to_rebuild(FunctionId id, std::span<const uint32_t> columns,
                                              std::span<const Value> displaced,
                                              const std::vector<bool>& moved) {
  Table& table = db_.functions[id].table;
  std::vector<uint32_t> rows;
  uint32_t behind = 0;
  for (const uint32_t column : columns) behind += table.rows_behind(column);
  if (displaced.size() * kScanFactor <= table.num_live() && table.scans_cost_more(behind)) {
    for (const uint32_t column : columns) {
      const RowIndex& index = table.index(column);
      for (const Value value : displaced) {
        const auto found = index.rows(value);
        rows.insert(rows.end(), found.begin(), found.end());
      }
    }
    std::sort(rows.begin(), rows.end());
    rows.erase(std::unique(rows.begin(), rows.end()), rows.end());
    return rows;
  }
  for (uint32_t row = 0; row < table.end_row(); ++row) {
    if (!table.live(row)) continue;
    const Value* cells = table.row(row);
    const bool stale = std::any_of(columns.begin(), columns.end(),
                                   [&](uint32_t column) { return moved[cells[column]]; });
    if (stale) rows.push_back(row);
  }
  return rows;
}

bool Engine::canonicalise(std::span<const uint32_t> columns, Value* cells) {
  bool moved = false;
  for (const uint32_t c : columns) {
    const Value leader = db_.ids.find(cells[c]);
    moved |= leader != cells[c];
    cells[c] = leader;
  }
  return moved;
}

/// Puts the row `to` in the place of row `from`.
void Engine::move_row(FunctionId id, uint32_t from, uint32_t from_hash, Value* to,
                      uint32_t to_hash) {
  Table& table = db_.functions[id].table;
  const bool subsumed = table.subsumed(from);
  uint32_t origin = kNone;
  if (db_.origins.enabled && id < db_.origins.by_function.size() &&
      from < db_.origins.by_function[id].size())
    origin = db_.origins.by_function[id][from];
  const Value* old = table.row(from);
  const bool same_keys = std::equal(old, old + table.num_keys(), to);
  table.erase(from, from_hash);
  if (same_keys) {
    record_origin(id, table.append_new(to, subsumed, db_.epoch, to_hash), origin);
  } else {
    insert(id, to, subsumed, origin, to_hash);
  }
}

void Engine::rebuild_table(FunctionId id, std::span<const Value> displaced,
                           const std::vector<bool>& moved_ids) {
  const uint32_t num_columns = db_.functions[id].table.num_columns();
  if (db_.functions[id].table.num_live() == 0) return;
  std::vector<uint32_t> columns;
  for (uint32_t c = 0; c < num_columns; ++c)
    if (db_.sorts[db_.functions[id].column_sort(c)].is_id()) columns.push_back(c);
  const std::vector<uint32_t> rows = rows_to_rebuild(id, columns, displaced, moved_ids);
  std::vector<Value> batch(kRebuildBatch * num_columns);
  uint32_t from_hash[kRebuildBatch];
  uint32_t to_hash[kRebuildBatch];
  for (size_t start = 0; start < rows.size(); start += kRebuildBatch) {
    const size_t count = std::min(kRebuildBatch, rows.size() - start);
    // Where the rows are now, and where they will be; then what is there; then the moves.
    for (size_t i = 0; i < count; ++i) {
      const Table& table = db_.functions[id].table;
      Value* cells = batch.data() + i * num_columns;
      std::copy_n(table.row(rows[start + i]), num_columns, cells);
      from_hash[i] = table.hash(cells);
      canonicalise(columns, cells);
      to_hash[i] = table.hash(cells);
      table.prefetch(from_hash[i]);
      table.prefetch(to_hash[i]);
    }
    for (size_t i = 0; i < count; ++i) db_.functions[id].table.prefetch_row(to_hash[i]);
    for (size_t i = 0; i < count; ++i) {
      const Table& table = db_.functions[id].table;
      Value* cells = batch.data() + i * num_columns;
      const uint32_t row = rows[start + i];
      if (!table.live(row)) continue;
      // A move of this batch may have joined classes.
      if (canonicalise(columns, cells)) to_hash[i] = table.hash(cells);
      if (std::equal(cells, cells + num_columns, table.row(row))) continue;
      move_row(id, row, from_hash[i], cells, to_hash[i]);
    }
  }
  compact(id);
}

/// Rows whose containers changed in place look the same but mean something else: they are new.
void Engine::refresh_rows_holding(std::span<const Value> changed) {
  for (FunctionId id = 0; id < db_.functions.size(); ++id) {
    Function& function = db_.functions[id];
    Table& table = function.table;
    std::vector<uint32_t> rows;
    for (uint32_t c = 0; c < table.num_columns(); ++c) {
      if (!db_.sorts[function.column_sort(c)].is_container()) continue;
      const RowIndex& index = table.index(c);
      for (Value value : changed) {
        const auto found = index.rows(value);
        rows.insert(rows.end(), found.begin(), found.end());
      }
    }
    std::sort(rows.begin(), rows.end());
    rows.erase(std::unique(rows.begin(), rows.end()), rows.end());
    for (const uint32_t r : rows) {
      if (!table.live(r)) continue;
      const std::vector<Value> cells(table.row(r), table.row(r) + table.num_columns());
      record_origin(id, table.append(cells.data(), table.subsumed(r), db_.epoch), kNone);
    }
    compact(id);
  }
}

void Engine::rebuild() {
  while (db_.ids.displaced().size() > db_.rebuilt_unions) {
    std::vector<Value> changed;
    db_.containers.rebuild(db_.sorts, db_.ids, changed);
    const auto all = db_.ids.displaced();
    const std::vector<Value> displaced(all.begin() + db_.rebuilt_unions, all.end());
    db_.rebuilt_unions = static_cast<uint32_t>(all.size());
    // Bits are kept per id, not per displaced id: later unions of this pass are the next pass's.
    std::vector<bool> moved(db_.ids.size(), false);
    for (const Value value : displaced) moved[value] = true;
    for (FunctionId id = 0; id < db_.functions.size(); ++id)
      if (db_.functions[id].has_ids) rebuild_table(id, displaced, moved);
    if (!changed.empty()) {
      db_.containers.add_holders(db_.sorts, changed);
      refresh_rows_holding(changed);
    }
    merge();
    ++db_.epoch;
  }
}

void Engine::compact(FunctionId id) {
  if (!db_.origins.enabled) {
    db_.functions[id].table.compact_if_sparse();
    return;
  }
  std::vector<uint32_t> kept;
  if (!db_.functions[id].table.compact_if_sparse(&kept)) return;
  if (id >= db_.origins.by_function.size()) return;
  auto& origins = db_.origins.by_function[id];
  std::vector<uint32_t> moved;
  for (const uint32_t row : kept) moved.push_back(row < origins.size() ? origins[row] : kNone);
  origins = std::move(moved);
}

}  // namespace luminal::egraph

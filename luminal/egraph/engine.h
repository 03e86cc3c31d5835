// The engine: runs programs into staging buffers, merges them into the tables, and rebuilds
// congruence. Nothing staged is visible to matching before the merge, so an iteration sees one
// frozen database.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "luminal/egraph/database.h"
#include "luminal/egraph/head_batch.h"
#include "luminal/egraph/matcher.h"

namespace luminal::egraph {

/// Writes to one table that wait for the merge. New constructor rows are not among them: see
/// Engine::write_new.
struct StagedWrites {
  std::vector<Value> rows;        // whole rows, one after the other
  std::vector<uint8_t> subsumed;  // one flag per row
  std::vector<uint32_t> hashes;   // one hash of the keys per row
  std::vector<uint32_t> origins;  // one match per row, if origins are recorded
  std::vector<Value> deletes;     // keys
  uint32_t num_deletes = 0;

  bool empty() const { return subsumed.empty() && num_deletes == 0; }
};

/// Staged writes of all tables, and unions, which a merge applies.
class Engine : public Evaluator {
 public:
  explicit Engine(Database& db);

  /// Runs a program with its first slots given. Throws ProgramError (run) when a lookup or
  /// primitive has no value or a panic is reached; what was staged before stays staged.
  void execute(const Program& program, std::span<const Value> inputs);
  /// Runs a program for `count` matches of `width` values each, in batches where it can: ids are
  /// then made in the order of instructions within a batch of matches.
  void execute_all(const Program& program, const Value* matches, uint32_t width, uint64_t count);
  /// The value of a term after execute.
  Value value_after(const Term& term) const {
    return term.is_constant ? term.word : slots_[term.word];
  }

  /// Applies everything staged. Returns whether a row was added or changed or two classes joined.
  bool merge();
  /// Restores congruence after unions.
  void rebuild();
  /// Merge, a new epoch, and a rebuild if there were unions: what every command of the top level
  /// ends with. Returns what merge returned.
  bool flush();

  /// Inserts one row now, as merge would. For bulk loading of terms.
  void stage_row(FunctionId function, std::span<const Value> row, bool subsumed);
  /// Looks a constructor row up, or stages it with a fresh id.
  Value stage_constructor(FunctionId function, std::span<const Value> keys);
  void stage_delete(FunctionId function, std::span<const Value> keys);

  Value call(const FunctionTarget& target, std::span<const Value> args) override;
  void join(Value a, Value b) override;
  void set(const FunctionTarget& target, std::span<const Value> keys, Value value) override;
  void remove(const FunctionTarget& target, std::span<const Value> keys) override;

  /// While matching, calls of function values only read.
  void set_read_only(bool read_only) { read_only_ = read_only; }
  /// The match that staged rows are credited to, kNone for none.
  void set_origin(uint32_t match) { origin_ = match; }
  /// Reports every value that `:merge new` replaced by a different one.
  uint64_t num_overwrites() const { return num_overwrites_; }
  /// Forgets everything staged, after the database was replaced as a whole.
  void reset();

 private:
  void execute_batch(const Program& program);
  StagedWrites& staged(FunctionId function);
  /// Appends a constructor row whose keys are absent. Matching is over when programs run, so the
  /// row can go straight into its table; its epoch tells it from the rows of the frozen database.
  void write_new(FunctionId function, const Value* cells, bool subsumed, uint32_t hash);
  void stage_row(FunctionId function, const Value* row, bool subsumed, uint32_t hash);
  Value stage_constructor(FunctionId function, const Value* keys, uint32_t hash);
  /// The row with these keys that was there before this batch of writes, or kNone.
  uint32_t find_frozen(const Table& table, const Value* keys, uint32_t hash) const;
  /// Appends `keys` and `value` to the staged rows.
  void stage(FunctionId function, const Value* keys, Value value, bool subsumed, uint32_t hash);
  bool subsume(FunctionId function, std::span<const Value> keys);
  Value run_instruction(const Program& program, size_t index, std::span<const Value> args);

  bool merge_table(FunctionId function);
  bool insert(FunctionId function, Value* row, bool subsumed, uint32_t origin, uint32_t hash);
  bool merged_value(Function& function, Value old_value, Value new_value, Value& result);
  void record_origin(FunctionId function, uint32_t row, uint32_t origin);
  std::vector<uint32_t> rows_to_rebuild(FunctionId function, std::span<const uint32_t> columns,
                                        std::span<const Value> displaced,
                                        const std::vector<bool>& moved);
  /// Puts leaders into the id columns of a row. Returns whether it changed.
  bool canonicalise(std::span<const uint32_t> columns, Value* cells);
  void move_row(FunctionId function, uint32_t from, uint32_t from_hash, Value* to,
                uint32_t to_hash);
  void rebuild_table(FunctionId function, std::span<const Value> displaced,
                     const std::vector<bool>& moved);
  void refresh_rows_holding(std::span<const Value> changed);
  void compact(FunctionId function);

  Database& db_;
  std::vector<StagedWrites> staged_;
  std::vector<FunctionId> touched_;
  std::vector<Value> slots_;
  std::vector<Value> args_;
  std::vector<Value> cells_;  // a row on its way into a table
  HeadBatch batch_;
  std::vector<std::pair<Value, Value>> unions_;
  uint32_t origin_ = kNone;
  uint64_t num_overwrites_ = 0;
  bool read_only_ = false;
  bool wrote_new_ = false;  // since the last merge
};

}  // namespace luminal::egraph

// Staging: programs run here, and their writes wait in per-table buffers.
#include "luminal/egraph/engine.h"

#include <algorithm>

#include "luminal/support/check.h"

namespace luminal::egraph {

Engine::Engine(Database& db) : Evaluator(*db.values, db.containers, db.ids), db_(db) {}

void Engine::reset() {
  staged_.clear();
  touched_.clear();
  unions_.clear();
}

StagedWrites& Engine::staged(FunctionId function) {
  if (staged_.size() < db_.functions.size()) staged_.resize(db_.functions.size());
  StagedWrites& writes = staged_[function];
  if (writes.empty()) touched_.push_back(function);
  return writes;
}

uint32_t Engine::find_pending(FunctionId function, const Value* keys, uint32_t hash) const {
  if (function >= staged_.size() || staged_[function].pending.empty()) return kNone;
  const StagedWrites& writes = staged_[function];
  const Table& table = db_.functions[function].table;
  const size_t mask = writes.pending.size() - 1;
  for (size_t at = hash & mask;; at = (at + 1) & mask) {
    const PendingRow& slot = writes.pending[at];
    if (slot.row == kNone) return kNone;
    if (slot.hash == hash && std::equal(keys, keys + table.num_keys(),
                                        &writes.rows[size_t{slot.row} * table.num_columns()]))
      return slot.row;
  }
}

void Engine::add_pending(StagedWrites& writes, uint32_t row) {
  const auto put = [&](uint32_t r) {
    const size_t mask = writes.pending.size() - 1;
    size_t at = writes.hashes[r] & mask;
    while (writes.pending[at].row != kNone) at = (at + 1) & mask;
    writes.pending[at] = {writes.hashes[r], r};
  };
  if (writes.subsumed.size() * 2 >= writes.pending.size()) {
    // Later rows of one key only join ids with the first, so listing all of them is harmless.
    writes.pending.assign(std::max<size_t>(16, writes.pending.size() * 4), PendingRow{});
    for (uint32_t r = 0; r < writes.subsumed.size(); ++r) put(r);
    return;
  }
  put(row);
}

void Engine::stage(FunctionId function, const Value* keys, Value value, bool subsumed,
                   uint32_t hash) {
  StagedWrites& writes = staged(function);
  const Function& info = db_.functions[function];
  const auto index = static_cast<uint32_t>(writes.subsumed.size());
  writes.rows.insert(writes.rows.end(), keys, keys + info.table.num_keys());
  writes.rows.push_back(value);
  writes.subsumed.push_back(subsumed ? 1 : 0);
  writes.hashes.push_back(hash);
  if (db_.origins.enabled) writes.origins.push_back(origin_);
  if (!info.is_function()) add_pending(writes, index);
}

void Engine::stage_row(FunctionId function, std::span<const Value> row, bool subsumed) {
  stage(function, row.data(), row.back(), subsumed, db_.functions[function].table.hash(row.data()));
}

Value Engine::stage_constructor(FunctionId function, std::span<const Value> keys) {
  const Table& table = db_.functions[function].table;
  const uint32_t hash = table.hash(keys.data());
  const uint32_t row = table.find(keys.data(), hash);
  if (row != kNone) return table.value(row);
  const uint32_t pending = find_pending(function, keys.data(), hash);
  if (pending != kNone)
    return staged_[function].rows[size_t{pending} * table.num_columns() + table.num_keys()];
  const Value id = db_.ids.make();
  stage(function, keys.data(), id, false, hash);
  return id;
}

void Engine::stage_delete(FunctionId function, std::span<const Value> keys) {
  StagedWrites& writes = staged(function);
  writes.deletes.insert(writes.deletes.end(), keys.begin(), keys.end());
  ++writes.num_deletes;
}

/// Returns whether the program goes on. As in the original, subsuming a row that is not in the
/// database ends the match: the row is written already subsumed, unless the same batch wrote it.
bool Engine::subsume(FunctionId function, std::span<const Value> keys) {
  const Table& table = db_.functions[function].table;
  const uint32_t hash = table.hash(keys.data());
  const uint32_t row = table.find(keys.data(), hash);
  if (row != kNone) {
    stage(function, keys.data(), table.value(row), true, hash);
    return true;
  }
  if (find_pending(function, keys.data(), hash) == kNone)
    stage(function, keys.data(), db_.ids.make(), true, hash);
  return false;
}

void Engine::join(Value a, Value b) { unions_.push_back({a, b}); }

void Engine::set(const FunctionTarget& target, std::span<const Value> keys, Value value) {
  std::vector<Value> cells(keys.begin(), keys.end());
  cells.push_back(value);
  stage_row(target.function, cells, false);
}

void Engine::remove(const FunctionTarget& target, std::span<const Value> keys) {
  stage_delete(target.function, keys);
}

Value Engine::call(const FunctionTarget& target, std::span<const Value> args) {
  if (target.primitive != kNone) return db_.primitives[target.primitive].body(*this, args);
  const Function& function = db_.functions[target.function];
  const bool predicate = target.output == kUnitSort && function.output != kUnitSort;
  if (!function.is_function() && !read_only_ && !predicate)
    return stage_constructor(target.function, args);
  const uint32_t row = function.table.find(args.data());
  if (row == kNone) return kNoValue;
  return predicate ? kUnitValue : function.table.value(row);
}

/// The instruction's value; kNoValue ends the program early.
Value Engine::run_instruction(const Program& program, size_t index, std::span<const Value> args) {
  using Op = Instruction::Op;
  const Instruction& step = program.code[index];
  switch (step.op) {
    case Op::kLookupOrInsert:
      return stage_constructor(step.target, args);
    case Op::kLookup: {
      const Table& table = db_.functions[step.target].table;
      const uint32_t row = table.find(args.data());
      if (row == kNone) throw ProgramError(ProgramError::Kind::kRun, program.error_sites[index]);
      return table.value(row);
    }
    case Op::kPrimitive: {
      const Value result = program.primitives[step.target]->body(*this, args);
      if (result == kNoValue)
        throw ProgramError(ProgramError::Kind::kRun, program.error_sites[index]);
      return result;
    }
    case Op::kInsert:
    case Op::kSet:
      stage_row(step.target, args, false);
      return kUnitValue;
    case Op::kUnion:
      join(args[0], args[1]);
      return kUnitValue;
    case Op::kDelete:
      stage_delete(step.target, args);
      return kUnitValue;
    case Op::kSubsume:
      return subsume(step.target, args) ? kUnitValue : kNoValue;
    case Op::kPanic:
      throw ProgramError(ProgramError::Kind::kRun, "Panic: " + program.messages[step.target]);
  }
  return kNoValue;
}

void Engine::prefetch(const Program& program, std::span<const Value> inputs) const {
  constexpr uint32_t kMaxKeys = 8;
  if (program.code.empty()) return;
  const Instruction& step = program.code[0];
  if (step.op != Instruction::Op::kLookupOrInsert || step.count > kMaxKeys) return;
  Value keys[kMaxKeys];
  for (uint32_t a = 0; a < step.count; ++a) {
    const Term& term = program.terms[step.first + a];
    keys[a] = term.is_constant ? term.word : inputs[term.word];
  }
  const Table& table = db_.functions[step.target].table;
  const uint32_t hash = table.hash(keys);
  table.prefetch(hash);
  if (step.target >= staged_.size() || staged_[step.target].pending.empty()) return;
  const auto& pending = staged_[step.target].pending;
  __builtin_prefetch(&pending[hash & (pending.size() - 1)]);
}

void Engine::execute(const Program& program, std::span<const Value> inputs) {
  slots_.resize(program.num_slots);
  std::copy(inputs.begin(), inputs.end(), slots_.begin());
  for (size_t i = 0; i < program.code.size(); ++i) {
    const Instruction& step = program.code[i];
    args_.resize(step.count);
    for (uint32_t a = 0; a < step.count; ++a) {
      const Term& term = program.terms[step.first + a];
      args_[a] = term.is_constant ? term.word : slots_[term.word];
    }
    const Value result = run_instruction(program, i, args_);
    if (result == kNoValue) return;
    slots_[step.result] = result;
  }
}

}  // namespace luminal::egraph

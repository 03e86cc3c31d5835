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

uint32_t Engine::find_pending(const StagedWrites& writes, uint32_t num_keys, uint32_t num_columns,
                              std::span<const Value> keys) const {
  if (writes.pending.empty()) return kNone;
  const size_t mask = writes.pending.size() - 1;
  for (size_t at = hash_words(keys.data(), num_keys) & mask;; at = (at + 1) & mask) {
    if (writes.pending[at] == 0) return kNone;
    const uint32_t row = writes.pending[at] - 1;
    if (std::equal(keys.begin(), keys.begin() + num_keys, &writes.rows[size_t{row} * num_columns]))
      return row;
  }
}

void Engine::add_pending(StagedWrites& writes, uint32_t num_keys, uint32_t num_columns,
                         uint32_t row) {
  const auto put = [&](uint32_t r) {
    const size_t mask = writes.pending.size() - 1;
    size_t at = hash_words(&writes.rows[size_t{r} * num_columns], num_keys) & mask;
    while (writes.pending[at] != 0) at = (at + 1) & mask;
    writes.pending[at] = r + 1;
  };
  if (writes.subsumed.size() * 2 >= writes.pending.size()) {
    // Later rows of one key only join ids with the first, so listing all of them is harmless.
    writes.pending.assign(std::max<size_t>(16, writes.pending.size() * 4), 0);
    for (uint32_t r = 0; r < writes.subsumed.size(); ++r) put(r);
    return;
  }
  put(row);
}

void Engine::stage_row(FunctionId function, std::span<const Value> row, bool subsumed) {
  StagedWrites& writes = staged(function);
  const auto index = static_cast<uint32_t>(writes.subsumed.size());
  writes.rows.insert(writes.rows.end(), row.begin(), row.end());
  writes.subsumed.push_back(subsumed ? 1 : 0);
  if (db_.origins.enabled) writes.origins.push_back(origin_);
  const Function& info = db_.functions[function];
  if (!info.is_function())
    add_pending(writes, info.table.num_keys(), info.table.num_columns(), index);
}

Value Engine::stage_constructor(FunctionId function, std::span<const Value> keys) {
  const Table& table = db_.functions[function].table;
  const uint32_t row = table.find(keys.data());
  if (row != kNone) return table.value(row);
  if (function < staged_.size()) {
    const StagedWrites& writes = staged_[function];
    const uint32_t pending = find_pending(writes, table.num_keys(), table.num_columns(), keys);
    if (pending != kNone)
      return writes.rows[size_t{pending} * table.num_columns() + table.num_keys()];
  }
  std::vector<Value> cells(keys.begin(), keys.end());
  cells.push_back(db_.ids.make());
  stage_row(function, cells, false);
  return cells.back();
}

void Engine::stage_delete(FunctionId function, std::span<const Value> keys) {
  StagedWrites& writes = staged(function);
  writes.deletes.insert(writes.deletes.end(), keys.begin(), keys.end());
  ++writes.num_deletes;
}

void Engine::subsume(FunctionId function, std::span<const Value> keys) {
  std::vector<Value> cells(keys.begin(), keys.end());
  cells.push_back(stage_constructor(function, keys));
  stage_row(function, cells, true);
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
      subsume(step.target, args);
      return kUnitValue;
    case Op::kPanic:
      throw ProgramError(ProgramError::Kind::kRun, "Panic: " + program.messages[step.target]);
  }
  return kNoValue;
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
    slots_[step.result] = result;
  }
}

}  // namespace luminal::egraph

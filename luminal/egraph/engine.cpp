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
  wrote_new_ = false;
}

StagedWrites& Engine::staged(FunctionId function) {
  if (staged_.size() < db_.functions.size()) staged_.resize(db_.functions.size());
  StagedWrites& writes = staged_[function];
  if (writes.empty()) touched_.push_back(function);
  return writes;
}

void Engine::write_new(FunctionId function, const Value* cells, bool subsumed, uint32_t hash) {
  Table& table = db_.functions[function].table;
  record_origin(function, table.append_new(cells, subsumed, db_.epoch, hash), origin_);
  wrote_new_ = true;
}

uint32_t Engine::find_frozen(const Table& table, const Value* keys, uint32_t hash) const {
  const uint32_t row = table.find(keys, hash);
  return row != kNone && row < table.first_row_since(db_.epoch) ? row : kNone;
}

void Engine::stage(FunctionId function, const Value* keys, Value value, bool subsumed,
                   uint32_t hash) {
  StagedWrites& writes = staged(function);
  const Function& info = db_.functions[function];
  writes.rows.insert(writes.rows.end(), keys, keys + info.table.num_keys());
  writes.rows.push_back(value);
  writes.subsumed.push_back(subsumed ? 1 : 0);
  writes.hashes.push_back(hash);
  if (db_.origins.enabled) writes.origins.push_back(origin_);
}

void Engine::stage_row(FunctionId function, std::span<const Value> row, bool subsumed) {
  stage_row(function, row.data(), subsumed, db_.functions[function].table.hash(row.data()));
}

void Engine::stage_row(FunctionId function, const Value* row, bool subsumed, uint32_t hash) {
  const Function& info = db_.functions[function];
  if (!info.is_function() && info.table.find(row, hash) == kNone) {
    write_new(function, row, subsumed, hash);
  } else {
    stage(function, row, row[info.table.num_keys()], subsumed, hash);
  }
}

Value Engine::stage_constructor(FunctionId function, std::span<const Value> keys) {
  return stage_constructor(function, keys.data(), db_.functions[function].table.hash(keys.data()));
}

Value Engine::stage_constructor(FunctionId function, const Value* keys, uint32_t hash) {
  const Table& table = db_.functions[function].table;
  const uint32_t row = table.find(keys, hash);
  if (row != kNone) return table.value(row);
  const Value id = db_.ids.make();
  cells_.assign(keys, keys + table.num_keys());
  cells_.push_back(id);
  write_new(function, cells_.data(), false, hash);
  return id;
}

void Engine::stage_delete(FunctionId function, std::span<const Value> keys) {
  db_.functions[function].deletable = true;
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
  if (row == kNone) {
    cells_.assign(keys.begin(), keys.end());
    cells_.push_back(db_.ids.make());
    write_new(function, cells_.data(), true, hash);
    return false;
  }
  if (row >= table.first_row_since(db_.epoch)) return false;
  stage(function, keys.data(), table.value(row), true, hash);
  return true;
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
  const Table& table = function.table;
  const uint32_t row = find_frozen(table, args.data(), table.hash(args.data()));
  if (row == kNone) return kNoValue;
  return predicate ? kUnitValue : table.value(row);
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

void Engine::execute_batch(const Program& program) {
  for (const Instruction& step : program.code) {
    batch_.gather(program, step);
    if (step.op == Instruction::Op::kUnion) {
      for (uint32_t m = 0; m < batch_.count; ++m) join(batch_.args[m][0], batch_.args[m][1]);
      continue;
    }
    batch_.fetch(db_.functions[step.target].table);
    for (uint32_t m = 0; m < batch_.count; ++m) {
      if (step.op == Instruction::Op::kInsert) {
        stage_row(step.target, batch_.args[m], false, batch_.hashes[m]);
      } else {
        batch_.result(m, step) = stage_constructor(step.target, batch_.args[m], batch_.hashes[m]);
      }
    }
  }
}

void Engine::execute_all(const Program& program, const Value* matches, uint32_t width,
                         uint64_t count) {
  if (!HeadBatch::fits(program)) {
    for (uint64_t m = 0; m < count; ++m) execute(program, {matches + m * width, width});
    return;
  }
  for (uint64_t m = 0; m < count; m += HeadBatch::kSize) {
    const uint64_t rest = std::min<uint64_t>(HeadBatch::kSize, count - m);
    batch_.start(matches + m * width, width, static_cast<uint32_t>(rest));
    execute_batch(program);
  }
}

}  // namespace luminal::egraph

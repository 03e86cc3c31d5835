#include "luminal/codegen/llvm/attention_emitter.h"

namespace luminal::codegen {

using graph::DType;
using llvm::Value;

void AttentionEmitter::emit() {
  const EntryArguments entry = begin("attention");
  scratch_ = entry.scratch;
  Value* queries = body_.index(code_.queries());
  Value* blocks = body_.index(code_.query_blocks());
  builder_.loop(entry.begin, entry.end, builder_.index(1), [&](Value* item) {
    const BodyCode::Scope scope(body_);
    body_.set_axes(plan_.rows, ir_.CreateSDiv(item, blocks));
    first_query_ = ir_.CreateMul(ir_.CreateSRem(item, blocks), number(schedule_.query_block));
    query_count_ = least(number(schedule_.query_block), ir_.CreateSub(queries, first_query_));
    emit_item();
  });
  ir_.CreateRetVoid();
}

/// A block of queries and all of their keys.
void AttentionEmitter::emit_item() {
  pack_queries();
  fill(at_.maxima, schedule_.query_block, -kInfinity);
  fill(at_.totals, schedule_.query_block, 0);
  fill(at_.results, schedule_.query_block * code_.padded_depth(), 0);
  const std::pair<Value*, Value*> keys = key_range({first_query_, query_count_});
  builder_.loop(keys.first, keys.second, number(schedule_.key_block), [&](Value* key) {
    const BodyCode::Scope scope(body_);
    Value* count = least(number(schedule_.key_block), ir_.CreateSub(keys.second, key));
    if (schedule_.pack_keys) pack_keys(key, count);
    meet(key, count);
  });
  finish();
}

void AttentionEmitter::meet(Value* key, Value* count) {
  multiply_keys(key, count);
  weigh(number(0), query_count_, key, count);
  rescale();
  if (schedule_.pack_values) pack_values(key, count);
  multiply_values(key, count);
}

void AttentionEmitter::fill(int64_t part, int64_t count, double value) {
  builder_.loop(number(0), number(count), number(lanes_),
                [&](Value* i) { builder_.store(constant(value), place(part, scaled(i, 4))); });
}

Value* AttentionEmitter::vector_place(int64_t part, int64_t rows, Value* query) {
  Value* panel = ir_.CreateSDiv(query, number(schedule_.tile_columns));
  Value* column = ir_.CreateSRem(query, number(schedule_.tile_columns));
  return builder_.offset(panel_place(part, panel, rows), scaled(column, 4));
}

void AttentionEmitter::for_each_panel(llvm::function_ref<void(Value* panel)> body) {
  Value* panels = ir_.CreateSDiv(ir_.CreateAdd(query_count_, number(schedule_.tile_columns - 1)),
                                 number(schedule_.tile_columns));
  builder_.loop(number(0), panels, number(1), body);
}

/// The queries of the block, [queries/columns][inner][columns].
void AttentionEmitter::pack_queries() {
  const bool in_rows = code_.has_rows_of_queries();
  if (query_units() > inner_units()) fill(at_.queries, schedule_.query_block * query_units(), 0);
  builder_.loop(number(0), query_count_, number(lanes_), [&](Value* query) {
    if (in_rows)
      turn_queries(query);
    else
      gather_queries(query);
  });
  body_.gather_up();
}

void AttentionEmitter::store_queries(Value* query, Value* unit, Value* value) {
  const int64_t columns = schedule_.tile_columns;
  Value* panel = ir_.CreateSDiv(query, number(columns));
  Value* row = ir_.CreateAdd(scaled(panel, query_units()), unit);
  Value* at = ir_.CreateAdd(scaled(row, columns), ir_.CreateSRem(query, number(columns)));
  builder_.store(value, place(at_.queries, scaled(at, 4)));
}

void AttentionEmitter::turn(llvm::function_ref<Value*(Value* row)> row_at,
                            llvm::function_ref<void(int64_t column, Value* value)> store) {
  const int64_t row_size = int64_t{lanes_} * 4;
  Value* square = builder_.stack(llvm::ArrayType::get(integers(), static_cast<uint64_t>(lanes_)),
                                 static_cast<int>(row_size));
  builder_.loop(number(0), number(lanes_), number(1), [&](Value* row) {
    const BodyCode::Scope scope(body_);
    builder_.store(row_at(row), builder_.offset(square, scaled(row, row_size)));
  });
  llvm::SmallVector<Value*, 16> rows;
  for (int64_t row = 0; row < lanes_; ++row)
    rows.push_back(builder_.load(floats(), builder_.offset(square, row * row_size)));
  builder_.transpose(rows);
  for (int64_t column = 0; column < lanes_; ++column)
    store(column, rows[static_cast<size_t>(column)]);
}

/// Queries that lie in rows: turning squares takes a tenth of the time of picking single elements.
void AttentionEmitter::turn_queries(Value* query) {
  Value* last = ir_.CreateSub(query_count_, number(1));
  const int elements = static_cast<int>(lanes_ * group());
  const auto turn_units = [&](Value* unit, int64_t count) {
    turn(
        [&](Value* row) {
          Value* at = ir_.CreateAdd(first_query_, least(ir_.CreateAdd(query, row), last));
          Value* value = row_value(plan_.queries, {plan_.query, at}, plan_.inner,
                                   scaled(unit, group()), elements, code_.inner() % elements == 0);
          return schedule_.dot_bf16 ? body_.elements().narrow(DType::kBF16, value) : value;
        },
        [&](int64_t column, Value* value) {
          if (column < count) store_queries(query, ir_.CreateAdd(unit, number(column)), value);
        });
  };
  const int64_t whole = inner_units() / lanes_ * lanes_;
  builder_.loop(number(0), number(whole), number(lanes_),
                [&](Value* unit) { turn_units(unit, lanes_); });
  if (whole < inner_units()) turn_units(number(whole), inner_units() - whole);
}

void AttentionEmitter::gather_queries(Value* query) {
  builder_.loop(number(0), number(inner_units()), number(1), [&](Value* unit) {
    Value* value = nullptr;
    for (int64_t g = 0; g < group(); ++g) {
      const BodyCode::Scope scope(body_);
      Value* inner = ir_.CreateAdd(scaled(unit, group()), number(g));
      Value* element = query_value(query, least(inner, number(code_.inner() - 1)));
      if (group() == 1) {
        value = element;
        continue;
      }
      Value* bits = ir_.CreateZExt(body_.elements().narrow(DType::kBF16, element), integers());
      bits = ir_.CreateShl(bits, VectorBuilder::integer(integers(), 16 * g));
      Value* exists = ir_.CreateICmpSLT(inner, number(code_.inner()));
      bits = ir_.CreateSelect(exists, bits, llvm::Constant::getNullValue(integers()));
      value = value == nullptr ? bits : ir_.CreateOr(value, bits);
    }
    store_queries(query, unit, value);
  });
}

Value* AttentionEmitter::query_value(Value* query, Value* inner) {
  spread_queries(query);
  body_.set_axis(plan_.inner, inner);
  Value* value = body_.wide_value(plan_.queries);
  return body_.elements().cast((*code_.arena)[plan_.queries].dtype, DType::kF32, value);
}

void AttentionEmitter::spread_queries(Value* query) {
  body_.spread(plan_.query, ir_.CreateAdd(first_query_, query), lanes_,
               builder_.lanes_below(ir_.CreateSub(query_count_, query), lanes_));
}

GemmSpec AttentionEmitter::score_spec() const {
  GemmSpec spec;
  spec.a = schedule_.dot_bf16 ? DType::kBF16 : DType::kF32;
  spec.b = spec.a;
  spec.mode = schedule_.dot_bf16 ? GemmMode::kDotBf16 : GemmMode::kFma;
  spec.b_source = GemmB::kPrepacked;
  spec.mr = schedule_.tile_rows;
  spec.nr = schedule_.tile_columns;
  return spec;
}

GemmSpec AttentionEmitter::value_spec() const {
  GemmSpec spec = score_spec();
  spec.b_source = schedule_.pack_values ? GemmB::kPrepacked : GemmB::kInPlace;
  spec.kc = schedule_.key_block;  // sums go on from block to block
  return spec;
}

/// Calls a tile that is called nowhere else.
void AttentionEmitter::call_own(GemmTile tile, llvm::ArrayRef<Value*> arguments) {
  tile.called_with(arguments);
  ir_.CreateCall(tile.emit(), arguments);
}

AttentionEmitter::KeyRows AttentionEmitter::key_rows(Value* key) {
  if (schedule_.pack_keys) return {place(at_.keys, number(0)), number(key_bytes()), number(4)};
  const kernel::PlainOperand& plain = *plan_.keys.plain();
  return {operand_place(plain, key, plan_.inner), stride_of(plain, plan_.key),
          scaled(stride_of(plain, plan_.inner), group())};
}

/// Bytes of a packed key: f32, or pairs of bf16.
int64_t AttentionEmitter::key_bytes() const {
  return code_.padded_inner() * (schedule_.dot_bf16 ? 2 : 4);
}

/// The keys of a block, one after the other; zero beyond the end of the inner axis.
void AttentionEmitter::pack_keys(Value* key, Value* count) {
  const int elements = schedule_.dot_bf16 ? 2 * lanes_ : lanes_;
  builder_.loop(number(0), count, number(1), [&](Value* row) {
    builder_.loop(number(0), number(code_.inner()), number(elements), [&](Value* first) {
      Value* value = row_value(plan_.keys.value, {plan_.key, ir_.CreateAdd(key, row)}, plan_.inner,
                               first, elements, code_.inner() % elements == 0);
      if (schedule_.dot_bf16) value = body_.elements().narrow(DType::kBF16, value);
      Value* at =
          ir_.CreateAdd(scaled(row, key_bytes()), scaled(first, schedule_.dot_bf16 ? 2 : 4));
      builder_.store(value, place(at_.keys, at));
    });
  });
  body_.gather_up();
}

void AttentionEmitter::multiply_keys(Value* key, Value* count) {
  const int64_t units = schedule_.pack_keys ? inner_units() : code_.inner() / group();
  const int64_t tail = schedule_.pack_keys ? 0 : code_.inner() % group();
  const KeyRows keys = key_rows(key);
  fill(at_.largest, schedule_.query_block, -kInfinity);
  builder_.loop(number(0), count, number(schedule_.tile_rows), [&](Value* row) {
    Value* rows = least(number(schedule_.tile_rows), ir_.CreateSub(count, row));
    Value* a = builder_.offset(keys.first, ir_.CreateMul(row, keys.row_bytes));
    for_each_panel([&](Value* panel) {
      Value* out =
          builder_.offset(panel_place(at_.scores, panel, score_rows()), scaled(row, row_bytes()));
      GemmTile tile(builder_, score_spec(), schedule_.tile_rows, schedule_.tile_columns, false);
      tile.raise_maxima();
      call_own(tile,
               {a, keys.row_bytes, keys.step, panel_place(at_.queries, panel, inner_units()),
                number(row_bytes()), number(units), number(tail), out, number(row_bytes()), rows,
                number(1), per_query(at_.largest, scaled(panel, schedule_.tile_columns))});
    });
  });
}

Value* AttentionEmitter::value_unit(Value* key, Value* count, Value* unit, Value* column) {
  Value* last = ir_.CreateSub(count, number(1));
  Value* result = nullptr;
  for (int64_t g = 0; g < group(); ++g) {
    Value* row = ir_.CreateAdd(scaled(unit, group()), number(g));
    Value* value = row_value(plan_.values.value, {plan_.key, ir_.CreateAdd(key, least(row, last))},
                             plan_.depth, column, lanes_, code_.padded_depth() == code_.depth());
    if (group() == 1) return value;
    // A last key without a neighbour has zeros beside it.
    Value* exists = builder_.splat(ir_.CreateICmpSLT(row, count), lanes_);
    value = ir_.CreateSelect(exists, value, constant(0));
    // What lies in memory as bf16 need not be rounded to it.
    Value* bits = nullptr;
    if (plan_.values.pieces.empty())
      bits = ir_.CreateZExt(body_.elements().narrow(DType::kBF16, value), integers());
    else
      bits = ir_.CreateLShr(ir_.CreateBitCast(value, integers()),
                            VectorBuilder::integer(integers(), 16));
    bits = ir_.CreateShl(bits, VectorBuilder::integer(integers(), 16 * g));
    result = result == nullptr ? bits : ir_.CreateOr(result, bits);
  }
  return result;
}

/// The values of a block of keys: as f32, or pairs of keys side by side; zero beyond the ends.
void AttentionEmitter::pack_values(Value* key, Value* count) {
  Value* units = ir_.CreateSDiv(ir_.CreateAdd(count, number(group() - 1)), number(group()));
  builder_.loop(number(0), units, number(1), [&](Value* unit) {
    builder_.loop(number(0), number(code_.padded_depth()), number(lanes_), [&](Value* column) {
      Value* at = ir_.CreateAdd(scaled(unit, code_.padded_depth()), column);
      builder_.store(value_unit(key, count, unit, column), place(at_.values, scaled(at, 4)));
    });
  });
  body_.gather_up();
}

/// Results of the block += weights times values.
void AttentionEmitter::multiply_values(Value* key, Value* count) {
  Value* units = ir_.CreateSDiv(ir_.CreateAdd(count, number(group() - 1)), number(group()));
  Value* values = schedule_.pack_values ? place(at_.values, number(0))
                                        : operand_place(*plan_.values.plain(), key, plan_.depth);
  Value* value_row = schedule_.pack_values ? number(code_.padded_depth() * 4)
                                           : stride_of(*plan_.values.plain(), plan_.key);
  const int64_t depth_bytes = code_.padded_depth() * 4;
  const int64_t weights = schedule_.dot_bf16 ? at_.weights : at_.scores;
  const int64_t rows_of_panel = schedule_.dot_bf16 ? schedule_.key_block / 2 : score_rows();
  for_each_panel([&](Value* panel) {
    Value* first = scaled(panel, schedule_.tile_columns);
    Value* end = least(number(schedule_.tile_columns), ir_.CreateSub(query_count_, first));
    builder_.loop(number(0), end, number(schedule_.tile_rows), [&](Value* row) {
      Value* a = builder_.offset(panel_place(weights, panel, rows_of_panel), scaled(row, 4));
      Value* rows = least(number(schedule_.tile_rows), ir_.CreateSub(end, row));
      Value* out = place(at_.results, scaled(ir_.CreateAdd(first, row), depth_bytes));
      builder_.loop(number(0), number(depth_bytes), number(row_bytes()), [&](Value* column) {
        call_own(
            {builder_, value_spec(), schedule_.tile_rows, schedule_.tile_columns, false},
            {a, number(4), number(row_bytes()), builder_.offset(values, column), value_row, units,
             number(0), builder_.offset(out, column), number(depth_bytes), rows, number(0)});
      });
    });
  });
}

/// Results so far, relative to the new maximum; most rows do not change after the first blocks.
void AttentionEmitter::rescale() {
  const int64_t depth_bytes = code_.padded_depth() * 4;
  builder_.loop(number(0), query_count_, number(1), [&](Value* query) {
    Value* factor = builder_.load(builder_.f32(), per_query(at_.factors, query));
    Value* moved = ir_.CreateFCmpUNE(factor, VectorBuilder::number(builder_.f32(), 1));
    builder_.if_then(moved, [&] {
      Value* row = place(at_.results, scaled(query, depth_bytes));
      Value* factors = builder_.splat(factor, lanes_);
      builder_.loop(number(0), number(depth_bytes), number(int64_t{lanes_} * 4), [&](Value* at) {
        Value* pointer = builder_.offset(row, at);
        builder_.store(ir_.CreateFMul(builder_.load(floats(), pointer), factors), pointer);
      });
    });
  });
}

void AttentionEmitter::finish() {
  store_rows(number(0), query_count_, place(at_.results, number(0)));
}

void AttentionEmitter::store_rows(Value* first, Value* count, Value* rows) {
  builder_.loop(number(0), count, number(1), [&](Value* number_of_row) {
    const BodyCode::Scope scope(body_);
    Value* query = ir_.CreateAdd(first, number_of_row);
    Value* row = builder_.offset(rows, scaled(number_of_row, code_.padded_depth() * 4));
    store_results(ir_.CreateAdd(first_query_, query),
                  builder_.load(builder_.f32(), per_query(at_.maxima, query)),
                  builder_.load(builder_.f32(), per_query(at_.totals, query)), [&](Value* column) {
                    return builder_.load(floats(), builder_.offset(row, scaled(column, 4)));
                  });
  });
  body_.gather_up();
}

void emit_attention(llvm::Module& module, const CpuTarget& target, const AttentionCode& code) {
  VectorBuilder builder(module, target);
  if (code.schedule.matrices) return emit_attention_of_matrices(builder, code);
  AttentionEmitter(builder, code).emit();
}

}  // namespace luminal::codegen

#include <cmath>
#include <limits>

#include "luminal/codegen/llvm/attention_blocks.h"
#include "luminal/codegen/llvm/gemm_tile.h"

namespace luminal::codegen {
namespace {

using graph::DType;
using kernel::BodyId;
using kernel::BodyKind;
using kernel::BodyNode;
using llvm::Value;
using symbolic::Expr;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

class AttentionEmitter : AttentionBlocks {
 public:
  AttentionEmitter(VectorBuilder& builder, const AttentionCode& code)
      : AttentionBlocks(builder, code), at_(code.scratch()) {}

  void emit() {
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

 private:
  Value* place(int64_t part, Value* bytes) {
    return builder_.offset(builder_.offset(scratch_, part), bytes);
  }
  /// One of the arrays of a value per query, from query `first` of the block on.
  Value* per_query(int64_t part, Value* first) { return place(part, scaled(first, 4)); }

  GemmSpec score_spec() const {
    GemmSpec spec;
    spec.a = schedule_.dot_bf16 ? DType::kBF16 : DType::kF32;
    spec.b = spec.a;
    spec.mode = schedule_.dot_bf16 ? GemmMode::kDotBf16 : GemmMode::kFma;
    spec.b_source = GemmB::kPrepacked;
    spec.mr = schedule_.tile_rows;
    spec.nr = schedule_.tile_columns;
    return spec;
  }

  GemmSpec value_spec() const {
    GemmSpec spec = score_spec();
    spec.b_source = schedule_.pack_values ? GemmB::kPrepacked : GemmB::kInPlace;
    spec.kc = schedule_.key_block;  // sums go on from block to block
    return spec;
  }

  /// Calls a tile that is called nowhere else.
  void call_own(GemmTile tile, llvm::ArrayRef<Value*> arguments) {
    tile.called_with(arguments);
    ir_.CreateCall(tile.emit(), arguments);
  }

  /// A block of queries and all of their keys.
  void emit_item() {
    pack_queries();
    reset();
    const std::pair<Value*, Value*> keys = key_range();
    builder_.loop(keys.first, keys.second, number(schedule_.key_block), [&](Value* key) {
      const BodyCode::Scope scope(body_);
      Value* count = least(number(schedule_.key_block), ir_.CreateSub(keys.second, key));
      if (schedule_.pack_keys) pack_keys(key, count);
      multiply_keys(key, count);
      weigh(key, count);
      rescale();
      if (schedule_.pack_values) pack_values(key, count);
      multiply_values(key, count);
    });
    finish();
  }

  /// The queries of the block, [queries/columns][inner][columns].
  void pack_queries() {
    const bool in_rows = code_.has_rows_of_queries();
    builder_.loop(number(0), query_count_, number(lanes_), [&](Value* query) {
      if (in_rows)
        turn_queries(query);
      else
        gather_queries(query);
    });
    body_.gather_up();
  }

  int64_t group() const { return schedule_.dot_bf16 ? 2 : 1; }
  /// Units of the inner axis: elements, or pairs of bf16.
  int64_t inner_units() const { return (code_.inner() + group() - 1) / group(); }

  void store_queries(Value* query, Value* unit, Value* value) {
    const int64_t columns = schedule_.tile_columns;
    Value* panel = ir_.CreateSDiv(query, number(columns));
    Value* row = ir_.CreateAdd(scaled(panel, inner_units()), unit);
    Value* at = ir_.CreateAdd(scaled(row, columns), ir_.CreateSRem(query, number(columns)));
    builder_.store(value, place(at_.queries, scaled(at, 4)));
  }

  /// Queries that lie in rows: squares of them are turned in registers, which takes a tenth of the
  /// time of picking single elements.
  void turn_queries(Value* query) {
    Value* square =
        builder_.stack(llvm::ArrayType::get(integers(), static_cast<uint64_t>(lanes_)), lanes_ * 4);
    Value* last = ir_.CreateSub(query_count_, number(1));
    const int elements = static_cast<int>(lanes_ * group());
    const auto turn = [&](Value* unit, int64_t count) {
      builder_.loop(number(0), number(lanes_), number(1), [&](Value* row) {
        const BodyCode::Scope scope(body_);
        Value* at = ir_.CreateAdd(first_query_, least(ir_.CreateAdd(query, row), last));
        Value* value = row_value(plan_.queries, {plan_.query, at}, plan_.inner,
                                 scaled(unit, group()), elements, code_.inner() % elements == 0);
        if (schedule_.dot_bf16) value = body_.elements().narrow(DType::kBF16, value);
        builder_.store(value, builder_.offset(square, scaled(row, int64_t{lanes_} * 4)));
      });
      llvm::SmallVector<Value*, 16> rows;
      for (int row = 0; row < lanes_; ++row)
        rows.push_back(builder_.load(floats(), builder_.offset(square, int64_t{row} * lanes_ * 4)));
      builder_.transpose(rows);
      for (int64_t i = 0; i < count; ++i)
        store_queries(query, ir_.CreateAdd(unit, number(i)), rows[static_cast<size_t>(i)]);
    };
    const int64_t whole = inner_units() / lanes_ * lanes_;
    builder_.loop(number(0), number(whole), number(lanes_),
                  [&](Value* unit) { turn(unit, lanes_); });
    if (whole < inner_units()) turn(number(whole), inner_units() - whole);
  }

  void gather_queries(Value* query) {
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

  Value* query_value(Value* query, Value* inner) {
    spread_queries(query);
    body_.set_axis(plan_.inner, inner);
    Value* value = body_.wide_value(plan_.queries);
    return body_.elements().cast((*code_.arena)[plan_.queries].dtype, DType::kF32, value);
  }

  void spread_queries(Value* query) {
    body_.spread(plan_.query, ir_.CreateAdd(first_query_, query), lanes_,
                 builder_.lanes_below(ir_.CreateSub(query_count_, query), lanes_));
  }

  void reset() {
    fill(at_.maxima, schedule_.query_block, -kInfinity);
    fill(at_.totals, schedule_.query_block, 0);
    fill(at_.results, schedule_.query_block * code_.padded_depth(), 0);
  }
  void fill(int64_t part, int64_t count, double value) {
    builder_.loop(number(0), number(count), number(lanes_),
                  [&](Value* i) { builder_.store(constant(value), place(part, scaled(i, 4))); });
  }

  // Both products.

  /// Where the scores of a panel of queries begin.
  Value* panel_place(int64_t part, Value* panel, int64_t rows, int64_t row_bytes) {
    return place(part, scaled(panel, rows * row_bytes));
  }
  int64_t score_rows() const { return schedule_.key_block + schedule_.tile_rows; }
  int64_t row_bytes() const { return int64_t{schedule_.tile_columns} * 4; }

  void multiply_keys(Value* key, Value* count) {
    const int64_t units = schedule_.pack_keys ? inner_units() : code_.inner() / group();
    const int64_t tail = schedule_.pack_keys ? 0 : code_.inner() % group();
    const kernel::PlainOperand* plain = plan_.keys.plain();
    Value* keys =
        schedule_.pack_keys ? place(at_.keys, number(0)) : operand_place(*plain, key, plan_.inner);
    Value* key_stride = schedule_.pack_keys ? number(key_bytes()) : stride_of(*plain, plan_.key);
    Value* step = schedule_.pack_keys ? number(4) : scaled(stride_of(*plain, plan_.inner), group());
    fill(at_.largest, schedule_.query_block, -kInfinity);
    builder_.loop(number(0), count, number(schedule_.tile_rows), [&](Value* row) {
      Value* rows = least(number(schedule_.tile_rows), ir_.CreateSub(count, row));
      Value* a = builder_.offset(keys, ir_.CreateMul(row, key_stride));
      for_each_panel([&](Value* panel) {
        Value* out = builder_.offset(panel_place(at_.scores, panel, score_rows(), row_bytes()),
                                     scaled(row, row_bytes()));
        GemmTile tile(builder_, score_spec(), schedule_.tile_rows, schedule_.tile_columns, false);
        tile.raise_maxima();
        call_own(tile,
                 {a, key_stride, step, panel_place(at_.queries, panel, inner_units(), row_bytes()),
                  number(row_bytes()), number(units), number(tail), out, number(row_bytes()), rows,
                  number(1), per_query(at_.largest, scaled(panel, schedule_.tile_columns))});
      });
    });
  }

  /// Bytes of a packed key: f32, or pairs of bf16.
  int64_t key_bytes() const { return code_.padded_inner() * (schedule_.dot_bf16 ? 2 : 4); }

  /// The keys of a block, one after the other; zero beyond the end of the inner axis.
  void pack_keys(Value* key, Value* count) {
    const int elements = schedule_.dot_bf16 ? 2 * lanes_ : lanes_;
    builder_.loop(number(0), count, number(1), [&](Value* row) {
      builder_.loop(number(0), number(code_.inner()), number(elements), [&](Value* first) {
        Value* value = row_value(plan_.keys.value, {plan_.key, ir_.CreateAdd(key, row)},
                                 plan_.inner, first, elements, code_.inner() % elements == 0);
        if (schedule_.dot_bf16) value = body_.elements().narrow(DType::kBF16, value);
        Value* at =
            ir_.CreateAdd(scaled(row, key_bytes()), scaled(first, schedule_.dot_bf16 ? 2 : 4));
        builder_.store(value, place(at_.keys, at));
      });
    });
    body_.gather_up();
  }

  void for_each_panel(llvm::function_ref<void(Value* panel)> body) {
    Value* panels = ir_.CreateSDiv(ir_.CreateAdd(query_count_, number(schedule_.tile_columns - 1)),
                                   number(schedule_.tile_columns));
    builder_.loop(number(0), panels, number(1), body);
  }

  /// Results of the block += weights times values.
  void multiply_values(Value* key, Value* count) {
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
        Value* a = builder_.offset(panel_place(weights, panel, rows_of_panel, row_bytes()),
                                   scaled(row, 4));
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

  /// The values of a block of keys: as f32, or pairs of keys side by side; zero beyond the ends.
  void pack_values(Value* key, Value* count) {
    Value* units = ir_.CreateSDiv(ir_.CreateAdd(count, number(group() - 1)), number(group()));
    Value* last = ir_.CreateSub(count, number(1));
    builder_.loop(number(0), units, number(1), [&](Value* unit) {
      builder_.loop(number(0), number(code_.padded_depth()), number(lanes_), [&](Value* column) {
        Value* result = nullptr;
        for (int64_t g = 0; g < group(); ++g) {
          Value* row = ir_.CreateAdd(scaled(unit, group()), number(g));
          // A last key without a neighbour has zeros beside it.
          Value* value =
              row_value(plan_.values.value, {plan_.key, ir_.CreateAdd(key, least(row, last))},
                        plan_.depth, column, lanes_, code_.padded_depth() == code_.depth());
          if (group() == 1) {
            result = value;
            continue;
          }
          Value* exists = builder_.splat(ir_.CreateICmpSLT(row, count), lanes_);
          value = ir_.CreateSelect(exists, value, constant(0));
          Value* bits = ir_.CreateZExt(body_.elements().narrow(DType::kBF16, value), integers());
          bits = ir_.CreateShl(bits, VectorBuilder::integer(integers(), 16 * g));
          result = result == nullptr ? bits : ir_.CreateOr(result, bits);
        }
        Value* at = ir_.CreateAdd(scaled(unit, code_.padded_depth()), column);
        builder_.store(result, place(at_.values, scaled(at, 4)));
      });
    });
    body_.gather_up();
  }

  // Weights.

  /// Scores become weights relative to the largest so far.
  void weigh(Value* key, Value* count) {
    builder_.loop(number(0), query_count_, number(lanes_), [&](Value* query) {
      const BodyCode::Scope scope(body_);
      if (plan_.conditions.empty()) return weigh_vector(query, key, count, plan_.score);
      builder_.if_else(
          all_allowed(key, count), [&] { return weighed(query, key, count, below_conditions()); },
          [&] { return weighed(query, key, count, plan_.score); });
    });
    body_.gather_up();
  }

  Carried weighed(Value* query, Value* key, Value* count, BodyId score) {
    const BodyCode::Scope scope(body_);
    weigh_vector(query, key, count, score);
    return {};
  }

  void weigh_vector(Value* query, Value* key, Value* count, BodyId score) {
    spread_queries(query);
    Value* scores = score_place(at_.scores, score_rows(), query);
    const auto row_place = [&](Value* row) {
      return builder_.offset(scores, scaled(row, row_bytes()));
    };
    const auto score_at = [&](Value* row, bool again) -> Value* {
      Value* product = builder_.load(floats(), row_place(row), {.align = 64});
      if (again && !plan_.cheap_score) return product;
      const BodyCode::Scope scope(body_);
      body_.set_axis(plan_.key, ir_.CreateAdd(key, row));
      body_.define(plan_.products, product);
      Value* value = body_.wide_value(score);
      if (!plan_.cheap_score) builder_.store(value, row_place(row), {.align = 64});
      return value;
    };
    const std::optional<double> factor = factor_of(score);
    const auto product_at = [&](Value* row) -> Value* {
      return builder_.load(floats(), row_place(row), {.align = 64});
    };
    const auto larger = [&](Value* a, Value* b) {
      return ir_.CreateSelect(ir_.CreateFCmpOGT(a, b), a, b);
    };
    Value* before = builder_.load(floats(), per_query(at_.maxima, query), {.align = 64});
    // A score that is NaN need not be the maximum: its weight is NaN, and with it the sums.
    Value* most = nullptr;
    if (factor) {
      Value* largest = builder_.load(floats(), per_query(at_.largest, query), {.align = 64});
      most = larger(ir_.CreateFMul(largest, constant(*factor)), before);
    } else {
      most = builder_.loop(number(0), count, number(1), {before},
                           [&](Value* row, llvm::ArrayRef<Value*> now) {
                             return Carried{larger(score_at(row, false), now[0])};
                           })[0];
    }
    Value* base =
        ir_.CreateSelect(ir_.CreateFCmpOEQ(most, constant(-kInfinity)), constant(0), most);
    // All weights of a block are relative to one rounded exponent, and so is what came before: an
    // instruction less for every weight. The largest of them is then 2^(what rounding has left),
    // which is not 1 where scores are large; there differences come first.
    constexpr double kLarge = 0x1p10;
    Value* exponent = ir_.CreateFMul(base, constant(score_unit()));
    Value* is_large = builder_.any(ir_.CreateFCmpOGT(
        ir_.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, exponent), constant(kLarge)));
    Value* apart = ir_.CreateFSub(ir_.CreateFMul(before, constant(score_unit())), exponent);
    Value* exact = ir_.CreateFMul(ir_.CreateFSub(before, base), constant(score_unit()));
    Value* rescaled = power_of_two(ir_.CreateSelect(is_large, exact, apart));
    Value* total = builder_.load(floats(), per_query(at_.totals, query), {.align = 64});
    total = ir_.CreateFMul(total, rescaled);
    const auto rounded_weight = [&](Value* row) {
      Value* value = factor ? product_at(row) : score_at(row, true);
      Value* unit = constant(factor.value_or(1) * score_unit());
      return power_of_two(builder_.mul_add(value, unit, ir_.CreateFNeg(exponent)));
    };
    const auto exact_weight = [&](Value* row) {
      Value* value =
          factor ? ir_.CreateFMul(product_at(row), constant(*factor)) : score_at(row, true);
      return power(ir_.CreateFSub(value, base));
    };
    total = builder_.if_else(
        is_large, [&] { return Carried{store_weights(query, scores, count, total, exact_weight)}; },
        [&] { return Carried{store_weights(query, scores, count, total, rounded_weight)}; })[0];
    builder_.store(most, per_query(at_.maxima, query));
    builder_.store(rescaled, per_query(at_.factors, query));
    builder_.store(total, per_query(at_.totals, query));
  }

  /// What products are multiplied by to be scores, if that is all: their maximum is then that of
  /// scores, and the factor goes into the exponent.
  std::optional<double> factor_of(BodyId score) const {
    if (code_.round_each) return std::nullopt;
    if (score == plan_.products) return 1.0;
    const BodyNode& node = (*code_.arena)[score];
    if (node.kind != BodyKind::kOp || node.op != graph::Op::kMul) return std::nullopt;
    for (const size_t side : {size_t{0}, size_t{1}}) {
      const BodyNode& other = (*code_.arena)[node.children[1 - side]];
      if (node.children[side] != plan_.products || other.kind != BodyKind::kConstant) continue;
      // What exponents are multiplied by has to be a float, too.
      const double factor = other.constant.as_double();
      if (factor > 0 && factor * score_unit() <= std::numeric_limits<float>::max()) return factor;
    }
    return std::nullopt;
  }

  /// Where the vector of a query begins in an array of panels.
  Value* score_place(int64_t part, int64_t rows, Value* query) {
    Value* panel = ir_.CreateSDiv(query, number(schedule_.tile_columns));
    Value* column = ir_.CreateSRem(query, number(schedule_.tile_columns));
    return builder_.offset(panel_place(part, panel, rows, row_bytes()), scaled(column, 4));
  }

  /// Weights instead of the scores of a vector of queries, or beside them; gives their sum.
  Value* store_weights(Value* query, Value* scores, Value* count, Value* total,
                       llvm::function_ref<Value*(Value* row)> weight_at) {
    if (schedule_.dot_bf16) return store_pairs(query, count, total, weight_at);
    return builder_.loop(
        number(0), count, number(1), {total}, [&](Value* row, llvm::ArrayRef<Value*> now) {
          Value* weight = weight_at(row);
          builder_.store(weight, builder_.offset(scores, scaled(row, row_bytes())), {.align = 64});
          return Carried{ir_.CreateFAdd(now[0], weight)};
        })[0];
  }

  /// Weights of two keys at a time as pairs of bf16; gives their sum. A last key without a
  /// neighbour gets the weight 0 beside it.
  Value* store_pairs(Value* query, Value* count, Value* total,
                     llvm::function_ref<Value*(Value* row)> weight_at) {
    Value* weights = score_place(at_.weights, schedule_.key_block / 2, query);
    return builder_.loop(
        number(0), count, number(2), {total}, [&](Value* row, llvm::ArrayRef<Value*> now) {
          Value* next = ir_.CreateAdd(row, number(1));
          Value* first = weight_at(row);
          Value* exists = ir_.CreateICmpSLT(next, count);
          // Beyond the end scores are of the key before, or left over: finite or not, unused.
          Value* second = ir_.CreateSelect(
              exists, weight_at(least(next, ir_.CreateSub(count, number(1)))), constant(0));
          Value* low = ir_.CreateZExt(body_.elements().narrow(DType::kBF16, first), integers());
          Value* high = ir_.CreateZExt(body_.elements().narrow(DType::kBF16, second), integers());
          high = ir_.CreateShl(high, VectorBuilder::integer(integers(), 16));
          Value* at = scaled(ir_.CreateSDiv(row, number(2)), row_bytes());
          builder_.store(ir_.CreateOr(low, high), builder_.offset(weights, at), {.align = 64});
          return Carried{ir_.CreateFAdd(now[0], ir_.CreateFAdd(first, second))};
        })[0];
  }

  /// Results so far, relative to the new maximum; most rows do not change after the first blocks.
  void rescale() {
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

  void finish() {
    builder_.loop(number(0), query_count_, number(1), [&](Value* query) {
      const BodyCode::Scope scope(body_);
      Value* row = place(at_.results, scaled(query, code_.padded_depth() * 4));
      store_results(ir_.CreateAdd(first_query_, query),
                    builder_.load(builder_.f32(), per_query(at_.maxima, query)),
                    builder_.load(builder_.f32(), per_query(at_.totals, query)),
                    [&](Value* column) {
                      return builder_.load(floats(), builder_.offset(row, scaled(column, 4)));
                    });
    });
    body_.gather_up();
  }

  const AttentionCode::Scratch at_;
  Value* scratch_ = nullptr;
};

}  // namespace

void emit_attention(llvm::Module& module, const CpuTarget& target, const AttentionCode& code) {
  VectorBuilder builder(module, target);
  AttentionEmitter(builder, code).emit();
}

}  // namespace luminal::codegen

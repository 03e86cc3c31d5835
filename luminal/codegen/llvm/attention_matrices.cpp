// Attention by matrix registers. Both products have the queries along the rows of B, as pairs: keys
// are rows of A where they lie, weights are stored as the second product needs them, and values are
// turned once for all queries of a block. So results lie with the queries along the lanes, too, and
// are turned at the end. A panel of 32 queries meets a block of keys from scores to results, while
// all of it is in the first cache.
#include "luminal/codegen/llvm/attention_emitter.h"
#include "luminal/codegen/llvm/gemm_amx.h"

namespace luminal::codegen {
namespace {

using llvm::Value;

class MatrixAttention final : public AttentionEmitter {
 public:
  using AttentionEmitter::AttentionEmitter;

 private:
  /// Rows and columns of a tile of two by two registers.
  static constexpr int64_t kTile = 2 * kAmxRows;
  /// Keys whose weights fill a column of a register.
  static constexpr int64_t kKeys = 2 * kAmxRows;

  int64_t query_units() const override { return rounded_up(inner_units(), kAmxRows); }
  /// Bytes of a row of the turned values: keys as bf16.
  int64_t value_bytes() const { return int64_t{schedule_.key_block} * 2; }

  /// Keys that a product takes in: zeros follow those that exist.
  struct Block {
    Value* key;
    Value* count;
    Value* units;  ///< pairs, whole registers of them
    KeyRows rows;
  };

  void meet(Value* key, Value* count) override {
    Value* registers = ir_.CreateSDiv(ir_.CreateAdd(count, number(kKeys - 1)), number(kKeys));
    const Block block{key, count, scaled(registers, kAmxRows), key_rows(key)};
    turn_values(block);
    for_each_panel([&](Value* panel) {
      const BodyCode::Scope scope(body_);
      Value* first = scaled(panel, kTile);
      Value* queries = least(number(kTile), ir_.CreateSub(query_count_, first));
      if (plan_.conditions.empty()) return meet_panel(block, panel, first, queries);
      const auto [begin, end] = key_range({ir_.CreateAdd(first_query_, first), queries});
      Value* seen = ir_.CreateAnd(ir_.CreateICmpSLT(key, end),
                                  ir_.CreateICmpSLT(begin, ir_.CreateAdd(key, count)));
      builder_.if_then(seen, [&] {
        const BodyCode::Scope inside(body_);
        meet_panel(block, panel, first, queries);
      });
    });
  }

  void meet_panel(const Block& block, Value* panel, Value* first, Value* queries) {
    multiply_keys(block, panel);
    weigh(first, ir_.CreateAdd(first, queries), block.key, block.count);
    clear_weights(block, panel);
    rescale(panel, first);
    multiply_values(block, panel);
  }

  GemmSpec spec(int kc) const {
    GemmSpec result;
    result.a = result.b = graph::DType::kBF16;
    result.mode = GemmMode::kAmxBf16;
    result.mr = result.nr = kTile;
    result.kc = kc;
    return result;
  }

  /// Rows of A, and where a tile is told what they are multiplied by.
  struct Tiles {
    Value* a;
    Value* row_bytes;
    Value* step;
    Value* b;
    Value* units;
    Value* out;
  };
  /// All tiles of some rows: whole ones by one call, since every call sets up the registers.
  void multiply(const Tiles& tiles, Value* rows, int kc) {
    Value* stride = number(row_bytes());
    const auto arguments_of = [&](Value* first, Value* count) {
      return Carried{builder_.offset(tiles.a, ir_.CreateMul(first, tiles.row_bytes)),
                     tiles.row_bytes,
                     tiles.step,
                     tiles.b,
                     stride,
                     tiles.units,
                     number(0),
                     builder_.offset(tiles.out, scaled(first, row_bytes())),
                     stride,
                     count,
                     number(kc == 0 ? 1 : 0)};
    };
    Value* rest = ir_.CreateSRem(rows, number(kTile));
    Value* whole = ir_.CreateSub(rows, rest);
    builder_.if_then(ir_.CreateICmpSGT(whole, number(0)), [&] {
      Carried arguments = arguments_of(number(0), whole);
      arguments.push_back(scaled(tiles.row_bytes, kTile));
      ir_.CreateCall(emit_amx_tiles(builder_, spec(kc)), arguments);
    });
    builder_.if_then(ir_.CreateICmpSGT(rest, number(0)), [&] {
      ir_.CreateCall(emit_amx_tile(builder_, spec(kc)), arguments_of(whole, rest));
    });
  }

  void multiply_keys(const Block& block, Value* panel) {
    multiply({block.rows.first, block.rows.row_bytes, block.rows.step,
              panel_place(at_.queries, panel, query_units()), number(query_units()),
              panel_place(at_.scores, panel, score_rows())},
             block.count, 0);
  }

  /// Results of a panel += values times weights.
  void multiply_values(const Block& block, Value* panel) {
    multiply({place(at_.values, number(0)), number(value_bytes()), number(4),
              panel_place(at_.weights, panel, schedule_.key_block / 2), block.units,
              panel_place(at_.results, panel, code_.padded_depth())},
             number(code_.depth()), schedule_.key_block);
  }

  /// The values of a block of keys, [depth][keys]; zero beyond the ends.
  void turn_values(const Block& block) {
    builder_.loop(number(0), block.units, number(lanes_), [&](Value* unit) {
      builder_.loop(number(0), number(code_.padded_depth()), number(lanes_), [&](Value* depth) {
        turn(
            [&](Value* row) {
              return value_unit(block.key, block.count, ir_.CreateAdd(unit, row), depth);
            },
            [&](int64_t column, Value* value) {
              Value* at = scaled(ir_.CreateAdd(depth, number(column)), value_bytes());
              builder_.store(value, place(at_.values, ir_.CreateAdd(at, scaled(unit, 4))));
            });
      });
    });
    body_.gather_up();
  }

  Value* largest_products(Value* query, Value* count) override {
    constexpr int64_t kAtOnce = 4;
    Value* scores = vector_place(at_.scores, score_rows(), query);
    Value* last = ir_.CreateSub(count, number(1));
    const Carried lowest(kAtOnce, constant(-kInfinity));
    const Carried most = builder_.loop(
        number(0), count, number(kAtOnce), lowest, [&](Value* row, llvm::ArrayRef<Value*> now) {
          Carried next;
          for (int64_t i = 0; i < kAtOnce; ++i) {
            Value* at = least(ir_.CreateAdd(row, number(i)), last);
            Value* score = builder_.load(floats(), builder_.offset(scores, scaled(at, row_bytes())),
                                         {.align = kAmxRowBytes});
            next.push_back(larger(score, now[static_cast<size_t>(i)]));
          }
          return next;
        });
    return larger(larger(most[0], most[1]), larger(most[2], most[3]));
  }

  /// Weights of keys that a register has room for and that do not exist.
  void clear_weights(const Block& block, Value* panel) {
    Value* weights = panel_place(at_.weights, panel, schedule_.key_block / 2);
    Value* first = ir_.CreateSDiv(ir_.CreateAdd(block.count, number(1)), number(2));
    builder_.loop(first, block.units, number(1), [&](Value* unit) {
      for (int64_t at = 0; at < row_bytes(); at += kAmxRowBytes)
        builder_.store(constant(0),
                       builder_.offset(builder_.offset(weights, scaled(unit, row_bytes())), at));
    });
  }

  /// Results so far, relative to the new maximum; most do not change after the first blocks.
  void rescale(Value* panel, Value* first) {
    Value* results = panel_place(at_.results, panel, code_.padded_depth());
    for (int64_t query = 0; query < kTile; query += lanes_) {
      Value* factors =
          builder_.load(floats(), per_query(at_.factors, ir_.CreateAdd(first, number(query))));
      builder_.if_then(builder_.any(ir_.CreateFCmpUNE(factors, constant(1))), [&] {
        builder_.loop(number(0), number(code_.depth()), number(1), [&](Value* row) {
          Value* at =
              builder_.offset(builder_.offset(results, scaled(row, row_bytes())), query * 4);
          builder_.store(ir_.CreateFMul(builder_.load(floats(), at), factors), at);
        });
      });
    }
  }

  void finish() override {
    builder_.loop(number(0), query_count_, number(lanes_), [&](Value* query) {
      Value* results = vector_place(at_.results, code_.padded_depth(), query);
      Value* rows = place(at_.turned, number(0));
      builder_.loop(number(0), number(code_.padded_depth()), number(lanes_), [&](Value* depth) {
        turn(
            [&](Value* row) {
              Value* at = scaled(ir_.CreateAdd(depth, row), row_bytes());
              return builder_.load(floats(), builder_.offset(results, at));
            },
            [&](int64_t column, Value* value) {
              Value* at = ir_.CreateAdd(number(column * code_.padded_depth()), depth);
              builder_.store(value, builder_.offset(rows, scaled(at, 4)));
            });
      });
      store_rows(query, least(number(lanes_), ir_.CreateSub(query_count_, query)), rows);
    });
  }
};

}  // namespace

void emit_attention_of_matrices(VectorBuilder& builder, const AttentionCode& code) {
  MatrixAttention(builder, code).emit();
}

}  // namespace luminal::codegen

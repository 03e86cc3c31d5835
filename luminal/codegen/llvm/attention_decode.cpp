// Attention of few queries over many keys, as when one token follows another: keys and values are
// read once and that is all the time there is. A work item is a run of keys for all queries that
// share them; lanes run along the inner axis for scores, along keys for weights, and along the
// depth for results. A second launch brings the runs of keys together.
#include <algorithm>
#include <limits>

#include <llvm/IR/IntrinsicsX86.h>

#include "luminal/codegen/llvm/attention_blocks.h"

namespace luminal::codegen {
namespace {

using graph::DType;
using llvm::Value;
using symbolic::Expr;

class DecodeEmitter : AttentionBlocks {
 public:
  DecodeEmitter(VectorBuilder& builder, const AttentionCode& code)
      : AttentionBlocks(builder, code) {}

  void emit_runs() {
    const EntryArguments entry = begin("attend");
    scratch_ = entry.scratch;
    if (!is_whole()) partial_ = builder_.buffer(entry, static_cast<int>(code_.tensors.size()));
    Value* runs = body_.index(code_.key_runs());
    builder_.loop(entry.begin, entry.end, number(1), [&](Value* item) {
      const BodyCode::Scope scope(body_);
      body_.set_axes(plan_.rows, ir_.CreateSDiv(item, runs));
      first_query_ = number(0);
      query_count_ = body_.index(code_.queries());
      auto [from, to] = key_range({first_query_, query_count_});
      if (!is_whole()) {
        Value* first = scaled(ir_.CreateSRem(item, runs), schedule_.key_run);
        from = ir_.CreateBinaryIntrinsic(llvm::Intrinsic::smax, first, from);
        to = least(ir_.CreateAdd(first, number(schedule_.key_run)), to);
      }
      keys_ = rows_of(plan_.keys, plan_.inner);
      values_ = rows_of(plan_.values, plan_.depth);
      builder_.loop(number(0), query_count_, number(schedule_.query_group), [&](Value* query) {
        const BodyCode::Scope inside(body_);
        queries_.clear();
        // Beyond the end the last query is worked on again: it writes the same.
        for (int i = 0; i < schedule_.query_group; ++i)
          queries_.push_back(
              least(ir_.CreateAdd(query, number(i)), ir_.CreateSub(query_count_, number(1))));
        attend(from, to, item);
      });
    });
    ir_.CreateRetVoid();
  }

  void emit_merge() {
    const EntryArguments entry = begin("merge");
    partial_ = builder_.buffer(entry, static_cast<int>(code_.tensors.size()));
    Value* runs = body_.index(code_.key_runs());
    builder_.loop(entry.begin, entry.end, number(1), [&](Value* row) {
      const BodyCode::Scope scope(body_);
      body_.set_axes(plan_.rows, row);
      query_count_ = body_.index(code_.queries());
      builder_.loop(number(0), query_count_, number(1), [&](Value* query) {
        const BodyCode::Scope inside(body_);
        merge(query, ir_.CreateMul(row, runs), runs);
      });
      body_.gather_up();
    });
    ir_.CreateRetVoid();
  }

 private:
  /// An item has all keys of its queries.
  bool is_whole() const { return schedule_.key_run == 0; }

  /// Where the loads of an operand lie for key 0, and bytes from key to key.
  struct Rows {
    const AttentionOperand* operand = nullptr;
    Expr other;
    Carried first, strides;
  };
  Rows rows_of(const AttentionOperand& operand, const Expr& other) {
    Rows rows{&operand, other, {}, {}};
    for (const AttentionPiece& piece : operand.pieces) {
      rows.first.push_back(operand_place(piece.load, number(0), other));
      rows.strides.push_back(stride_of(piece.load, plan_.key));
    }
    return rows;
  }

  /// The place of a key in the piece that holds for it.
  Value* place_of(const Rows& rows, Value* key) {
    const std::vector<AttentionPiece>& pieces = rows.operand->pieces;
    body_.gather_up();
    body_.set_axis(plan_.key, key);
    Value* result = nullptr;
    for (size_t i = pieces.size(); i-- > 0;) {
      Value* place = builder_.offset(rows.first[i], ir_.CreateMul(key, rows.strides[i]));
      for (const Expr& test : pieces[i].tests)
        place = ir_.CreateSelect(ir_.CreateICmpNE(body_.index(test), number(0)), place, result);
      result = place;
    }
    return result;
  }

  /// A vector of an operand: as f32, or pairs of bf16. `place` is that of the key, if it is loads.
  Value* vector_of(const Rows& rows, Value* key, Value* place, Value* first, int lanes,
                   bool pairs) {
    const int64_t extent = *rows.other.axis_extent().constant_value();
    const bool whole = extent % lanes == 0;
    if (rows.operand->pieces.empty()) {
      Value* value =
          row_value(rows.operand->value, {plan_.key, key}, rows.other, first, lanes, whole);
      return pairs ? in_pairs(value, lanes) : value;
    }
    Value* mask =
        whole ? nullptr : builder_.lanes_below(ir_.CreateSub(number(extent), first), lanes);
    const DType stored = rows.operand->pieces[0].load.stored;
    if (pairs && stored == DType::kBF16)
      return builder_.load(bf16s(lanes), builder_.offset(place, scaled(first, 2)),
                           {.align = 2, .mask = mask});
    Value* value = body_.elements().cast(
        stored, DType::kF32, body_.elements().load(stored, place, first, lanes, {.mask = mask}));
    return pairs ? in_pairs(value, lanes) : value;
  }
  Value* in_pairs(Value* value, int lanes) {
    return ir_.CreateBitCast(body_.elements().narrow(DType::kBF16, value), bf16s(lanes));
  }
  /// Asks for part of an operand's row before it is needed: between keys and values memory would
  /// have to be found again each time.
  void prefetch(const Rows& rows, Value* key, Value* first, int64_t elements) {
    if (rows.operand->pieces.empty()) return;
    constexpr int64_t kLine = 64;
    const int64_t size = bytes_of(rows.operand->pieces[0].load);
    Value* place = builder_.offset(place_ahead(rows, key), scaled(first, size));
    for (int64_t at = 0; at < elements * size; at += kLine)
      builder_.prefetch(builder_.offset(place, at), 3);
  }
  /// Where a key is looked for before it is known to exist. Of a cache and what is appended to it,
  /// which is one row, the cache stands for both: beyond the last key there lies the first one of
  /// the next item, unless the cache has room for more.
  Value* place_ahead(const Rows& rows, Value* key) {
    std::optional<size_t> moving;
    for (size_t i = 0; i < rows.strides.size(); ++i) {
      const auto* stride = llvm::dyn_cast<llvm::ConstantInt>(rows.strides[i]);
      if (stride != nullptr && stride->isZero()) continue;
      if (moving) return place_of(rows, key);
      moving = i;
    }
    if (!moving) return place_of(rows, key);
    return builder_.offset(rows.first[*moving], ir_.CreateMul(key, rows.strides[*moving]));
  }
  llvm::Type* bf16s(int lanes) { return VectorBuilder::vector(ir_.getBFloatTy(), lanes); }

  /// Sums of one run and query: the results, then the maximum and the total.
  Value* partial_of(Value* item, Value* query) {
    Value* number_of = ir_.CreateAdd(ir_.CreateMul(item, query_count_), query);
    return builder_.offset(partial_, scaled(number_of, code_.partial_bytes()));
  }
  Value* infinity(llvm::Type* type) {
    return VectorBuilder::number(type, -std::numeric_limits<double>::infinity());
  }

  // A thread's scratch: queries, products not yet summed over the lanes, scores, results.
  int64_t query_bytes() const { return code_.padded_inner() * 4; }
  int64_t product_bytes() const { return int64_t{lanes_} * lanes_ * 4; }
  int64_t score_bytes() const { return int64_t{kKeysAtOnce} * 4; }
  int64_t result_bytes() const { return code_.padded_depth() * 4; }
  Value* part(int64_t before, int64_t bytes, size_t query) {
    return builder_.offset(scratch_,
                           schedule_.query_group * before + static_cast<int64_t>(query) * bytes);
  }
  Value* query_part(size_t query) { return part(0, query_bytes(), query); }
  Value* product_part(size_t query) { return part(query_bytes(), product_bytes(), query); }
  Value* score_part(size_t query) {
    return part(query_bytes() + product_bytes(), score_bytes(), query);
  }
  Value* result_part(size_t query) {
    return part(query_bytes() + product_bytes() + score_bytes(), result_bytes(), query);
  }

  /// A few queries and their keys [from, to).
  void attend(Value* from, Value* to, Value* item) {
    const size_t queries = queries_.size();
    Carried state;
    for (size_t i = 0; i < queries; ++i) {
      store_query(i);
      for_each_depth(
          [&](Value* at) { builder_.store(constant(0), builder_.offset(result_part(i), at)); });
      state.push_back(infinity(builder_.f32()));
      state.push_back(constant(0));  // a total per lane
    }
    state = builder_.loop(
        from, to, number(kKeysAtOnce), state, [&](Value* key, llvm::ArrayRef<Value*> now) {
          const BodyCode::Scope scope(body_);
          Value* count = least(number(kKeysAtOnce), ir_.CreateSub(to, key));
          Carried before;
          for (size_t i = 0; i < queries; ++i) before.push_back(now[2 * i]);
          const Carried max = scores(key, count, before);
          Carried next;
          for (size_t i = 0; i < queries; ++i) {
            Value* base = ir_.CreateSelect(ir_.CreateFCmpOEQ(max[i], infinity(builder_.f32())),
                                           VectorBuilder::number(builder_.f32(), 0), max[i]);
            Value* bases = builder_.splat(base, lanes_);
            Value* factor = power(ir_.CreateFSub(builder_.splat(before[i], lanes_), bases));
            rescale(i, factor);
            next.push_back(max[i]);
            next.push_back(weights(i, bases, count, ir_.CreateFMul(now[2 * i + 1], factor)));
          }
          add_values(key, count);
          return next;
        });
    for (size_t i = 0; i < queries; ++i) {
      Value* total = builder_.horizontal_sum(state[2 * i + 1]);
      if (is_whole()) {
        const BodyCode::Scope scope(body_);
        store_results(queries_[i], state[2 * i], total, [&](Value* column) {
          return builder_.load(floats(), builder_.offset(result_part(i), scaled(column, 4)));
        });
        continue;
      }
      Value* partial = partial_of(item, queries_[i]);
      for_each_depth([&](Value* at) {
        builder_.store(builder_.load(floats(), builder_.offset(result_part(i), at)),
                       builder_.offset(partial, at));
      });
      builder_.store(state[2 * i], builder_.offset(partial, result_bytes()));
      builder_.store(total, builder_.offset(partial, result_bytes() + 4));
    }
  }

  /// Every vector of the depth, by its place in bytes.
  void for_each_depth(llvm::function_ref<void(Value* at)> body) {
    builder_.loop(number(0), number(result_bytes()), number(int64_t{lanes_} * 4), body);
  }

  void rescale(size_t query, Value* factor) {
    for_each_depth([&](Value* at) {
      Value* place = builder_.offset(result_part(query), at);
      builder_.store(ir_.CreateFMul(builder_.load(floats(), place), factor), place);
    });
  }

  int elements_of_vector() const { return schedule_.dot_bf16 ? 2 * lanes_ : lanes_; }
  llvm::Type* query_vector() { return schedule_.dot_bf16 ? bf16s(2 * lanes_) : floats(); }

  /// A query along the inner axis: f32, or pairs of bf16.
  void store_query(size_t query) {
    body_.set_axis(plan_.query, queries_[query]);
    const int elements = elements_of_vector();
    builder_.loop(number(0), number(code_.inner()), number(elements), [&](Value* first) {
      const BodyCode::Scope scope(body_);
      const bool whole = code_.inner() % elements == 0;
      Value* mask = builder_.lanes_below(ir_.CreateSub(number(code_.inner()), first), elements);
      body_.spread(plan_.inner, first, elements, whole ? nullptr : mask);
      Value* value = body_.elements().cast((*code_.arena)[plan_.queries].dtype, DType::kF32,
                                           body_.wide_value(plan_.queries));
      if (!whole)
        value = ir_.CreateSelect(mask, value, llvm::Constant::getNullValue(value->getType()));
      if (schedule_.dot_bf16) value = body_.elements().narrow(DType::kBF16, value);
      builder_.store(value,
                     builder_.offset(query_part(query), scaled(first, schedule_.dot_bf16 ? 2 : 4)));
    });
    body_.gather_up();
  }

  /// Products of all queries with some keys, not yet summed over the lanes.
  Carried products(llvm::ArrayRef<Value*> keys) {
    const Carried zeros(keys.size() * queries_.size(), constant(0));
    const int elements = elements_of_vector();
    Carried places;
    for (Value* key : keys) places.push_back(place_of(keys_, key));
    return builder_.loop(
        number(0), number(code_.inner()), number(elements), zeros,
        [&](Value* first, llvm::ArrayRef<Value*> now) {
          Carried vectors;
          for (size_t k = 0; k < keys.size(); ++k)
            vectors.push_back(
                vector_of(keys_, keys[k], places[k], first, elements, schedule_.dot_bf16));
          Carried next;
          for (size_t i = 0; i < queries_.size(); ++i) {
            Value* at = builder_.offset(query_part(i), scaled(first, schedule_.dot_bf16 ? 2 : 4));
            Value* query = builder_.load(query_vector(), at, {.align = 64});
            for (size_t k = 0; k < keys.size(); ++k) {
              Value* sum = now[i * keys.size() + k];
              next.push_back(schedule_.dot_bf16 ? builder_.call_intrinsic(
                                                      llvm::Intrinsic::x86_avx512bf16_dpbf16ps_512,
                                                      {}, {sum, vectors[k], query})
                                                : builder_.mul_add(query, vectors[k], sum));
            }
          }
          return next;
        });
  }

  /// Sums over the lanes of as many vectors as there are lanes: lane i is the sum of vector i.
  Value* sums_of(Carried vectors) {
    for (int step = lanes_ / 2; step > 0; step /= 2) {
      llvm::SmallVector<int, 16> low;
      llvm::SmallVector<int, 16> high;
      for (int lane = 0; lane < lanes_; ++lane) {
        const int within = lane & (step - 1);
        const int block = (lane / (2 * step)) * 2 * step;
        const bool second = (lane & step) != 0;
        low.push_back((second ? lanes_ : 0) + block + within);
        high.push_back((second ? lanes_ : 0) + block + step + within);
      }
      Carried next;
      for (size_t i = 0; i < vectors.size() / 2; ++i) {
        Value* a = vectors[i];
        Value* b = vectors[i + vectors.size() / 2];
        next.push_back(ir_.CreateFAdd(ir_.CreateShuffleVector(a, b, low),
                                      ir_.CreateShuffleVector(a, b, high)));
      }
      vectors = next;
    }
    return vectors[0];
  }

  Value* score_at(size_t query, Value* row) {
    return builder_.offset(score_part(query), scaled(row, 4));
  }

  /// Scores of a block of keys to scratch, -inf beyond the end; gives the largest so far.
  Carried scores(Value* key, Value* count, const Carried& before) {
    Value* last = ir_.CreateSub(ir_.CreateAdd(key, count), number(1));
    const int64_t vector = int64_t{lanes_} * 4;
    Carried most;
    for (Value* max : before) most.push_back(builder_.splat(max, lanes_));
    most = builder_.loop(
        number(0), count, number(lanes_), most, [&](Value* first, llvm::ArrayRef<Value*> now) {
          const BodyCode::Scope scope(body_);
          // As many sums at once as keep the units busy.
          const int keys_of_tile = std::max(1, lanes_ / schedule_.query_group);
          builder_.loop(number(0), number(lanes_), number(keys_of_tile), [&](Value* row) {
            Carried keys;
            for (int k = 0; k < keys_of_tile; ++k) {
              // Beyond the end the last key is read again.
              Value* number_of = ir_.CreateAdd(ir_.CreateAdd(first, row), number(k));
              keys.push_back(least(ir_.CreateAdd(key, number_of), last));
            }
            for (Value* each : keys) prefetch(values_, each, number(0), code_.depth());
            const Carried sums = products(keys);
            for (size_t i = 0; i < queries_.size(); ++i)
              for (int k = 0; k < keys_of_tile; ++k)
                builder_.store(sums[i * keys.size() + static_cast<size_t>(k)],
                               builder_.offset(product_part(i),
                                               scaled(ir_.CreateAdd(row, number(k)), vector)));
          });
          Value* mask = builder_.lanes_below(ir_.CreateSub(count, first), lanes_);
          Carried next;
          for (size_t i = 0; i < queries_.size(); ++i) {
            const BodyCode::Scope inside(body_);
            Carried unsummed;
            for (int k = 0; k < lanes_; ++k)
              unsummed.push_back(
                  builder_.load(floats(), builder_.offset(product_part(i), k * vector)));
            body_.set_axis(plan_.query, queries_[i]);
            body_.spread(plan_.key, ir_.CreateAdd(key, first), lanes_, mask);
            body_.define(plan_.products, sums_of(unsummed));
            Value* score = body_.wide_value(plan_.score);
            score = ir_.CreateSelect(mask, score, infinity(floats()));
            builder_.store(score, score_at(i, first));
            next.push_back(ir_.CreateSelect(ir_.CreateFCmpOGT(score, now[i]), score, now[i]));
          }
          return next;
        });
    body_.gather_up();
    Carried result;
    for (Value* max : most) result.push_back(builder_.horizontal_max(max));
    return result;
  }

  /// Scores in scratch become weights; gives their sum, lane by lane, added to `total`.
  Value* weights(size_t query, Value* base, Value* count, Value* total) {
    return builder_.loop(
        number(0), count, number(lanes_), {total}, [&](Value* first, llvm::ArrayRef<Value*> now) {
          Value* place = score_at(query, first);
          Value* weight = power(ir_.CreateFSub(builder_.load(floats(), place), base));
          builder_.store(weight, place);
          return Carried{ir_.CreateFAdd(now[0], weight)};
        })[0];
  }

  /// Results of all queries += weights times values, some vectors of the depth at a time.
  void add_values(Value* key, Value* count) {
    const int64_t all = (code_.depth() + lanes_ - 1) / lanes_;
    int64_t vectors = 4;
    while (all % vectors != 0) vectors /= 2;
    const int64_t columns = vectors * lanes_;
    builder_.loop(number(0), number(code_.depth()), number(columns), [&](Value* column) {
      Carried places;
      Carried results;
      for (size_t i = 0; i < queries_.size(); ++i)
        for (int64_t v = 0; v < vectors; ++v) {
          Value* at = scaled(ir_.CreateAdd(column, number(v * lanes_)), 4);
          places.push_back(builder_.offset(result_part(i), at));
          results.push_back(builder_.load(floats(), places.back()));
        }
      results = builder_.loop(
          number(0), count, number(1), results, [&](Value* row, llvm::ArrayRef<Value*> now) {
            Value* number_of = ir_.CreateAdd(key, row);
            Value* at = place_of(values_, number_of);
            prefetch(keys_, ir_.CreateAdd(number_of, number(kKeysAtOnce)), column, columns);
            Carried loaded;
            for (int64_t v = 0; v < vectors; ++v)
              loaded.push_back(vector_of(values_, number_of, at,
                                         ir_.CreateAdd(column, number(v * lanes_)), lanes_, false));
            Carried next;
            for (size_t i = 0; i < queries_.size(); ++i) {
              Value* weight =
                  builder_.splat(builder_.load(builder_.f32(), score_at(i, row)), lanes_);
              for (Value* value : loaded)
                next.push_back(builder_.mul_add(weight, value, now[next.size()]));
            }
            return next;
          });
      for (size_t i = 0; i < places.size(); ++i) builder_.store(results[i], places[i]);
    });
  }

  /// All runs of one query: sums relative to the largest of their maxima.
  void merge(Value* query, Value* first_item, Value* runs) {
    llvm::Type* f32 = builder_.f32();
    const int64_t max_at = result_bytes();
    const auto partial = [&](Value* run) {
      return partial_of(ir_.CreateAdd(first_item, run), query);
    };
    Value* max = builder_.loop(
        number(0), runs, number(1), {infinity(f32)}, [&](Value* run, llvm::ArrayRef<Value*> now) {
          Value* other = builder_.load(f32, builder_.offset(partial(run), max_at));
          return Carried{ir_.CreateSelect(ir_.CreateFCmpOGT(other, now[0]), other, now[0])};
        })[0];
    Value* base =
        ir_.CreateSelect(ir_.CreateFCmpOEQ(max, infinity(f32)), VectorBuilder::number(f32, 0), max);
    // On full vectors: the power of one number would be another one.
    const auto factor_of = [&](Value* run) {
      Value* other = builder_.load(f32, builder_.offset(partial(run), max_at));
      return power(builder_.splat(ir_.CreateFSub(other, base), lanes_));
    };
    Value* total =
        builder_.loop(number(0), runs, number(1), {VectorBuilder::number(f32, 0)},
                      [&](Value* run, llvm::ArrayRef<Value*> now) {
                        Value* part = builder_.load(f32, builder_.offset(partial(run), max_at + 4));
                        Value* factor = ir_.CreateExtractElement(factor_of(run), uint64_t{0});
                        return Carried{ir_.CreateFAdd(now[0], ir_.CreateFMul(part, factor))};
                      })[0];
    store_results(query, max, total, [&](Value* column) {
      return builder_.loop(
          number(0), runs, number(1), {constant(0)}, [&](Value* run, llvm::ArrayRef<Value*> now) {
            Value* part = builder_.load(floats(), builder_.offset(partial(run), scaled(column, 4)));
            return Carried{builder_.mul_add(part, factor_of(run), now[0])};
          })[0];
    });
  }

  Value* scratch_ = nullptr;
  Value* partial_ = nullptr;
  Carried queries_;  // those that are worked on
  Rows keys_, values_;
};

}  // namespace

void emit_attention_runs(llvm::Module& module, const CpuTarget& target, const AttentionCode& code) {
  VectorBuilder builder(module, target);
  DecodeEmitter(builder, code).emit_runs();
}

void emit_attention_merge(llvm::Module& module, const CpuTarget& target,
                          const AttentionCode& code) {
  VectorBuilder builder(module, target);
  DecodeEmitter(builder, code).emit_merge();
}

}  // namespace luminal::codegen

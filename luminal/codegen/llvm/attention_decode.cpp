// Attention of few queries over many keys, as when one token follows another: keys and values are
// read once and that is all the time there is. A work item is a run of keys for all queries that
// share them; lanes run along the inner axis for scores, along keys for weights, and along the
// depth for results. A second launch brings the runs of keys together.
#include <limits>

#include <llvm/IR/IntrinsicsX86.h>

#include "luminal/codegen/llvm/attention_blocks.h"

namespace luminal::codegen {
namespace {

using graph::DType;
using llvm::Value;
using symbolic::Expr;

/// Keys whose scores are found before any weight is.
constexpr int64_t kKeysAtOnce = 64;

class DecodeEmitter : AttentionBlocks {
 public:
  DecodeEmitter(VectorBuilder& builder, const AttentionCode& code)
      : AttentionBlocks(builder, code) {}

  void emit_runs() {
    const EntryArguments entry = begin("attend");
    scratch_ = entry.scratch;
    partial_ = builder_.buffer(entry, static_cast<int>(code_.tensors.size()));
    Value* runs = body_.index(code_.key_runs());
    builder_.loop(entry.begin, entry.end, number(1), [&](Value* item) {
      const BodyCode::Scope scope(body_);
      body_.set_axes(plan_.rows, ir_.CreateSDiv(item, runs));
      first_query_ = number(0);
      query_count_ = body_.index(code_.queries());
      Value* first = scaled(ir_.CreateSRem(item, runs), schedule_.key_run);
      const auto [allowed, end] = key_range();
      Value* from = ir_.CreateBinaryIntrinsic(llvm::Intrinsic::smax, first, allowed);
      Value* to = least(ir_.CreateAdd(first, number(schedule_.key_run)), end);
      builder_.loop(number(0), query_count_, number(1), [&](Value* query) {
        const BodyCode::Scope inside(body_);
        body_.set_axis(plan_.query, query);
        attend(from, to, partial_of(item, query));
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
  /// Sums of one run and query: the results, then the maximum and the total.
  Value* partial_of(Value* item, Value* query) {
    Value* number_of = ir_.CreateAdd(ir_.CreateMul(item, query_count_), query);
    return builder_.offset(partial_, scaled(number_of, code_.partial_bytes()));
  }
  Value* infinity(llvm::Type* type) {
    return VectorBuilder::number(type, -std::numeric_limits<double>::infinity());
  }

  /// One query and its keys [from, to).
  void attend(Value* from, Value* to, Value* partial) {
    const Carried query = query_vectors();
    const auto vectors = static_cast<size_t>(code_.depth() / lanes_);
    Carried state(vectors, constant(0));
    state.push_back(infinity(builder_.f32()));
    state.push_back(constant(0));  // a total per lane
    state = builder_.loop(
        from, to, number(kKeysAtOnce), state, [&](Value* key, llvm::ArrayRef<Value*> now) {
          const BodyCode::Scope scope(body_);
          Value* count = least(number(kKeysAtOnce), ir_.CreateSub(to, key));
          Value* max = scores(query, key, count, now[vectors]);
          Value* base = ir_.CreateSelect(ir_.CreateFCmpOEQ(max, infinity(builder_.f32())),
                                         VectorBuilder::number(builder_.f32(), 0), max);
          Value* bases = builder_.splat(base, lanes_);
          Value* factor = power(ir_.CreateFSub(builder_.splat(now[vectors], lanes_), bases));
          Value* total = weights(bases, count, ir_.CreateFMul(now[vectors + 1], factor));
          Carried next;
          for (size_t v = 0; v < vectors; ++v) next.push_back(ir_.CreateFMul(now[v], factor));
          next = add_values(next, key, count);
          next.push_back(max);
          next.push_back(total);
          return next;
        });
    for (size_t v = 0; v < vectors; ++v)
      builder_.store(state[v], builder_.offset(partial, static_cast<int64_t>(v) * lanes_ * 4));
    builder_.store(state[vectors], builder_.offset(partial, code_.depth() * 4));
    builder_.store(builder_.horizontal_sum(state[vectors + 1]),
                   builder_.offset(partial, code_.depth() * 4 + 4));
  }

  /// The query along the inner axis: f32, or pairs of bf16.
  Carried query_vectors() {
    const int elements = schedule_.dot_bf16 ? 2 * lanes_ : lanes_;
    Carried result;
    for (int64_t first = 0; first < code_.inner(); first += elements) {
      const BodyCode::Scope scope(body_);
      body_.spread(plan_.inner, number(first), elements, nullptr);
      Value* value = body_.elements().cast((*code_.arena)[plan_.queries].dtype, DType::kF32,
                                           body_.wide_value(plan_.queries));
      if (schedule_.dot_bf16)
        value = ir_.CreateBitCast(body_.elements().narrow(DType::kBF16, value),
                                  VectorBuilder::vector(ir_.getBFloatTy(), elements));
      result.push_back(value);
    }
    body_.gather_up();
    return result;
  }

  /// The products of the query with one key, not yet summed over the lanes.
  Value* product(const Carried& query, Value* key) {
    Value* sum = constant(0);
    for (size_t v = 0; v < query.size(); ++v) {
      const int elements = VectorBuilder::lanes_of(query[v]);
      Value* at = number(static_cast<int64_t>(v) * elements);
      if (schedule_.dot_bf16) {
        Value* pairs =
            builder_.load(query[v]->getType(), builder_.offset(key, scaled(at, 2)), {.align = 2});
        sum = builder_.call_intrinsic(llvm::Intrinsic::x86_avx512bf16_dpbf16ps_512, {},
                                      {sum, pairs, query[v]});
      } else {
        Value* values = body_.elements().load(plan_.keys.stored, key, at, elements);
        sum = builder_.mul_add(query[v],
                               body_.elements().cast(plan_.keys.stored, DType::kF32, values), sum);
      }
    }
    return sum;
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

  Value* score_at(Value* row) { return builder_.offset(scratch_, scaled(row, 4)); }

  /// Scores of a block of keys to scratch, -inf beyond the end; gives the largest so far.
  Value* scores(const Carried& query, Value* key, Value* count, Value* before) {
    Value* keys = operand_place(plan_.keys, key, plan_.inner);
    Value* stride = stride_of(plan_.keys, plan_.key);
    Value* last = ir_.CreateSub(count, number(1));
    Value* most = builder_.loop(
        number(0), count, number(lanes_), {builder_.splat(before, lanes_)},
        [&](Value* first, llvm::ArrayRef<Value*> now) {
          const BodyCode::Scope scope(body_);
          Carried products;
          for (int i = 0; i < lanes_; ++i) {
            // Beyond the end the last key is read again.
            Value* row = least(ir_.CreateAdd(first, number(i)), last);
            products.push_back(product(query, builder_.offset(keys, ir_.CreateMul(row, stride))));
          }
          Value* mask = builder_.lanes_below(ir_.CreateSub(count, first), lanes_);
          body_.spread(plan_.key, ir_.CreateAdd(key, first), lanes_, mask);
          body_.define(plan_.products, sums_of(products));
          Value* score = body_.wide_value(plan_.score);
          score = ir_.CreateSelect(mask, score, infinity(floats()));
          builder_.store(score, score_at(first));
          return Carried{ir_.CreateSelect(ir_.CreateFCmpOGT(score, now[0]), score, now[0])};
        })[0];
    body_.gather_up();
    return builder_.horizontal_max(most);
  }

  /// Scores in scratch become weights; gives their sum, lane by lane, added to `total`.
  Value* weights(Value* base, Value* count, Value* total) {
    return builder_.loop(number(0), count, number(lanes_), {total},
                         [&](Value* first, llvm::ArrayRef<Value*> now) {
                           Value* score = builder_.load(floats(), score_at(first));
                           Value* weight = power(ir_.CreateFSub(score, base));
                           builder_.store(weight, score_at(first));
                           return Carried{ir_.CreateFAdd(now[0], weight)};
                         })[0];
  }

  Carried add_values(const Carried& results, Value* key, Value* count) {
    Value* values = operand_place(plan_.values, key, plan_.depth);
    Value* stride = stride_of(plan_.values, plan_.key);
    return builder_.loop(
        number(0), count, number(1), results, [&](Value* row, llvm::ArrayRef<Value*> now) {
          Value* weight = builder_.splat(builder_.load(builder_.f32(), score_at(row)), lanes_);
          Value* at = builder_.offset(values, ir_.CreateMul(row, stride));
          Carried next;
          for (size_t v = 0; v < now.size(); ++v) {
            Value* value = body_.elements().load(plan_.values.stored, at,
                                                 number(static_cast<int64_t>(v) * lanes_), lanes_);
            next.push_back(builder_.mul_add(
                weight, body_.elements().cast(plan_.values.stored, DType::kF32, value), now[v]));
          }
          return next;
        });
  }

  /// All runs of one query: sums relative to the largest of their maxima.
  void merge(Value* query, Value* first_item, Value* runs) {
    llvm::Type* f32 = builder_.f32();
    const int64_t max_at = code_.depth() * 4;
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

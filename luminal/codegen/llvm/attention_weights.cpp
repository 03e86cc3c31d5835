// The weights of attention: scores relative to the largest so far become powers.
#include "luminal/codegen/llvm/attention_emitter.h"

#include <limits>

namespace luminal::codegen {

using graph::DType;
using kernel::BodyId;
using kernel::BodyKind;
using kernel::BodyNode;
using llvm::Value;

void AttentionEmitter::weigh(Value* first, Value* end, Value* key, Value* count) {
  const Queries queries{ir_.CreateAdd(first_query_, first), ir_.CreateSub(end, first)};
  builder_.loop(first, end, number(lanes_), [&](Value* query) {
    const BodyCode::Scope scope(body_);
    if (plan_.conditions.empty()) return weigh_vector(query, key, count, plan_.score);
    builder_.if_else(
        all_allowed(queries, key, count),
        [&] { return weighed(query, key, count, below_conditions()); },
        [&] { return weighed(query, key, count, plan_.score); });
  });
  body_.gather_up();
}

Carried AttentionEmitter::weighed(Value* query, Value* key, Value* count, BodyId score) {
  const BodyCode::Scope scope(body_);
  weigh_vector(query, key, count, score);
  return {};
}

void AttentionEmitter::weigh_vector(Value* query, Value* key, Value* count, BodyId score) {
  spread_queries(query);
  Value* scores = vector_place(at_.scores, score_rows(), query);
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
  Value* before = builder_.load(floats(), per_query(at_.maxima, query), {.align = 64});
  // A score that is NaN need not be the maximum: its weight is NaN, and with it the sums.
  Value* most = nullptr;
  if (factor) {
    most = larger(ir_.CreateFMul(largest_products(query, count), constant(*factor)), before);
  } else {
    most = builder_.loop(number(0), count, number(1), {before},
                         [&](Value* row, llvm::ArrayRef<Value*> now) {
                           return Carried{larger(score_at(row, false), now[0])};
                         })[0];
  }
  Value* base = ir_.CreateSelect(ir_.CreateFCmpOEQ(most, constant(-kInfinity)), constant(0), most);
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

Value* AttentionEmitter::largest_products(Value* query, Value*) {
  return builder_.load(floats(), per_query(at_.largest, query), {.align = 64});
}

/// What products are multiplied by to be scores, if that is all: their maximum is then that of
/// scores, and the factor goes into the exponent.
std::optional<double> AttentionEmitter::factor_of(BodyId score) const {
  if (code_.round_each) return std::nullopt;
  score = without_casts(score);
  const BodyId products = without_casts(plan_.products);
  if (score == products) return 1.0;
  const BodyNode& node = (*code_.arena)[score];
  if (node.kind != BodyKind::kOp || node.op != graph::Op::kMul) return std::nullopt;
  for (const size_t side : {size_t{0}, size_t{1}}) {
    const BodyNode& other = (*code_.arena)[node.children[1 - side]];
    if (without_casts(node.children[side]) != products || other.kind != BodyKind::kConstant)
      continue;
    // What exponents are multiplied by has to be a float, too.
    const double factor = other.constant.as_double();
    if (factor > 0 && factor * score_unit() <= std::numeric_limits<float>::max()) return factor;
  }
  return std::nullopt;
}

/// Casts between floats of one range, which are not rounded to before the end.
BodyId AttentionEmitter::without_casts(BodyId id) const {
  const auto has_range = [](DType dtype) { return dtype == DType::kF32 || dtype == DType::kBF16; };
  while (true) {
    const BodyNode& node = (*code_.arena)[id];
    if (node.kind != BodyKind::kOp || node.op != graph::Op::kCast || !has_range(node.dtype) ||
        !has_range((*code_.arena)[node.children[0]].dtype))
      return id;
    id = node.children[0];
  }
}

/// Weights instead of the scores of a vector of queries, or beside them; gives their sum.
Value* AttentionEmitter::store_weights(Value* query, Value* scores, Value* count, Value* total,
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
Value* AttentionEmitter::store_pairs(Value* query, Value* count, Value* total,
                                     llvm::function_ref<Value*(Value* row)> weight_at) {
  Value* weights = vector_place(at_.weights, schedule_.key_block / 2, query);
  const auto store = [&](Value* row, Value* first, Value* second) {
    Value* at = scaled(ir_.CreateSDiv(row, number(2)), row_bytes());
    builder_.store(rounded_pair(first, second), builder_.offset(weights, at), {.align = 64});
  };
  Value* last = ir_.CreateSub(count, ir_.CreateSRem(count, number(2)));
  total = builder_.loop(number(0), last, number(2), {total},
                        [&](Value* row, llvm::ArrayRef<Value*> now) {
                          Value* first = weight_at(row);
                          Value* second = weight_at(ir_.CreateAdd(row, number(1)));
                          store(row, first, second);
                          return Carried{ir_.CreateFAdd(now[0], ir_.CreateFAdd(first, second))};
                        })[0];
  return builder_.if_else(
      ir_.CreateICmpSLT(last, count),
      [&] {
        Value* weight = weight_at(last);
        store(last, weight, constant(0));
        return Carried{ir_.CreateFAdd(total, weight)};
      },
      [&] { return Carried{total}; })[0];
}

/// Two weights, at least 0, as bf16 side by side. Those in the middle between two are rounded up,
/// which takes half of the instructions. (A NaN may get lost here, and is in the sum of all.)
Value* AttentionEmitter::rounded_pair(Value* first, Value* second) {
  const auto nearest = [&](Value* weight) {
    return ir_.CreateAdd(ir_.CreateBitCast(weight, integers()),
                         VectorBuilder::integer(integers(), 0x8000));
  };
  Value* low = ir_.CreateLShr(nearest(first), VectorBuilder::integer(integers(), 16));
  Value* high = ir_.CreateAnd(nearest(second), VectorBuilder::integer(integers(), -0x10000));
  return ir_.CreateOr(low, high);
}

}  // namespace luminal::codegen

#include "luminal/codegen/llvm/attention_blocks.h"

#include <algorithm>
#include <limits>
#include <numbers>

#include "luminal/codegen/llvm/nest_flatten.h"
#include "luminal/codegen/llvm/vector_math.h"
#include "luminal/symbolic/node.h"

namespace luminal::codegen {

using kernel::BodyId;
using kernel::BodyNode;
using llvm::Value;
using symbolic::Expr;

namespace {

/// What must not be negative, if a condition is such a test and linear in query and key.
std::optional<symbolic::Affine> bound_of(const AttentionPlan& plan, const Expr& condition) {
  if (condition.node()->kind != symbolic::Kind::kNonNegative) return std::nullopt;
  const auto affine = symbolic::as_affine(condition.node()->operands[0]);
  if (!affine) return std::nullopt;
  for (const Expr& axis : {plan.query, plan.key})
    if (axis.is_axis() && !affine->coefficient(axis).is_constant()) return std::nullopt;
  return affine;
}

}  // namespace

AttentionBlocks::AttentionBlocks(VectorBuilder& builder, const AttentionCode& code)
    : builder_(builder),
      ir_(builder.ir()),
      code_(code),
      plan_(code.plan),
      schedule_(code.schedule),
      lanes_(code.schedule.lanes),
      body_(builder, *code.arena, {code.round_each, MathAccuracy::kFull}, code.kernel.roots) {}

EntryArguments AttentionBlocks::begin(std::string_view name) {
  const EntryArguments entry = builder_.begin_entry(name);
  for (size_t i = 0; i < code_.tensors.size(); ++i)
    body_.set_buffer(code_.tensors[i], builder_.buffer(entry, static_cast<int>(i)));
  for (size_t i = 0; i < code_.dims.size(); ++i)
    body_.set_dim(code_.dims[i], builder_.scalar(entry, static_cast<int>(i)));
  return entry;
}

Value* AttentionBlocks::least(Value* a, Value* b) {
  return ir_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, a, b);
}

Value* AttentionBlocks::scaled(Value* value, int64_t by) {
  return ir_.CreateMul(value, number(by));
}

double AttentionBlocks::score_unit() const { return plan_.base_two ? 1 : std::numbers::log2e; }

Value* AttentionBlocks::power_of_two(Value* exponent) {
  VectorMath math(builder_, schedule_.dot_bf16 ? MathAccuracy::kBf16 : MathAccuracy::kFull);
  return math.exp2_of_difference(exponent);
}

Value* AttentionBlocks::power(Value* difference) {
  Value* unit = VectorBuilder::number(difference->getType(), score_unit());
  return power_of_two(plan_.base_two ? difference : ir_.CreateFMul(difference, unit));
}

/// The largest (or smallest) value over the queries, for one key.
Value* AttentionBlocks::extreme(const Queries& queries, const Expr& condition,
                                const symbolic::Affine& affine, Value* key, bool largest) {
  body_.gather_up();
  const int64_t slope =
      plan_.query.is_axis() ? *affine.coefficient(plan_.query).constant_value() : 0;
  Value* last = ir_.CreateSub(ir_.CreateAdd(queries.first, queries.count), number(1));
  body_.set_axis(plan_.query, (slope > 0) == largest ? last : queries.first);
  body_.set_axis(plan_.key, key);
  return body_.index(condition.node()->operands[0]);
}

std::pair<Value*, Value*> AttentionBlocks::key_range(const Queries& queries) {
  Value* first = number(0);
  Value* end = body_.index(plan_.key.axis_extent());
  for (const Expr& condition : plan_.conditions) {
    const auto affine = bound_of(plan_, condition);
    if (!affine) continue;
    Value* at_zero = extreme(queries, condition, *affine, number(0), true);
    if (affine->coefficient(plan_.key).is_constant(-1))
      end = least(end, ir_.CreateAdd(at_zero, number(1)));
    if (affine->coefficient(plan_.key).is_constant(1))
      first = ir_.CreateBinaryIntrinsic(llvm::Intrinsic::smax, first, ir_.CreateNeg(at_zero));
  }
  return {first, end};
}

Value* AttentionBlocks::all_allowed(const Queries& queries, Value* key, Value* count) {
  Value* all = ir_.getTrue();
  Value* last = ir_.CreateSub(ir_.CreateAdd(key, count), number(1));
  for (const Expr& condition : plan_.conditions) {
    const auto affine = bound_of(plan_, condition);
    if (!affine) return ir_.getFalse();
    const bool rises = *affine->coefficient(plan_.key).constant_value() > 0;
    Value* lowest = extreme(queries, condition, *affine, rises ? key : last, false);
    all = ir_.CreateAnd(all, ir_.CreateICmpSGE(lowest, number(0)));
  }
  return all;
}

Value* AttentionBlocks::operand_place(const kernel::PlainOperand& operand, Value* key,
                                      const Expr& other) {
  body_.gather_up();
  body_.set_axis(plan_.key, key);
  body_.set_axis(other, number(0));
  const BodyNode& node = (*code_.arena)[operand.load];
  Value* position = body_.index(position_of(node.exprs, code_.arena->tensor(operand.tensor).shape));
  return builder_.offset(body_.buffer(operand.tensor), scaled(position, bytes_of(operand)));
}

Value* AttentionBlocks::row_value(BodyId operand, const Place& row, const Expr& other, Value* first,
                                  int lanes, bool whole) {
  const BodyCode::Scope scope(body_);
  Value* extent = body_.index(other.axis_extent());
  Value* mask = whole ? nullptr : builder_.lanes_below(ir_.CreateSub(extent, first), lanes);
  body_.gather_up();
  body_.set_axis(row.axis, row.at);
  body_.spread(other, first, lanes, mask);
  Value* value = body_.elements().cast((*code_.arena)[operand].dtype, graph::DType::kF32,
                                       body_.wide_value(operand));
  if (mask == nullptr) return value;
  return ir_.CreateSelect(mask, value, llvm::Constant::getNullValue(value->getType()));
}

int64_t AttentionBlocks::bytes_of(const kernel::PlainOperand& operand) {
  return graph::bits(operand.stored) / 8;
}
Value* AttentionBlocks::stride_of(const kernel::PlainOperand& operand, const Expr& axis) {
  return body_.index(operand.stride(axis) * bytes_of(operand));
}

BodyId AttentionBlocks::below_conditions() const {
  BodyId id = plan_.score;
  // Those that give another number than -inf are part of the score.
  const auto is_condition = [&](const BodyNode& node) {
    if (node.kind != kernel::BodyKind::kWhere) return false;
    const BodyNode& otherwise = (*code_.arena)[node.children[1]];
    return otherwise.kind == kernel::BodyKind::kConstant &&
           otherwise.constant.as_double() == -std::numeric_limits<double>::infinity();
  };
  while (true) {
    const BodyNode& node = (*code_.arena)[id];
    const bool test = is_condition(node);
    if (!test && !(node.kind == kernel::BodyKind::kOp && node.op == graph::Op::kCast)) return id;
    if (!test && !is_condition((*code_.arena)[node.children[0]])) return id;
    id = node.children[0];
  }
}

void AttentionBlocks::store_results(Value* query, Value* max, Value* total,
                                    llvm::function_ref<Value*(Value* column)> result_at) {
  const double infinity = std::numeric_limits<double>::infinity();
  const double nan = std::numeric_limits<double>::quiet_NaN();
  llvm::Type* f32 = builder_.f32();
  body_.gather_up();
  Value* any = ir_.CreateICmpSGT(body_.index(plan_.key.axis_extent()), number(0));
  Value* none = ir_.CreateAnd(any, ir_.CreateFCmpOEQ(max, VectorBuilder::number(f32, -infinity)));
  total = ir_.CreateSelect(none, VectorBuilder::number(f32, nan), total);
  body_.set_axis(plan_.query, query);
  for (const BodyId id : plan_.maxima) body_.define(id, max);
  for (const BodyId id : plan_.totals) body_.define(id, total);
  // A result of 8 digits does not show whether it was divided or multiplied; the sum of weights is
  // neither large nor small.
  Value* reciprocal = ir_.CreateFDiv(VectorBuilder::number(f32, 1), total);
  const auto is_total = [&](BodyId id) {
    return std::find(plan_.totals.begin(), plan_.totals.end(), id) != plan_.totals.end();
  };
  builder_.loop(number(0), number(code_.depth()), number(lanes_), [&](Value* column) {
    const BodyCode::Scope inside(body_);
    body_.spread(plan_.depth, column, lanes_,
                 builder_.lanes_below(ir_.CreateSub(number(code_.depth()), column), lanes_));
    Value* value = ir_.CreateSelect(builder_.splat(none, lanes_), constant(nan), result_at(column));
    for (const auto& [factor, divides] : plan_.factors) {
      if (divides && schedule_.dot_bf16 && is_total(factor)) {
        value = ir_.CreateFMul(value, builder_.splat(reciprocal, lanes_));
        continue;
      }
      Value* other = body_.wide_value(factor);
      value = divides ? ir_.CreateFDiv(value, other) : ir_.CreateFMul(value, other);
    }
    // Factors left the sum, and without any keys the total is 0: a sum of nothing has neither.
    value = ir_.CreateSelect(builder_.splat(any, lanes_), value, constant(0));
    body_.define(plan_.output, value);
    const kernel::Root& root = code_.kernel.roots[0];
    body_.store(root, body_.wide_value(root.value));
  });
}

}  // namespace luminal::codegen

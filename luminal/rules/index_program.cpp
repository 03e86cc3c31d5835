#include "luminal/rules/index_program.h"

#include <algorithm>
#include <bit>

#include "luminal/support/check.h"
#include "luminal/support/error.h"

namespace luminal::rules {
namespace {

bool is_power_of_two(const Expr& expr) {
  const auto value = expr.constant_value();
  return value && *value > 0 && std::has_single_bit(static_cast<uint64_t>(*value));
}

constexpr int64_t kProductCost = 2, kShiftedDivisionCost = 2, kDivisionCost = 12, kFloorCost = 4;

int64_t division_cost(const Expr& numerator, const Expr& divisor) {
  if (is_power_of_two(divisor)) return kShiftedDivisionCost;
  const bool is_plain = numerator.bounds().lo >= 0 && divisor.bounds().lo >= 0;
  return is_plain ? kDivisionCost : kDivisionCost + kFloorCost;
}

[[noreturn]] void overflow() {
  throw UserError("index program", "an intermediate value does not fit into 64 bits");
}

int64_t floor_divide(int64_t a, int64_t b) {
  if (b == 0) throw UserError("index program", "{} is divided by zero", a);
  if (b == -1) {
    if (a == INT64_MIN) overflow();
    return -a;
  }
  return a / b - ((a % b != 0 && (a < 0) != (b < 0)) ? 1 : 0);
}

int64_t floor_remainder(int64_t a, int64_t b) {
  if (b == 0) throw UserError("index program", "{} is divided by zero", a);
  if (b == -1) return 0;
  const int64_t remainder = a % b;
  return remainder != 0 && (remainder < 0) != (b < 0) ? remainder + b : remainder;
}

}  // namespace

int64_t index_cost(IndexOp op, std::span<const Expr> operands) {
  switch (op) {
    case IndexOp::kLeaf:
      return 0;
    case IndexOp::kMultiply:
      for (const Expr& operand : operands)
        if (is_power_of_two(operand) || operand.is_constant(-1)) return 1;
      return kProductCost;
    case IndexOp::kFloorDiv:
    case IndexOp::kRemainder:
      return division_cost(operands[0], operands[1]);
    default:
      return 1;
  }
}

int64_t apply_index_op(IndexOp op, std::span<const int64_t> operands) {
  const int64_t a = operands[0], b = operands[1];
  int64_t result = 0;
  switch (op) {
    case IndexOp::kLeaf:
      return a;
    case IndexOp::kAdd:
      if (__builtin_add_overflow(a, b, &result)) overflow();
      return result;
    case IndexOp::kSubtract:
      if (__builtin_sub_overflow(a, b, &result)) overflow();
      return result;
    case IndexOp::kMultiply:
      if (__builtin_mul_overflow(a, b, &result)) overflow();
      return result;
    case IndexOp::kFloorDiv:
      return floor_divide(a, b);
    case IndexOp::kRemainder:
      return floor_remainder(a, b);
    case IndexOp::kShiftRight:
      return a >> b;
    case IndexOp::kBitAnd:
    case IndexOp::kAnd:
      return a & b;
    case IndexOp::kOr:
      return a | b;
    case IndexOp::kMinimum:
      return std::min(a, b);
    case IndexOp::kMaximum:
      return std::max(a, b);
    case IndexOp::kLess:
      return a < b ? 1 : 0;
    case IndexOp::kLessEqual:
      return a <= b ? 1 : 0;
    case IndexOp::kEqual:
      return a == b ? 1 : 0;
    case IndexOp::kNotEqual:
      return a != b ? 1 : 0;
    case IndexOp::kSelect:
      return a != 0 ? b : operands[2];
    case IndexOp::kInRange:
      return static_cast<uint64_t>(a) < static_cast<uint64_t>(b) ? 1 : 0;
  }
  return 0;
}

IndexId IndexProgram::add_leaf(const Expr& value) {
  LUMINAL_CHECK(value.is_constant() || value.is_variable() || value.is_axis(),
                "{} is no leaf of an index program", value);
  std::vector<IndexId>& same_hash = leaves_[value.hash()];
  for (const IndexId id : same_hash)
    if (nodes_[id].value == value) return id;
  same_hash.push_back(static_cast<IndexId>(nodes_.size()));
  nodes_.push_back({IndexOp::kLeaf, {}, value});
  return same_hash.back();
}

IndexId IndexProgram::add(IndexOp op, std::array<IndexId, 3> operands, const Expr& value) {
  if (op == IndexOp::kLeaf) return add_leaf(value);
  const auto [entry, is_new] =
      by_content_.try_emplace({op, operands}, static_cast<IndexId>(nodes_.size()));
  if (is_new) nodes_.push_back({op, operands, value});
  return entry->second;
}

int64_t IndexProgram::cost() const {
  int64_t total = 0;
  std::vector<Expr> operands;
  for (const IndexNode& node : nodes_) {
    operands.clear();
    for (const IndexId id : node.used_operands()) operands.push_back(nodes_[id].value);
    total += index_cost(node.op, operands);
  }
  return total;
}

std::vector<int64_t> IndexProgram::evaluate(const symbolic::Values& values) const {
  std::vector<int64_t> computed;
  for (const IndexNode& node : nodes_) {
    if (node.op == IndexOp::kLeaf) {
      computed.push_back(symbolic::evaluate(node.value, values));
      continue;
    }
    std::array<int64_t, 3> operands{};
    for (size_t k = 0; k < node.used_operands().size(); ++k)
      operands[k] = computed[node.operands[k]];
    computed.push_back(apply_index_op(node.op, operands));
  }
  std::vector<int64_t> results;
  for (const IndexId output : outputs_) results.push_back(computed[output]);
  return results;
}

}  // namespace luminal::rules

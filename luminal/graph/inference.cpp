#include "luminal/graph/inference.h"

#include "luminal/support/error.h"

namespace luminal::graph {
namespace {

/// Does `dtype` suit operands of this rule?
bool accepts(DTypeRule rule, DType dtype) {
  switch (rule) {
    case DTypeRule::kFloat:
      return is_float(dtype);
    case DTypeRule::kNumber:
      return is_float(dtype) || is_integer(dtype);
    case DTypeRule::kBits:
      return is_integer(dtype) || is_bool(dtype);
    case DTypeRule::kInteger:
      return is_integer(dtype);
    default:
      return true;
  }
}

std::string_view wanted(DTypeRule rule) {
  switch (rule) {
    case DTypeRule::kFloat:
      return "a float";
    case DTypeRule::kNumber:
      return "a float or an integer";
    case DTypeRule::kBits:
      return "an integer or bool";
    case DTypeRule::kInteger:
      return "an integer";
    default:
      return "any dtype";
  }
}

void check_accepts(Op op, DTypeRule rule, DType dtype) {
  if (!accepts(rule, dtype))
    throw UserError(name(op), "needs {}, got {}; cast it first", wanted(rule), dtype);
}

void check_same_dtype(Op op, DType first, DType second) {
  if (first != second)
    throw UserError(name(op), "operands have different dtypes {} and {}; cast one of them", first,
                    second);
}

void check_index(Op op, DType dtype) {
  if (!is_integer(dtype))
    throw UserError(name(op), "indices must be integers, got {}; cast them to i64", dtype);
}

void check_same_domain(Op op, const Shape& first, const Shape& second) {
  if (first != second)
    throw UserError(name(op), "operands have different shapes {} and {}; expand one of them",
                    to_string(first), to_string(second));
}

TensorType infer_elementwise(Op op, std::span<const OperandType> operands) {
  const DTypeRule rule = info(op).dtype_rule;
  for (const OperandType& operand : operands)
    check_same_domain(op, operands[0].domain, operand.domain);
  if (rule == DTypeRule::kSelect) {
    if (!is_bool(operands[0].dtype))
      throw UserError(name(op), "the condition must be bool, got {}; compare it with 0",
                      operands[0].dtype);
    check_same_dtype(op, operands[1].dtype, operands[2].dtype);
    return {operands[1].dtype, operands[0].domain};
  }
  for (const OperandType& operand : operands) {
    check_accepts(op, rule, operand.dtype);
    check_same_dtype(op, operands[0].dtype, operand.dtype);
  }
  return {rule == DTypeRule::kCompare ? DType::kBool : operands[0].dtype, operands[0].domain};
}

TensorType infer_reduction(Op op, const OperandType& operand, int axes) {
  check_accepts(op, info(op).dtype_rule, operand.dtype);
  const int rank = static_cast<int>(operand.domain.size());
  if (axes < 0 || axes > rank)
    throw UserError(name(op), "cannot reduce {} axes of a tensor of shape {}", axes,
                    to_string(operand.domain));
  return {operand.dtype, Shape(operand.domain.begin(), operand.domain.end() - axes)};
}

TensorType infer_gather(const OperandType& index, const OperandType& data) {
  check_index(Op::kGather, index.dtype);
  if (data.domain.size() != index.domain.size() + 1 ||
      !std::equal(index.domain.begin(), index.domain.end(), data.domain.begin()))
    throw UserError(name(Op::kGather),
                    "data must have the index's shape {} and one more axis, got {}",
                    to_string(index.domain), to_string(data.domain));
  return {data.dtype, index.domain};
}

TensorType infer_scatter(const OperandType& base, const OperandType& index,
                         const OperandType& updates) {
  check_index(Op::kScatter, index.dtype);
  check_same_dtype(Op::kScatter, base.dtype, updates.dtype);
  check_same_domain(Op::kScatter, index.domain, updates.domain);
  if (base.domain.empty() || base.domain.size() != index.domain.size() ||
      !std::equal(base.domain.begin(), base.domain.end() - 1, index.domain.begin()))
    throw UserError(name(Op::kScatter), "base {} and updates {} may differ in the last axis only",
                    to_string(base.domain), to_string(updates.domain));
  return {base.dtype, base.domain};
}

}  // namespace

std::string to_string(const TensorType& type) {
  return fmt::format("{}{}", type.dtype, to_string(type.shape));
}

TensorType infer_type(Op op, std::span<const OperandType> operands, const Attributes& attributes) {
  const OpInfo& row = info(op);
  if (row.dtype_rule == DTypeRule::kAttribute)
    throw InternalError(
        fmt::format("{} has no inferred type: use the function made for it", row.name));
  if (row.arity != static_cast<int>(operands.size()))
    throw UserError(row.name, "takes {} operands, got {}", row.arity, operands.size());
  switch (op) {
    case Op::kGather:
      return infer_gather(operands[0], operands[1]);
    case Op::kScatter:
      return infer_scatter(operands[0], operands[1], operands[2]);
    case Op::kArgSort:
      if (operands[0].domain.empty())
        throw UserError(row.name, "needs at least one axis, got a scalar");
      return {DType::kI64, operands[0].domain};
    default:
      break;
  }
  if (row.op_class == OpClass::kReduction) {
    const auto* reduce = std::get_if<ReduceAttribute>(&attributes);
    return infer_reduction(op, operands[0], reduce ? reduce->axes : 1);
  }
  return infer_elementwise(op, operands);
}

void check_cast(Op op, DType from, DType to) {
  if (op == Op::kBitcast && bits(from) != bits(to))
    throw UserError(name(op),
                    "{} has {} bits and {} has {}; only equal widths can be reinterpreted", from,
                    bits(from), to, bits(to));
  if (op == Op::kBitcast && is_bool(to) && !is_bool(from))
    throw UserError(name(op), "{} has bit patterns that are no bool; compare with 0 instead", from);
}

}  // namespace luminal::graph

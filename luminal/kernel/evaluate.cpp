#include "luminal/kernel/evaluate.h"

#include <algorithm>
#include <array>

#include "luminal/graph/dim_binding.h"
#include "luminal/graph/elements.h"
#include "luminal/graph/interpreter_elementwise.h"
#include "luminal/support/check.h"

namespace luminal::kernel {
namespace {

using graph::Array;
using graph::Extents;

/// Of an elementwise op.
constexpr size_t kMostOperands = 3;

Number number_of(const Scalar& scalar) {
  if (is_float(scalar.dtype())) return {scalar.as_double(), 0};
  return {0.0, scalar.as_int64()};
}

void put(graph::Block& block, const Number& number) {
  block.floats[0] = number.real;
  block.integers[0] = number.integer;
}

/// The bits of a value read as another dtype of the same width.
Number bitcast(DType from, DType to, Number value) {
  Array array(from, {1});
  store(array, 0, value);
  const auto bytes = array.bytes();
  return number_of(Array(to, {1}, {bytes.begin(), bytes.end()}).at(0));
}

}  // namespace

std::optional<int64_t> position_in(const Extents& extents, std::span<const int64_t> index) {
  int64_t position = 0;
  for (size_t k = 0; k < extents.size(); ++k) {
    if (index[k] < 0 || index[k] >= extents[k]) return std::nullopt;
    position = position * extents[k] + index[k];
  }
  return position;
}

void store(Array& array, int64_t position, Number value) {
  const auto bytes = array.mutable_bytes();
  if (is_float(array.dtype()))
    graph::store(array.dtype(), bytes.data(), position, std::span<const double>(&value.real, 1));
  else
    graph::store(array.dtype(), bytes.data(), position,
                 std::span<const int64_t>(&value.integer, 1));
}

Evaluator::Evaluator(const Arena& arena, const Tensors& tensors, const graph::DimValues& dims)
    : arena_(arena),
      tensors_(tensors),
      names_(dims.begin(), dims.end()),
      operands_(kMostOperands) {}

int64_t Evaluator::extent(const Expr& expr) const { return symbolic::evaluate(expr, names_); }

const Evaluator::Compiled& Evaluator::compiled(const Expr& expr) {
  const auto found = compiled_.find(expr);
  if (found != compiled_.end()) return found->second;
  Compiled compiled;
  // Dims go in first: they decide extents of 0 and 1, which change the expression itself. They are
  // known by name and interval; the expression says which intervals occur.
  std::vector<symbolic::Binding> dims;
  const auto note = [&](const Expr& part) {
    for (const Expr& variable : part.variables()) {
      const auto value = names_.find(variable.name());
      const auto is_same = [&](const symbolic::Binding& each) { return each.symbol == variable; };
      if (value != names_.end() && std::none_of(dims.begin(), dims.end(), is_same))
        dims.push_back({variable, Expr(value->second)});
    }
  };
  note(expr);
  for (const Expr& axis : expr.axes()) note(axis.axis_extent());
  Expr fixed;
  try {
    fixed = symbolic::substitute(expr, dims);
  } catch (const UserError&) {
    // Divides by an extent of 0: only loads that nobody looks at do, and loads are total.
  }
  compiled.slots = fixed.axes();
  if (fixed.is_constant())
    compiled.constant = *fixed.constant_value();
  else
    compiled.program.emplace(fixed, compiled.slots);
  return compiled_.emplace(expr, std::move(compiled)).first->second;
}

int64_t Evaluator::evaluate(const Expr& expr) {
  const Compiled& program = compiled(expr);
  if (!program.program) return program.constant;
  // Millions of these are asked for: memory is taken for long ones only.
  constexpr size_t kFew = 8;
  std::array<int64_t, kFew> few;
  std::vector<int64_t> many(program.slots.size() > kFew ? program.slots.size() : 0);
  const std::span<int64_t> values =
      many.empty() ? std::span(few).first(program.slots.size()) : std::span(many);
  for (size_t k = 0; k < values.size(); ++k) {
    const Expr& axis = program.slots[k];
    values[k] = is_value_axis(axis) ? evaluate(body_of_value(axis)).integer
                                    : axes_.at(axis.axis_id()).value;
  }
  return (*program.program)(values);
}

Number Evaluator::rounded(DType dtype, Number value) {
  if (is_float(dtype))
    graph::round_floats(dtype, {&value.real, 1});
  else
    graph::wrap_integers(dtype, {&value.integer, 1});
  return value;
}

Number Evaluator::apply(const BodyNode& node, std::span<const Number> operands) {
  return rounded(node.dtype, exact(node, operands, false));
}

Number Evaluator::exact(const BodyNode& node, std::span<const Number> operands, bool wide) {
  // Comparisons take the dtype of what they compare, selects that of what they choose.
  const BodyId typed = node.op == Op::kSelect ? node.children[1] : node.children[0];
  const DType operand_dtype = arena_[typed].dtype;
  if (node.op == Op::kBitcast) return bitcast(operand_dtype, node.dtype, operands[0]);
  for (size_t k = 0; k < operands.size(); ++k) put(operands_[k], operands[k]);
  const auto format = [&](DType dtype) {
    return wide && graph::is_float(dtype) ? DType::kF64 : dtype;
  };
  graph::compute_elementwise(node.op, format(operand_dtype), format(node.dtype),
                             std::span(operands_).first(operands.size()), 1, result_);
  return {result_.floats[0], result_.integers[0]};
}

Number Evaluator::identity(Op op, DType dtype) {
  if (op == Op::kReduceMax) return number_of(Scalar::lowest(dtype));
  return op == Op::kSum ? Number{0.0, 0} : Number{1.0, 1};
}

Number Evaluator::combine(Op op, DType dtype, Number a, Number b) {
  const bool real = is_float(dtype);
  switch (op) {
    case Op::kSum:
      return real ? Number{a.real + b.real, 0}
                  : Number{0.0, graph::wrapping_add(a.integer, b.integer)};
    case Op::kProd:
      return real ? Number{a.real * b.real, 0}
                  : Number{0.0, graph::wrapping_mul(a.integer, b.integer)};
    default:
      return real ? Number{graph::maximum(a.real, b.real), 0}
                  : Number{0.0, graph::maximum(a.integer, b.integer)};
  }
}

Number Evaluator::load(const BodyNode& node) {
  const auto found = tensors_.find(node.tensor);
  LUMINAL_CHECK(found != tensors_.end(), "tensor {} is not in memory", node.tensor.value);
  int64_t position = 0;
  bool is_inside = true;
  const Extents& extents = found->second.extents();
  for (size_t k = 0; k < extents.size(); ++k) {
    const int64_t index = evaluate(node.exprs[k]);
    is_inside = is_inside && index >= 0 && index < extents[k];
    if (is_inside) position = position * extents[k] + index;  // anywhere else it may overflow
  }
  if (is_inside) return number_of(found->second.at(position));
  ++loads_outside_;
  return {};
}

Number Evaluator::reduce(BodyId id) {
  const BodyNode& node = arena_[id];
  Number total = identity(node.op, node.dtype);
  for_each_position(*this, node.exprs, [&] {
    total = combine(node.op, node.dtype, total, evaluate(node.children[0]));
    if (rounding) total = rounding(id, total, true);
  });
  return rounding ? rounding(id, total, false) : rounded(node.dtype, total);
}

int64_t Evaluator::last_change(const BodyNode& node) const {
  int64_t time = node.height > 0 ? reductions_clock_ : 0;
  for (const Expr& axis : node.free) {
    const auto found = axes_.find(axis.axis_id());
    if (found != axes_.end()) time = std::max(time, found->second.set_at);
  }
  return time;
}

Number Evaluator::evaluate(BodyId id) {
  if (kept_.size() <= id.value) kept_.resize(arena_.size());
  const int64_t changed_at = last_change(arena_[id]);
  if (kept_[id.value].changed_at != changed_at) {
    const Number value = compute(id);
    kept_[id.value] = {value, changed_at};
  }
  return kept_[id.value].value;
}

Number Evaluator::compute(BodyId id) {
  const BodyNode& node = arena_[id];
  if (known && elsewhere.contains(id))
    if (const auto value = known(id)) return *value;
  switch (node.kind) {
    case BodyKind::kLoad:
      return load(node);
    case BodyKind::kConstant:
      return number_of(node.constant);
    case BodyKind::kIota:
      return number_of(Scalar::of(node.dtype, evaluate(node.exprs[0])));
    case BodyKind::kWhere: {
      for (const Expr& test : node.exprs)
        if (evaluate(test) == 0) return evaluate(node.children[1]);
      return evaluate(node.children[0]);
    }
    case BodyKind::kReduce: {
      if (known)
        if (const auto value = known(id)) return *value;
      return reduce(id);
    }
    case BodyKind::kOp:
      break;
  }
  if (node.op == Op::kSelect)
    return evaluate(node.children[evaluate(node.children[0]).integer != 0 ? 1 : 2]);
  std::array<Number, kMostOperands> places;
  const std::span operands = std::span(places).first(node.children.size());
  for (size_t k = 0; k < operands.size(); ++k) operands[k] = evaluate(node.children[k]);
  return rounding ? rounding(id, exact(node, operands, true), false) : apply(node, operands);
}

void for_each_position(Evaluator& evaluator, std::span<const Expr> axes,
                       const std::function<void()>& visit) {
  if (axes.empty()) return visit();
  const int64_t extent = evaluator.extent(axes[0].axis_extent());
  for (int64_t value = 0; value < extent; ++value) {
    evaluator.set_axis(axes[0], value);
    for_each_position(evaluator, axes.subspan(1), visit);
  }
}

void run_kernel(const Arena& arena, const Kernel& kernel, const graph::DimValues& dims,
                Tensors& tensors) {
  Evaluator evaluator(arena, tensors, dims);
  Tensors results = empty_results(arena, kernel, dims);
  for_each_position(evaluator, kernel.axes, [&] {
    for (const Root& root : kernel.roots)
      store_root(evaluator, root, evaluator.evaluate(root.value), results.at(root.tensor));
  });
  for (auto& [tensor, value] : results) tensors.insert_or_assign(tensor, std::move(value));
}

Tensors empty_results(const Arena& arena, const Kernel& kernel, const graph::DimValues& dims) {
  Tensors results;
  for (const Root& root : kernel.roots) {
    const TensorType& type = arena.tensor(root.tensor);
    results.try_emplace(root.tensor, type.dtype, graph::extents_of(type.shape, dims));
  }
  return results;
}

void store_root(Evaluator& evaluator, const Root& root, Number value, Array& result) {
  std::vector<int64_t> index;
  for (const Expr& expr : root.store) index.push_back(evaluator.evaluate(expr));
  const std::optional<int64_t> position = position_in(result.extents(), index);
  LUMINAL_CHECK(position.has_value(), "a kernel stores outside of its tensor");
  store(result, *position, value);
}

}  // namespace luminal::kernel

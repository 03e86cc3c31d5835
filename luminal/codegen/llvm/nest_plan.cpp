#include "luminal/codegen/llvm/nest_plan.h"

#include <algorithm>

#include "luminal/symbolic/node.h"

namespace luminal::codegen {

using graph::DType;
using kernel::BodyId;
using kernel::BodyKind;
using kernel::BodyNode;
using kernel::LoopRole;
using kernel::Statement;
using kernel::StatementKind;
using symbolic::Expr;

Expr position_of(std::span<const Expr> index, const graph::Shape& shape) {
  Expr position = 0;
  for (size_t d = 0; d < index.size(); ++d) position = position * shape[d] + index[d];
  return position;
}

std::optional<Stride> stride_along(const Expr& position, const Expr& axis) {
  if (!position.depends_on(axis)) return Stride{0, position};
  const auto linear = symbolic::split_linear(position, axis.node());
  if (!linear || linear->coefficient.depends_on(axis) || linear->rest.depends_on(axis))
    return std::nullopt;
  return Stride{linear->coefficient, linear->rest};
}

DType stored_dtype(DType dtype) {
  if (graph::is_float(dtype) && graph::bits(dtype) < 32) return DType::kF32;
  if (dtype == DType::kI4) return DType::kI8;
  return dtype == DType::kU4 ? DType::kU8 : dtype;
}

bool is_independent(LoopRole role) { return role != LoopRole::kReduction; }

bool has_inner_loops(const Statement& loop) {
  return std::any_of(loop.body.begin(), loop.body.end(), [](const Statement& statement) {
    return statement.kind == StatementKind::kLoop;
  });
}

NestPlan::NestPlan(const kernel::Arena& arena, const kernel::Nest& nest, const CpuTarget& target,
                   const NestKernelOptions& options)
    : arena_(arena), nest_(nest), options_(options), target_(target) {
  std::vector<BodyId> roots;
  values_in(nest.body, roots);
  for (const kernel::RowBuffer& buffer : nest.buffers) roots.push_back(buffer.read);
  bodies_ = arena.reachable(roots);
  // What is read from a row buffer is not computed again, but what it is made of is listed all the
  // same: a few names too many do no harm.
  for (const BodyId id : bodies_) {
    const BodyNode& node = arena[id];
    for (const Expr& expr : node.exprs) note(expr);
    if (node.kind != BodyKind::kLoad) continue;
    inputs_.push_back(node.tensor);
    for (const Expr& extent : arena.tensor(node.tensor).shape) note(extent);
  }
  std::sort(inputs_.begin(), inputs_.end());
  inputs_.erase(std::unique(inputs_.begin(), inputs_.end()), inputs_.end());
  for (const kernel::Root& root : nest.kernel.roots) {
    outputs_.push_back(root.tensor);
    for (const Expr& expr : root.store) note(expr);
    for (const Expr& extent : arena.tensor(root.tensor).shape) note(extent);
  }
  collect(nest.body);
  std::sort(dims_.begin(), dims_.end());
  lanes_ = choose_lanes();
  transposition_ = find_transposition();
  place_scratch();
}

std::optional<NestPlan::Transposition> NestPlan::find_transposition() const {
  const Statement* loop = parallel_loop();
  if (loop == nullptr || loop->axes.size() < 2 || has_inner_loops(*loop) || !is_vectorised(*loop))
    return std::nullopt;
  const Expr& last = loop->axes.back();
  std::optional<Transposition> result;
  std::vector<BodyId> values;
  values_in(loop->body, values);
  for (const BodyId id : arena_.reachable(values)) {
    const BodyNode& node = arena_[id];
    if (node.kind != BodyKind::kLoad || !node.index_values.empty()) continue;
    const graph::TensorType& type = arena_.tensor(node.tensor);
    if (graph::is_bool(type.dtype) || graph::bits(type.dtype) == 4) continue;
    bool safe = true;
    for (size_t d = 0; d < node.exprs.size(); ++d)
      safe = safe && provably_ge(node.exprs[d], 0) && provably_less(node.exprs[d], type.shape[d]);
    const Expr position = position_of(node.exprs, type.shape);
    const auto along_last = stride_along(position, last);
    if (!safe || !along_last || along_last->stride.is_constant(0) ||
        along_last->stride.is_constant(1))
      continue;
    for (size_t k = 0; k + 1 < loop->axes.size(); ++k) {
      const auto along = stride_along(position, loop->axes[k]);
      if (!along || !along->stride.is_constant(1) || (result && result->axis != k)) continue;
      if (!result) result = Transposition{k, {}};
      result->loads.push_back(id);
    }
  }
  return result;
}

void NestPlan::note(const Expr& expr) {
  const auto add = [&](const Expr& of) {
    for (const Expr& variable : of.variables())
      if (std::find(dims_.begin(), dims_.end(), variable.name()) == dims_.end())
        dims_.push_back(variable.name());
  };
  add(expr);
  for (const Expr& axis : expr.axes()) add(axis.axis_extent());
}

void NestPlan::collect(const std::vector<Statement>& block) {
  for (const Statement& statement : block) {
    for (const Expr& axis : statement.axes) note(axis.axis_extent());
    collect(statement.body);
  }
}

void NestPlan::values_in(const std::vector<Statement>& block, std::vector<BodyId>& values) const {
  for (const Statement& statement : block) {
    switch (statement.kind) {
      case StatementKind::kLoop:
        values_in(statement.body, values);
        break;
      case StatementKind::kAccumulate:
      case StatementKind::kOnlineStep:
      case StatementKind::kKeep:
      case StatementKind::kLet:
      case StatementKind::kStore:
        values.push_back(statement.value);
        break;
      case StatementKind::kReset:
      case StatementKind::kFinish:
        break;
    }
  }
}

int NestPlan::choose_lanes() const {
  // Elements of half a byte share their bytes: one at a time, and one thread.
  for (const kernel::NodeId output : outputs_)
    if (graph::bits(arena_.tensor(output).dtype) == 4) return 1;
  if (options_.lanes > 0) return options_.lanes;
  bool only_wide = !bodies_.empty();
  for (const BodyId id : bodies_)
    if (graph::bits(arena_[id].dtype) < 64) only_wide = false;
  return target_.lanes(only_wide ? 64 : 32);
}

void NestPlan::place_scratch() {
  Expr end = 0;
  const auto place = [&](const Expr& elements, DType dtype) {
    const Expr offset = end;
    // One vector more, so that whole vectors may be touched at the end.
    const Expr bytes = elements * (graph::bits(stored_dtype(dtype)) / 8);
    end = end + ceil_div(bytes, 64) * 64 + 64;
    return offset;
  };
  for (const kernel::RowBuffer& buffer : nest_.buffers)
    row_offsets_.push_back(place(buffer.written_axis.axis_extent(), arena_[buffer.written].dtype));
  for (const kernel::Accumulator& accumulator : nest_.accumulators) {
    Expr elements = 1;
    for (const Expr& axis : accumulator.vector_axes) elements = elements * axis.axis_extent();
    accumulator_offsets_.push_back(
        accumulator.vector_axes.empty() ? Expr(0) : place(elements, accumulator.dtype));
  }
  interchanged_offset_ = end;
  if (parallel_loop() != nullptr && is_interchanged(*parallel_loop()))
    for (const kernel::Accumulator& accumulator : nest_.accumulators)
      place(kInterchangedBlock, accumulator.dtype);
  scratch_bytes_ = end;
}

bool NestPlan::is_interchanged(const Statement& loop) const {
  if (!has_inner_loops(loop) || !is_vectorised(loop) || nest_.accumulators.empty()) return false;
  int loops = 0;
  for (const Statement& statement : loop.body) {
    if (statement.kind == StatementKind::kLet && loops == 0) return false;
    if (statement.kind != StatementKind::kLoop) continue;
    ++loops;
    if (statement.online || has_inner_loops(statement)) return false;
  }
  return loops == 1 && &loop == parallel_loop();
}

int NestPlan::contiguous_loads(const Statement& loop, const Expr& axis) const {
  std::vector<BodyId> values;
  values_in(loop.body, values);
  int count = 0;
  for (const BodyId id : arena_.reachable(values)) {
    const BodyNode& node = arena_[id];
    if (node.kind != BodyKind::kLoad || !kernel::contains(node.free, axis)) continue;
    const auto stride =
        stride_along(position_of(node.exprs, arena_.tensor(node.tensor).shape), axis);
    if (stride && stride->stride.is_constant(1)) ++count;
  }
  return count;
}

int NestPlan::score_of_inner_loops(const Statement& loop) const {
  int score = 0;
  for (const Statement& statement : loop.body) {
    if (statement.kind != StatementKind::kLoop) continue;
    const Expr& axis = statement.axes.back();
    const auto extent = axis.axis_extent().constant_value();
    if (!extent || *extent >= 4) score += contiguous_loads(statement, axis);
    score += score_of_inner_loops(statement);
  }
  return score;
}

bool NestPlan::is_vectorised(const Statement& loop) const {
  if (lanes_ == 1 || loop.online) return false;
  const Expr& axis = loop.axes.back();
  const auto extent = axis.axis_extent().constant_value();
  if (!has_inner_loops(loop)) return !extent || *extent >= 4 || loop.role == LoopRole::kOutput;
  if (!is_independent(loop.role)) return false;
  for (const kernel::Accumulator& accumulator : nest_.accumulators)
    if (!accumulator.vector_axes.empty()) return false;
  if (!nest_.buffers.empty()) return false;
  if (extent && *extent < 4) return false;
  // Both directions are possible; memory decides, and outputs that do not wait for each other win
  // a draw of nothing.
  return contiguous_loads(loop, axis) > score_of_inner_loops(loop);
}

const Statement* NestPlan::parallel_loop() const {
  if (nest_.body.empty()) return nullptr;
  const Statement& last = nest_.body.back();
  if (last.kind != StatementKind::kLoop || !is_independent(last.role)) return nullptr;
  for (const kernel::NodeId output : outputs_)
    if (graph::bits(arena_.tensor(output).dtype) == 4) return nullptr;
  return &last;
}

std::optional<int64_t> NestPlan::block() const {
  const Statement* loop = parallel_loop();
  if (loop == nullptr || !is_vectorised(*loop)) return std::nullopt;
  const int64_t unit = int64_t{lanes_} * unroll();
  const int64_t wanted = is_interchanged(*loop)   ? kInterchangedBlock
                         : has_inner_loops(*loop) ? unit
                                                  : options_.block;
  return (wanted + unit - 1) / unit * unit;
}

Expr NestPlan::items() const {
  const Statement* loop = parallel_loop();
  if (loop == nullptr) return 1;
  Expr result = 1;
  for (size_t k = 0; k < loop->axes.size(); ++k) {
    const Expr extent = loop->axes[k].axis_extent();
    const bool last = k + 1 == loop->axes.size();
    if (transposition_ && k == transposition_->axis)
      result = result * ceil_div(extent, kTransposedRows);
    else
      result = result * (last && block() ? ceil_div(extent, *block()) : extent);
  }
  return result;
}

void NestPlan::write(const std::vector<Statement>& block, std::string& text) const {
  text += "{\n";
  for (const Statement& statement : block) {
    text += fmt::format("{} {} {} {} {} {} {} {}:", static_cast<int>(statement.kind),
                        static_cast<int>(statement.role), statement.online, statement.accumulator,
                        statement.rescale_by ? static_cast<int64_t>(*statement.rescale_by) : -1,
                        statement.buffer, statement.root, number_of(statement.value));
    for (const Expr& axis : statement.axes) text += fmt::format(" {}<{}", axis, axis.axis_extent());
    write(statement.body, text);
  }
  text += "}\n";
}

/// Numbers that do not depend on what else is in the arena.
int64_t NestPlan::number_of(BodyId id) const {
  const auto found = std::find(bodies_.begin(), bodies_.end(), id);
  return found == bodies_.end() ? -1 : found - bodies_.begin();
}

std::string NestPlan::key() const {
  std::string text = fmt::format(
      "nest lanes {} unroll {} block {} streaming {} prefetch {} round {} "
      "accuracy {}\n",
      lanes_, unroll(), options_.block, options_.streaming, options_.prefetch_rows,
      options_.round_each, static_cast<int>(options_.accuracy));
  const auto write_exprs = [&](std::span<const Expr> exprs) {
    for (const Expr& expr : exprs) {
      text += fmt::format(" {}", expr);
      for (const Expr& axis : expr.axes()) text += fmt::format(" {}<{}", axis, axis.axis_extent());
    }
  };
  const auto write_tensor = [&](kernel::NodeId id) {
    const graph::TensorType& type = arena_.tensor(id);
    text += fmt::format(" {}", type.dtype);
    for (const Expr& extent : type.shape) text += fmt::format(" [{}]", extent);
  };
  for (const BodyId id : bodies_) {
    const BodyNode& node = arena_[id];
    text += fmt::format("{} {} {} {}", number_of(id), static_cast<int>(node.kind),
                        graph::name(node.op), node.dtype);
    if (node.kind == BodyKind::kLoad) {
      text += fmt::format(" t{}",
                          std::find(inputs_.begin(), inputs_.end(), node.tensor) - inputs_.begin());
      write_tensor(node.tensor);
    }
    if (node.kind == BodyKind::kConstant) text += " " + node.constant.to_string();
    write_exprs(node.exprs);
    for (const BodyId child : node.children) text += fmt::format(" #{}", number_of(child));
    text += "\n";
  }
  for (const kernel::Accumulator& accumulator : nest_.accumulators) {
    text += fmt::format("acc {} {} {} {}", number_of(accumulator.reduction),
                        graph::name(accumulator.op), accumulator.dtype,
                        graph::name(accumulator.exponential));
    write_exprs(accumulator.vector_axes);
    text += "\n";
  }
  for (const kernel::RowBuffer& buffer : nest_.buffers) {
    text += fmt::format("row {} {}", number_of(buffer.written), number_of(buffer.read));
    write_exprs(std::vector<Expr>{buffer.written_axis, buffer.read_axis});
    text += "\n";
  }
  for (const kernel::Root& root : nest_.kernel.roots) {
    text += fmt::format("root {}", number_of(root.value));
    write_tensor(root.tensor);
    write_exprs(root.store);
    text += "\n";
  }
  write(nest_.body, text);
  return text;
}

}  // namespace luminal::codegen

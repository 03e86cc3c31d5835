#include "luminal/codegen/llvm/nest_plan.h"

#include <algorithm>
#include <bit>
#include <utility>

namespace luminal::codegen {

using graph::DType;
using kernel::BodyId;
using kernel::BodyKind;
using kernel::BodyNode;
using kernel::LoopRole;
using kernel::Statement;
using kernel::StatementKind;
using symbolic::Expr;

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

namespace {

/// Whether something below, but for reductions, takes many instructions.
bool contains_costly_op(const kernel::Arena& arena, std::span<const BodyId> values,
                        const std::optional<Expr>& along = std::nullopt) {
  const std::vector<BodyId> below = arena.reachable(values);
  return std::any_of(below.begin(), below.end(), [&](BodyId id) {
    const BodyNode& node = arena[id];
    if (node.kind != BodyKind::kOp || !graph::is_float(node.dtype)) return false;
    if (along && !kernel::contains(node.free, *along)) return false;
    switch (node.op) {
      case graph::Op::kAdd:
      case graph::Op::kMul:
      case graph::Op::kDiv:
      case graph::Op::kMax:
      case graph::Op::kSelect:
      case graph::Op::kCast:
        return false;
      default:
        return true;
    }
  });
}

/// Rows of so many vectors are few enough to be written out.
constexpr int64_t kMostVectorsOfRow = 8;

}  // namespace

bool NestPlan::is_costly(const Statement& loop) const {
  std::vector<BodyId> values;
  values_in(loop.body, values);
  return contains_costly_op(arena_, values);
}

bool NestPlan::is_costly(BodyId value) const {
  return contains_costly_op(arena_, std::span(&value, 1));
}

bool NestPlan::is_costly_along(const Statement& loop) const {
  std::vector<BodyId> values;
  values_in(loop.body, values);
  return contains_costly_op(arena_, values, loop.axes.back());
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
  zipped_ = find_zipped();
  choose_lanes();
  choose_streaming();
  if (!zipped_) transposition_ = find_transposition();
  pipeline_ = find_pipeline();
  choose_blocks();
  place_scratch();
}

void NestPlan::note(const Expr& expr) {
  const auto add = [&](const Expr& of) {
    for (const Expr& variable : of.variables())
      if (ranges_.emplace(variable.name(), variable.bounds()).second)
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
      case StatementKind::kUnless:
        values.push_back(statement.value);
        for (const auto& [accumulator, value] : statement.shortcuts) values.push_back(value);
        values_in(statement.body, values);
        break;
      case StatementKind::kReset:
      case StatementKind::kFinish:
        break;
    }
  }
}

/// Whether the parallel loop is long and computes bf16 by a chain of instructions of which many
/// vectors may be under way. Functions that are looked up need the registers for their tables.
bool NestPlan::has_room_for_chains() const {
  constexpr int kWideVector = 64;
  constexpr int64_t kLeastExtent = 2048;
  const Statement* loop = parallel_loop();
  if (loop == nullptr || has_inner_loops(*loop) || zipped_ || find_transposition() ||
      target_.vector_bytes() != kWideVector)
    return false;
  const auto is_narrow = [&](kernel::NodeId tensor) {
    return arena_.tensor(tensor).dtype == DType::kBF16;
  };
  const auto is_looked_up = [&](BodyId id) {
    const BodyNode& node = arena_[id];
    if (node.kind != BodyKind::kOp) return false;
    return node.op == graph::Op::kErf || node.op == graph::Op::kLog ||
           node.op == graph::Op::kLog2 || node.op == graph::Op::kAtan;
  };
  const auto extent = loop->axes.back().axis_extent().constant_value();
  return extent && *extent >= kLeastExtent && is_costly(*loop) &&
         std::all_of(inputs_.begin(), inputs_.end(), is_narrow) &&
         std::all_of(outputs_.begin(), outputs_.end(), is_narrow) &&
         std::none_of(bodies_.begin(), bodies_.end(), is_looked_up);
}

/// Vectors are filled by the narrowest elements in memory; wider values then take several registers
/// each, four at most.
void NestPlan::choose_lanes() {
  constexpr int kMostRegisters = 4;
  constexpr int kRegistersOfChains = 8;
  int narrowest = 64;
  int widest = 8;
  const auto touch = [&](DType dtype) {
    narrowest = std::min(narrowest, std::max(8, graph::bits(dtype)));
  };
  for (const BodyId id : bodies_) {
    const BodyNode& node = arena_[id];
    if (!graph::is_bool(node.dtype))
      widest = std::max(widest, graph::bits(stored_dtype(node.dtype)));
    if (node.kind == BodyKind::kLoad) touch(arena_.tensor(node.tensor).dtype);
    // Positions of gathers are wide themselves.
    if (!node.index_values.empty()) widest = 64;
  }
  for (const kernel::NodeId output : outputs_) touch(arena_.tensor(output).dtype);
  const int vector = target_.vector_bytes() * 8;
  if (fits_rows_in_lanes()) {
    rows_in_lanes_ = true;
    lanes_ = std::max(vector / widest, static_cast<int>(std::bit_ceil(longest_row())));
    if (lanes_ * widest <= kMostRegisters * vector) return;
    rows_in_lanes_ = false;
  }
  lanes_ = std::min(vector / narrowest, kMostRegisters * vector / widest);
  if (options_.lanes == 0 && are_rows_short(kMostVectorsOfRow * lanes_)) {
    // No vectors of several registers: their number is enough to keep the units busy.
    rows_written_out_ = fits_rows_written_out();
    if (rows_written_out_) {
      unroll_ = std::max(1, options_.unroll / std::max(1, lanes_ * widest / vector));
      return;
    }
  }
  // What takes many instructions one after the other runs best several vectors at a time.
  if (const Statement* loop = parallel_loop(); loop != nullptr && is_costly(*loop))
    lanes_ = std::min(2 * lanes_, kMostRegisters * vector / widest);
  if (options_.lanes == 0 && has_room_for_chains()) {
    lanes_ = kRegistersOfChains * vector / widest;
    staggers_chains_ = true;
  }
  if (const Statement* loop = parallel_loop();
      loop != nullptr && (!has_inner_loops(*loop) || is_vectorised(*loop)))
    if (const auto extent =
            loop->axes[zipped_.value_or(loop->axes.size() - 1)].axis_extent().constant_value())
      while (lanes_ > vector / widest && lanes_ / 2 >= *extent) lanes_ /= 2;
  if (options_.lanes > 0) lanes_ = options_.lanes;
  // Elements of half a byte share their bytes: one at a time, and one thread.
  for (const kernel::NodeId output : outputs_)
    if (graph::bits(arena_.tensor(output).dtype) == 4) lanes_ = 1;
  unroll_ = std::max(1, options_.unroll / std::max(1, lanes_ * widest / vector));
}

void NestPlan::choose_streaming() {
  result_bytes_ = 0;
  for (const kernel::NodeId output : outputs_) {
    Expr bytes = std::max(1, graph::bits(arena_.tensor(output).dtype) / 8);
    for (const Expr& extent : arena_.tensor(output).shape) bytes = bytes * extent;
    result_bytes_ = max(result_bytes_, bytes);
  }
  if (options_.streaming_bytes <= 0) return;
  if (provably_ge(result_bytes_, options_.streaming_bytes))
    streaming_ = Streaming::kAlways;
  else if (!provably_less(result_bytes_, options_.streaming_bytes))
    streaming_ = Streaming::kBySize;
}

/// How many elements the loops inside of a loop visit.
Expr NestPlan::work_inside(const Statement& loop) const {
  Expr work = 0;
  for (const Statement& statement : loop.body) {
    if (statement.kind != StatementKind::kLoop) continue;
    Expr visited = work_inside(statement);
    for (const Expr& axis : statement.axes) visited = visited * axis.axis_extent();
    work = work + visited;
  }
  return work.is_constant(0) ? Expr(1) : work;
}

/// Items are large enough to be worth dealing out and small enough to be many.
void NestPlan::choose_blocks() {
  const Statement* loop = parallel_loop();
  if (loop == nullptr) return;
  blocks_.assign(loop->axes.size(), Expr(1));
  const int64_t unit = int64_t{lanes_} * unroll();
  const auto rounded = [&](int64_t wanted) { return (wanted + unit - 1) / unit * unit; };
  if (transposition_) return choose_transposed_blocks();
  if (is_interchanged(*loop)) {
    blocks_.back() = columns_of_block(*loop);
    return;
  }
  if (pipeline_ && loop->axes.size() > 1) {
    blocks_.back() = kRowsOfPipeline;
    return;
  }
  Expr inner = work_inside(*loop);
  size_t next = loop->axes.size();
  if (zipped_) {
    --next;
    blocks_[next] = loop->axes[next].axis_extent();
    blocks_[*zipped_] = rounded(options_.block / *blocks_[next].constant_value());
    inner = blocks_[next] * loop->axes[*zipped_].axis_extent();
  } else if (is_vectorised(*loop)) {
    --next;
    const bool in_vectors = has_inner_loops(*loop) && !writes_out_windows(*loop);
    const Expr extent = loop->axes[next].axis_extent();
    int64_t lanes = in_vectors ? unit : options_.block;
    if (rows_in_lanes_) lanes = std::max<int64_t>(1, options_.block / *inner.constant_value());
    blocks_[next] = rounded(lanes);
    if (has_inner_loops(*loop) && !in_vectors) blocks_[next] = extent;
    inner = inner * (has_inner_loops(*loop) ? blocks_[next] : extent);
  }
  while (next-- > 0 && !provably_ge(inner, options_.block)) {
    if (zipped_ == next) continue;
    blocks_[next] = max(Expr(1), floor_div(options_.block, max(Expr(1), inner)));
    inner = inner * loop->axes[next].axis_extent();
  }
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
  const bool columns = parallel_loop() != nullptr && is_interchanged(*parallel_loop());
  const Expr width = columns ? blocks_.back() : Expr(1);
  for (const kernel::RowBuffer& buffer : nest_.buffers)
    row_offsets_.push_back(
        place(buffer.written_axis.axis_extent() * width * kept_rows(row_offsets_.size()),
              arena_[buffer.written].dtype));
  for (const kernel::Accumulator& accumulator : nest_.accumulators) {
    Expr elements = 1;
    for (const Expr& axis : accumulator.vector_axes) elements = elements * axis.axis_extent();
    accumulator_offsets_.push_back(
        accumulator.vector_axes.empty() ? Expr(0) : place(elements, accumulator.dtype));
  }
  for (const kernel::Accumulator& accumulator : nest_.accumulators)
    interchanged_offsets_.push_back(columns ? place(width, accumulator.dtype) : Expr(0));
  if (waiting_rows_.most > 0) {
    for (const BodyId id : transposition_->loads)
      waiting_offsets_.push_back(place(waiting_row_bytes(id) * waiting_rows_.most, DType::kU8));
    // On huge pages, as memory of this size is. On small ones copies of bf16 took 1.4 times as long
    // or not, as the blocks of two threads lay: presumably pages met in few sets of the second
    // cache.
    constexpr int64_t kOnHugePages = 1 << 20;
    end = max(end, kOnHugePages);
  }
  scratch_bytes_ = end;
}

int NestPlan::contiguous_loads_in(const Statement& loop, const Expr& axis) const {
  std::vector<BodyId> values;
  values_in(loop.body, values);
  return contiguous_loads(arena_, values, axis);
}

/// Whether loads that take some elements of each line can be taken apart in registers, as pooling
/// needs it.
bool NestPlan::has_short_strides(const Statement& loop, const Expr& axis) const {
  if (!target_.has(runtime::CpuFeature::kAvx512bw) || !target_.has(runtime::CpuFeature::kAvx512vl))
    return false;
  std::vector<BodyId> values;
  values_in(loop.body, values);
  bool found = false;
  for (const BodyId id : arena_.reachable(values)) {
    const BodyNode& node = arena_[id];
    if (node.kind != BodyKind::kLoad || !kernel::contains(node.free, axis)) continue;
    const auto stride =
        stride_along(position_of(node.exprs, arena_.tensor(node.tensor).shape), axis);
    const auto step = stride ? stride->stride.constant_value() : std::nullopt;
    if (!step || *step < 1 || *step > 4) return false;
    found = true;
  }
  return found;
}

int NestPlan::score_of_inner_loops(const Statement& loop) const {
  int score = 0;
  for (const Statement& statement : loop.body) {
    if (statement.kind != StatementKind::kLoop) continue;
    const Expr& axis = statement.axes.back();
    const auto extent = axis.axis_extent().constant_value();
    if (!extent || *extent >= 4) score += contiguous_loads_in(statement, axis);
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
  if (rows_in_lanes_ && &loop == parallel_loop()) return true;
  for (const kernel::Accumulator& accumulator : nest_.accumulators)
    if (!accumulator.vector_axes.empty()) return false;
  if (!nest_.buffers.empty() && !holds_passes(loop)) return false;
  if (extent && *extent < 4) return false;
  // Both directions are possible; memory decides, and outputs that do not wait for each other win
  // a draw of nothing.
  const int inner = score_of_inner_loops(loop);
  if (inner == 0 && has_short_strides(loop, axis)) return true;
  return contiguous_loads_in(loop, axis) > inner;
}

const Statement* NestPlan::parallel_loop() const {
  if (nest_.body.empty()) return nullptr;
  const Statement& last = nest_.body.back();
  if (last.kind != StatementKind::kLoop || !is_independent(last.role)) return nullptr;
  for (const kernel::NodeId output : outputs_)
    if (graph::bits(arena_.tensor(output).dtype) == 4) return nullptr;
  return &last;
}

bool NestPlan::runs_along_wide_rows() const {
  constexpr int kWide = 32;
  const Statement* row = parallel_loop();
  if (row == nullptr || row->role != LoopRole::kRow || is_vectorised(*row) || rows_in_lanes_ ||
      rows_written_out_ || transposition_ || zipped_ ||
      std::any_of(inputs_.begin(), inputs_.end(), [&](kernel::NodeId input) {
        return graph::bits(arena_.tensor(input).dtype) < kWide;
      }))
    return false;
  return std::all_of(row->body.begin(), row->body.end(), [&](const Statement& loop) {
    return loop.kind != StatementKind::kLoop || (is_vectorised(loop) && !has_inner_loops(loop) &&
                                                 contiguous_loads_in(loop, loop.axes.back()) > 0);
  });
}

Expr NestPlan::items() const {
  const Statement* loop = parallel_loop();
  Expr result = 1;
  for (size_t k = 0; loop != nullptr && k < loop->axes.size(); ++k)
    result = result * ceil_div(loop->axes[k].axis_extent(), blocks_[k]);
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
    for (const auto& [accumulator, value] : statement.shortcuts)
      text += fmt::format(" {} from {}", accumulator, number_of(value));
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
      "nest lanes {}{}{}{} unroll {} streaming {} {} prefetch {} round {} accuracy {}\n", lanes_,
      rows_in_lanes_ ? " of rows" : "", rows_written_out_ ? " written out" : "",
      staggers_chains_ ? " staggered" : "", unroll(), static_cast<int>(streaming_),
      streaming_ == Streaming::kBySize ? options_.streaming_bytes : 0, options_.prefetch_rows,
      options_.round_each, static_cast<int>(options_.accuracy));
  // What is proved of positions, and left out of the code, depends on them.
  for (const auto& [name, range] : ranges_)
    text += fmt::format("dim {} {} to {}\n", name, range.lo, range.hi);
  const auto write_exprs = [&](std::span<const Expr> exprs) {
    for (const Expr& expr : exprs) {
      text += fmt::format(" {}", expr);
      for (const Expr& axis : expr.axes()) text += fmt::format(" {}<{}", axis, axis.axis_extent());
    }
  };
  const auto write_tensor = [&](kernel::NodeId id) {
    const graph::TensorType& type = arena_.tensor(id);
    text += fmt::format(" {}{}", type.dtype, is_alias(id) ? " in range" : "");
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
  text += "blocks";
  write_exprs(blocks_);
  text += "\n";
  write(nest_.body, text);
  return text;
}

}  // namespace luminal::codegen

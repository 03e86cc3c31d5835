// What a nest does where vectors along its last axis would not read or write whole lines: operands
// that lie across are transposed, a short last axis is put together from another one, and windows
// at borders are written out.
#include <algorithm>

#include "luminal/codegen/llvm/nest_plan.h"

namespace luminal::codegen {

using kernel::BodyId;
using kernel::BodyKind;
using kernel::BodyNode;
using kernel::LoopRole;
using kernel::Statement;
using kernel::StatementKind;
using symbolic::Expr;

namespace {

/// Elements narrower than this leave too little of a row at a time where they are transposed.
constexpr int kWordBits = 32;

/// Rows that are picked out of vectors one by one; more are better transposed in squares.
constexpr int64_t kFewRows = 8;

bool has_narrow_loads(const kernel::Arena& arena, std::span<const BodyId> loads) {
  return std::any_of(loads.begin(), loads.end(), [&](BodyId id) {
    return graph::bits(arena.tensor(arena[id].tensor).dtype) < kWordBits;
  });
}

}  // namespace

/// Whether some sums have an element for every position of the output loop. These lie along its
/// last axis, and what they were made of is not to be loaded again.
bool NestPlan::has_sums_in_scratch() const {
  return std::any_of(nest_.accumulators.begin(), nest_.accumulators.end(),
                     [](const kernel::Accumulator& sum) { return !sum.vector_axes.empty(); });
}

std::optional<NestPlan::Transposition> NestPlan::find_transposition() const {
  const Statement* loop = parallel_loop();
  if (loop == nullptr || loop->axes.size() < 2 || has_inner_loops(*loop) || has_sums_in_scratch() ||
      !is_vectorised(*loop))
    return std::nullopt;
  const Expr& last = loop->axes.back();
  std::optional<Transposition> result;
  std::vector<BodyId> values;
  values_in(loop->body, values);
  for (const BodyId id : arena_.reachable(values)) {
    const BodyNode& node = arena_[id];
    if (node.kind != BodyKind::kLoad || !node.index_values.empty()) continue;
    const graph::TensorType& type = arena_.tensor(node.tensor);
    if (graph::bits(type.dtype) == 4) continue;
    bool safe = true;
    for (size_t d = 0; d < node.exprs.size() && !is_alias(node.tensor); ++d)
      safe = safe && stays_in_range(node.exprs[d], type.shape[d]);
    const Expr position = position_of(node.exprs, type.shape);
    const auto along_last = stride_along(position, last);
    if (!safe || !along_last || along_last->stride.is_constant(0) ||
        along_last->stride.is_constant(1))
      continue;
    for (size_t k = 0; k + 1 < loop->axes.size(); ++k) {
      const auto along = stride_along(position, loop->axes[k]);
      if (!along || !along->stride.is_constant(1) || (result && result->axis != k)) continue;
      // Squares of narrow elements have rows of 16 bytes, which is cheap
      // (VectorBuilder::transpose).
      const int bits = graph::bits(type.dtype);
      const int side = std::min(lanes_, bits < kWordBits ? 128 / bits : target_.lanes(32));
      if (!result) result = Transposition{k, side, side, false, false, {}};
      result->side = std::min(result->side, side);
      const int line = target_.vector_bytes() * 8 / graph::bits(type.dtype);
      result->run = std::max(result->run, line);
      result->loads.push_back(id);
    }
  }
  int ops = 0;
  for (const BodyId id : arena_.reachable(values)) ops += arena_[id].kind == BodyKind::kOp ? 1 : 0;
  if (!result) return result;
  result->rows_in_loop = ops > 2 || is_costly(*loop);
  const auto rows = loop->axes[result->axis].axis_extent().constant_value();
  if (rows && lies_in_turn(*result)) {
    result->in_turn = true;
    result->side = static_cast<int>(*rows);
    result->run = result->side;
  } else if (rows && *rows < result->run) {
    // Fewer rows than a line has.
    const int narrowest = has_narrow_loads(arena_, result->loads) ? result->side : 2;
    while (result->side / 2 >= *rows && result->side > narrowest) result->side /= 2;
    while (result->run / 2 >= *rows && result->run > result->side) result->run /= 2;
  }
  return result;
}

/// Whether few rows can be picked out of whole vectors.
bool NestPlan::lies_in_turn(const Transposition& found) const {
  const Statement& loop = *parallel_loop();
  const Expr rows = loop.axes[found.axis].axis_extent();
  if (!provably_ge(kFewRows, rows) || !has_wide_shuffles()) return false;
  return std::all_of(found.loads.begin(), found.loads.end(), [&](BodyId id) {
    const BodyNode& node = arena_[id];
    const auto stride =
        stride_along(position_of(node.exprs, arena_.tensor(node.tensor).shape), loop.axes.back());
    return stride->stride == rows;
  });
}

/// Whether vectors of any elements are shuffled and masked by single instructions.
bool NestPlan::has_wide_shuffles() const {
  return target_.has(runtime::CpuFeature::kAvx512bw) && target_.has(runtime::CpuFeature::kAvx512vl);
}

/// A short last axis fills no vectors. Where another one continues it in memory, that one does.
std::optional<size_t> NestPlan::find_zipped() const {
  const Statement* loop = parallel_loop();
  if (loop == nullptr || loop->axes.size() < 2 || has_inner_loops(*loop) || options_.lanes == 1 ||
      has_sums_in_scratch() || !has_wide_shuffles())
    return std::nullopt;
  const auto width = loop->axes.back().axis_extent().constant_value();
  if (!width || *width < 2 || *width > kFewRows) return std::nullopt;
  for (size_t k = 0; k + 1 < loop->axes.size(); ++k)
    if (is_zipped_by(loop->axes[k])) return k;
  return std::nullopt;
}

/// Whether results continue along an axis where the last one ends, and operands are neighbours
/// along it, or near each other.
bool NestPlan::is_zipped_by(const Expr& axis) const {
  constexpr int64_t kLeastExtent = 8;
  constexpr int64_t kNear = 4;
  const Statement& loop = *parallel_loop();
  const Expr& last = loop.axes.back();
  const auto extent = axis.axis_extent().constant_value();
  if (extent && *extent < kLeastExtent) return false;
  for (const Statement& statement : loop.body) {
    if (statement.kind != StatementKind::kStore) continue;
    const kernel::Root& root = nest_.kernel.roots[statement.root];
    const Expr position = position_of(root.store, arena_.tensor(root.tensor).shape);
    const auto along = stride_along(position, axis);
    const auto along_last = stride_along(position, last);
    if (!along || along->stride != last.axis_extent() || !along_last ||
        !along_last->stride.is_constant(1))
      return false;
  }
  std::vector<BodyId> values;
  values_in(loop.body, values);
  for (const BodyId id : arena_.reachable(values)) {
    const BodyNode& node = arena_[id];
    if (node.kind != BodyKind::kLoad) continue;
    const graph::TensorType& type = arena_.tensor(node.tensor);
    const auto stride = stride_along(position_of(node.exprs, type.shape), axis);
    const auto step = stride ? stride->stride.constant_value() : std::nullopt;
    if (!node.index_values.empty() || !step || *step < 0 || *step > kNear ||
        graph::bits(type.dtype) < 8)
      return false;
  }
  return true;
}

bool NestPlan::tests_positions(const std::vector<Statement>& block, const Expr& axis) const {
  std::vector<BodyId> values;
  values_in(block, values);
  const std::vector<BodyId> reached = arena_.reachable(values);
  return std::any_of(reached.begin(), reached.end(), [&](BodyId id) {
    const BodyNode& node = arena_[id];
    return node.kind == BodyKind::kWhere &&
           std::any_of(node.exprs.begin(), node.exprs.end(),
                       [&](const Expr& test) { return test.depends_on(axis); });
  });
}

bool NestPlan::writes_out_windows(const Statement& loop) const {
  constexpr int64_t kMostSteps = 96;
  const auto extent = loop.axes.back().axis_extent().constant_value();
  if (!extent || lanes_ == 1 || rows_in_lanes_ || *extent > kMostVectors * lanes_ ||
      !has_inner_loops(loop) || !is_independent(loop.role) ||
      !tests_positions(loop.body, loop.axes.back()))
    return false;
  int64_t steps = 0;
  for (const Statement& statement : loop.body) {
    if (statement.kind != StatementKind::kLoop) continue;
    if (statement.online || statement.role != LoopRole::kReduction || has_inner_loops(statement))
      return false;
    int64_t of_loop = 1;
    for (const Expr& axis : statement.axes) {
      // A bound is not enough: every step is written for itself.
      const auto count = axis.axis_extent().constant_value();
      if (!count || *count > kMostSteps) return false;
      of_loop = std::min(kMostSteps + 1, of_loop * *count);
    }
    steps += of_loop;
  }
  return steps * ((*extent + lanes_ - 1) / lanes_) <= kMostSteps;
}

bool NestPlan::squares_are_whole() const {
  const Statement& loop = *parallel_loop();
  return divisible_by(loop.axes.back().axis_extent(), lanes_) &&
         divisible_by(loop.axes[transposition_->axis].axis_extent(), transposition_->run);
}

/// Masks of narrow elements need instructions of their own.
bool NestPlan::masks_squares() const {
  return !squares_are_whole() && target_.has(runtime::CpuFeature::kAvx512bw) &&
         target_.has(runtime::CpuFeature::kAvx512vl);
}

void NestPlan::choose_transposed_blocks() {
  if (transposition_->in_turn) {
    const int64_t columns = options_.block / transposition_->side / lanes_ * lanes_;
    blocks_.back() = std::max<int64_t>(lanes_, columns);
    blocks_[transposition_->axis] = transposition_->side;
    return;
  }
  // Memory takes pieces of rows that are not too short.
  const int bits = target_.vector_bytes() * 8 / lanes_;
  blocks_.back() = std::max<int64_t>(lanes_, options_.transposed_columns * kWordBits / bits);
  blocks_[transposition_->axis] = options_.transposed_rows;
  choose_waiting_rows();
}

/// As many as the second cache holds well, twice: what the next ones are made of is asked for while
/// these are stored.
void NestPlan::choose_waiting_rows() {
  constexpr int64_t kBytes = 128 << 10;
  constexpr int64_t kLineBits = 512;
  const Statement& loop = *parallel_loop();
  const auto width = blocks_.back().constant_value();
  const bool masks_columns =
      masks_squares() && !divisible_by(loop.axes.back().axis_extent(), lanes_);
  if (streaming_ == Streaming::kNever || !width || *width % lanes_ != 0 || masks_columns) return;
  int64_t bytes = 0;
  int64_t unit = transposition_->run;
  for (const BodyId id : transposition_->loads) {
    const int bits = std::max(8, graph::bits(arena_.tensor(arena_[id].tensor).dtype));
    bytes += bits / 8;
    unit = std::max(unit, kLineBits / bits);
  }
  int64_t rows = std::min(kBytes / (*width * bytes), options_.transposed_rows);
  if (const auto all = loop.axes[transposition_->axis].axis_extent().constant_value())
    rows = std::min(rows, *all);
  waiting_rows_ = {rows / unit * unit, unit};
  if (waiting_rows_.most == 0) return;
  const int64_t runs = std::max<int64_t>(1, options_.transposed_rows / waiting_rows_.most);
  blocks_[transposition_->axis] = runs * waiting_rows_.most;
}

/// Rows begin a line further along than they would where lines are filled bit by bit: a column of
/// squares then has a line in every set of the first cache, which keeps them for the next column.
/// Copies of bf16 take .93 of the time so, of i8 .92.
int64_t NestPlan::waiting_row_bytes(BodyId load) const {
  constexpr int64_t kLine = 64;
  const int bytes = std::max(8, graph::bits(arena_.tensor(arena_[load].tensor).dtype)) / 8;
  const bool by_lines = transposition_->side * bytes >= kLine;
  return *blocks_.back().constant_value() * bytes + (by_lines ? 0 : kLine);
}

}  // namespace luminal::codegen

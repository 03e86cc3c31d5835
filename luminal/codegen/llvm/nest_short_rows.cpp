// Rows that are shorter than a few vectors. Those of some vectors are written out, so that nothing
// is kept in memory between the loops over a row. Where a row would not even fill a vector, lanes
// are rows: every step of a loop over the row is a vector of one element of each, and what lies
// along the rows is loaded row by row and transposed in registers, likewise what is stored.
#include <algorithm>

#include "luminal/codegen/llvm/nest_emitter.h"
#include "luminal/support/check.h"

namespace luminal::codegen {

using graph::DType;
using kernel::BodyId;
using kernel::BodyKind;
using kernel::BodyNode;
using kernel::Statement;
using kernel::StatementKind;
using llvm::Value;
using symbolic::Expr;

namespace {

/// Rows of so many elements are short enough to be transposed in registers.
constexpr int64_t kMostOfRow = 16;
/// Sums of so many elements are made of every second to fourth of whole lines.
constexpr uint64_t kShortStride = 4;
/// Larger bodies would be too much code where every step is written out.
constexpr size_t kMostNodesOfRow = 64;
/// Fewer rows are not worth a form of their own.
constexpr int64_t kFewestRows = 64;

/// Lanes of a row in registers.
int width_of(const Expr& axis) {
  int width = 1;
  while (width < *axis.axis_extent().constant_value()) width *= 2;
  return width;
}

}  // namespace

/// Whether every loop over a row of the parallel loop has a few steps along one axis.
bool NestPlan::are_rows_short(int64_t most) const {
  const Statement* row = parallel_loop();
  if (row == nullptr || !has_inner_loops(*row)) return false;
  // What an output loop reads of a row was kept before it.
  if (!nest_.buffers.empty() && row->role != kernel::LoopRole::kRow) return false;
  for (const kernel::Accumulator& accumulator : nest_.accumulators)
    if (!accumulator.vector_axes.empty()) return false;
  const auto rows = row->axes.back().axis_extent().constant_value();
  if (rows && *rows < kFewestRows && row->axes.size() == 1) return false;
  std::vector<BodyId> values;
  values_in(row->body, values);
  if (arena_.reachable(values).size() > kMostNodesOfRow) return false;
  return std::all_of(row->body.begin(), row->body.end(), [&](const Statement& loop) {
    if (loop.kind != StatementKind::kLoop) return true;
    const auto steps = loop.axes.back().axis_extent().constant_value();
    return loop.axes.size() == 1 && !loop.online && !has_inner_loops(loop) && steps && *steps > 0 &&
           *steps <= most;
  });
}

uint64_t NestPlan::longest_row() const {
  int64_t most = 1;
  for (const Statement& loop : parallel_loop()->body)
    if (loop.kind == StatementKind::kLoop)
      most = std::max(most, *loop.axes.back().axis_extent().constant_value());
  return static_cast<uint64_t>(most);
}

std::optional<NestPlan::AlongRow> NestPlan::along_row(const Expr& position) const {
  const Statement& row = *parallel_loop();
  const auto lanes = stride_along(position, row.axes.back());
  if (!lanes || lanes->stride.is_constant(0) || lanes->stride.is_constant(1)) return std::nullopt;
  for (const Statement& loop : row.body) {
    if (loop.kind != StatementKind::kLoop) continue;
    const auto along = stride_along(position, loop.axes.back());
    if (along && along->stride.is_constant(1) && !lanes->stride.depends_on(loop.axes.back()))
      return AlongRow{loop.axes.back(), along->rest, lanes->stride};
  }
  return std::nullopt;
}

/// Everything that differs from row to row lies along the lanes or along the rows.
bool NestPlan::fits_rows_in_lanes() const {
  if (options_.lanes != 0 || target_.vector_bytes() < 32 || !are_rows_short(kMostOfRow))
    return false;
  const Statement& row = *parallel_loop();
  const Expr& lane = row.axes.back();
  if (const auto rows = lane.axis_extent().constant_value(); rows && *rows < kFewestRows)
    return false;
  bool read_along = false;
  bool stored_along = false;
  const auto fits = [&](const Expr& position, DType dtype, bool& lies_along) {
    const auto stride = stride_along(position, lane);
    if (!stride || graph::bits(dtype) < 8 || graph::is_bool(dtype)) return false;
    if (stride->stride.is_constant(0) || stride->stride.is_constant(1)) return true;
    lies_along = true;
    return along_row(position).has_value();
  };
  std::vector<BodyId> values;
  values_in(row.body, values);
  for (const BodyId id : arena_.reachable(values)) {
    const BodyNode& node = arena_[id];
    if (!node.index_values.empty()) return false;
    if (node.kind != BodyKind::kLoad || !kernel::contains(node.free, lane)) continue;
    const graph::TensorType& type = arena_.tensor(node.tensor);
    for (size_t d = 0; d < node.exprs.size() && !is_alias(node.tensor); ++d)
      if (!stays_in_range(node.exprs[d], type.shape[d])) return false;
    if (!fits(position_of(node.exprs, type.shape), type.dtype, read_along)) return false;
  }
  for (const kernel::Root& root : nest_.kernel.roots) {
    const graph::TensorType& type = arena_.tensor(root.tensor);
    if (!fits(position_of(root.store, type.shape), type.dtype, stored_along)) return false;
  }
  return stored_along || !nest_.buffers.empty() || (read_along && longest_row() > kShortStride);
}

/// Whether all loops over a row are vectors along it.
bool NestPlan::fits_rows_written_out() const {
  const Statement& row = *parallel_loop();
  return !is_vectorised(row) &&
         std::all_of(row.body.begin(), row.body.end(), [&](const Statement& loop) {
           return loop.kind != StatementKind::kLoop || is_vectorised(loop);
         });
}

/// Where an axis stands, if that is known while code is written.
std::optional<int64_t> NestEmitter::place_in_row(const Expr& axis) const {
  const auto* place = llvm::dyn_cast<llvm::ConstantInt>(axes_.at(axis.axis_id()));
  return place == nullptr ? std::nullopt : std::optional(place->getSExtValue());
}

/// The steps of a loop over the rows in lanes, one after the other.
void NestEmitter::emit_written_out_row(const Statement& loop) {
  const int64_t extent = *loop.axes[0].axis_extent().constant_value();
  for (int64_t step = 0; step < extent; ++step) {
    axes_[loop.axes[0].axis_id()] = builder_.index(step);
    known_.emplace_back();
    emit_body(loop);
    known_.pop_back();
  }
}

/// One element of every row, of rows that are loaded once; null if the load does not lie along the
/// rows.
Value* NestEmitter::load_along_row(DType dtype, Value* base, kernel::NodeId tensor,
                                   const Expr& position) {
  const auto along = plan_.along_row(position);
  if (!along) return nullptr;
  const auto place = static_cast<size_t>(*place_in_row(along->axis));
  const auto width = static_cast<size_t>(*along->axis.axis_extent().constant_value());
  for (const ShortRows::Read& read : short_rows_->reads)
    if (read.tensor == tensor && read.rest == along->rest && read.columns.size() == width)
      return read.columns[place];
  short_rows_->reads.push_back({tensor, along->rest, load_square(dtype, base, *along)});
  return short_rows_->reads.back().columns[place];
}

std::vector<Value*> NestEmitter::load_square(DType dtype, Value* base,
                                             const NestPlan::AlongRow& along) {
  const int lanes = plan_.lanes();
  const int width = width_of(along.axis);
  const auto extent = static_cast<int>(*along.axis.axis_extent().constant_value());
  Value* first = index_at_first_lane(along.rest);
  Value* stride = index_.emit(along.stride);
  Value* inside = builder_.lanes_below(builder_.index(extent), width);
  // What follows a row is the next one: only the last must not be left.
  const auto step = along.stride.constant_value();
  const bool follows = step && *step >= extent;
  const auto row_of = [&](int lane) {
    Value* mask = extent == width || (follows && lane + 1 < lanes) ? nullptr : inside;
    if (mask_ != nullptr)
      mask = ir_.CreateAnd(inside, builder_.splat(ir_.CreateExtractElement(mask_, lane), width));
    Value* at = ir_.CreateAdd(first, ir_.CreateMul(stride, builder_.index(lane)));
    return code_.load(dtype, base, at, width, {.mask = mask});
  };
  llvm::SmallVector<Value*, 16> square;
  for (int i = 0; i < width; ++i) {
    llvm::SmallVector<Value*, 16> rows;
    for (int lane = i; lane < lanes; lane += width) rows.push_back(row_of(lane));
    square.push_back(builder_.join(rows));
  }
  if (width > 1) builder_.transpose(square);
  return {square.begin(), square.begin() + extent};
}

/// Takes one element of every row; with the last one the rows are stored. False if the result does
/// not lie along the rows.
bool NestEmitter::store_along_row(const Statement& statement, Value* value) {
  const kernel::Root& root = nest_.kernel.roots[statement.root];
  const auto along = plan_.along_row(position_of(root.store, arena_.tensor(root.tensor).shape));
  if (!along) return false;
  std::vector<Value*>& columns = short_rows_->stores[statement.root];
  LUMINAL_CHECK(*place_in_row(along->axis) == static_cast<int64_t>(columns.size()),
                "results of a row are stored out of order");
  columns.push_back(value);
  if (static_cast<int64_t>(columns.size()) == *along->axis.axis_extent().constant_value())
    store_square(root, *along, columns);
  return true;
}

void NestEmitter::store_square(const kernel::Root& root, const NestPlan::AlongRow& along,
                               llvm::ArrayRef<Value*> columns) {
  const DType dtype = arena_.tensor(root.tensor).dtype;
  const int lanes = plan_.lanes();
  const int width = width_of(along.axis);
  const auto extent = static_cast<int>(columns.size());
  llvm::SmallVector<Value*, 16> square(columns.begin(), columns.end());
  square.resize(static_cast<size_t>(width), llvm::PoisonValue::get(columns[0]->getType()));
  if (width > 1) builder_.transpose(square);
  Value* base = buffers_.at(root.tensor);
  Value* first = index_at_first_lane(along.rest);
  if (mask_ == nullptr && along.stride.is_constant(extent)) {
    Access access;
    const int bytes = graph::bits(dtype) / 8;
    const int unit = std::min(64, lanes * bytes) / bytes;
    const auto stride = stride_along(along.rest, *lane_axis_);
    if (streaming_ && lanes * bytes >= 16 && stride && divisible_by(stride->rest, unit))
      access = {.align = unit * bytes, .streaming = true};
    const auto lines = in_lines(square, width, extent);
    for (size_t k = 0; k < lines.size(); ++k)
      code_.store(dtype, lines[k], base,
                  ir_.CreateAdd(first, builder_.index(static_cast<int64_t>(k) * lanes)), access);
    return;
  }
  Value* stride = index_.emit(along.stride);
  Value* inside = builder_.lanes_below(builder_.index(extent), width);
  for (int lane = 0; lane < lanes; ++lane) {
    Value* row =
        builder_.part(square[static_cast<size_t>(lane % width)], lane / width * width, width);
    Value* mask = extent == width ? nullptr : inside;
    if (mask_ != nullptr)
      mask = ir_.CreateAnd(inside, builder_.splat(ir_.CreateExtractElement(mask_, lane), width));
    Value* at = ir_.CreateAdd(first, ir_.CreateMul(stride, builder_.index(lane)));
    code_.store(dtype, row, base, at, {.mask = mask});
  }
}

/// Rows of `count` elements, one after the other without what fills them up: as many vectors as a
/// row has elements. Vector i of `joined` has the rows i, width + i, ... side by side.
llvm::SmallVector<Value*, 16> NestEmitter::in_lines(llvm::ArrayRef<Value*> joined, int width,
                                                    int count) {
  const int lanes = plan_.lanes();
  llvm::SmallVector<Value*, 16> lines;
  for (int line = 0; line < count; ++line) {
    Value* made = nullptr;
    llvm::SmallVector<bool, 16> taken(static_cast<size_t>(lanes), false);
    for (int from = 0; from < width; ++from) {
      llvm::SmallVector<int, 16> chosen;
      bool any = false;
      for (int lane = 0; lane < lanes; ++lane) {
        const int element = line * lanes + lane;
        const int row = element / count;
        const bool here = row % width == from;
        any = any || here;
        const int place = row / width * width + element % count;
        // What is not there yet comes from later vectors.
        chosen.push_back(here ? lanes + place : taken[static_cast<size_t>(lane)] ? lane : -1);
        if (here) taken[static_cast<size_t>(lane)] = true;
      }
      if (!any) continue;
      Value* before = made == nullptr ? llvm::PoisonValue::get(joined[0]->getType()) : made;
      made = ir_.CreateShuffleVector(before, joined[static_cast<size_t>(from)], chosen);
    }
    lines.push_back(made);
  }
  return lines;
}

}  // namespace luminal::codegen

// Rows that follow each other as in a pipeline. A softmax finds the maximum of a row, then its
// exponentials, and writes: row by row, memory would read, wait and write by turns. So the loops of
// a row become stages, and one loop over the lanes runs all of them, each on another row: reading,
// computing and stores past the caches are then mixed evenly. Within a row nothing changes, so that
// results have the same bits.
//
//   turn t, for lanes: max of row t; exponentials of row t - 1; results of row t - 2
//
// What a stage needs of its row (sums, values made of them) waits on the stack, and rows that were
// kept are read just before they are overwritten. At both ends of a run of rows, where some stages
// have none, the loops stand alone. Where little is computed (a norm), reading a row again from the
// second cache takes longer than memory would wait: such rows take part only if they have two
// stages whose rows the nearest cache holds. Two stages of short rows the processor overlaps by
// itself. Nor do rows take part of which a later stage reads another operand for the first time:
// row by row that is read while nothing else is, here beside the first stage, in another row. Nor
// those that may have to be read again (kUnless).
#include <algorithm>
#include <set>
#include <utility>

#include "luminal/codegen/llvm/nest_emitter.h"
#include "luminal/support/check.h"

namespace luminal::codegen {

using kernel::BodyId;
using kernel::LoopRole;
using kernel::Statement;
using kernel::StatementKind;
using llvm::Value;
using symbolic::Expr;

namespace {

/// Longer rows leave the second cache before their last stage; turns of shorter ones are over
/// before what lies between the loops is.
constexpr int64_t kMostRowBytes = 64 << 10;
constexpr int64_t kFewestVectors = 8;
/// Fewer rows are few for each thread: most of them begin or end a run.
constexpr int64_t kFewestRows = 512;
constexpr size_t kMostStages = 4;
/// What the nearest cache holds, and the shortest rows whose two stages gain by it.
constexpr int64_t kNearBytes = 32 << 10;
constexpr int64_t kFewestRowBytes = 8 << 10;

}  // namespace

std::optional<NestPlan::Pipeline> NestPlan::find_pipeline() const {
  const Statement* row = parallel_loop();
  if (streaming_ != Streaming::kAlways || !options_.prefetch_rows || row == nullptr ||
      row->role != LoopRole::kRow || is_vectorised(*row) || rows_written_out_ || transposition_ ||
      zipped_)
    return std::nullopt;
  const auto rows = row->axes.back().axis_extent().constant_value();
  if (!rows || *rows < kFewestRows || row->body.back().kind != StatementKind::kLoop)
    return std::nullopt;
  Pipeline result;
  std::set<kernel::NodeId> begun;  // operands that the first stage reads
  const auto reads_another = [&](const Statement& loop) {
    const bool is_first = result.loops.empty();
    std::vector<BodyId> values;
    values_in(loop.body, values);
    const std::vector<BodyId> inside = arena_.reachable(values);
    return std::any_of(inside.begin(), inside.end(), [&](BodyId id) {
      const kernel::BodyNode& node = arena_[id];
      if (node.kind != kernel::BodyKind::kLoad || !kernel::contains(node.free, loop.axes[0]) ||
          !kernel::contains(node.free, row->axes.back()))
        return false;
      if (is_first) begun.insert(node.tensor);
      return !begun.contains(node.tensor);
    });
  };
  for (size_t k = 0; k < row->body.size(); ++k) {
    const Statement& statement = row->body[k];
    if (statement.kind == StatementKind::kUnless ||
        (statement.kind == StatementKind::kLet && !graph::is_float(arena_[statement.value].dtype)))
      return std::nullopt;
    if (statement.kind != StatementKind::kLoop) continue;
    if (!is_whole_row(statement) ||
        statement.axes[0].axis_extent() != row->body.back().axes[0].axis_extent() ||
        reads_another(statement))
      return std::nullopt;
    result.computes_much = result.computes_much || is_costly_along(statement);
    result.loops.push_back(k);
  }
  const size_t stages = result.loops.size();
  if (stages < 2 || stages > kMostStages || !waits_well(*row, result)) return std::nullopt;
  const int64_t row_bytes = *row->body.back().axes[0].axis_extent().constant_value() * 4;
  if (stages == 2 && row_bytes < kFewestRowBytes) return std::nullopt;
  if (!result.computes_much && (stages > 2 || bytes_at_a_time(*row, stages) > kNearBytes))
    return std::nullopt;
  return result;
}

/// What lies along the lanes and is read more than once: rows of so many stages, and what all rows
/// share.
int64_t NestPlan::bytes_at_a_time(const Statement& row, size_t stages) const {
  int64_t result = 0;
  std::set<kernel::NodeId> counted;
  for (const Statement& loop : row.body) {
    if (loop.kind != StatementKind::kLoop) continue;
    std::vector<BodyId> values;
    values_in(loop.body, values);
    for (const BodyId id : arena_.reachable(values)) {
      const kernel::BodyNode& node = arena_[id];
      if (node.kind != kernel::BodyKind::kLoad || !kernel::contains(node.free, loop.axes[0]) ||
          !counted.insert(node.tensor).second)
        continue;
      const int64_t bytes = *loop.axes[0].axis_extent().constant_value() *
                            std::max(1, graph::bits(arena_.tensor(node.tensor).dtype) / 8);
      const bool is_shared = !kernel::contains(node.free, row.axes.back());
      result += is_shared ? bytes : bytes * static_cast<int64_t>(stages);
    }
  }
  return result;
}

/// Whether a loop has one axis of whole vectors, those that it stores aligned. Narrow elements are
/// left out where what is computed of them takes longer than memory does.
bool NestPlan::is_whole_row(const Statement& loop) const {
  if (loop.axes.size() != 1 || !is_vectorised(loop) || has_inner_loops(loop)) return false;
  const Expr& axis = loop.axes[0];
  const int64_t step = int64_t{lanes_} * std::max(8, kChains * unroll());
  const auto extent = axis.axis_extent().constant_value();
  if (!extent || *extent % step != 0 || *extent < kFewestVectors * lanes_ ||
      *extent * 4 > kMostRowBytes || adds_in_blocks(*extent, kChains * unroll()))
    return false;
  const int fewest_bits = target_.products_at_once() > 1 ? 16 : 32;
  return std::all_of(loop.body.begin(), loop.body.end(), [&](const Statement& statement) {
    if (statement.kind != StatementKind::kStore) return true;
    const kernel::Root& root = nest_.kernel.roots[statement.root];
    const graph::TensorType& type = arena_.tensor(root.tensor);
    const auto stride = stride_along(position_of(root.store, type.shape), axis);
    return stride && stride->stride.is_constant(1) && divisible_by(stride->rest, step) &&
           graph::bits(type.dtype) >= fewest_bits;
  });
}

/// Whether what later stages need can wait: sums of one value, and rows that are kept for the last
/// stage. Says how many of each of these there are at a time.
bool NestPlan::waits_well(const Statement& row, Pipeline& pipeline) const {
  const Statement& last = row.body.back();
  if (!is_independent(last.role)) return false;
  pipeline.kept_rows.assign(nest_.buffers.size(), 0);
  const size_t stages = pipeline.loops.size();
  for (size_t stage = 0; stage + 1 < stages; ++stage) {
    const Statement& loop = row.body[pipeline.loops[stage]];
    for (const Statement& each : loop.body)
      if (each.kind == StatementKind::kKeep &&
          nest_.buffers[each.buffer].written_axis == loop.axes[0] &&
          nest_.buffers[each.buffer].read_axis == last.axes[0])
        pipeline.kept_rows[each.buffer] = static_cast<int64_t>(stages - 1 - stage);
  }
  return std::none_of(pipeline.kept_rows.begin(), pipeline.kept_rows.end(),
                      [](int64_t rows) { return rows == 0; }) &&
         std::all_of(nest_.accumulators.begin(), nest_.accumulators.end(), [](const auto& each) {
           return each.vector_axes.empty() && graph::is_float(each.dtype);
         });
}

/// The stages of a row, each with what waits between it and the next one.
std::vector<NestEmitter::Stage> NestEmitter::stages_of(const Statement& row) {
  const auto place = [&](graph::DType dtype) {
    return builder_.stack(code_.register_type(dtype, 1), 8);
  };
  std::vector<Stage> result;
  std::vector<bool> begun;
  for (const Sum& sum : sums_) begun.push_back(sum.value != nullptr);
  std::vector<BodyId> values;
  size_t next = 0;
  for (const size_t loop : plan_.pipeline()->loops) {
    Stage stage{.row = row, .first = next, .loop = loop};
    for (; next < loop; ++next) {
      const Statement& statement = row.body[next];
      if (statement.kind == StatementKind::kReset) begun[statement.accumulator] = true;
      if (statement.kind == StatementKind::kLet) values.push_back(statement.value);
    }
    ++next;
    for (size_t k = 0; k < begun.size(); ++k)
      if (begun[k]) stage.sums.emplace_back(k, place(nest_.accumulators[k].dtype));
    for (const BodyId id : values) stage.values.emplace_back(id, place(arena_[id].dtype));
    result.push_back(std::move(stage));
  }
  return result;
}

/// A run of rows. In turn t, stage k works on row t - k.
void NestEmitter::emit_pipeline(const Statement& row, const Range& range) {
  const std::vector<Stage> stages = stages_of(row);
  const size_t outer_axes = open_axes_.size();
  open_axes_.insert(open_axes_.end(), row.axes.begin(), row.axes.end());
  axes_of_row_ = open_axes_.size();
  const std::vector<Sum> outer_sums = sums_;
  Value* behind = builder_.index(static_cast<int64_t>(stages.size()) - 1);
  Value* filled = ir_.CreateAdd(range.begin, behind);
  const auto between = [&](Value* from, Value* number) {
    return ir_.CreateAnd(ir_.CreateICmpSGE(number, from), ir_.CreateICmpSLT(number, range.end));
  };
  builder_.loop(range.begin, ir_.CreateAdd(range.end, behind), builder_.index(1), [&](Value* turn) {
    const auto row_of = [&](size_t stage) {
      return ir_.CreateSub(turn, builder_.index(static_cast<int64_t>(stage)));
    };
    const auto joined = [&] {
      std::vector<StageCode> code;
      for (size_t k = 0; k < stages.size(); ++k) {
        sums_ = outer_sums;
        known_.emplace_back();
        begin_stage(stages, k, row_of(k));
        code.push_back({stages[k], lane_loop(row.body[stages[k].loop]), row_of(k), sums_, known_});
        known_.pop_back();
      }
      emit_stages(code);
      return Carried{};
    };
    const auto apart = [&] {
      // The last one first: it reads what others overwrite.
      for (size_t k = stages.size(); k-- > 0;)
        builder_.if_then(between(range.begin, row_of(k)), [&] {
          sums_ = outer_sums;
          known_.emplace_back();
          begin_stage(stages, k, row_of(k));
          emit_statement(row.body[stages[k].loop]);
          end_stage(stages[k]);
          known_.pop_back();
        });
      return Carried{};
    };
    builder_.if_else(between(filled, turn), joined, apart);
  });
  sums_ = outer_sums;
  open_axes_.erase(open_axes_.begin() + static_cast<std::ptrdiff_t>(outer_axes), open_axes_.end());
}

/// What comes before the loop of a stage.
void NestEmitter::begin_stage(llvm::ArrayRef<Stage> stages, size_t number, Value* row) {
  const Stage& stage = stages[number];
  axes_[stage.row.axes.back().axis_id()] = row;
  if (number > 0) {
    for (const auto& [sum, place] : stages[number - 1].sums) {
      sums_[sum] = {};
      sums_[sum].value =
          builder_.load(code_.register_type(nest_.accumulators[sum].dtype, 1), place);
    }
    for (const auto& [id, place] : stages[number - 1].values)
      known_.back()[id] = builder_.load(code_.register_type(arena_[id].dtype, 1), place);
  }
  for (size_t k = stage.first; k < stage.loop; ++k) emit_statement(stage.row.body[k]);
}

/// What is known of the row now waits for the next stage.
void NestEmitter::end_stage(const Stage& stage) {
  for (const auto& [sum, place] : stage.sums) builder_.store(sums_[sum].value, place);
  for (const auto& [id, place] : stage.values) builder_.store(value_of(id), place);
}

/// Goes to the row of a stage.
void NestEmitter::enter(const StageCode& code) {
  axes_[code.stage.row.axes.back().axis_id()] = code.row;
  sums_ = code.sums;
  known_ = code.known;
  lane_axis_ = code.lane.axis;
  lanes_reduce_ = code.lane.loop.role == LoopRole::kReduction;
  aligned_roots_ = roots_in_line(code.lane.loop, code.lane.axis);
}

/// One loop over the lanes for all stages.
void NestEmitter::emit_stages(std::vector<StageCode>& code) {
  const int64_t copies = int64_t{NestPlan::kChains} * plan_.unroll();
  const int64_t lanes = plan_.lanes();
  Carried initial;
  for (StageCode& stage : code) {
    stage.first_carried = initial.size();
    LUMINAL_CHECK(stage.lane.carried.empty() || stage.lane.copies == static_cast<size_t>(copies),
                  "the sums of a row are in other vectors than those of the next");
    for (int64_t copy = 0; copy < copies; ++copy)
      for (const size_t number : stage.lane.carried)
        initial.push_back(ops_.identity(nest_.accumulators[number].op,
                                        nest_.accumulators[number].dtype, plan_.lanes()));
  }
  const auto outer_known = known_;
  const auto turn = [&](Value* first, llvm::ArrayRef<Value*> now) {
    Carried next(now.begin(), now.end());
    for (int64_t copy = 0; copy < copies; ++copy) {
      Value* position = ir_.CreateAdd(first, builder_.index(copy * lanes));
      load_ahead(code, position);
      for (StageCode& stage : code) {
        enter(stage);
        known_.push_back(std::move(stage.loaded));
        const size_t count = stage.lane.carried.size();
        const size_t own = stage.first_carried + static_cast<size_t>(copy) * count;
        const Carried changed = lane_turn(stage.lane, position, now.slice(own, count), 1, nullptr);
        std::copy(changed.begin(), changed.end(), next.begin() + static_cast<std::ptrdiff_t>(own));
      }
    }
    return next;
  };
  Value* extent = index_.emit(code[0].lane.axis.axis_extent());
  const Carried state =
      builder_.loop(builder_.index(0), extent, builder_.index(copies * lanes), initial, turn);
  for (const StageCode& stage : code) {
    enter(stage);
    lane_axis_.reset();
    lanes_reduce_ = false;
    aligned_roots_.clear();
    const auto own = state.begin() + static_cast<std::ptrdiff_t>(stage.first_carried);
    const auto count = static_cast<std::ptrdiff_t>(stage.lane.carried.size()) * copies;
    close_sums(stage.lane, Carried(own, own + count));
    end_stage(stage.stage);
  }
  row_loads_.clear();
  known_ = outer_known;
}

/// What all stages load for a vector: a load after a store whose address ends in the same bits
/// would wait for it, and rows often lie whole pages apart. Rows that were kept are read here too,
/// before they are overwritten. The first stage asks for what it will read.
void NestEmitter::load_ahead(llvm::MutableArrayRef<StageCode> code, Value* position) {
  for (StageCode& stage : code) {
    enter(stage);
    axes_[stage.lane.axis.axis_id()] = position;
    in_pairs_ = stage.lane.pairs;
    const bool is_first = &stage == code.begin();
    if (is_first) {
      row_axis_ = stage.stage.row.axes.back();
      inner_loops_ = 1;
      loops_of_row_ = static_cast<int>(code.size());
    }
    known_.emplace_back();
    std::set<BodyId> seen;
    const auto visit = [&](const auto& self, BodyId id) -> void {
      if (!depends_on_lanes(id) || !seen.insert(id).second) return;
      const kernel::BodyNode& node = arena_[id];
      const bool is_kept = std::any_of(nest_.buffers.begin(), nest_.buffers.end(),
                                       [&](const auto& buffer) { return buffer.read == id; });
      if (is_kept || node.kind == kernel::BodyKind::kLoad) {
        value_of(id);
        return;
      }
      for (const BodyId child : node.children) self(self, child);
    };
    for (const Statement& statement : stage.lane.loop.body) visit(visit, statement.value);
    stage.loaded = std::move(known_.back());
    if (is_first) ask_ahead(position);
    row_axis_.reset();
    in_pairs_ = false;
  }
}

/// Asks for what the first stage reads some time later. While much is computed the processor does
/// not look ahead far enough, and what it needs is brought into the second cache early; else it
/// sees most itself, and is helped over the ends of pages. Distances are no whole pages: such
/// addresses end in the same bits as those of stores.
void NestEmitter::ask_ahead(Value* position) {
  constexpr int64_t kLine = 64;
  constexpr int64_t kFar = 10 << 10;
  constexpr int64_t kNear = 512;
  const bool is_far = plan_.pipeline()->computes_much;
  const int64_t ahead = is_far ? kFar : kNear;
  const int locality = is_far ? 2 : 3;
  Value*& row = axes_.at(row_axis_->axis_id());
  Value* this_row = std::exchange(row, ir_.CreateSub(row, builder_.index(1)));
  for (const RowLoad& load : row_loads_) {
    const int64_t bytes = std::max(1, graph::bits(arena_.tensor(load.tensor).dtype) / 8);
    axes_[load.axis.axis_id()] = position;
    Value* at = ir_.CreateMul(index_at_first_lane(load.next), builder_.index(bytes));
    Value* line = builder_.offset(buffers_.at(load.tensor), at);
    for (int64_t from = 0; from < plan_.lanes() * bytes; from += kLine)
      builder_.prefetch(builder_.offset(line, ahead + from), locality);
  }
  row = this_row;
}

/// Where the row of a buffer lies: one of several, where rows wait for each other.
Value* NestEmitter::kept_row(size_t buffer) {
  Value* base = builder_.offset(entry_.scratch, index_.emit(plan_.row_offset(buffer)));
  const int64_t rows = plan_.kept_rows(buffer);
  if (rows == 1) return base;
  const kernel::RowBuffer& kept = nest_.buffers[buffer];
  const int64_t bytes = graph::bits(stored_dtype(arena_[kept.written].dtype)) / 8;
  Value* number = axes_.at(plan_.parallel_loop()->axes.back().axis_id());
  Value* elements = ir_.CreateMul(ir_.CreateSRem(number, builder_.index(rows)),
                                  index_.emit(kept.written_axis.axis_extent()));
  return builder_.offset(base, ir_.CreateMul(elements, builder_.index(bytes)));
}

}  // namespace luminal::codegen

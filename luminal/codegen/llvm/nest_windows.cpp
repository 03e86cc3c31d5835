// Loops in which the lanes hold one axis while another, short one is written out: the steps of a
// window inside of the lanes, and a last axis that is too short to fill vectors.
#include <algorithm>
#include <utility>

#include "luminal/codegen/llvm/nest_emitter.h"

namespace luminal::codegen {

using graph::Op;
using kernel::BodyKind;
using kernel::BodyNode;
using kernel::Statement;
using kernel::StatementKind;
using llvm::Value;
using symbolic::Expr;

/// The tests of a step along one axis of a window without which it adds nothing to any sum, and
/// which are the same for all lanes and all that follows.
std::vector<Expr> NestEmitter::tests_of_step(const Statement& loop, size_t depth) const {
  std::vector<Expr> result;
  bool first = true;
  const auto is_common = [&](const Expr& test) {
    if (is_assumed(test) || !test.depends_on(loop.axes[depth])) return false;
    return std::all_of(test.axes().begin(), test.axes().end(), [&](const Expr& axis) {
      return !kernel::is_value_axis(axis) && axis != *lane_axis_ &&
             std::find(loop.axes.begin() + static_cast<std::ptrdiff_t>(depth) + 1, loop.axes.end(),
                       axis) == loop.axes.end();
    });
  };
  for (const Statement& statement : loop.body) {
    if (statement.kind != StatementKind::kAccumulate) return {};
    const BodyNode& value = arena_[statement.value];
    const Op op = nest_.accumulators[statement.accumulator].op;
    if (value.kind != BodyKind::kWhere || (op != Op::kSum && op != Op::kReduceMax)) return {};
    const BodyNode& outside = arena_[value.children[1]];
    if (outside.kind != BodyKind::kConstant ||
        !(outside.constant == (op == Op::kSum ? graph::Scalar::of(outside.dtype, 0)
                                              : graph::Scalar::lowest(outside.dtype))))
      return {};
    std::vector<Expr> tests;
    for (const Expr& test : value.exprs)
      if (is_common(test) &&
          (first || std::find(result.begin(), result.end(), test) != result.end()))
        tests.push_back(test);
    result = std::move(tests);
    first = false;
  }
  return result;
}

/// All steps of a reduction one after the other. Those outside of what is read are passed over.
void NestEmitter::emit_window(const Statement& loop, size_t depth) {
  const int64_t extent = *loop.axes[depth].axis_extent().constant_value();
  const std::vector<Expr> tests = tests_of_step(loop, depth);
  const std::vector<size_t> carried = carried_sums(loop);
  const auto sums = [&] {
    Carried now;
    for (const size_t number : carried) now.push_back(sums_[number].value);
    return now;
  };
  for (int64_t at = 0; at < extent; ++at) {
    axes_[loop.axes[depth].axis_id()] = builder_.index(at);
    const auto step = [&] {
      known_.emplace_back();
      if (depth + 1 == loop.axes.size())
        emit_body(loop);
      else
        emit_window(loop, depth + 1);
      known_.pop_back();
    };
    if (tests.empty()) {
      step();
      continue;
    }
    const Carried before = sums();
    const size_t assumed = assumed_.size();
    Value* inside = conditions(tests);
    assumed_.insert(assumed_.end(), tests.begin(), tests.end());
    const Carried after = builder_.if_else(
        inside,
        [&] {
          step();
          return sums();
        },
        [&] { return before; });
    assumed_.erase(assumed_.begin() + static_cast<std::ptrdiff_t>(assumed), assumed_.end());
    for (size_t i = 0; i < carried.size(); ++i) sums_[carried[i]].value = after[i];
  }
}

/// Vectors along the axis that the last one continues: all positions of the last one are computed,
/// and their elements stored in turn.
void NestEmitter::emit_zipped(const Statement& loop, const Range& range) {
  const int64_t width = *loop.axes.back().axis_extent().constant_value();
  for_each_vector(loop.axes[*plan_.zipped()], range, [&] {
    zipped_.emplace();
    for (int64_t at = 0; at < width; ++at) {
      axes_[loop.axes.back().axis_id()] = builder_.index(at);
      emit_body(loop);
    }
    const auto rows = std::exchange(zipped_, std::nullopt);
    axes_[loop.axes.back().axis_id()] = builder_.index(0);
    Value* left = nullptr;
    if (mask_ != nullptr)
      left = ir_.CreateMul(ir_.CreateSub(range.end, axes_.at(lane_axis_->axis_id())),
                           builder_.index(width));
    store_zipped(*rows, left);
  });
}

/// `left` elements from the first one on; null: all.
void NestEmitter::store_zipped(const std::map<size_t, llvm::SmallVector<Value*, 16>>& rows,
                               Value* left) {
  const int lanes = plan_.lanes();
  for (const auto& [number, of_root] : rows) {
    const kernel::Root& root = nest_.kernel.roots[number];
    const graph::TensorType& type = arena_.tensor(root.tensor);
    const int bytes = graph::bits(type.dtype) / 8;
    const Expr position = position_of(root.store, type.shape);
    const Expr& last = plan_.parallel_loop()->axes.back();
    const Expr start = stride_along(stride_along(position, *lane_axis_)->rest, last)->rest;
    const int size = std::min(64, lanes * bytes);
    const bool streaming =
        streaming_ && left == nullptr && size >= 16 && divisible_by(start, size / bytes);
    Value* place =
        builder_.offset(buffers_.at(root.tensor),
                        ir_.CreateMul(index_at_first_lane(position), builder_.index(bytes)));
    llvm::SmallVector<Value*, 16> vectors = of_root;
    builder_.zip(vectors);
    for (size_t i = 0; i < vectors.size(); ++i) {
      const auto first = static_cast<int64_t>(i) * lanes;
      Access access{.align = streaming ? size : 0, .streaming = streaming};
      if (left != nullptr)
        access.mask = builder_.lanes_below(ir_.CreateSub(left, builder_.index(first)), lanes);
      builder_.store(vectors[i], builder_.offset(place, first * bytes), access);
    }
  }
}

}  // namespace luminal::codegen

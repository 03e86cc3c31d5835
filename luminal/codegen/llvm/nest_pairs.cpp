// Loops over bf16 whose lanes may be in any order: a line is then taken apart into the elements at
// even places and the others, which is one instruction for each vector of floats instead of two.
#include <algorithm>

#include "luminal/codegen/llvm/nest_emitter.h"

namespace luminal::codegen {

using graph::Op;
using kernel::Statement;
using kernel::StatementKind;
using symbolic::Expr;

/// Whether whole lines of a loop are computed in the order of load_pairs. Rows that are kept must
/// be read in the order in which they were written: all loops over them or none.
bool NestEmitter::takes_pairs(const Statement& loop) const {
  if (!is_free_of_order(loop)) return false;
  if (!touches_rows(loop)) return true;
  const auto fits = [&](const auto& self, const Block& block) -> bool {
    return std::all_of(block.begin(), block.end(), [&](const Statement& each) {
      if (each.kind != StatementKind::kLoop) return true;
      if (has_inner_loops(each)) return self(self, each.body);
      return !touches_rows(each) || (has_whole_lines_only(each) && is_free_of_order(each));
    });
  };
  return fits(fits, nest_.body);
}

/// Whether a loop keeps rows or reads what was kept.
bool NestEmitter::touches_rows(const Statement& loop) const {
  std::vector<kernel::BodyId> values;
  for (const Statement& statement : loop.body) {
    if (statement.kind == StatementKind::kKeep) return true;
    if (statement.kind == StatementKind::kAccumulate || statement.kind == StatementKind::kLet ||
        statement.kind == StatementKind::kStore)
      values.push_back(statement.value);
  }
  const std::vector<kernel::BodyId> below = arena_.reachable(values);
  return std::any_of(nest_.buffers.begin(), nest_.buffers.end(), [&](const auto& buffer) {
    return std::find(below.begin(), below.end(), buffer.read) != below.end();
  });
}

/// Whether a loop has neither masked turns nor a begin that is out of line.
bool NestEmitter::has_whole_lines_only(const Statement& loop) const {
  const int64_t step = int64_t{plan_.lanes()} * plan_.unroll() * NestPlan::kChains;
  return plan_.is_vectorised(loop) && divisible_by(loop.axes.back().axis_extent(), step) &&
         std::all_of(loop.body.begin(), loop.body.end(), [&](const Statement& statement) {
           if (statement.kind != StatementKind::kStore) return true;
           const kernel::Root& root = nest_.kernel.roots[statement.root];
           const Expr position = position_of(root.store, arena_.tensor(root.tensor).shape);
           const auto stride = stride_along(position, loop.axes.back());
           return stride && divisible_by(stride->rest, step);
         });
}

/// Whether the order of lanes within whole lines makes no difference to a loop, all that it reads
/// and writes along them being bf16.
bool NestEmitter::is_free_of_order(const Statement& loop) const {
  constexpr int kLine = 32;
  if (has_inner_loops(loop) || plan_.lanes() % kLine != 0 ||
      !builder_.target().has(runtime::CpuFeature::kAvx512bw))
    return false;
  const Expr& axis = loop.axes.back();
  std::vector<kernel::BodyId> values;
  for (const Statement& statement : loop.body) {
    if (statement.kind == StatementKind::kOnlineStep) return false;
    if (statement.kind == StatementKind::kStore && !is_stored_in_pairs(statement, axis))
      return false;
    // Sums of one value per lane lie in scratch.
    if (statement.kind == StatementKind::kAccumulate &&
        !nest_.accumulators[statement.accumulator].vector_axes.empty())
      return false;
    if (statement.kind != StatementKind::kReset && statement.kind != StatementKind::kFinish)
      values.push_back(statement.value);
  }
  const std::vector<kernel::BodyId> below = arena_.reachable(values);
  return std::all_of(below.begin(), below.end(), [&](kernel::BodyId id) {
    return !kernel::contains(arena_[id].free, axis) || is_taken_in_pairs(id, axis);
  });
}

/// Whether a store takes lanes in any order: what is only moved keeps its bits instead.
bool NestEmitter::is_stored_in_pairs(const Statement& store, const Expr& axis) const {
  const kernel::Root& root = nest_.kernel.roots[store.root];
  const graph::TensorType& type = arena_.tensor(root.tensor);
  const kernel::BodyNode& value = arena_[store.value];
  if (type.dtype != graph::DType::kBF16 || value.kind != kernel::BodyKind::kOp ||
      value.op == Op::kCopy)
    return false;
  const auto stride = stride_along(position_of(root.store, type.shape), axis);
  return stride && stride->stride.is_constant(1) && !kernel::contains(stride->rest.axes(), axis);
}

/// The same of a value that depends on the lanes.
bool NestEmitter::is_taken_in_pairs(kernel::BodyId id, const Expr& axis) const {
  const kernel::BodyNode& node = arena_[id];
  if (node.kind == kernel::BodyKind::kOp) return true;
  if (node.kind != kernel::BodyKind::kLoad || !node.index_values.empty()) return false;
  const graph::TensorType& type = arena_.tensor(node.tensor);
  if (type.dtype != graph::DType::kBF16) return false;
  for (size_t d = 0; d < node.exprs.size() && !is_alias(node.tensor); ++d)
    if (!stays_in_range(node.exprs[d], type.shape[d])) return false;
  const auto stride = stride_along(position_of(node.exprs, type.shape), axis);
  return stride && stride->stride.is_constant(1) && !kernel::contains(stride->rest.axes(), axis);
}

}  // namespace luminal::codegen

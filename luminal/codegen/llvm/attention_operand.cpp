#include "luminal/codegen/llvm/attention_operand.h"

#include <algorithm>

#include "luminal/codegen/llvm/nest_flatten.h"

namespace luminal::codegen {
namespace {

using graph::Op;
using kernel::Arena;
using kernel::BodyId;
using kernel::BodyKind;
using kernel::BodyNode;
using symbolic::Expr;

BodyId without_casts(const Arena& arena, BodyId id) {
  while (arena[id].kind == BodyKind::kOp && arena[id].op == Op::kCast &&
         graph::is_float(arena[id].dtype) && graph::is_float(arena[arena[id].children[0]].dtype))
    id = arena[id].children[0];
  return id;
}

/// Collects loads, outermost tests first.
class Pieces {
 public:
  Pieces(const Arena& arena, const Expr& other) : arena_(arena), other_(other) {}

  bool add(BodyId id, std::vector<Expr> tests, std::vector<Expr> known) {
    id = without_casts(arena_, id);
    const BodyNode& node = arena_[id];
    if (node.kind == BodyKind::kLoad) return add_load(id, std::move(tests), known);
    // What holds where a choice goes the other way is known of a single test only.
    if (node.kind != BodyKind::kWhere || node.exprs.size() != 1 ||
        node.exprs[0].depends_on(other_) || !tests.empty())
      return false;
    const Expr& test = node.exprs[0];
    std::vector<Expr> otherwise = known;
    otherwise.push_back(logical_not(test));
    known.push_back(test);
    return add(node.children[0], {test}, std::move(known)) &&
           add(node.children[1], {}, std::move(otherwise));
  }

  std::vector<AttentionPiece> result;

 private:
  bool add_load(BodyId id, std::vector<Expr> tests, const std::vector<Expr>& known) {
    const BodyNode& node = arena_[id];
    if (!node.index_values.empty()) return false;
    const graph::TensorType& type = arena_.tensor(node.tensor);
    for (size_t d = 0; d < node.exprs.size(); ++d)
      if (!is_in_range(node.exprs[d], type.shape[d], known)) return false;
    auto load = kernel::strided_load(arena_, id);
    if (!load) return false;
    if (!result.empty() && result[0].load.stored != load->stored) return false;
    result.push_back({std::move(tests), std::move(*load)});
    return true;
  }

  /// By its bounds, or by a test that is known to hold.
  static bool is_in_range(const Expr& index, const Expr& extent, const std::vector<Expr>& known) {
    if (stays_in_range(index, extent)) return true;
    const auto holds = [&](const Expr& test) {
      return std::find(known.begin(), known.end(), test) != known.end();
    };
    if (!bounds_hold(index)) return false;
    const bool above = provably_ge(index, 0) || holds(greater_equal(index, 0));
    const bool below = provably_less(index, extent) || holds(greater_equal(extent - 1, index)) ||
                       holds(logical_not(greater_equal(index, extent)));
    return above && below;
  }

  const Arena& arena_;
  const Expr& other_;
};

}  // namespace

bool AttentionOperand::runs_along(const Expr& axis) const {
  return !pieces.empty() && std::all_of(pieces.begin(), pieces.end(), [&](const auto& piece) {
    return piece.load.stride(axis).is_constant(1);
  });
}

std::optional<AttentionOperand> attention_operand(Arena& arena, BodyId value, const Expr& other) {
  const std::vector<BodyId> reached = arena.reachable(std::span(&value, 1));
  if (std::any_of(reached.begin(), reached.end(),
                  [&](BodyId id) { return arena[id].kind == BodyKind::kReduce; }))
    return std::nullopt;
  AttentionOperand operand{value, {}};
  Pieces pieces(arena, other);
  if (pieces.add(value, {}, {})) operand.pieces = std::move(pieces.result);
  return operand;
}

bool is_bf16(const Arena& arena, BodyId value) {
  const BodyNode& node = arena[value];
  if (node.dtype == graph::DType::kBF16) return true;
  if (node.kind == BodyKind::kWhere)
    return is_bf16(arena, node.children[0]) && is_bf16(arena, node.children[1]);
  return node.kind == BodyKind::kOp && node.op == Op::kCast && is_bf16(arena, node.children[0]);
}

}  // namespace luminal::codegen

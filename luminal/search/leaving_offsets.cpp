#include "luminal/search/leaving_offsets.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "luminal/codegen/llvm/four_bit.h"
#include "luminal/graph/epsilon.h"
#include "luminal/kernel/contraction.h"
#include "luminal/kernel/reads.h"

namespace luminal::search {
namespace {

using kernel::Arena;
using kernel::BodyId;
using kernel::BodyKind;

/// Products of matrices are sums at every position of the results.
bool may_be_product(const kernel::BodyNode& node, const kernel::Kernel& kernel) {
  return node.kind == BodyKind::kReduce && node.op == graph::Op::kSum &&
         graph::is_float(node.dtype) && node.free == kernel::make_axis_set(kernel.axes);
}

/// Digits are integers, and an offset is added to them. Most sums have neither, and need no arena
/// of their own to know it.
bool may_have_offset(const Arena& arena, BodyId sum) {
  const std::vector<BodyId> inside = arena.reachable(std::array{arena[sum].children[0]});
  const bool has_integers =
      std::ranges::any_of(inside, [&](BodyId id) { return graph::is_integer(arena[id].dtype); });
  return has_integers && std::ranges::any_of(inside, [&](BodyId id) {
           const kernel::BodyNode& node = arena[id];
           return node.kind == BodyKind::kOp && node.op == graph::Op::kAdd;
         });
}

std::optional<LeavingOffset> offset_of(Arena& arena, BodyId weights, BodyId rows,
                                       std::vector<symbolic::Expr> k) {
  // Code takes the steps in whichever order the rows lie: those of one block are the last.
  const auto found = [&]() -> std::optional<BodyId> {
    for (size_t turn = 0; turn < k.size(); ++turn) {
      const auto four_bit = codegen::four_bit_weights(arena, weights, k);
      if (four_bit && four_bit->offset) return four_bit->offset;
      std::ranges::rotate(k, k.begin() + 1);
    }
    return std::nullopt;
  }();
  if (!found) return std::nullopt;
  return LeavingOffset{arena.op(graph::Op::kMul, graph::DType::kF32, {*found, rows}),
                       graph::epsilon(arena[*found].dtype)};
}

}  // namespace

LeavingOffsets leaving_offsets(const Arena& arena, const kernel::Kernel& kernel) {
  std::vector<BodyId> sums;
  for (const BodyId id : kernel::bodies_of(arena, kernel))
    if (may_be_product(arena[id], kernel) && may_have_offset(arena, id)) sums.push_back(id);
  if (sums.empty()) return {};
  auto own = std::make_shared<Arena>(arena);
  LeavingOffsets result;
  for (const BodyId sum : sums) {
    const auto product = kernel::match_contraction(*own, sum);
    if (!product) continue;
    for (const auto& [weights, rows] :
         {std::pair(product->b.value, product->a.value), {product->a.value, product->b.value}})
      if (const auto offset = offset_of(*own, weights, rows, product->k))
        result.sums.emplace(sum, *offset);
  }
  if (!result.sums.empty()) result.arena = std::move(own);
  return result;
}

}  // namespace luminal::search

#include "luminal/codegen/llvm/four_bit.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>

namespace luminal::codegen {
namespace {

using graph::DType;
using graph::Op;
using kernel::Arena;
using kernel::BodyId;
using kernel::BodyKind;
using kernel::BodyNode;
using symbolic::Expr;

constexpr int64_t kDigits = 16;
/// Digits and zeros up to here are exact in every float.
constexpr int64_t kLargest = 64;
/// Steps of k that one vector of words holds.
constexpr int64_t kStepsPerWord = 8;
constexpr int64_t kLargestBlock = 1024;

struct Range {
  int64_t lowest;
  int64_t highest;
};

std::optional<int64_t> constant_integer(const Arena& arena, BodyId id) {
  const BodyNode& node = arena[id];
  if (node.kind != BodyKind::kConstant || !graph::is_integer(node.dtype)) return std::nullopt;
  return node.constant.as_int64();
}

Range range_of_bits(int bits, bool is_unsigned) {
  const int64_t half = int64_t{1} << (bits - 1);
  return is_unsigned ? Range{0, 2 * half - 1} : Range{-half, half - 1};
}

/// What an integer body can be, as far as it is seen to be small.
std::optional<Range> range_of(const Arena& arena, BodyId id);

std::optional<Range> range_of_op(const Arena& arena, const BodyNode& node) {
  const auto child = [&](size_t k) { return range_of(arena, node.children[k]); };
  switch (node.op) {
    case Op::kCast:
      return graph::is_integer(arena[node.children[0]].dtype) ? child(0) : std::nullopt;
    case Op::kBitAnd:
      for (const BodyId each : node.children)
        if (const auto mask = constant_integer(arena, each); mask && *mask >= 0)
          return Range{0, *mask};
      return std::nullopt;
    case Op::kShiftRight: {
      const auto by = constant_integer(arena, node.children[1]);
      const auto from = child(0);
      if (!by || !from || from->lowest < 0 || *by < 0 || *by > 62) return std::nullopt;
      return Range{from->lowest >> *by, from->highest >> *by};
    }
    case Op::kAdd: {
      const auto a = child(0);
      const auto b = child(1);
      if (!a || !b) return std::nullopt;
      return Range{a->lowest + b->lowest, a->highest + b->highest};
    }
    case Op::kSelect: {
      const auto a = child(1);
      const auto b = child(2);
      if (!a || !b) return std::nullopt;
      return Range{std::min(a->lowest, b->lowest), std::max(a->highest, b->highest)};
    }
    default:
      return std::nullopt;
  }
}

std::optional<Range> range_of(const Arena& arena, BodyId id) {
  const BodyNode& node = arena[id];
  if (!graph::is_integer(node.dtype)) return std::nullopt;
  const Range type =
      range_of_bits(std::min(graph::bits(node.dtype), 62), graph::is_unsigned(node.dtype));
  std::optional<Range> found;
  if (node.kind == BodyKind::kOp) found = range_of_op(arena, node);
  if (node.kind == BodyKind::kWhere) {
    const auto a = range_of(arena, node.children[0]);
    const auto b = range_of(arena, node.children[1]);
    if (a && b) found = Range{std::min(a->lowest, b->lowest), std::max(a->highest, b->highest)};
  }
  if (const auto value = constant_integer(arena, id)) found = Range{*value, *value};
  // What does not fit wraps around, to anything.
  if (found && found->lowest >= type.lowest && found->highest <= type.highest) return found;
  return graph::bits(node.dtype) <= 8 ? std::optional(type) : std::nullopt;
}

class Matcher {
 public:
  explicit Matcher(Arena& arena) : arena_(arena) {}

  /// A body as scale * (digits - zero) + offset. Ops of narrow floats count as exact, as they
  /// do in all products.
  std::optional<FourBitWeights> match(BodyId id, int depth = 0) {
    constexpr int kDeepest = 12;
    const BodyNode node = arena_[id];
    if (graph::is_integer(node.dtype)) return match_digits(id);
    if (node.kind != BodyKind::kOp || !graph::is_float(node.dtype) || depth > kDeepest)
      return std::nullopt;
    if (node.op == Op::kCast) return match_cast(node, depth);
    if (node.op != Op::kMul && node.op != Op::kAdd) return std::nullopt;
    for (const size_t side : {size_t{0}, size_t{1}})
      if (auto found = match(node.children[side], depth + 1)) {
        const BodyId other = node.children[1 - side];
        if (node.op == Op::kMul)
          multiply(*found, other, node.dtype);
        else
          add(*found, other, node.dtype);
        return found;
      }
    return std::nullopt;
  }

 private:
  std::optional<FourBitWeights> match_cast(const BodyNode& node, int depth) {
    const BodyId inner = node.children[0];
    const DType from = arena_[inner].dtype;
    if (graph::is_float(from) && graph::bits(from) >= graph::bits(node.dtype)) return std::nullopt;
    return match(inner, depth + 1);
  }

  std::optional<FourBitWeights> match_digits(BodyId id) const {
    const auto range = range_of(arena_, id);
    if (!range || range->highest - range->lowest >= kDigits || std::abs(range->lowest) > kLargest)
      return std::nullopt;
    return FourBitWeights{.digits = id, .lowest = range->lowest, .zero = -range->lowest};
  }

  void multiply(FourBitWeights& weights, BodyId factor, DType dtype) {
    weights.scale = weights.scale ? arena_.op(Op::kMul, dtype, {*weights.scale, factor}) : factor;
    if (weights.offset) weights.offset = arena_.op(Op::kMul, dtype, {*weights.offset, factor});
  }

  void add(FourBitWeights& weights, BodyId term, DType dtype) {
    const BodyNode& node = arena_[term];
    if (node.kind == BodyKind::kConstant && !weights.scale && !weights.offset) {
      const double value = node.constant.as_double();
      if (value == std::floor(value) && std::abs(value) <= static_cast<double>(kLargest)) {
        weights.zero -= static_cast<int64_t>(value);
        return;
      }
    }
    weights.offset = weights.offset ? arena_.op(Op::kAdd, dtype, {*weights.offset, term}) : term;
  }

  Arena& arena_;
};

/// A scale or offset as narrow as it lies in memory.
BodyId as_stored(const Arena& arena, BodyId id) {
  while (arena[id].kind == BodyKind::kOp && arena[id].op == Op::kCast) {
    const BodyId inner = arena[id].children[0];
    const bool widens = graph::is_float(arena[inner].dtype) &&
                        graph::bits(arena[inner].dtype) >= 16 &&
                        graph::bits(arena[inner].dtype) < graph::bits(arena[id].dtype);
    if (!widens || arena[id].dtype == DType::kF64) break;
    id = inner;
  }
  return id;
}

/// How many steps of k share what the weights are scaled by: the innermost axes that it does not
/// use. 0 if there are none, or they do not fill words.
int64_t block_of(const Arena& arena, const FourBitWeights& weights, std::span<const Expr> k) {
  const auto is_shared = [&](const Expr& axis) {
    const auto uses = [&](const std::optional<BodyId>& each) {
      return each && kernel::contains(arena[*each].free, axis);
    };
    return !uses(weights.scale) && !uses(weights.offset);
  };
  int64_t block = 1;
  for (size_t i = k.size(); i-- > 0 && is_shared(k[i]);) {
    const auto extent =
        k[i].is_axis() ? k[i].axis_extent().constant_value() : std::optional(int64_t{1});
    if (!extent) break;
    block *= *extent;
  }
  if (block % kStepsPerWord != 0) return 0;
  // Long blocks fall into shorter ones, each with a copy of the scale.
  for (int64_t parts = 1; parts <= block / kStepsPerWord; ++parts)
    if (block % parts == 0 && block / parts % kStepsPerWord == 0 && block / parts <= kLargestBlock)
      return block / parts;
  return 0;
}

}  // namespace

std::optional<FourBitWeights> four_bit_weights(Arena& arena, BodyId value,
                                               std::span<const Expr> k) {
  std::optional<FourBitWeights> found = Matcher(arena).match(value);
  if (!found || std::abs(found->zero) > kLargest) return std::nullopt;
  if (found->scale) found->scale = as_stored(arena, *found->scale);
  if (found->offset) found->offset = as_stored(arena, *found->offset);
  for (const auto& each : {found->scale, found->offset})
    if (each && (!graph::is_float(arena[*each].dtype) || arena[*each].dtype == DType::kF64))
      return std::nullopt;
  found->block = block_of(arena, *found, k);
  if (found->block == 0) return std::nullopt;
  return found;
}

}  // namespace luminal::codegen

#include "luminal/codegen/llvm/four_bit.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <vector>

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
/// Digits with a zero of their block are integers up to here, exact in f32 as their parts are.
constexpr int64_t kLargestSum = 512;
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
    case Op::kMul: {
      const auto a = child(0);
      const auto b = child(1);
      constexpr int64_t kHuge = int64_t{1} << 30;
      const auto is_huge = [&](const Range& each) {
        return each.lowest < -kHuge || each.highest > kHuge;
      };
      if (!a || !b || is_huge(*a) || is_huge(*b)) return std::nullopt;
      const auto [lowest, highest] = std::minmax({a->lowest * b->lowest, a->lowest * b->highest,
                                                  a->highest * b->lowest, a->highest * b->highest});
      return Range{lowest, highest};
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

Range range_of_type(DType dtype) {
  return range_of_bits(std::min(graph::bits(dtype), 62), graph::is_unsigned(dtype));
}

/// What does not fit wraps around, to anything.
bool fits(const Range& range, DType dtype) {
  const Range type = range_of_type(dtype);
  return range.lowest >= type.lowest && range.highest <= type.highest;
}

std::optional<Range> range_of(const Arena& arena, BodyId id) {
  const BodyNode& node = arena[id];
  if (!graph::is_integer(node.dtype)) return std::nullopt;
  std::optional<Range> found;
  if (node.kind == BodyKind::kOp) found = range_of_op(arena, node);
  if (node.kind == BodyKind::kWhere) {
    const auto a = range_of(arena, node.children[0]);
    const auto b = range_of(arena, node.children[1]);
    if (a && b) found = Range{std::min(a->lowest, b->lowest), std::max(a->highest, b->highest)};
  }
  if (const auto value = constant_integer(arena, id)) found = Range{*value, *value};
  if (found && fits(*found, node.dtype)) return found;
  return graph::bits(node.dtype) <= 8 ? std::optional(range_of_type(node.dtype)) : std::nullopt;
}

class Matcher {
  static constexpr int kDeepest = 12;

 public:
  explicit Matcher(Arena& arena) : arena_(arena) {}

  /// The ways to read a body as scale * (digits - zero) + offset: one for each small integer in
  /// it, since zeros may have four bits as well. Ops of narrow floats count as exact, as they do in
  /// all products.
  std::vector<FourBitWeights> match(BodyId id, int depth = 0) {
    const BodyNode node = arena_[id];
    if (graph::is_integer(node.dtype)) return match_integer(id, depth);
    if (node.kind != BodyKind::kOp || !graph::is_float(node.dtype) || depth > kDeepest) return {};
    if (node.op == Op::kCast) return match_cast(node, depth);
    if (node.op != Op::kMul && node.op != Op::kAdd) return {};
    std::vector<FourBitWeights> found;
    for (const size_t side : {size_t{0}, size_t{1}})
      for (FourBitWeights& weights : match(node.children[side], depth + 1)) {
        const BodyId other = node.children[1 - side];
        if (node.op == Op::kMul)
          multiply(weights, other, node.dtype);
        else
          add(weights, other, node.dtype);
        found.push_back(weights);
      }
    return found;
  }

 private:
  std::vector<FourBitWeights> match_cast(const BodyNode& node, int depth) {
    const BodyId inner = node.children[0];
    const DType from = arena_[inner].dtype;
    if (graph::is_float(from) && graph::bits(from) >= graph::bits(node.dtype)) return {};
    return match(inner, depth + 1);
  }

  std::vector<FourBitWeights> match_integer(BodyId id, int depth) {
    const auto range = range_of(arena_, id);
    if (!range || depth > kDeepest) return {};
    if (range->highest - range->lowest < kDigits && std::abs(range->lowest) <= kLargest)
      return {FourBitWeights{.digits = id, .lowest = range->lowest, .zero = -range->lowest}};
    return match_integer_sum(id, depth);
  }

  /// Digits and a zero of each block, added as integers, both small enough to be exact as floats.
  std::vector<FourBitWeights> match_integer_sum(BodyId id, int depth) {
    const BodyNode node = arena_[id];
    if (node.kind != BodyKind::kOp || (node.op != Op::kAdd && node.op != Op::kCast)) return {};
    const auto sum = range_of_op(arena_, node);
    if (!sum || !fits(*sum, node.dtype) || sum->lowest < -kLargestSum || sum->highest > kLargestSum)
      return {};
    if (node.op == Op::kCast) return match_integer(node.children[0], depth + 1);
    std::vector<FourBitWeights> found;
    for (const size_t side : {size_t{0}, size_t{1}})
      for (FourBitWeights& weights : match_integer(node.children[side], depth + 1)) {
        add(weights, node.children[1 - side], DType::kF32);
        found.push_back(weights);
      }
    return found;
  }

  void multiply(FourBitWeights& weights, BodyId factor, DType dtype) {
    weights.scale = weights.scale ? combined(Op::kMul, *weights.scale, factor, dtype) : factor;
    if (weights.offset) weights.offset = combined(Op::kMul, *weights.offset, factor, dtype);
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
    weights.offset =
        weights.offset ? combined(Op::kAdd, *weights.offset, term, dtype) : converted(term, dtype);
  }

  /// Casts between the weights and what they are scaled by are dropped on the way.
  BodyId combined(Op op, BodyId a, BodyId b, DType dtype) {
    return arena_.op(op, dtype, {converted(a, dtype), converted(b, dtype)});
  }

  BodyId converted(BodyId id, DType dtype) {
    return arena_[id].dtype == dtype ? id : arena_.op(Op::kCast, dtype, {id});
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
  for (FourBitWeights& found : Matcher(arena).match(value)) {
    if (std::abs(found.zero) > kLargest) continue;
    if (found.scale) found.scale = as_stored(arena, *found.scale);
    if (found.offset) found.offset = as_stored(arena, *found.offset);
    const auto is_narrow_float = [&](const std::optional<BodyId>& each) {
      return !each || (graph::is_float(arena[*each].dtype) && arena[*each].dtype != DType::kF64);
    };
    if (!is_narrow_float(found.scale) || !is_narrow_float(found.offset)) continue;
    found.block = block_of(arena, found, k);
    if (found.block > 0) return found;
  }
  return std::nullopt;
}

}  // namespace luminal::codegen

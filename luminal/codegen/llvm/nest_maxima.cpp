// Maxima of bf16 as integers: a line is compared as it lies in memory, by two instructions, where
// floats would be taken apart first. The largest signed integer is the largest of numbers that are
// not below 0; where there is none, the smallest unsigned one is the one nearest to 0. NaN counts
// as any number, so these are maxima for which that makes no difference (plain_maxima.h).
#include <algorithm>

#include "luminal/codegen/llvm/fused_math.h"
#include "luminal/codegen/llvm/nest_emitter.h"

namespace luminal::codegen {

using kernel::Statement;
using kernel::StatementKind;
using llvm::Value;

namespace {

/// The lowest signed integer, and -inf, which as an unsigned one is above every other number below
/// 0.
constexpr int64_t kLowestSigned = -0x8000;
constexpr int64_t kLowestNumber = 0xff80;

}  // namespace

/// Whether all that a loop over whole lines does is to find such maxima.
bool NestEmitter::finds_maxima_of_bits(const LaneLoop& lane) const {
  if (!lane.pairs || lane.carried.empty() || plan_.pipeline() || short_rows_ || columns_ ||
      !has_whole_lines_only(lane.loop))
    return false;
  return std::all_of(lane.loop.body.begin(), lane.loop.body.end(), [&](const Statement& each) {
    return each.kind == StatementKind::kAccumulate && !each.rescale_by &&
           plain_maxima_.contains(nest_.accumulators[each.accumulator].reduction) &&
           arena_[before_widening(arena_, each.value)].kind == kernel::BodyKind::kLoad;
  });
}

/// Both maxima of a lane, one after the other.
Value* NestEmitter::lowest_bits() {
  llvm::Type* type = VectorBuilder::vector(builder_.i16(), plan_.lanes());
  return builder_.join(
      {VectorBuilder::integer(type, kLowestSigned), VectorBuilder::integer(type, kLowestNumber)});
}

/// The larger of two such pairs.
Value* NestEmitter::larger_bits(Value* left, Value* right) {
  const int lanes = plan_.lanes();
  const auto both = [&](llvm::Intrinsic::ID which, int first) {
    return ir_.CreateBinaryIntrinsic(which, builder_.part(left, first, lanes),
                                     builder_.part(right, first, lanes));
  };
  return builder_.join({both(llvm::Intrinsic::smax, 0), both(llvm::Intrinsic::umin, lanes)});
}

/// Takes in the line that is there.
void NestEmitter::accumulate_bits(const Statement& statement) {
  const kernel::BodyNode& node = arena_[before_widening(arena_, statement.value)];
  const symbolic::Expr position = position_of(node.exprs, arena_.tensor(node.tensor).shape);
  note_row_load(node.tensor, position);
  Value* at = ir_.CreateMul(index_at_first_lane(position), builder_.index(2));
  Value* line = builder_.load(VectorBuilder::vector(builder_.i16(), plan_.lanes()),
                              builder_.offset(buffers_.at(node.tensor), at), {.align = 2});
  Sum& sum = sums_[statement.accumulator];
  sum.value = larger_bits(sum.value, builder_.join({line, line}));
}

/// The number of each lane.
Value* NestEmitter::from_bits(Value* maxima) {
  const int lanes = plan_.lanes();
  Value* largest = builder_.part(maxima, 0, lanes);
  Value* is_number = ir_.CreateICmpSGE(largest, VectorBuilder::integer(largest->getType(), 0));
  Value* bits = ir_.CreateSelect(is_number, largest, builder_.part(maxima, lanes, lanes));
  Value* wide = ir_.CreateZExt(bits, VectorBuilder::vector(builder_.i32(), lanes));
  wide = ir_.CreateShl(wide, VectorBuilder::integer(wide->getType(), 16));
  return ir_.CreateBitCast(wide, VectorBuilder::vector(builder_.f32(), lanes));
}

}  // namespace luminal::codegen

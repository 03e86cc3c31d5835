// Four-bit weights with what blocks of them share: every way to write them down is one kind of
// panel, and equals the oracle for any number of rows.
#include "checks.h"

namespace luminal::codegen {
namespace {

constexpr int64_t kColumns = 70;
const kernel::test::Closeness kNear = {2e-2, 1e-4};

/// The family of code of a sample whose inputs but x are weights.
std::string family_of(const kernel::test::Sample& sample, bool round_each = false) {
  const kernel::GraphProgram program(sample.graph);
  kernel::Arena arena;
  const auto order = *kernel::topological_order(program);
  const auto derived =
      kernel::derive(arena, program, kernel::smallest_cut(program, order), program.output(0));
  CpuKernelOptions options;
  options.round_each = round_each;
  options.dims = sample.dims;
  for (const kernel::NodeId id : inputs_of(sample.graph))
    if (sample.graph.node(id).attribute<graph::InputAttribute>().name != "x")
      options.constants.push_back(id);
  return cpu_kernel(arena, std::get<kernel::Kernel>(derived), host_target(), options)
      .schedule.family();
}

/// Weights whose rows are blocks, as a matrix.
Tensor flat(const Tensor& blocks) { return merge_dims(blocks, 1); }

/// Checks a product of x with weights, and that it is run as blocks.
void check_blocks(const Tensor& x, const Tensor& weights, const graph::DimValues& dims = {}) {
  static size_t turn = 0;
  const kernel::test::Sample sample = sample_of({matmul(x, transpose(weights))}, dims);
  EXPECT_EQ(family_of(sample), kGemmBlocksFamily);
  check_in_turn(sample, turn++, kNear);
  check(sample, {.constants = true}, kNear);
}

TEST(FourBit, BlocksWithAScaleForAnyRowsAndBlockLengths) {
  for (const int64_t rows : {1, 2, 5, 8, 16})
    for (const int64_t block : {8, 32, 40, 128}) {
      if (rows > 5 && block != 32) continue;
      SCOPED_TRACE(fmt::format("{} rows, blocks of {}", rows, block));
      Graph g;
      const Tensor q = g.input("q", {kColumns, 3, block}, i4);
      const Tensor scales = g.input("scales", {kColumns, 3, 1}, f16);
      check_blocks(g.input("x", {rows, 3 * block}), flat(cast(q, f32) * cast(scales, f32)));
      if (HasFailure()) return;
    }
}

TEST(FourBit, ZerosAreConstantsOrOnePerBlock) {
  Graph g;
  const Tensor x = g.input("x", {3, 96});
  const Tensor q = cast(g.input("q", {kColumns, 3, 32}, u4), f32);
  const Tensor scales = g.input("scales", {kColumns, 3, 1});
  check_blocks(x, flat((q - 8.0) * scales));
  check_blocks(x, flat((q - g.input("zeros", {kColumns, 3, 1})) * scales));
  check_blocks(x, flat(q * scales + g.input("offsets", {kColumns, 3, 1}, bf16)));
  check_blocks(x, flat(scales * (q * 0.5 - 3.25)));
}

TEST(FourBit, ZerosOfFourBitsAreNoDigits) {
  Graph g;
  const Tensor x = g.input("x", {3, 96});
  const Tensor q = g.input("q", {kColumns, 3, 32}, u4);
  const Tensor z = g.input("zeros", {kColumns, 3, 1}, u4);
  const Tensor scales = g.input("scales", {kColumns, 3, 1});
  const Tensor qf = cast(q, f32);
  const Tensor zf = cast(z, f32);
  check_blocks(x, flat((qf - zf) * scales));
  check_blocks(x, flat((zf * -1.0 + qf) * scales));
  check_blocks(x, flat(scales * qf - scales * zf));
  check_blocks(x, flat(zf * scales * -1.0 + qf * scales));
  // As integers, and in a narrow float between.
  const Tensor difference = cast(q, i32) - cast(z, i32);
  check_blocks(x, flat(cast(difference, f32) * scales));
  check_blocks(x, flat(cast(cast(difference, bf16), f32) * scales));
  check_blocks(x, flat(cast(cast(cast(q, i8) - cast(z, i8), i32), f32) * scales));
}

TEST(FourBit, SumsThatWrapAroundAreNoZeros) {
  Graph g;
  const Tensor q = cast(g.input("q", {kColumns, 3, 32}, u4), u8);
  const Tensor z = cast(g.input("zeros", {kColumns, 3, 1}, u4), u8);
  const Tensor weights = cast(q - z, f32) * g.input("scales", {kColumns, 3, 1});
  const kernel::test::Sample sample =
      sample_of({matmul(g.input("x", {3, 96}), transpose(flat(weights)))});
  EXPECT_NE(family_of(sample), kGemmBlocksFamily);
  check_in_turn(sample, 0, {1.0, 1e-4});
}

TEST(FourBit, NibblesOfBytesAreDigits) {
  Graph g;
  const Tensor bytes = g.input("q", {kColumns, 3, 16}, u8);
  const Tensor scales = cast(g.input("scales", {kColumns, 3, 1}, f16), f32);
  // The low halves of 16 bytes are the first 16 weights of a block, the high halves the others.
  const Tensor digits = concat({bytes & 15, bytes >> 4}, 2);
  check_blocks(g.input("x", {2, 96}), flat((cast(digits, f32) - 8.0) * scales));
}

TEST(FourBit, ScalesOfScalesAreOneScale) {
  Graph g;
  // Super-blocks of 8 blocks: both have a scale, and a smallest value that is scaled too.
  const Tensor q = cast(g.input("q", {kColumns, 2, 8, 32}, u4), f32);
  const Tensor block = cast(g.input("block", {kColumns, 2, 8, 1}, u8), f32);
  const Tensor least = cast(g.input("least", {kColumns, 2, 8, 1}, u8), f32);
  const Tensor d = cast(g.input("d", {kColumns, 2, 1, 1}, f16), f32);
  const Tensor dmin = cast(g.input("dmin", {kColumns, 2, 1, 1}, f16), f32);
  const Tensor weights = (d * block * 0.01) * q - (dmin * least * 0.01);
  const kernel::test::Sample sample =
      sample_of({matmul(g.input("x", {4, 512}), transpose(merge_dims(merge_dims(weights, 2), 1)))});
  EXPECT_EQ(family_of(sample), kGemmBlocksFamily);
  check_in_turn(sample, 3, {1e-1, 1e-4});
}

TEST(FourBit, OneScalePerColumnOrNone) {
  Graph g;
  const Tensor x = g.input("x", {3, 64});
  const Tensor q = cast(g.input("q", {kColumns, 64}, i4), f32);
  check_blocks(x, q);
  check_blocks(x, q * g.input("scales", {kColumns, 1}));
}

TEST(FourBit, ActivationsOfBf16UseDotsWhereThereAreAny) {
  for (const int64_t rows : {1, 7}) {
    Graph g;
    const Tensor x = g.input("x", {rows, 96}, bf16);
    const Tensor q = cast(g.input("q", {kColumns, 3, 32}, u4), f32);
    const Tensor scales = cast(g.input("scales", {kColumns, 3, 1}, bf16), f32);
    check_blocks(cast(x, f32), flat((q - 8.0) * scales));
    check_blocks(cast(x, f32), flat(q * scales + g.input("offsets", {kColumns, 3, 1})));
  }
}

TEST(FourBit, RowsMayBeSymbolicAndProductsTwo) {
  Graph g;
  const Dim rows = g.dim("rows");
  const Tensor x = g.input("x", {rows, 96});
  const auto weights = [&](const std::string& name) {
    return flat(cast(g.input(name, {kColumns, 3, 32}, i4), f32) *
                g.input(name + " scales", {kColumns, 3, 1}));
  };
  const Tensor w = weights("w");
  for (const int64_t count : {1, 9}) check_blocks(x, w, {{"rows", count}});
  const Tensor both =
      silu(matmul(x, transpose(weights("gate"))) * 0.01) * matmul(x, transpose(weights("up")));
  check_in_turn(sample_of({both}, {{"rows", 13}}), 2, {2e-2, 1e-3});
}

TEST(FourBit, WhatIsNoBlockOfFourBitsIsLeftAlone) {
  Graph g;
  const Tensor x = g.input("x", {3, 96});
  const auto schedule = [&](const Tensor& weights, bool round_each = false) {
    return family_of(sample_of({matmul(x, transpose(weights))}), round_each);
  };
  const Tensor q = cast(g.input("q", {kColumns, 3, 32}, i4), f32);
  const Tensor scales = g.input("scales", {kColumns, 3, 1});
  const auto is_blocks = [](const std::string& text) { return text == kGemmBlocksFamily; };
  EXPECT_TRUE(is_blocks(schedule(flat(q * scales))));
  // Rounded op by op, a scale cannot be moved out of a sum.
  EXPECT_FALSE(is_blocks(schedule(flat(q * scales), true)));
  // Bytes have more digits, and scales of single weights no blocks.
  EXPECT_FALSE(is_blocks(schedule(flat(cast(g.input("b", {kColumns, 3, 32}, i8), f32) * scales))));
  EXPECT_FALSE(is_blocks(schedule(flat(q * g.input("each", {kColumns, 3, 32})))));
  // A product of digits is none.
  EXPECT_FALSE(is_blocks(schedule(flat(q * q * scales))));
  // Sums that wrap around are not small.
  const Tensor wrapped = cast(g.input("c", {kColumns, 3, 32}, u8) + 250, f32);
  EXPECT_FALSE(is_blocks(schedule(flat(wrapped * scales))));
}

}  // namespace
}  // namespace luminal::codegen

// What the innermost loops of products look like.
#include <set>

#include "checks.h"
#include "luminal/codegen/llvm/gemm_code.h"

namespace luminal::codegen {
namespace {

TEST(Tiles, FullTilesNeverSpill) {
  for (const std::string_view name : cpu_target_names()) {
    const CpuTarget target = cpu_target(name);
    Graph g;
    const kernel::test::Sample sample =
        sample_of({matmul(g.input("a", {512, 512}), g.input("b", {512, 512}))});
    const kernel::GraphProgram program(sample.graph);
    const kernel::Cut cut = kernel::smallest_cut(program, *kernel::topological_order(program));
    kernel::Arena arena;
    const auto derived = kernel::derive(arena, program, cut, program.output(0));
    const auto code = contraction_kernel(arena, std::get<kernel::Kernel>(derived), target, {});
    ASSERT_TRUE(code.has_value());
    const std::string text = KernelCompiler(target).assembly_text(code->launches.back().source);
    // The innermost loop is the one with the multiplications: no vector goes to the stack in it.
    const char* multiply = target.has_fma() ? "vfmadd" : "mulps";
    const size_t first = text.find(multiply);
    const size_t last = text.rfind(multiply);
    ASSERT_NE(first, std::string::npos) << name;
    EXPECT_EQ(text.substr(first, last - first).find("-byte Spill"), std::string::npos) << name;
    EXPECT_EQ(text.substr(first, last - first).find("-byte Reload"), std::string::npos) << name;
  }
}

TEST(Tiles, PackedWeightsLieOneWayHoweverManyRowsThereAre) {
  for (const CpuTarget& target : targets())
    for (const DType dtype : {DType::kF32, DType::kF64, DType::kBF16, DType::kI8})
      for (const int64_t n : {17, 100, 4096}) {
        std::set<int> widths;
        for (const int64_t m : {1, 2, 3, 4, 5, 6, 8, 9, 12, 16, 30, 64, 512})
          for (const bool known : {true, false}) {
            GemmProblem problem{.a = dtype, .b = dtype, .m = m, .n = n, .k = 4096};
            problem.accumulator = dtype == DType::kBF16 ? DType::kF32
                                  : dtype == DType::kI8 ? DType::kI32
                                                        : dtype;
            problem.m_known = known;
            problem.b_constant = true;
            problem.threads = 2;
            const GemmSpec spec = choose_gemm(problem, target);
            EXPECT_EQ(spec.b_source, GemmB::kPrepacked);
            widths.insert(spec.nr);
          }
        EXPECT_EQ(widths.size(), 1U) << fmt::format("{} {} {}", target.name, dtype, n);
      }
}

TEST(Tiles, ThreadsHaveRowsOfTheirOwnWherePanelsMakeUnequalShares) {
  const CpuTarget target = cpu_target("znver4");
  GemmProblem problem{.a = bf16, .b = bf16, .m = 130, .n = 130, .k = 130};
  problem.threads = 2;
  const GemmSpec odd = choose_gemm(problem, target);
  EXPECT_TRUE(odd.rows_outer);
  EXPECT_EQ(odd.row_block, 65);
  problem.m = problem.n = problem.k = 128;
  EXPECT_FALSE(choose_gemm(problem, target).rows_outer);
}

TEST(Tiles, WhatIsLeftOfColumnsIsWholeAndHalfVectors) {
  GemmProblem problem{.m = 130, .n = 130, .k = 130};
  problem.b_readable = true;
  EXPECT_EQ(choose_gemm(problem, cpu_target("znver4")).column_tail, 8);
  problem.n = 137;
  EXPECT_EQ(choose_gemm(problem, cpu_target("znver4")).column_tail, 16);
  problem.a = problem.b = problem.accumulator = DType::kF64;
  EXPECT_EQ(choose_gemm(problem, cpu_target("znver4")).column_tail % 8, 4);
}

TEST(Tiles, ManyRowsOfAPlainMatrixAreMultipliedByWidePanels) {
  const CpuTarget target = cpu_target("znver4");
  GemmProblem problem{.m = 512, .n = 512, .k = 512};
  problem.b_plain = problem.b_readable = true;
  const GemmSpec wide = choose_gemm(problem, target);
  EXPECT_EQ(wide.b_source, GemmB::kPackedHere);
  EXPECT_EQ(wide.nr, 64);
  EXPECT_EQ(wide.ahead, 0);
  // Whole tiles, where a large result goes past the caches.
  problem.k = 64;
  problem.batch = 24;
  problem.streams = true;
  const GemmSpec batch = choose_gemm(problem, target);
  EXPECT_EQ(batch.mr, 4);
  EXPECT_EQ(batch.ahead, 1);
  // But not where k is so long that panels come from the second cache, for fewer rows more often;
  // half of that cache holds a panel in one pass.
  problem.batch = 1;
  problem.m = problem.n = problem.k = 2048;
  problem.a = problem.b = problem.accumulator = DType::kF64;
  problem.a_aligned = true;
  const GemmSpec large = choose_gemm(problem, target);
  EXPECT_EQ(large.mr, 6);
  EXPECT_EQ(large.kc, 0);
  // Rows that stay in the second cache.
  GemmProblem near{.a = DType::kI8, .b = DType::kI8, .accumulator = DType::kI32};
  near.m = near.n = near.k = 512;
  near.b_plain = true;
  EXPECT_EQ(choose_gemm(near, target).nr, 32);
}

TEST(Tiles, LargeResultsGoPastTheCachesWhereTilesStoreWholeLines) {
  for (const auto& [batch, m, n] :
       {std::tuple<int64_t, int64_t, int64_t>{1, 16, 64}, {3, 32, 128}, {2, 16, 68}, {2, 13, 64}})
    for (const DType dtype : {DType::kF32, DType::kF64, DType::kI32}) {
      SCOPED_TRACE(fmt::format("{} of {} x {} in {}", batch, m, n, dtype));
      Graph g;
      const Tensor a = g.input("a", {batch, m, 20}, dtype);
      const Tensor b = g.input("b", {batch, 20, n}, dtype);
      check(sample_of({matmul(a, b)}), {.streaming_bytes = 128});
      if (HasFailure()) return;
    }
}

/// Whether tiles store the result of a product, with sums in f32.
bool is_stored_by_tiles(const Tensor& result) {
  const kernel::test::Sample sample = sample_of({result});
  const kernel::GraphProgram program(sample.graph);
  const kernel::Cut cut = kernel::smallest_cut(program, *kernel::topological_order(program));
  GemmCode code;
  kernel::Arena arena;
  const auto derived = kernel::derive(arena, program, cut, program.output(0));
  const auto plan = plan_contraction(arena, std::get<kernel::Kernel>(derived), {});
  if (!plan) return false;
  code.arena = &arena;
  code.plan = *plan;
  code.specs = {GemmSpec{}};
  return code.direct_position().has_value();
}

TEST(Tiles, SumsThatAreRoundedOnceGoFromTheTileIntoTheResult) {
  Graph g;
  const Tensor a = g.input("a", {16, 20}, bf16);
  const Tensor b = g.input("b", {20, 64}, bf16);
  EXPECT_TRUE(is_stored_by_tiles(matmul(a, b, f32)));
  EXPECT_TRUE(is_stored_by_tiles(matmul(a, b)));
  EXPECT_TRUE(is_stored_by_tiles(cast(matmul(a, b, f32), bf16)));
  EXPECT_FALSE(is_stored_by_tiles(cast(matmul(a, b, f16), bf16)));
  EXPECT_FALSE(is_stored_by_tiles(cast(sum(cast(unsqueeze(a, 2), f16) * cast(b, f16), 1), bf16)));
  EXPECT_FALSE(is_stored_by_tiles(cast(matmul(a, b, f32) * 0.5, bf16)));
}

/// Whole tiles and parts of them, sums by fma and by dots, whose values are infinite, denormal or
/// not a number.
TEST(Tiles, RoundingToBf16IsThatOfTheOracleWhateverSumsAre) {
  for (const CpuTarget& target : targets())
    for (const int64_t m : {16, 13})
      for (const DType dtype : {bf16, f32}) {
        SCOPED_TRACE(fmt::format("{} {} rows of {}", target.name, m, dtype));
        Graph g;
        kernel::test::Sample sample =
            sample_of({matmul(g.input("a", {m, 8}, dtype), g.input("b", {8, 96}, dtype), bf16)});
        graph::Array& a = sample.inputs.at("a");
        for (int64_t row = 0; row < m; ++row) {
          const double values[] = {1, 3e38, 1.5e-38, -2e-20, 1e-30, 0x1.01p0, 0x1.03p-126, 1e20};
          for (int64_t k = 0; k < 8; ++k)
            kernel::store(a, row * 8 + k, {k == row % 8 ? values[row % 8] : 0, 0});
        }
        // Dots give no denormals.
        check(sample, {.target = target}, {1.2e-38, 0});
        if (HasFailure()) return;
      }
}

}  // namespace
}  // namespace luminal::codegen

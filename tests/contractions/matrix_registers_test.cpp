// Tiles in matrix registers: the steps are checked as loops on any machine, the instructions by
// looking at them.
#include <set>

#include "checks.h"
#include "luminal/codegen/llvm/limit_kernels.h"

namespace luminal::codegen {
namespace {

/// The steps written out as loops. Without dot instructions products of bf16 and i8 are formed as
/// those of f32, and matrix registers are not asked for.
class MatrixRegisterSteps : public testing::Test {
 protected:
  void SetUp() override {
    const CpuTarget& host = host_target();
    if (!host.has(runtime::CpuFeature::kAvx512bf16) || !host.has(runtime::CpuFeature::kAvx512vnni))
      GTEST_SKIP() << "this machine has no dot instructions";
  }
};

TEST_F(MatrixRegisterSteps, StepsAreRight) {
  for (const auto& [m, n] : {std::pair<int64_t, int64_t>{32, 32}, {40, 50}, {1, 7}, {17, 65}})
    for (const bool transposed : {false, true})
      for (const int kc : {0, 64}) {
        SCOPED_TRACE(fmt::format("{} {} {} {}", m, n, transposed, kc));
        Graph g;
        Tensor a = g.input("a", {m, 128}, DType::kBF16);
        Tensor b = transposed ? transpose(g.input("b", {n, 128}, DType::kBF16))
                              : g.input("b", {128, n}, DType::kBF16);
        Way way{.constants = transposed};
        way.more.matrix_registers = true;
        way.more.spec = GemmSpec{.b_source = GemmB::kPackedHere, .row_block = 32, .kc = kc};
        check(sample_of({matmul(a, b, DType::kF32)}), way, {1e-4, 1e-4});
        Tensor c = g.input("c", {m, 192}, DType::kI8);
        Tensor d = transposed ? transpose(g.input("d", {n, 192}, DType::kI8))
                              : g.input("d", {192, n}, DType::kI8);
        check(sample_of({matmul(c, d, DType::kI32)}), way, {});
        if (HasFailure()) return;
      }
}

TEST_F(MatrixRegisterSteps, RowsComeInRegistersAndAreAskedFor) {
  for (const GemmA rows : {GemmA::kInPlace, GemmA::kPacked})
    for (const int ahead : {0, 1, 2})
      for (const int kc : {0, 64})
        for (const int split : {1, 2}) {
          SCOPED_TRACE(
              fmt::format("{} ahead {} kc {} split {}", static_cast<int>(rows), ahead, kc, split));
          Graph g;
          Way way{.constants = false};
          way.more.matrix_registers = true;
          way.more.spec = GemmSpec{.a_source = rows,
                                   .b_source = GemmB::kPackedHere,
                                   .row_block = 32,
                                   .kc = kc,
                                   .split = split,
                                   .ahead = ahead};
          const Tensor a = g.input("a", {3, 64, 256}, bf16), b = g.input("b", {3, 256, 50}, bf16);
          check(sample_of({matmul(a, b, f32)}), way, {1e-4, 1e-4});
          const Tensor c = g.input("c", {256, 96}, i8), d = g.input("d", {256, 40}, i8);
          check(sample_of({matmul(transpose(c), d, i32)}), way, {});
          if (HasFailure()) return;
        }
}

TEST_F(MatrixRegisterSteps, NeitherRowsNorKNeedFillThem) {
  for (const int64_t k : {3, 31, 33, 131, 200})
    for (const int64_t m : {2, 70})
      for (const bool transposed : {false, true})
        for (const auto& [kc, split] : {std::pair{0, 1}, {64, 1}, {64, 3}}) {
          SCOPED_TRACE(fmt::format("{} x {} {} kc {} split {}", m, k, transposed, kc, split));
          Graph g;
          const auto matrix = [&](std::string name, DType dtype) {
            return transposed ? transpose(g.input(name, {45, k}, dtype))
                              : g.input(name, {k, 45}, dtype);
          };
          Way way{.constants = transposed};
          way.more.matrix_registers = true;
          way.more.spec =
              GemmSpec{.b_source = GemmB::kPackedHere, .row_block = 32, .kc = kc, .split = split};
          const Tensor a = g.input("a", {m, k}, bf16);
          check(sample_of({matmul(a, matrix("b", bf16), f32)}), way, {1e-4, 1e-4});
          // What is past the end of k is no zero before it is made one.
          check(sample_of({matmul(cos(a), exp(matrix("c", bf16)), f32)}), way, {1e-2, 1e-2});
          check(sample_of({matmul(g.input("d", {m, k}, i8), matrix("e", i8), i32)}), way, {});
          if (HasFailure()) return;
        }
}

TEST_F(MatrixRegisterSteps, WhatIsChosenForThemIsRight) {
  // Rows that fill registers and others, panels that are reused often and seldom.
  for (const int64_t m : {16, 64, 100, 192})
    for (const int64_t n : {33, 288}) {
      SCOPED_TRACE(fmt::format("{} x {}", m, n));
      Graph g;
      Way way{.constants = n == 33};
      way.more.matrix_registers = true;
      const Tensor a = g.input("a", {m, 128}, bf16), b = g.input("b", {128, n}, bf16);
      check(sample_of({matmul(a, b, f32)}), way, {1e-4, 1e-4});
      const Tensor bias = g.input("bias", {n}, bf16);
      check(sample_of({relu(matmul(rms_norm(a), b) + bias)}), way, {2e-2, 2e-2});
      const Tensor c = g.input("c", {m, 192}, i8), d = g.input("d", {n, 192}, i8);
      check(sample_of({matmul(c, transpose(d), i32)}), way, {});
      const Tensor e = g.input("e", {m, 131}, bf16), h = g.input("h", {131, n}, bf16);
      check(sample_of({matmul(e, h, f32)}), way, {1e-4, 1e-4});
      if (HasFailure()) return;
    }
}

TEST_F(MatrixRegisterSteps, TilesBelowEachOtherAreOneCall) {
  for (const int64_t m : {128, 150, 160, 300})
    for (const GemmA rows : {GemmA::kInPlace, GemmA::kPacked})
      for (const auto& [row_block, kc, split] :
           {std::tuple{0, 0, 1}, {160, 0, 1}, {96, 64, 1}, {160, 64, 2}}) {
        SCOPED_TRACE(fmt::format("{} rows, a {} blocks of {} kc {} split {}", m,
                                 static_cast<int>(rows), row_block, kc, split));
        Graph g;
        Way way{.constants = false};
        way.more.matrix_registers = true;
        way.more.spec = GemmSpec{.a_source = rows,
                                 .b_source = GemmB::kPackedHere,
                                 .row_block = row_block,
                                 .kc = kc,
                                 .split = split};
        const Tensor a = g.input("a", {m, 128}, bf16), b = g.input("b", {128, 64}, bf16);
        check(sample_of({matmul(a, b, f32)}), way, {1e-4, 1e-4});
        check(sample_of({matmul(a, b, f32) * matmul(a, g.input("c", {128, 64}, bf16), f32)}), way,
              {1e-3, 1e-3});
        check(sample_of({matmul(a, g.input("d", {128, 45}, bf16))}), way, {2e-2, 2e-2});
        const Tensor e = g.input("e", {m, 128}, i8), f = g.input("f", {128, 64}, i8);
        check(sample_of({matmul(e, f, i32)}), way, {});
        if (HasFailure()) return;
      }
}

TEST(MatrixRegisters, TheLoopHoldsEverythingInThem) {
  const CpuTarget target = cpu_target("sapphirerapids");
  for (const DType dtype : {DType::kBF16, DType::kI8}) {
    Graph g;
    Tensor a = g.input("a", {256, 512}, dtype), b = g.input("b", {512, 256}, dtype);
    const DType sum = dtype == DType::kBF16 ? DType::kF32 : DType::kI32;
    const kernel::test::Sample sample = sample_of({matmul(a, b, sum)});
    const kernel::GraphProgram program(sample.graph);
    const kernel::Cut cut = kernel::smallest_cut(program, *kernel::topological_order(program));
    kernel::Arena arena;
    const auto derived = kernel::derive(arena, program, cut, program.output(0));
    const auto code =
        contraction_kernel(arena, std::get<kernel::Kernel>(derived), target, {.threads = 2});
    ASSERT_TRUE(code.has_value());
    const std::string text = KernelCompiler(target).assembly_text(code->launches.back().source);
    const char* multiply = dtype == DType::kBF16 ? "tdpbf16ps" : "tdpbssd";
    size_t count = 0;
    for (size_t at = text.find(multiply); at != std::string::npos; at = text.find(multiply, at + 1))
      ++count;
    EXPECT_EQ(count, 4u) << text;
    const size_t first = text.find(multiply);
    const size_t last = text.rfind(multiply);
    ASSERT_NE(first, std::string::npos);
    EXPECT_EQ(text.substr(first, last - first).find("tilestored"), std::string::npos);
    EXPECT_NE(text.find("ldtilecfg"), std::string::npos);
  }
}

TEST(MatrixRegisters, TheirPeakMultipliesThemAndNothingElse) {
  const CpuTarget target = cpu_target("sapphirerapids");
  for (const PeakKind kind : {PeakKind::kBf16, PeakKind::kI8}) {
    EXPECT_TRUE(is_peak_of_matrices(kind, target));
    EXPECT_FALSE(is_peak_of_matrices(kind, cpu_target("znver4")));
    const std::string text = KernelCompiler(target).assembly_text(peak_source(kind));
    const std::string multiply = kind == PeakKind::kBf16 ? "tdpbf16ps" : "tdpbssd";
    int count = 0;
    for (size_t at = text.find(multiply); at != std::string::npos;
         at = text.find(multiply, at + 1)) {
      ++count;
      // The processor refuses one register twice.
      std::set<std::string> registers;
      const std::string line = text.substr(at, text.find('\n', at) - at);
      for (size_t r = line.find("%tmm"); r != std::string::npos; r = line.find("%tmm", r + 1))
        registers.insert(line.substr(r, 5));
      EXPECT_EQ(registers.size(), 3u) << line;
    }
    EXPECT_EQ(count, 4) << text;
  }
  // Two operations for each of 16 x 16 sums of 16 words of two or four elements, four times.
  EXPECT_EQ(peak_operations(PeakKind::kBf16, target), 4 * 2 * 16 * 16 * 32);
  EXPECT_EQ(peak_operations(PeakKind::kI8, target), 4 * 2 * 16 * 16 * 64);
}

}  // namespace
}  // namespace luminal::codegen

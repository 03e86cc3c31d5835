// Tiles in matrix registers: the steps are checked as loops on any machine, the instructions by
// looking at them.
#include "checks.h"

namespace luminal::codegen {
namespace {

TEST(MatrixRegisters, StepsAreRight) {
  const CpuTarget host = host_target();
  if (!host.has(runtime::CpuFeature::kAvx512bf16) || !host.has(runtime::CpuFeature::kAvx512vnni))
    GTEST_SKIP() << "this machine has no dot instructions";
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

}  // namespace
}  // namespace luminal::codegen

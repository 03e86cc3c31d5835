// What the innermost loops of products look like.
#include <set>

#include "checks.h"

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

}  // namespace
}  // namespace luminal::codegen

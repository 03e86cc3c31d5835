// Where tiles find the rows of products: read in place, copied along k or packed into panels, with
// items going through panels or blocks of rows first.
#include "checks.h"
#include "luminal/codegen/llvm/cpu_schedules.h"
#include "luminal/codegen/llvm/loop_text.h"

namespace luminal::codegen {
namespace {

constexpr GemmA kEverySource[] = {GemmA::kInPlace, GemmA::kRows, GemmA::kPacked, GemmA::kRowsAhead};

/// Tiles of five rows, in every source of the rows and the matrix, and both orders of items.
void check_sources(const kernel::test::Sample& sample,
                   const kernel::test::Closeness& closeness = {1e-4, 1e-5}) {
  for (const GemmA rows : kEverySource)
    for (const GemmB matrix : {GemmB::kInPlace, GemmB::kPackedHere, GemmB::kPrepacked})
      for (const bool rows_outer : {false, true})
        for (const int split : {1, 3}) {
          const GemmSpec spec{.a_source = rows,
                              .b_source = matrix,
                              .mr = 5,
                              .row_block = 10,
                              .rows_outer = rows_outer,
                              .kc = rows_outer ? 16 : 0,
                              .split = split};
          SCOPED_TRACE(to_string(spec));
          check(sample,
                {.constants = matrix == GemmB::kPrepacked, .more = {.always = true, .spec = spec}},
                closeness);
          if (testing::Test::HasFailure()) return;
        }
}

TEST(Rows, EverySourceAndOrderGivesTheSameProduct) {
  for (const DType dtype : {f32, f64, i32})
    for (const bool transposed : {false, true}) {
      SCOPED_TRACE(fmt::format("{} transposed {}", dtype, transposed));
      Graph g;
      const Tensor a =
          transposed ? transpose(g.input("a", {53, 35}, dtype)) : g.input("a", {35, 53}, dtype);
      check_sources(sample_of({matmul(a, g.input("b", {53, 75}, dtype))}));
      if (HasFailure()) return;
    }
}

TEST(Rows, BatchesAndWhatIsDoneToThemAreCopiedToo) {
  Graph g;
  const Tensor a = transpose(g.input("a", {3, 41, 20})), b = g.input("b", {3, 41, 37});
  check_sources(sample_of({matmul(a, b)}));
  check_sources(sample_of({relu(matmul(exp(a * 0.1), b) + g.input("c", {37}))}));
  // Heads that share a matrix, and products of one kernel that have different rows.
  check_sources(sample_of({matmul(g.input("d", {3, 4, 20, 41}), unsqueeze(b, 1))}));
  const Tensor x = g.input("x", {40, 20}), z = g.input("z", {20, 18});
  check_sources(sample_of(
      {matmul(transpose(x), g.input("w", {40, 70})) * matmul(z, g.input("v", {18, 70}))}));
}

/// The one kernel of a product, and its schedules.
struct OneKernel {
  explicit OneKernel(const Tensor& result, graph::DimValues dims = {})
      : sample(sample_of({result}, std::move(dims))), program(sample.graph) {
    const auto order = *kernel::topological_order(program);
    kernel = std::get<kernel::Kernel>(
        kernel::derive(arena, program, kernel::smallest_cut(program, order), program.output(0)));
    options.threads = 2;
  }
  CpuKernel code(const Schedule& schedule) {
    options.schedule = schedule;
    CpuKernel built = cpu_kernel(arena, kernel, host_target(), options);
    options.schedule.reset();
    return built;
  }
  std::string loops(const Schedule& schedule) {
    const CpuKernel built = code(schedule);
    const std::vector<bool> small(built.launches.size(), false);
    return loop_text(arena, kernel, built, small, host_target(), options);
  }

  kernel::test::Sample sample;
  kernel::GraphProgram program;
  kernel::Arena arena;
  kernel::Kernel kernel;
  CpuKernelOptions options;
};

TEST(Rows, SpacesHaveTheSourcesThatMakeADifference) {
  Graph g;
  const Tensor b = g.input("b", {512, 96});
  OneKernel across(matmul(transpose(g.input("a", {512, 96})), b));
  const auto spaces =
      cpu_schedule_spaces(across.arena, across.kernel, host_target(), across.options);
  ASSERT_NE(spaces[0].axis("a"), nullptr);
  EXPECT_EQ(spaces[0].axis("a")->values, (std::vector<int64_t>{0, 1, 2}));
  EXPECT_EQ(choice_text("a", spaces[0].start.at("a")), "rows") << "read often, so it is copied";
  // Rows that run along k lie as a copy would.
  OneKernel along(matmul(g.input("c", {96, 512}), b));
  const auto others = cpu_schedule_spaces(along.arena, along.kernel, host_target(), along.options);
  ASSERT_NE(others[0].axis("a"), nullptr);
  EXPECT_EQ(others[0].axis("a")->values, (std::vector<int64_t>{0, 2}));
  // Rows that no near cache holds may be asked for.
  OneKernel large(matmul(g.input("d", {1024, 512}), b));
  const auto far = cpu_schedule_spaces(large.arena, large.kernel, host_target(), large.options);
  EXPECT_EQ(far[0].axis("a")->values, (std::vector<int64_t>{0, 2, 3}));
}

TEST(Rows, WhatCannotBePackedIsRefused) {
  Graph g;
  const auto refusal = [](OneKernel& each, std::string_view name, int64_t value) -> std::string {
    Schedule own = cpu_kernel(each.arena, each.kernel, host_target(), each.options).schedule;
    if (own.at("mode") == static_cast<int64_t>(GemmMode::kAmxBf16))
      own = own.with("mode", static_cast<int64_t>(GemmMode::kDotBf16));
    try {
      each.code(own.with("mr", 4).with(name, value));
    } catch (const UserError& error) {
      return error.what();
    }
    return "";
  };
  OneKernel odd(matmul(g.input("a", {102, 64}), g.input("b", {64, 96})));
  EXPECT_NE(refusal(odd, "a", 2).find("rows do not fill panels of 4"), std::string::npos);
  Graph symbolic;
  OneKernel later(
      matmul(symbolic.input("c", {symbolic.dim("m"), 64}), symbolic.input("d", {64, 96})),
      {{"m", 96}});
  EXPECT_NE(refusal(later, "a", 2).find("rows do not fill panels of 4"), std::string::npos);
  if (!host_target().has(runtime::CpuFeature::kAvx512bf16)) return;
  OneKernel dots(matmul(g.input("e", {96, 64}, bf16), g.input("f", {64, 96}, bf16), f32));
  EXPECT_NE(refusal(dots, "a", 2).find("dots take neighbours along k"), std::string::npos);
}

TEST(Rows, LoopsTellWhereRowsAreAndWhatComesFirst) {
  Graph g;
  OneKernel each(matmul(transpose(g.input("a", {512, 96})), g.input("b", {512, 96})));
  const Schedule own = cpu_kernel(each.arena, each.kernel, host_target(), each.options)
                           .schedule.with("mr", 4)
                           .with("row_tiles", 4);
  const auto tells = [&](const Schedule& schedule, std::string_view what) {
    const std::string text = each.loops(schedule);
    EXPECT_NE(text.find(what), std::string::npos) << text;
  };
  tells(own.with("a", 1), "rows were copied before: along k");
  tells(own.with("a", 2), "rows were copied before: into panels of as many as a tile has");
  tells(own.with("outer", 0), "all blocks of rows of a panel, then the next panel");
  tells(own.with("outer", 1), "all panels of a block of rows, then the next block");
  tells(own.with("split", 4), "after: the sums of 4 parts are added up in order");
  tells(own.with("split", 4), "k of one of 4 parts of 512");
}

TEST(Rows, FewOfThemStreamAMatrixThatIsFarAway) {
  const auto schedule = [](const Shape& a, const Shape& b) {
    Graph g;
    OneKernel each(matmul(g.input("a", a), g.input("b", b)));
    return cpu_kernel(each.arena, each.kernel, cpu_target("znver4"), each.options).schedule;
  };
  // However small a matrix is, tiles read it as it lies.
  for (const int64_t size : {4, 8, 10})
    EXPECT_EQ(schedule({4000, size, size}, {4000, size, size}).family(), kGemmFamily) << size;
  EXPECT_EQ(schedule({200, 1, 512}, {200, 512, 64}).family(), kGemmFamily);
  for (const int64_t rows : {1, 2, 4, 8}) {
    const Schedule few = schedule({rows, 5000}, {5000, 5000});
    ASSERT_EQ(few.family(), kGemvFamily) << rows;
    // Sums are loaded and stored once for several rows of the matrix.
    EXPECT_GE(few.at("streams"), 3) << rows;
    EXPECT_GE(few.at("block"), 2500) << rows;
  }
  // Where rows of the matrix begin with lines, tiles use each line once.
  EXPECT_EQ(schedule({8, 4096}, {4096, 4096}).family(), kGemmFamily);
  EXPECT_EQ(schedule({5, 1000}, {1000, 1000}).family(), kGemmFamily);
}

}  // namespace
}  // namespace luminal::codegen

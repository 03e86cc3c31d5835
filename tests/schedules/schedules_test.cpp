// Kernels of every family in ways that differ from what is chosen without measuring: all of them
// must compute what the oracle does, and print, read back and make the same code again.
#include <gtest/gtest.h>

#include "kernel_samples.h"
#include "luminal/codegen/llvm/attention_for_tests.h"
#include "luminal/codegen/llvm/cpu_schedules.h"
#include "luminal/codegen/llvm/launches_for_tests.h"

namespace luminal::codegen {
namespace {

using kernel::test::Closeness;
using kernel::test::Sample;

/// One kernel of a sample and all that is needed to run it.
class Case {
 public:
  Case(Sample sample, Closeness closeness, bool constants = false)
      : sample_(std::move(sample)), program_(sample_.graph), closeness_(closeness) {
    const auto order = *kernel::topological_order(program_);
    oracle_ = kernel::test::oracle_values(sample_, program_, order);
    result = program_.output(0);
    kernel = std::get<kernel::Kernel>(
        kernel::derive(arena, program_, kernel::smallest_cut(program_, order), result));
    options.dims = sample_.dims;
    options.threads = 2;
    if (constants) options.constants = inputs_of(sample_.graph);
  }

  std::vector<ScheduleSpace> spaces(const CpuTarget& target) {
    return cpu_schedule_spaces(arena, kernel, target, options);
  }

  CpuKernel code(const Schedule& schedule, const CpuTarget& target) {
    CpuKernelOptions asked = options;
    asked.schedule = schedule;
    return cpu_kernel(arena, kernel, target, asked);
  }

  /// Runs a schedule and compares.
  void check(const Schedule& schedule, const CpuTarget& target) {
    SCOPED_TRACE(target.name + ": " + schedule.to_string());
    EXPECT_EQ(Schedule::parse(schedule.to_string()), schedule);
    const CpuKernel built = code(schedule, target);
    EXPECT_EQ(built.schedule, schedule);
    kernel::Tensors tensors;
    for (const auto& [tensor, value] : oracle_)
      if (tensor != result) tensors.emplace(tensor, value);
    run_launches(arena, kernel, built, target, sample_.dims, tensors);
    EXPECT_TRUE(kernel::test::near(tensors.at(result), oracle_.at(result), closeness_));
  }

  kernel::Arena arena;
  kernel::Kernel kernel;
  kernel::NodeId result;
  CpuKernelOptions options;

 private:
  Sample sample_;
  kernel::GraphProgram program_;
  Closeness closeness_;
  kernel::Tensors oracle_;
};

/// A schedule of a space, drawn at random.
Schedule drawn(const ScheduleSpace& space, std::mt19937_64& random) {
  for (int tries = 0; tries < 1000; ++tries) {
    Schedule schedule = space.start;
    for (const ScheduleAxis& axis : space.axes)
      schedule = schedule.with(axis.name, axis.values[random() % axis.values.size()]);
    if (space.contains(schedule)) return schedule;
  }
  return space.start;
}

/// Objects of code that rounds every op and of code that does not are kept in one place, so their
/// keys must differ. Some families cannot round every op.
void check_keys_of_rounding(Case& each, const Schedule& schedule, const CpuTarget& target) {
  SCOPED_TRACE(target.name + ": " + schedule.to_string());
  const std::string key = each.code(schedule, target).launches.back().source.key;
  CpuKernelOptions rounding = each.options;
  rounding.schedule = schedule;
  rounding.round_each = true;
  const auto built = try_cpu_kernel(each.arena, each.kernel, target, rounding);
  if (const auto* code = std::get_if<CpuKernel>(&built)) {
    EXPECT_NE(code->launches.back().source.key, key);
  }
}

/// Starts, neighbours of starts and drawn schedules of every space, on two targets. Gives the
/// families that were met.
std::set<std::string> check_ways(Case& each, uint64_t seed, size_t of_each = 7) {
  SCOPED_TRACE(fmt::format("seed {}", seed));
  std::mt19937_64 random(seed);
  std::set<std::string> families;
  std::vector<CpuTarget> targets{host_target()};
  if (runs_here(cpu_target("haswell"))) targets.push_back(cpu_target("haswell"));
  for (const CpuTarget& target : targets)
    for (const ScheduleSpace& space : each.spaces(target)) {
      families.insert(space.start.family());
      EXPECT_TRUE(space.contains(space.start)) << space.start.to_string();
      each.check(space.start, target);
      check_keys_of_rounding(each, space.start, target);
      const std::vector<Schedule> near = neighbours(space, space.start);
      for (size_t k = 0; k < of_each && !near.empty(); ++k)
        each.check(near[random() % near.size()], target);
      for (size_t k = 0; k < of_each && !space.axes.empty(); ++k)
        each.check(drawn(space, random), target);
      if (testing::Test::HasFailure()) return families;
    }
  return families;
}

using Families = std::set<std::string>;

TEST(Schedules, ProductsInEveryWay) {
  for (const bool constants : {false, true}) {
    Graph g;
    Tensor bias = g.input("c", {75});
    Case each(sample_of({relu(matmul(g.input("a", {29, 251}), g.input("b", {251, 75})) + bias)}),
              {1e-4, 1e-5}, constants);
    EXPECT_EQ(check_ways(each, constants ? 1 : 2), (Families{"gemm", "nest"}));
  }
}

TEST(Schedules, NarrowProductsInEveryWay) {
  for (const DType dtype : {DType::kBF16, DType::kI8}) {
    SCOPED_TRACE(fmt::format("{}", dtype));
    Graph g;
    const DType sum = dtype == DType::kI8 ? DType::kI32 : DType::kF32;
    Case each(sample_of({matmul(g.input("a", {33, 192}, dtype),
                                transpose(g.input("b", {70, 192}, dtype)), sum)}),
              {dtype == DType::kI8 ? 0 : 1e-3, 1e-3});
    EXPECT_TRUE(check_ways(each, 3).contains("gemm"));
  }
}

TEST(Schedules, ProductsOfDynamicSizesInEveryWay) {
  Graph g;
  const symbolic::Expr m = g.dim("m", 1, 100);
  Case each(sample_of({matmul(g.input("a", {m, 130}), g.input("b", {130, 48}))}, {{"m", 37}}),
            {1e-4, 1e-5});
  EXPECT_TRUE(check_ways(each, 4).contains("gemm"));
}

TEST(Schedules, ProductsOfALongKInEveryWay) {
  for (const DType dtype : {DType::kF32, DType::kF64, DType::kI8}) {
    SCOPED_TRACE(fmt::format("{}", dtype));
    Graph g;
    const DType sum = dtype == DType::kI8 ? DType::kI32 : dtype;
    const Tensor product =
        matmul(g.input("a", {9, 1501}, dtype), g.input("b", {1501, 40}, dtype), sum);
    Case each(sample_of({product + g.input("c", {40}, sum)}),
              {dtype == DType::kI8 ? 0 : 1e-3, 1e-4}, dtype == DType::kI8);
    const std::vector<ScheduleSpace> spaces = each.spaces(host_target());
    const ScheduleAxis* split = spaces.front().axis("split");
    ASSERT_NE(split, nullptr) << spaces.front().start.to_string();
    EXPECT_GE(split->values.size(), 4U);
    for (const int64_t parts : split->values)
      each.check(spaces.front().start.with("split", parts), host_target());
    EXPECT_TRUE(check_ways(each, 14).contains("gemm"));
  }
}

TEST(Schedules, FewRowsInEveryWay) {
  for (const bool along_k : {false, true})
    for (const int64_t rows : {1, 3}) {
      SCOPED_TRACE(fmt::format("{} rows, along k {}", rows, along_k));
      Graph g;
      Tensor b = along_k ? transpose(g.input("b", {100, 333})) : g.input("b", {333, 100});
      Case each(sample_of({matmul(g.input("a", {rows, 333}), b)}), {1e-4, 1e-5});
      EXPECT_EQ(check_ways(each, 5, 5), (Families{"gemm", "gemv", "nest"}));
    }
}

TEST(Schedules, FourBitWeightsInEveryWay) {
  for (const int64_t rows : {1, 9}) {
    Graph g;
    const Tensor blocks =
        cast(g.input("q", {70, 3, 32}, i4), f32) * cast(g.input("s", {70, 3, 1}, f16), f32);
    Case each(sample_of({matmul(g.input("x", {rows, 96}), transpose(merge_dims(blocks, 1)))}),
              {2e-2, 1e-4}, true);
    EXPECT_TRUE(check_ways(each, 13).contains("gemm_blocks"));
  }
}

TEST(Schedules, ConvolutionsInEveryWay) {
  Graph g;
  Case each(sample_of({relu(conv2d(g.input("x", {2, 5, 17, 20}), g.input("w", {20, 5, 3, 3}),
                                   g.input("b", {20}), {.padding = {Padding{1, 1}}}))}),
            {1e-4, 1e-4});
  Families families{"convolution", "gemm", "nest"};
  if (host_target().has_fma()) families.insert("winograd");
  EXPECT_EQ(check_ways(each, 6), families);
  Graph h;
  Case single(sample_of({conv2d(h.input("x", {2, 5, 17, 20}), h.input("w", {5, 1, 3, 3}), {},
                                {.padding = {Padding{1, 1}}, .groups = 5})}),
              {1e-4, 1e-4});
  EXPECT_TRUE(check_ways(single, 6).contains("depthwise"));
}

TEST(Schedules, LoopsInEveryWay) {
  Graph g;
  Tensor x = g.input("x", {37, 515});
  const auto check = [](const std::vector<Tensor>& outputs, uint64_t seed) {
    Case each(sample_of(outputs), {1e-5, 1e-4});
    EXPECT_EQ(check_ways(each, seed, 12), Families{"nest"});
  };
  check({softmax(x)}, 7);
  check({exp(x) + transpose(g.input("y", {515, 37}))}, 8);
  check({sum(g.input("z", {300000}) * 0.01F)}, 9);
  check({sum(g.input("v", {3000, 70}), 0)}, 10);
  check({layer_norm(cast(g.input("w", {9, 130}, DType::kBF16), DType::kF32))}, 11);
}

TEST(Schedules, AttentionInEveryWay) {
  for (const int64_t queries : {1, 70})
    for (const graph::DType dtype : {graph::DType::kF32, graph::DType::kBF16}) {
      SCOPED_TRACE(fmt::format("{} queries in {}", queries, dtype));
      AttentionWriter writer({.dtype = dtype,
                              .groups = 2,
                              .queries = queries,
                              .keys = 300,
                              .past = 300 - queries,
                              .causal = true});
      writer.write();
      Sample sample{writer.graph, {}, {}};
      uint64_t seed = 0;
      for (const kernel::NodeId id : inputs_of(sample.graph)) {
        const graph::Node& node = sample.graph.node(id);
        sample.inputs.emplace(node.attribute<graph::InputAttribute>().name,
                              random_values(dtype, graph::extents_of(node.type.shape, {}), ++seed));
      }
      const bool narrow = dtype == graph::DType::kBF16;
      Case each(std::move(sample), {narrow ? 2e-2 : 1e-4, narrow ? 2e-2 : 1e-4});
      const Families families = check_ways(each, 12, 5);
      EXPECT_TRUE(families.contains("attention"));
      EXPECT_EQ(families.contains("attention_runs"), queries == 1);
    }
}

TEST(Schedules, TheDefaultIsFirstAndItsTextMakesTheSameCode) {
  Graph g;
  Tensor a = g.input("a", {64, 96});
  const std::vector<std::pair<std::string, Tensor>> tensors = {
      {"gemm", matmul(a, g.input("b", {96, 64}))},
      {"gemv", matmul(g.input("v", {1, 96}), transpose(g.input("w", {640, 96})))},
      {"convolution", conv2d(g.input("x", {1, 8, 16, 16}), g.input("k", {8, 8, 3, 3}))},
      {"nest", softmax(a)}};
  for (const auto& [family, tensor] : tensors) {
    SCOPED_TRACE(family);
    Case each(sample_of({tensor}), {});
    const CpuKernel own = cpu_kernel(each.arena, each.kernel, host_target(), each.options);
    EXPECT_EQ(own.schedule.family(), family);
    const std::vector<Schedule> listed =
        cpu_schedules(each.arena, each.kernel, host_target(), each.options);
    EXPECT_EQ(listed.front(), own.schedule);
    EXPECT_EQ(std::set<Schedule>(listed.begin(), listed.end()).size(), listed.size());
    EXPECT_LE(listed.size(), 200U);
    EXPECT_GE(listed.size(), 20U);
    EXPECT_EQ(cpu_schedules(each.arena, each.kernel, host_target(), each.options), listed);
    const CpuKernel again = each.code(Schedule::parse(own.schedule.to_string()), host_target());
    EXPECT_EQ(code_identity(again), code_identity(own));
    ASSERT_EQ(again.launches.size(), own.launches.size());
    const KernelCompiler compiler(host_target());
    for (size_t k = 0; k < own.launches.size(); ++k)
      EXPECT_EQ(compiler.compile(again.launches[k].source).code,
                compiler.compile(own.launches[k].source).code);
  }
}

// With 16 registers, too, what is at work at once must be what a schedule may ask for.
TEST(Schedules, DefaultsOfFewRowsReadBackOnEveryTarget) {
  for (const CpuTarget& target : {host_target(), cpu_target("haswell")})
    for (const bool along_k : {false, true})
      for (int64_t rows = 1; rows <= 8; ++rows) {
        Graph g;
        const Tensor b = along_k ? transpose(g.input("b", {100, 333})) : g.input("b", {333, 100});
        const Tensor a = g.input("a", {rows, 333});
        Case each(sample_of({matmul(a, b)}), {1e-3, 1e-3});
        SCOPED_TRACE(fmt::format("{}, {} rows, along k {}", target.name, rows, along_k));
        for (const ScheduleSpace& space : each.spaces(target)) {
          SCOPED_TRACE(space.start.to_string());
          EXPECT_TRUE(space.contains(space.start));
        }
      }
}

TEST(Schedules, SpacesOfConvolutionsStartWithWhatIsBuilt) {
  // Images of which a row is, or is not, so long that rows of pixels are cut differently.
  for (const graph::DType dtype : {graph::DType::kF32, graph::DType::kF64, graph::DType::kBF16})
    for (const auto& [channels, filters, height, width] :
         {std::array{17, 19, 29, 31}, std::array{3, 16, 33, 35}, std::array{9, 12, 28, 28}}) {
      SCOPED_TRACE(fmt::format("{} to {} of {}x{} {}", channels, filters, height, width, dtype));
      Graph g;
      const Tensor x = g.input("x", {1, channels, height, width}, dtype);
      const Tensor w = g.input("w", {filters, channels, 3, 3}, dtype);
      const Tensor bias = g.input("b", {filters}, dtype);
      Case each(sample_of({conv2d(x, w, bias, {.padding = {Padding{1, 1}}})}), {}, true);
      for (const int threads : {1, 2, 16}) {
        each.options.threads = threads;
        const CpuKernel own = cpu_kernel(each.arena, each.kernel, host_target(), each.options);
        EXPECT_EQ(each.spaces(host_target()).front().start, own.schedule);
      }
    }
}

TEST(Schedules, EveryListedScheduleFitsAndIsOtherCode) {
  Graph g;
  Case each(sample_of({matmul(g.input("a", {64, 96}), g.input("b", {96, 64}))}), {});
  std::set<std::string> codes;
  const std::vector<Schedule> listed =
      cpu_schedules(each.arena, each.kernel, host_target(), each.options);
  for (const Schedule& schedule : listed)
    codes.insert(code_identity(each.code(schedule, host_target())));
  EXPECT_GE(codes.size(), listed.size() * 9 / 10);
}

/// What is said about a schedule that does not fit.
std::string refusal(Case& each, const Schedule& schedule) {
  CpuKernelOptions options = each.options;
  options.schedule = schedule;
  const auto tried = try_cpu_kernel(each.arena, each.kernel, host_target(), options);
  return std::holds_alternative<CpuKernel>(tried) ? "" : std::get<ScheduleRefusal>(tried).why;
}

TEST(Schedules, OnesThatDoNotFitAreRefusedWithAReason) {
  Graph g;
  Case each(sample_of({matmul(g.input("a", {29, 51}), g.input("b", {51, 75}))}), {});
  const Schedule own = each.spaces(host_target()).front().start;
  const auto expect = [&](const Schedule& schedule, std::string_view reason) {
    const std::string why = refusal(each, schedule);
    EXPECT_NE(why.find(reason), std::string::npos) << schedule.to_string() << " gave: " << why;
    EXPECT_NE(why.find(schedule.to_string()), std::string::npos) << why;
  };
  EXPECT_EQ(refusal(each, own), "");
  expect(own.with("mr", 60), "do not fit the");
  expect(own.with("mr", 100), "mr is 100, and may be 1 to 64");
  expect(own.with("nr", 33), "nr is no multiple of");
  expect(own.with("kc", 16).with("row_tiles", 0), "need row_tiles");
  expect(own.with("mode", 1), "not formed by dot-bf16");
  expect(own.with("split", 0), "split is 0, and may be 1 to");
  each.options.reassociate = false;
  expect(own.with("split", 2), "sums may not be taken in another order");
  each.options.reassociate = true;
  EXPECT_EQ(refusal(each, own.with("split", 2)), "");
  expect(own.with("speed", 1), "a gemm has no choice 'speed'");
  expect(Schedule("gemm"), "'mode' is not chosen");
  expect(Schedule("attention", own.choices()), "the kernel has not the form of a attention");
  expect(Schedule("magic"), "there is no family 'magic'");
}

}  // namespace
}  // namespace luminal::codegen

// Plans that the cut search finds from the estimate alone.
#include <gtest/gtest.h>

#include "luminal/kernel/cut_search.h"
#include "models.h"

namespace luminal::kernel {
namespace {

std::string listed(Arena& arena, const models::IR& graph, const CutPlan& plan) {
  std::string text;
  for (const PlannedKernel& kernel : plan.kernels)
    text += fmt::format("{:.2f} us{}{}\n", kernel.estimate.microseconds,
                        kernel.estimate.tiled ? ", tiled" : "",
                        kernel.estimate.nest.online ? ", online" : "") +
            to_string(arena, build_nest(arena, kernel.estimate.kernel, kernel.estimate.nest),
                      models::input_names(graph));
  return text;
}

struct Found {
  size_t kernels, launches;
  std::string text;
};

Found found(const models::IR& graph, const CutSearchOptions& options = {}) {
  const GraphProgram program(graph);
  Arena arena;
  const CutPlan plan = search_cut(arena, program, options);
  return {plan.kernels.size(), plan.launches.size(), listed(arena, graph, plan)};
}

/// At most so many launches, or the plan is shown.
void expect_launches(const models::IR& graph, const CutSearchOptions& options, size_t most) {
  const Found plan = found(graph, options);
  EXPECT_LE(plan.launches, most) << options.machine.name << "\n" << plan.text;
}

std::vector<CutSearchOptions> machines() {
  CutSearchOptions gpu, cpu;
  cpu.machine = Machine::cpu(2);
  return {gpu, cpu};
}

/// Runs a plan kernel by kernel as loops and compares the outputs with the oracle.
void expect_plan_right(const models::IR& graph, const CutSearchOptions& options) {
  const test::Sample sample = models::sample_of(graph, 17);
  const GraphProgram program(sample.graph);
  const std::vector<NodeId> order = *topological_order(program);
  const Tensors oracle = test::oracle_values(sample, program, order);
  Arena arena;
  const CutPlan plan = search_cut(arena, program, options);
  Tensors tensors;
  for (NodeId id : order)
    if (is_source(program.node(id))) tensors.emplace(id, oracle.at(id));
  for (const PlannedKernel& planned : plan.kernels) {
    // Region updates need their memory shared, so here the kernel as derived stands in.
    const Kernel& kernel = planned.estimate.in_place_of ? planned.kernel : planned.estimate.kernel;
    test::run_by_nest(planned.estimate.nest)(arena, kernel, sample.dims, tensors);
  }
  for (NodeId id : program.roots())
    EXPECT_TRUE(test::near(tensors.at(id), oracle.at(id), {1e-4, 1e-3}))
        << listed(arena, graph, plan);
}

TEST(CutSearch, NormsAndSoftmaxesAreOneKernelEach) {
  for (const CutSearchOptions& options : machines()) {
    SCOPED_TRACE(options.machine.name);
    EXPECT_EQ(found(models::softmax(4096, 1024), options).kernels, 1U);
    EXPECT_EQ(found(models::log_softmax(4096, 1024), options).kernels, 1U);
    EXPECT_EQ(found(models::layer_norm(4096, 1024), options).kernels, 1U);
    EXPECT_EQ(found(models::rms_norm(4096, 1024), options).kernels, 1U);
  }
}

TEST(CutSearch, AnMlpLayerIsOneKernel) {
  for (const CutSearchOptions& options : machines()) {
    SCOPED_TRACE(options.machine.name);
    EXPECT_EQ(found(models::mlp_layer(128, 1024, 4096), options).kernels, 1U);
    EXPECT_EQ(found(models::mlp(128, 784, 512, 10), options).kernels, 3U);
  }
}

/// The head of a network for images: two layers on what a convolution left.
TEST(CutSearch, ASumOverSeveralAxesIsAsLongAsAllOfThem) {
  Graph g;
  const Tensor image = merge_dims(g.input("x", {32, 64, 7, 7}), 1, 3);
  const Tensor hidden = relu(matmul(image, g.input("w", {3136, 128})) + g.input("b", {128}));
  const Tensor y = matmul(hidden, g.input("v", {128, 10}));
  models::IR graph = g.ir();
  graph.add_output("y", y.edge());
  CutSearchOptions options;
  options.machine = Machine::cpu(2);
  const GraphProgram program(graph);
  Arena arena;
  const CutPlan plan = search_cut(arena, program, options);
  ASSERT_EQ(plan.kernels.size(), 2U) << listed(arena, graph, plan);
  for (const PlannedKernel& kernel : plan.kernels)
    EXPECT_GT(kernel.estimate.matrix_flops, 0.0) << listed(arena, graph, plan);
}

/// Dot instructions take bytes; widened ahead they would be read as words.
TEST(CutSearch, ProductsReadNarrowOperandsAsTheyAre) {
  for (const CutSearchOptions& options : machines())
    for (const int64_t rows : {1, 4, 8, 16, 512})
      for (const DType dtype : {i8, u8, i16, bf16}) {
        SCOPED_TRACE(fmt::format("{} rows of {} on {}", rows, dtype, options.machine.name));
        Graph g;
        const Tensor x = g.input("x", {rows, 4096}, dtype);
        const Tensor w = g.input("w", {14336, 4096}, dtype);
        const DType sums = graph::is_float(dtype) ? f32 : dtype == u8 ? u32 : i32;
        const Tensor y = matmul(cast(x, sums), transpose(cast(w, sums)));
        models::IR graph = g.ir();
        graph.add_output("y", y.edge());
        const Found plan = found(graph, options);
        EXPECT_EQ(plan.kernels, 1U) << plan.text;
      }
}

TEST(CutSearch, ConvolutionBiasReluAndPoolMayBeOneKernel) {
  for (const CutSearchOptions& options : machines())
    EXPECT_LE(found(models::conv_block(16, 28, 1, 32), options).kernels, 2U);
}

TEST(CutSearch, AGptBlockInPrefillIsAtMostEightLaunches) {
  for (const CutSearchOptions& options : machines()) {
    SCOPED_TRACE(options.machine.name);
    const models::BlockSizes sizes{
        .tokens = 512, .heads = 12, .kv_heads = 12, .d = 64, .hidden = 3072};
    expect_launches(models::gpt_block(sizes), options, 8);
  }
}

TEST(CutSearch, ALlamaBlockInDecodeIsAtMostSixLaunches) {
  for (const CutSearchOptions& options : machines()) {
    SCOPED_TRACE(options.machine.name);
    const models::BlockSizes sizes{
        .tokens = 1, .heads = 32, .kv_heads = 8, .d = 128, .hidden = 14336, .cache = 2048};
    expect_launches(models::llama_block(sizes), options, 6);
  }
}

TEST(CutSearch, ALlamaBlockInPrefillIsAtMostNineLaunches) {
  const models::BlockSizes sizes{
      .tokens = 512, .heads = 32, .kv_heads = 8, .d = 128, .hidden = 14336, .cache = 2048};
  expect_launches(models::llama_block(sizes), {}, 9);
}

/// The best of all cuts, found by trying them.
double exhaustive(const models::IR& graph, const CutSearchOptions& options) {
  const GraphProgram program(graph);
  Arena arena;
  CutCosts costs(arena, program, options);
  const std::vector<NodeId> nodes = optional_nodes(program, costs.order());
  EXPECT_LE(nodes.size(), 12U);
  double best = std::numeric_limits<double>::infinity();
  for (uint64_t bits = 0; bits < uint64_t{1} << nodes.size(); ++bits) {
    Cut cut = smallest_cut(program, costs.order());
    for (size_t k = 0; k < nodes.size(); ++k)
      if ((bits >> k & 1) != 0) cut.insert(nodes[k]);
    best = std::min(best, costs.total(cut));
  }
  return best;
}

TEST(CutSearch, ClimbingFindsWhatTryingEverythingFinds) {
  for (const CutSearchOptions& options : machines()) {
    SCOPED_TRACE(options.machine.name);
    for (const models::IR& graph :
         {models::softmax(4096, 1024), models::rms_norm(64, 4096), models::softmax(8, 1 << 20),
          models::mlp_layer(64, 256, 256), models::attention(2, 1, 64, 64, 32)}) {
      const GraphProgram program(graph);
      Arena arena;
      const CutPlan plan = search_cut(arena, program, options);
      double total = 0.0;
      for (const PlannedKernel& kernel : plan.kernels) total += kernel.estimate.microseconds;
      EXPECT_NEAR(total, exhaustive(graph, options), 1e-6);
    }
  }
}

TEST(CutSearch, ASumThatANormReadsIsStoredOnTheWay) {
  luminal::Graph g;
  Tensor x = g.input("x", {4096, 1024}) + g.input("y", {4096, 1024});
  const Tensor norm = luminal::rms_norm(x), wave = sin(norm);
  graph::Graph ir = g.ir();
  ir.add_output("sum", x.edge());
  ir.add_output("norm", norm.edge());
  ir.add_output("wave", wave.edge());
  for (CutSearchOptions options : machines()) {
    SCOPED_TRACE(options.machine.name);
    EXPECT_EQ(found(ir, options).kernels, 1U);
    options.store_through = false;
    EXPECT_GT(found(ir, options).kernels, 1U);
  }
}

TEST(CutSearch, KernelsWithAThirdOneBetweenAreNotJoined) {
  luminal::Graph g;
  Tensor x = g.input("x", {64, 64});
  Tensor a = exp(x);
  Tensor order = argsort(a, 1);  // reads memory and stands between
  Tensor b = a * cast(order, f32);
  graph::Graph ir = g.ir();
  ir.add_output("a", a.edge());
  ir.add_output("b", b.edge());
  EXPECT_EQ(found(ir).kernels, 2U);
}

TEST(CutSearch, KernelsAreNotJoinedCrosswise) {
  luminal::Graph g;
  Tensor x = g.input("x", {4096, 64}), y = g.input("y", {4096, 64});
  Tensor a = sin(x), c = cos(y);
  // b reads a and c, d reads c and a: {a, b} and {c, d} would wait for each other.
  Tensor b = a * flip(c, {0}), d = c * flip(a, {0});
  graph::Graph ir = g.ir();
  for (const Tensor& output : {a, b, c, d})
    ir.add_output("y" + std::to_string(ir.outputs().size()), output.edge());
  for (const CutSearchOptions& options : machines()) expect_plan_right(ir, options);
}

TEST(CutSearch, TheSameSeedGivesTheSamePlan) {
  const models::IR graph = models::gpt_block({.tokens = 128, .heads = 4, .d = 32, .hidden = 512});
  const GraphProgram program(graph);
  Arena first, second;
  const CutSearchOptions options{.restarts = 2, .seed = 5};
  const CutPlan a = search_cut(first, program, options);
  const CutPlan b = search_cut(second, program, options);
  EXPECT_EQ(a.cut, b.cut);
  EXPECT_EQ(a.launches, b.launches);
  EXPECT_EQ(a.microseconds, b.microseconds);
}

TEST(CutSearch, LayersGetTheSameKernels) {
  const models::BlockSizes sizes{.tokens = 128, .heads = 4, .d = 32, .hidden = 512};
  EXPECT_EQ(found(models::gpt_block(sizes, 2)).kernels,
            2 * found(models::gpt_block(sizes)).kernels);
}

TEST(CutSearch, CostsMayBeAskedForElsewhere) {
  const models::IR graph = models::softmax(16, 16);
  const GraphProgram program(graph);
  Arena arena;
  CutSearchOptions options;
  // Wherever there is a reduction and something after it, say that it is slow.
  options.cost = [](Arena& a, const Kernel& kernel) -> std::optional<double> {
    const BodyNode& root = a[kernel.roots[0].value];
    return root.height > 0 && root.kind != BodyKind::kReduce ? 1e6 : 1.0;
  };
  EXPECT_GT(search_cut(arena, program, options).kernels.size(), 1U);
}

TEST(CutSearch, PlansComputeWhatTheOracleComputes) {
  const Dim seq = Dim::variable("seq", {1, 4});
  for (const CutSearchOptions& options : machines()) {
    expect_plan_right(models::softmax(3, seq), options);
    expect_plan_right(models::cnn(1, 4, 2), options);
    expect_plan_right(models::gpt_block({.tokens = seq}), options);
    expect_plan_right(models::llama_block({.tokens = 1}), options);
  }
}

}  // namespace
}  // namespace luminal::kernel

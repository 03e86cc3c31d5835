// How constant weights lie in memory: a search chooses for each kernel, kernels that read one
// weight in one way share one copy, and the copy does not depend on how many rows it is multiplied
// with.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "luminal/compiler/buckets.h"
#include "luminal/compiler/build_plan.h"
#include "luminal/compiler/kernel_set.h"
#include "luminal/compiler/plan_bench.h"
#include "luminal/plan/compiled_program.h"
#include "luminal/search/kernel_space.h"
#include "luminal/support/trace.h"
#include "tests/search/made_up_search.h"

namespace luminal::compiler {
namespace {

constexpr int64_t kWidth = 256;

graph::Graph with_outputs(const Graph& g, const std::vector<Tensor>& outputs) {
  graph::Graph graph = g.ir();
  for (const Tensor& each : outputs)
    graph.add_output("y" + std::to_string(graph.outputs().size()), each.edge());
  return graph;
}

/// Two products, each of a weight of its own.
graph::Graph two_products() {
  const Graph g;
  return with_outputs(g, {matmul(g.input("x", {32, kWidth}), g.weight("a", {kWidth, kWidth})),
                          matmul(g.input("z", {64, 128}), g.weight("b", {128, kWidth}))});
}

/// Products of rows with one weight.
graph::Graph products_of_one_weight(int64_t other_rows) {
  const Graph g;
  const Tensor weight = g.weight("w", {kWidth, kWidth});
  return with_outputs(g, {matmul(g.input("x", {32, kWidth}), weight),
                          relu(matmul(g.input("z", {other_rows, kWidth}), weight))});
}

int64_t prepared_bytes(const Plan& plan) {
  int64_t bytes = 0;
  for (const PlanBuffer& buffer : plan.buffers)
    if (buffer.place == Place::kPrepared) bytes += buffer.bytes.constant_value().value_or(0);
  return bytes;
}

std::vector<graph::Array> results(plan::CompiledProgram& program,
                                  const std::map<std::string, graph::Array>& data) {
  graph::RunRequest request;
  for (const auto& [name, array] : data) request.inputs[name] = &array;
  return program.run(request);
}

size_t preparations(const support::TraceRecording& recording) {
  const auto events = recording.events();
  return static_cast<size_t>(
      std::count_if(events.begin(), events.end(), [](const support::TraceEvent& event) {
        return std::string_view(event.category) == "prepare";
      }));
}

TEST(WeightLayout, EveryLayoutOfAConstantWeightIsAWayToComputeAProduct) {
  const PlanDraft draft(two_products(), kPlain);
  ASSERT_EQ(draft.kernels().size(), 2U);
  const auto space = search::kernel_space(draft.kernels().task(0));
  std::set<std::string> layouts;
  for (const std::string& start : space->starts()) {
    if (!start.starts_with("gemm ")) continue;
    std::vector<std::string> ways = space->neighbours(start);
    ways.push_back(start);
    for (const std::string& way : ways)
      for (const char* layout : {"b=prepacked", "b=packed", "b=in-place"})
        if (way.find(layout) != std::string::npos) layouts.insert(layout);
  }
  EXPECT_EQ(layouts.size(), 3U) << "starts with " << space->starts().front();
}

TEST(WeightLayout, ASearchChoosesForEachKernelByItself) {
  const graph::Graph graph = two_products();
  MadeUp times;
  // The narrower product is quickest with its weight as it is, the other one packed ahead.
  times.kernel_time = [](const search::KernelTask& task,
                         const std::string& schedule) -> search::Measurement {
    const bool narrow = task.text.find("128") != std::string::npos;
    const bool in_place = schedule.find("b=in-place") != std::string::npos;
    return search::Timing{narrow == in_place ? 50.0 : 100.0, 0.01, 10};
  };
  times.plan_time = [&](const std::string& name) -> search::Measurement {
    return search::Timing{times.plan_trials == 1 ? 200.0 : 100.0 + made_up(name), 0.01, 10};
  };
  times.options.structures = 0;  // made up times of whole plans may prefer any of them
  times.options.most_trials = 64;
  const Plan plan = search_plan(graph, kPlain, times.options).plan;
  std::set<std::string> layouts;
  for (const PlanStep& step : plan.steps)
    for (const char* layout : {"b=prepacked", "b=packed", "b=in-place"})
      if (step.schedule.find(layout) != std::string::npos) layouts.insert(layout);
  EXPECT_TRUE(layouts.contains("b=in-place")) << plan::to_string(plan);
  EXPECT_TRUE(layouts.contains("b=prepacked")) << plan::to_string(plan);
}

TEST(WeightLayout, KernelsThatReadOneWeightShareItsPackedCopy) {
  for (const int64_t rows : {32, 48, 160}) {  // the same kernel, and others
    const graph::Graph graph = products_of_one_weight(rows);
    const Plan plan = build_plan(graph, kPlainHere);
    EXPECT_EQ(plan.prepare.size(), 1U) << plan::to_string(plan);
    EXPECT_GE(prepared_bytes(plan), kWidth * kWidth * 4);
    EXPECT_LT(prepared_bytes(plan), 2 * kWidth * kWidth * 4);
    // And both are right.
    const auto data = random_inputs(graph, {}, 3);
    const auto actual = results(*plan::load_plan(plan), data);
    for (int64_t i = 0; i < 32 * kWidth; i += 37) {
      double products[2] = {0, 0};
      for (int64_t k = 0; k < kWidth; ++k) {
        const double weight = data.at("w").at(k * kWidth + i % kWidth).as_double();
        products[0] += data.at("x").at(i / kWidth * kWidth + k).as_double() * weight;
        products[1] += data.at("z").at(i / kWidth * kWidth + k).as_double() * weight;
      }
      ASSERT_NEAR(actual[0].at(i).as_double(), products[0], 1e-3);
      ASSERT_NEAR(actual[1].at(i).as_double(), std::max(0.0, products[1]), 1e-3);
    }
  }
}

TEST(WeightLayout, WeightsOfDifferentDataAreNotShared) {
  const Plan plan = build_plan(two_products(), kPlain);
  EXPECT_EQ(plan.prepare.size(), 2U) << plan::to_string(plan);
}

/// The products of a decoder layer of Llama's kind, with any number of tokens.
graph::Graph any_tokens(Graph& g) {
  const Dim tokens = g.dim("tokens", 1, 1024);
  const Tensor x = g.input("x", {tokens, kWidth});
  const Tensor h = rms_norm(x, g.weight("norm", {kWidth}));
  const auto project = [&](const char* name, const Tensor& of, int64_t outputs) {
    return matmul(of, transpose(g.weight(name, {outputs, of.dim(-1)})));
  };
  const Tensor gated = silu(project("gate", h, 512)) * project("up", h, 512);
  return with_outputs(g, {x + project("down", gated, kWidth)});
}

TEST(WeightLayout, OneCopyServesAnyNumberOfTokensAndIsMadeOnce) {
  Graph g;
  const graph::Graph graph = any_tokens(g);
  const Plan plan = build_plan(graph, kPlainHere);
  const int64_t weights = 3 * kWidth * 512 * 4;
  EXPECT_LE(prepared_bytes(plan), weights + weights / 8) << plan::to_string(plan);
  for (const PlanStep& step : plan.prepare) {
    const auto& launch = std::get<LaunchStep>(step.action);
    EXPECT_TRUE(launch.scalars.empty()) << step.label;
    EXPECT_TRUE(launch.work.constant_value().has_value()) << step.label;
  }
  const auto program = plan::load_plan(plan);
  const auto prompt = random_inputs(graph, {{"tokens", 64}}, 1);
  auto one = prompt;
  one.insert_or_assign("x", random_inputs(graph, {{"tokens", 1}}, 2).at("x"));
  const auto bytes_after = [&](const auto& data, size_t expected) {
    const support::TraceRecording recording;
    results(*program, data);
    EXPECT_EQ(preparations(recording), expected);
    return program->working_bytes();
  };
  const int64_t bytes = bytes_after(prompt, plan.prepare.size());
  EXPECT_EQ(bytes_after(one, 0), bytes);
  EXPECT_EQ(bytes_after(prompt, 0), bytes);
}

}  // namespace
}  // namespace luminal::compiler

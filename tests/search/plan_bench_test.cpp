// Whole plans that a search compares: one that gives something else anywhere is rejected, one that
// rounds elsewhere is not.
#include "luminal/compiler/plan_bench.h"

#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <set>

#include "luminal/compiler/build_plan.h"
#include "luminal/luminal.h"

namespace luminal::compiler {
namespace {

using search::Measurement;
using search::Rejected;
using search::Timing;
using Write = std::function<Tensor(Graph&)>;

Plan plan_of(const Write& write, const Options& options = {}) {
  Graph g;
  const Tensor y = write(g);
  graph::Graph graph = g.ir();
  graph.add_output("y", y.edge());
  return build_plan(graph, options);
}

/// What becomes of a plan beside another one.
Measurement beside(const std::function<Plan()>& first, const std::function<Plan()>& other) {
  const Options options;
  PlanBench bench([&](const std::string& name) { return name == "first" ? first() : other(); },
                  options, {.seconds = 0.001, .least_samples = 1, .most_samples = 1});
  return bench.try_out({"first", "other"}).results[1];
}

void expect_rejected(const Write& right, const Write& wrong, const std::string& what) {
  const Measurement result = beside([&] { return plan_of(right); }, [&] { return plan_of(wrong); });
  const auto* rejected = std::get_if<Rejected>(&result);
  ASSERT_NE(rejected, nullptr) << what << ": " << search::to_string(result);
  EXPECT_EQ(rejected->why, Rejected::Why::kWrongResult) << what << ": " << rejected->detail;
}

TEST(PlanBench, IntegersAreComparedExactly) {
  const auto counted = [](double add) {
    return [=](Graph& g) { return cast(g.input("x", {1000}) + add, DType::kI32); };
  };
  expect_rejected(counted(10), counted(5000), "integers of floats");
  const auto shifted = [](int64_t add) {
    return [=](Graph& g) {
      const Tensor x = g.input("x", {1000}, DType::kI64);
      return x + cast(full(g, {}, static_cast<double>(add), f32), DType::kI64);
    };
  };
  expect_rejected(shifted(3), shifted(4), "integers");
  const auto compared = [](double add) {
    return [=](Graph& g) { return g.input("x", {1000}) < full(g, {}, add, f32); };
  };
  expect_rejected(compared(0), compared(0.01), "bools");
}

TEST(PlanBench, APlanAloneIsNotRunOnMovedData) {
  std::set<double> seen;
  const Write noting = [&](Graph& g) {
    return custom("note", {g.input("x", {100})}, f32, {100},
                  [&](std::span<const graph::Array> in, graph::Array& out) {
                    seen.insert(in[0].at(7).as_double());
                    out = in[0];
                  });
  };
  const Options options;
  PlanBench bench([&](const std::string&) { return plan_of(noting); }, options,
                  {.seconds = 0.001, .least_samples = 1, .most_samples = 1});
  bench.try_out({"first"});
  EXPECT_EQ(seen.size(), 1U);
  bench.try_out({"first", "other"});
  EXPECT_GT(seen.size(), 1U) << "what is expected was not found";
}

TEST(PlanBench, OtherWorkIsNoticedHoweverQuicklyPlansAreCompared) {
  const auto begin = std::chrono::steady_clock::now();
  // Others have more processors than there are.
  const auto times = [&]() -> std::optional<search::ProcessorTimes> {
    const std::chrono::duration<double> passed = std::chrono::steady_clock::now() - begin;
    return search::ProcessorTimes{passed.count(), 1000 * passed.count(), 0.0};
  };
  const Write twice = [](Graph& g) { return g.input("x", {100}) * 2.0F; };
  const Options options;
  PlanBench bench([&](const std::string&) { return plan_of(twice); }, options,
                  {.seconds = 0.001, .least_samples = 1, .most_samples = 1}, times);
  for (int batch = 0; batch < 2; ++batch)
    EXPECT_TRUE(bench.try_out({"first", "other"}).unreliable) << batch;
}

TEST(PlanBench, OneWrongElementIsFound) {
  const auto with_last = [](double last) {
    return [=](Graph& g) {
      const Tensor y = g.input("x", {100'000}) * 2.0F;
      const Tensor one = full(g, {1}, last, f32);
      return concat({slice(y, 0, {0, 99'999}), one}, 0);
    };
  };
  expect_rejected(with_last(0.25), with_last(0.26), "an element");
  expect_rejected(with_last(0.25), with_last(NAN), "a NaN");
  expect_rejected(with_last(NAN), with_last(0.25), "no NaN");
  expect_rejected(with_last(INFINITY), with_last(0.25), "no infinity");
}

TEST(PlanBench, PositionsAreInRangeWhereverTheyAreUsed) {
  const std::vector<std::pair<const char*, Write>> cases = {
      {"gather",
       [](Graph& g) {
         return embedding(g.input("t", {9, 33}), g.input("i", {57}, i32));
       }},
      {"scatter",
       [](Graph& g) {
         const Tensor x = g.input("x", {9, 33});
         return index_put(x, 0, g.input("i", {57}, i32), g.input("u", {57, 33}));
       }},
      {"both", [](Graph& g) {
         const Tensor from = embedding(g.input("h", {300, 24}), g.input("src", {200}, i32));
         return index_put(zeros(g, {10, 24}), 0, g.input("dst", {200}, i32), from,
                          ScatterMode::kAdd);
       }}};
  for (const auto& [name, write] : cases) {
    const auto plan = [&] { return plan_of(write); };
    const Measurement result = beside(plan, plan);
    EXPECT_TRUE(std::holds_alternative<Timing>(result))
        << name << ": " << search::to_string(result);
  }
}

TEST(PlanBench, DataThatDoesNotFitIsNoFaultOfAPlan) {
  const auto positions = [](double first) {
    return [=](Graph& g) {
      const Tensor i = g.input("i", {57}, i32) + cast(full(g, {}, first, f32), i32);
      return embedding(g.input("t", {9, 33}), i);
    };
  };
  const auto plan_from = [&](double first) { return [=] { return plan_of(positions(first)); }; };
  const Measurement none = beside(plan_from(1000), plan_from(1000));
  ASSERT_TRUE(std::holds_alternative<Rejected>(none)) << search::to_string(none);
  EXPECT_EQ(std::get<Rejected>(none).why, Rejected::Why::kInterrupted) << search::to_string(none);
  // What the first plan ran on the others have to run on.
  const Measurement wrong = beside(plan_from(0), plan_from(1000));
  ASSERT_TRUE(std::holds_alternative<Rejected>(wrong)) << search::to_string(wrong);
  EXPECT_NE(std::get<Rejected>(wrong).why, Rejected::Why::kInterrupted) << search::to_string(wrong);
}

TEST(PlanBench, PlansThatRoundElsewhereAreRight) {
  const std::vector<std::pair<const char*, Write>> cases = {
      {"layers",
       [](Graph& g) {
         Tensor x = g.input("x", {32, 256});
         for (const char* name : {"a", "b", "c"})
           x = layer_norm(gelu_tanh(matmul(x, g.weight(name, {256, 256}))), 1);
         return x;
       }},
      {"narrow layers",
       [](Graph& g) {
         Tensor x = g.input("x", {32, 256}, bf16);
         for (const char* name : {"a", "b", "c"})
           x = layer_norm(gelu_tanh(matmul(x, g.weight(name, {256, 256}, bf16))), 1);
         return x;
       }},
      {"narrow inside",
       [](Graph& g) {
         const Tensor x = cast(g.input("x", {32, 256}), bf16);
         const Tensor w = cast(g.weight("w", {256, 256}), bf16);
         return cast(softmax(matmul(x, w), -1), f32);
       }},
      {"no floats to move",
       [](Graph& g) {
         const Tensor x = cast(g.input("x", {32, 256}, DType::kI32), f32);
         return softmax(sin(x) * 3.0F, -1);
       }},
      {"largest", [](Graph& g) {
         return argmax(g.input("x", {64, 1000}) * 3.0F, -1);
       }}};
  Options plain;
  plain.reassociate = false;
  plain.rules = false;
  plain.round_each = true;
  for (const auto& [name, write] : cases) {
    const Measurement result =
        beside([&] { return plan_of(write); }, [&] { return plan_of(write, plain); });
    EXPECT_TRUE(std::holds_alternative<Timing>(result))
        << name << ": " << search::to_string(result);
  }
}

}  // namespace
}  // namespace luminal::compiler

// Step mode: healthy plans of whole networks pass, and a kernel that was tampered with is named
// before anything that reads its result.
#include "luminal/plan/step_check.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>

#include "luminal/compiler/buckets.h"
#include "luminal/compiler/build_plan.h"
#include "luminal/compiler/make_compiled.h"
#include "luminal/graph/npy.h"
#include "luminal/plan/step_replay.h"
#include "luminal/support/error.h"
#include "luminal/support/file.h"
#include "tests/outline/networks.h"
#include "tests/outline/samples.h"

namespace luminal::plan {
namespace {

using graph::Array;
using networks::IR;

Plan checked_plan(const IR& graph, compiler::Options options = {}) {
  options.check_steps = true;
  options.keep_text = true;
  return compiler::build_plan(graph, options);
}

StepCheckReport check(Plan plan, const kernel::test::Sample& sample) {
  graph::RunRequest request;
  for (const auto& [name, value] : sample.inputs) request.inputs[name] = &value;
  request.dims = sample.dims;
  return check_steps(*load_plan(std::move(plan)), request);
}

void expect_healthy(const IR& graph, uint64_t seed, const compiler::Options& options = {}) {
  const Plan plan = checked_plan(graph, options);
  const StepCheckReport report = check(plan, compiler::sample_of(graph, seed));
  EXPECT_TRUE(report.passed()) << to_string(report, plan);
  EXPECT_EQ(report.steps, plan.prepare.size() + plan.steps.size());
  EXPECT_GT(report.elements, 0);
  EXPECT_EQ(report.undecided, 0);
  EXPECT_EQ(report.outputs.size(), graph.outputs().size());
}

TEST(StepCheck, PassesEveryKernelOfHealthyNetworks) {
  expect_healthy(networks::mlp(3), 1);
  expect_healthy(networks::gpt(1), 2);
  expect_healthy(networks::llama(2), 3);
  expect_healthy(networks::mixture(1, 2), 6);
  expect_healthy(networks::resnet({1, 1}), 7);
  expect_healthy(networks::lstm(2), 8);
  expect_healthy(networks::elementwise_chain(5), 9);
}

TEST(StepCheck, PassesPlansThatPrepareWeights) {
  Graph g;
  const Tensor x = g.input("x", {9, 40}), w = g.input("w", {48, 40});
  const IR graph = networks::finished(g, {{"y", relu(matmul(x, transpose(w)))}});
  const Plan plan = checked_plan(graph, {.weights = {"w"}});
  ASSERT_FALSE(plan.prepare.empty());
  expect_healthy(graph, 1, {.weights = {"w"}});
}

/// The same values, by way of the host: nothing is fused across it.
Tensor apart(const Tensor& x) {
  return custom("same", {x}, x.dtype(), x.shape(),
                [](std::span<const Array> operands, Array& result) { result = operands[0]; });
}

/// Three kernels that read two tensors and write one, with host nodes between them.
IR three_kernels(const Dim& n, DType dtype = f32) {
  Graph g;
  const Tensor x = g.input("x", {n}, dtype), w = g.input("w", {n}, dtype);
  return networks::finished(g, {{"y", apart(apart(x + w) * w) - w}});
}

/// The steps that launch, in order.
std::vector<size_t> launches(const Plan& plan) {
  std::vector<size_t> result;
  for (size_t k = 0; k < plan.steps.size(); ++k)
    if (std::holds_alternative<LaunchStep>(plan.steps[k].action)) result.push_back(k);
  return result;
}

LaunchStep& launch(Plan& plan, size_t step) {
  return std::get<LaunchStep>(plan.steps[step].action);
}

/// A directory of this test's own.
std::string scratch_directory() {
  const auto* test = testing::UnitTest::GetInstance()->current_test_info();
  return fmt::format("{}/luminal_steps_{}_{}", testing::TempDir(), test->name(), getpid());
}

StepCheckReport check_and_save(const Plan& plan, const kernel::test::Sample& sample) {
  graph::RunRequest request;
  for (const auto& [name, value] : sample.inputs) request.inputs[name] = &value;
  request.dims = sample.dims;
  return check_steps(*load_plan(plan), request, {.directory = scratch_directory()});
}

TEST(StepCheck, NamesTheKernelThatRunsOtherCodeAndNotThoseAfterIt) {
  const IR graph = three_kernels(100);
  const kernel::test::Sample sample = compiler::sample_of(graph, 1);
  const Plan healthy = checked_plan(graph);
  const std::vector<size_t> order = launches(healthy);
  ASSERT_EQ(order.size(), 3U);
  for (size_t wrong = 0; wrong < order.size(); ++wrong) {
    Plan plan = healthy;
    launch(plan, order[wrong]).kernel = launch(plan, order[(wrong + 1) % 3]).kernel;
    const StepCheckReport report = check_and_save(plan, sample);
    ASSERT_TRUE(report.fault);
    EXPECT_EQ(report.fault->kind, StepFault::Kind::kWrongResult);
    EXPECT_EQ(report.fault->step, order[wrong]);
    EXPECT_TRUE(report.outputs.empty());
    const std::string text = to_string(report, plan);
    EXPECT_EQ(text.find(fmt::format("step {} of 5 is wrong: {} (%", order[wrong] + 1,
                                    plan.steps[order[wrong]].label)),
              0U)
        << text;
    EXPECT_NE(text.find("100 elements are wrong; the worst, ["), std::string::npos) << text;
    EXPECT_NE(text.find("schedule: " + plan.steps[order[wrong]].schedule), std::string::npos);
    EXPECT_NE(text.find("it should compute\n    %0: f32["), std::string::npos) << text;
    EXPECT_NE(text.find("its loops are\n"), std::string::npos) << text;
    EXPECT_NE(text.find("luminal-replay " + report.fault->replay_file), std::string::npos) << text;
  }
}

TEST(StepCheck, TheBucketThatRunsIsTheOneThatIsChecked) {
  const IR graph = three_kernels(Dim::variable("n", {1, 1000}));
  Plan plan = compiler::build_buckets(
      graph, {.buckets = {{"n", {8, 1000}}}, .keep_text = true, .check_steps = true});
  ASSERT_EQ(plan.variants.size(), 1U);
  const bool is_first = plan.made_for.at("n") == 1000;
  Plan& large = is_first ? plan : plan.variants[0];
  const std::vector<size_t> order = launches(large);
  launch(large, order[0]).kernel = launch(large, order[1]).kernel;
  for (const int64_t n : {5, 100}) {
    kernel::test::Sample sample = compiler::sample_of(graph, 1);
    sample.dims["n"] = n;
    for (auto& [name, value] : sample.inputs) {
      value = Array(f32, {n});
      for (int64_t k = 0; k < n; ++k) value.set(k, Scalar::of(f32, static_cast<double>(k + 2)));
    }
    const StepCheckReport report = check(plan, sample);
    ASSERT_EQ(report.passed(), n == 5);
    if (!report.passed()) {
      EXPECT_EQ(report.fault->step, order[0]);
    }
  }
}

TEST(StepCheck, ASavedStepIsWrongAgainUntilItsCodeIsRight) {
  const Dim n = Dim::variable("n", {1, 1000});
  for (const DType dtype : {f32, bf16, i32, i4}) {
    const IR graph = three_kernels(n, dtype);
    kernel::test::Sample sample = compiler::sample_of(graph, 1);
    sample.dims["n"] = 3;
    const Plan healthy = checked_plan(graph);
    const std::vector<size_t> order = launches(healthy);
    ASSERT_EQ(order.size(), 3U);
    Plan plan = healthy;
    launch(plan, order[1]).kernel = launch(plan, order[2]).kernel;
    const StepCheckReport report = check_and_save(plan, sample);
    ASSERT_TRUE(report.fault) << name(dtype);
    StepReplay replay = load_step(report.fault->replay_file);
    EXPECT_EQ(replay.report.find("step 3 of 5 is wrong"), 0U) << replay.report;
    ASSERT_EQ(replay.inputs.size(), 2U);
    EXPECT_TRUE(replay.inputs.contains("w"));
    EXPECT_EQ(replay.inputs.at("w").dtype(), dtype);
    EXPECT_TRUE(replay.inputs.at("w").identical(sample.inputs.at("w")));
    EXPECT_EQ(replay.dims, (graph::DimValues{{"n", 3}}));
    const StepCheckReport again = run_step(replay);
    ASSERT_TRUE(again.fault);
    EXPECT_EQ(to_string(again.fault->comparison), to_string(report.fault->comparison));
    replay.plan.kernels.back() = healthy.kernels[launch(plan, order[0]).kernel];
    EXPECT_FALSE(run_step(replay).passed());
    replay.plan.kernels.back() =
        healthy.kernels[std::get<LaunchStep>(healthy.steps[order[1]].action).kernel];
    EXPECT_TRUE(run_step(replay).passed());
  }
}

/// What luminal-replay, which lies beside this program, says of a file, and how it ends.
std::pair<std::string, int> replayed(const std::string& file) {
  const auto program =
      std::filesystem::read_symlink("/proc/self/exe").parent_path() / "luminal-replay";
  FILE* pipe = popen(fmt::format("{} {} 2>&1", program.string(), file).c_str(), "r");
  std::string text;
  char part[256];
  while (fgets(part, sizeof part, pipe) != nullptr) text += part;
  return {text, WEXITSTATUS(pclose(pipe))};
}

TEST(StepCheck, AnotherProcessWithoutACompilerRunsTheSavedStep) {
  const IR graph = three_kernels(100);
  const kernel::test::Sample sample = compiler::sample_of(graph, 1);
  Plan plan = checked_plan(graph);
  launch(plan, launches(plan)[1]).kernel = launch(plan, launches(plan)[2]).kernel;
  const StepCheckReport report = check_and_save(plan, sample);
  ASSERT_TRUE(report.fault);
  const auto [wrong, wrong_end] = replayed(report.fault->replay_file);
  EXPECT_EQ(wrong.find("the fault is still there: step 1 of 1 is wrong: mul (%"), 0U) << wrong;
  EXPECT_EQ(wrong_end, 1);
  StepReplay replay = load_step(report.fault->replay_file);
  Plan healthy = checked_plan(graph);
  replay.plan.kernels[0] = healthy.kernels[launch(healthy, launches(healthy)[1]).kernel];
  const auto [right, right_end] = replayed(save_step(replay, scratch_directory()));
  EXPECT_EQ(right.find("the fault is gone: 1 steps are right: 1 kernels"), 0U) << right;
  EXPECT_EQ(right_end, 0);
  EXPECT_EQ(replayed("/nowhere").second, 2);
  EXPECT_EQ(replayed("--help").first.find("usage: luminal-replay FILE"), 0U);
}

TEST(StepCheck, FindsTheOneElementThatWasLeftOut) {
  const IR graph = three_kernels(1000);
  Plan plan = checked_plan(graph);
  LaunchStep& last = launch(plan, launches(plan).back());
  for (Expr& scalar : last.scalars)
    if (scalar.constant_value()) scalar = scalar - 1;
  const kernel::test::Sample sample = compiler::sample_of(graph, 3);
  last.items = last.items - 1;
  const StepCheckReport report = check(plan, sample);
  ASSERT_TRUE(report.fault);
  EXPECT_EQ(report.fault->step, launches(plan).back());
  EXPECT_GT(report.fault->comparison.wrong, 0);
}

TEST(StepCheck, SmallErrorsAreSeenInLargeAndSmallValues) {
  Graph g;
  const Tensor x = g.input("x", {64});
  const IR graph = networks::finished(g, {{"y", exp(x) * 3.0}});
  const IR other = [] {
    Graph h;
    const Tensor z = h.input("x", {64});
    return networks::finished(h, {{"y", exp(z) * 3.0001}});
  }();
  Plan plan = checked_plan(graph);
  ASSERT_EQ(plan.kernels.size(), 1U);
  plan.kernels = checked_plan(other).kernels;
  kernel::test::Sample sample = compiler::sample_of(graph, 3);
  Array values(f32, {64});
  for (int64_t i = 0; i < 64; ++i)
    values.set(i, graph::Scalar::of(f32, 2.0 * static_cast<double>(i) - 70.0));
  sample.inputs.at("x") = values;
  const StepCheckReport report = check(plan, sample);
  ASSERT_TRUE(report.fault);
  EXPECT_GE(report.fault->comparison.wrong, 56);  // an eighth may be far smaller than the rest
}

TEST(StepCheck, ASumThatCancelsIsNotTakenForAnError) {
  Graph g;
  const Tensor x = g.input("x", {4, 4096});
  const IR graph = networks::finished(g, {{"y", sum(x, 1)}});
  kernel::test::Sample sample = compiler::sample_of(graph, 3);
  Array values(f32, {4, 4096});
  for (int64_t i = 0; i < values.size(); ++i)
    values.set(i, graph::Scalar::of(f32, (i % 2 == 0 ? 1.0 : -1.0) *
                                             (1000.1 + static_cast<double>(i / 2 % 777) / 7.0)));
  sample.inputs.at("x") = values;
  const Plan plan = checked_plan(graph);
  const StepCheckReport report = check(plan, sample);
  EXPECT_TRUE(report.passed()) << to_string(report, plan);
}

TEST(StepCheck, NaNAndInfinityAreEqualToThemselvesOnly) {
  const IR graph = three_kernels(8);
  kernel::test::Sample sample = compiler::sample_of(graph, 3);
  Array& x = sample.inputs.at("x");
  x.set(1, graph::Scalar::of(f32, NAN));
  x.set(2, graph::Scalar::of(f32, INFINITY));
  x.set(3, graph::Scalar::of(f32, -INFINITY));
  const Plan healthy = checked_plan(graph);
  const StepCheckReport good = check(healthy, sample);
  EXPECT_TRUE(good.passed()) << to_string(good, healthy);
  Array zeros(f32, {8});
  sample.inputs.at("w") = zeros;
  sample.inputs.at("x") = zeros;
  sample.inputs.at("x").set(2, graph::Scalar::of(f32, INFINITY));
  // inf + 0 is inf where inf * 0 is NaN; the other elements are equal.
  Plan plan = healthy;
  launch(plan, launches(plan)[0]).kernel = launch(plan, launches(plan)[1]).kernel;
  const StepCheckReport report = check(plan, sample);
  ASSERT_TRUE(report.fault);
  EXPECT_EQ(report.fault->step, launches(plan)[0]);
  EXPECT_EQ(report.fault->comparison.wrong, 1);
  EXPECT_EQ(report.fault->comparison.worst->place, "[2]");
}

TEST(StepCheck, AWrongPreparationIsSeenInTheKernelThatUsesIt) {
  Graph g;
  const Tensor x = g.input("x", {9, 40}), w = g.input("w", {48, 40});
  const IR graph = networks::finished(g, {{"y", relu(matmul(x, transpose(w)))}});
  Plan plan = checked_plan(graph, {.weights = {"w"}});
  ASSERT_EQ(plan.prepare.size(), 1U);
  auto& prepare = std::get<LaunchStep>(plan.prepare[0].action);
  prepare.items = prepare.items - 1;
  const StepCheckReport report = check_and_save(plan, compiler::sample_of(graph, 5));
  ASSERT_TRUE(report.fault);
  EXPECT_EQ(report.fault->step, plan.prepare.size() + launches(plan).back());
  EXPECT_FALSE(run_step(load_step(report.fault->replay_file)).passed());
}

TEST(StepCheck, NamesTheStepThatWritesOverATensorThatIsNeededLater) {
  Graph g;
  const Tensor x = g.input("x", {300}), w = g.input("w", {300});
  const Tensor a = apart(x + w), b = apart(x * w);
  const IR graph = networks::finished(g, {{"y", sum(a * b, 0)}});
  Plan plan = checked_plan(graph);
  // The two results of the host lie in one slot from now on.
  std::vector<PlanBuffer*> broken;
  for (const PlanStep& step : plan.steps)
    if (const auto* host = std::get_if<HostStep>(&step.action))
      broken.push_back(&plan.buffers[host->result]);
  ASSERT_EQ(broken.size(), 2U);
  ASSERT_EQ(broken[0]->place, Place::kSlot);
  broken[1]->index = broken[0]->index;
  const StepCheckReport report = check(plan, compiler::sample_of(graph, 5));
  ASSERT_TRUE(report.fault);
  EXPECT_EQ(report.fault->kind, StepFault::Kind::kOverwritten);
  EXPECT_EQ(report.fault->tensor, broken[0]->name);
  const PlanStep& step = plan.steps[report.fault->step];
  EXPECT_EQ(&plan.buffers[std::get<HostStep>(step.action).result], broken[1]);
  EXPECT_NE(
      to_string(report, plan)
          .find("it wrote to " + broken[0]->name + ", which is not its own and is needed later"),
      std::string::npos);
}

TEST(StepCheck, SeesThatAStepWroteToTheCallersData) {
  Plan plan = checked_plan(three_kernels(50));
  const kernel::test::Sample sample = compiler::sample_of(three_kernels(50), 5);
  LaunchStep& first = launch(plan, launches(plan)[0]);
  for (size_t k = 0; k < first.buffers.size(); ++k)
    if (plan.buffers[first.buffers[k]].place != Place::kInput)
      for (const size_t input : plan.definitions[0].inputs) first.buffers[k] = input;
  const StepCheckReport report = check(plan, sample);
  ASSERT_TRUE(report.fault);
  EXPECT_EQ(report.fault->step, launches(plan)[0]);
}

TEST(StepCheck, AnInputThatIsGivenAwayMayBeWrittenOver) {
  const IR graph = networks::llama(1);
  kernel::test::Sample sample = compiler::sample_of(graph, 5);
  graph::RunRequest request;
  for (const auto& [name, value] : sample.inputs) request.inputs[name] = &value;
  request.dims = sample.dims;
  request.donated = {"l0_keys", "l0_values"};
  const Plan plan = checked_plan(graph);
  ASSERT_FALSE(plan.donations.empty());
  const StepCheckReport report = check_steps(*load_plan(plan), request);
  EXPECT_TRUE(report.passed()) << to_string(report, plan);
}

// What a wrong rule would do: steps that compute what they should, but not what the graph says.
TEST(StepCheck, AnOutputThatNoStepExplainsIsTheFaultOfARule) {
  Graph g;
  const Tensor x = g.input("x", {20});
  const IR graph = networks::finished(g, {{"z", x * 2.0}, {"y", exp(x)}});
  Plan plan = checked_plan(graph);
  EXPECT_TRUE(check(plan, compiler::sample_of(graph, 5)).passed());
  plan.graph = networks::finished(g, {{"z", x * 2.0}, {"y", exp(x * 1.0001)}});
  const StepCheckReport report = check_and_save(plan, compiler::sample_of(graph, 5));
  ASSERT_TRUE(report.fault);
  EXPECT_EQ(report.fault->kind, StepFault::Kind::kWrongOutput);
  EXPECT_EQ(report.fault->tensor, "y");
  const std::string said = to_string(report, plan);
  EXPECT_NE(said.find("output \"y\" is wrong"), std::string::npos) << said;
  EXPECT_NE(said.find("a rule or law"), std::string::npos) << said;
}

TEST(StepCheck, AFunctionThatGivesSomethingElseEachTimeIsWrong) {
  Graph g;
  const Tensor x = g.input("x", {3});
  int calls = 0;
  const Tensor y = custom("counter", {x}, f32, {3}, [&](std::span<const Array>, Array& result) {
    for (float& value : result.mutable_as<float>()) value = static_cast<float>(calls);
    ++calls;
  });
  const IR graph = networks::finished(g, {{"y", y}});
  const Plan plan = checked_plan(graph);
  const StepCheckReport report = check_and_save(plan, compiler::sample_of(graph, 5));
  ASSERT_TRUE(report.fault);
  EXPECT_EQ(report.fault->replay_file, "");  // no file can hold the function
  EXPECT_NE(to_string(report, plan).find("step 1 of 1 is wrong: custom"), std::string::npos);
}

TEST(StepCheck, HostNodesAreCheckedAndRunAlone) {
  Graph g;
  const Tensor x = g.input("x", {4, 6});
  const IR graph = networks::finished(g, {{"y", argsort(x * 2.0, 1)}});
  expect_healthy(graph, 4);
  const Plan plan = checked_plan(graph);
  const auto host = std::find_if(plan.steps.begin(), plan.steps.end(), [](const PlanStep& step) {
    return std::holds_alternative<HostStep>(step.action);
  });
  ASSERT_NE(host, plan.steps.end());
  StepFault fault;
  fault.step = static_cast<size_t>(host - plan.steps.begin());
  fault.inputs = {compiler::sample_of(graph, 4).inputs.at("x")};
  const auto replay = replay_of(plan, fault, {});
  ASSERT_TRUE(replay);
  const StepReplay loaded = load_step(save_step(*replay, scratch_directory()));
  EXPECT_TRUE(loaded.inputs.at("operand_0").identical(fault.inputs[0]));
  const StepCheckReport report = run_step(loaded);
  EXPECT_TRUE(report.passed());
  EXPECT_EQ(report.checked, 1U);
  EXPECT_EQ(report.elements, 24);
}

TEST(StepCheck, EveryRunOfACheckedProgramIsChecked) {
  const IR graph = three_kernels(10);
  Plan plan = checked_plan(graph);
  const kernel::test::Sample sample = compiler::sample_of(graph, 4);
  graph::RunRequest request;
  for (const auto& [name, value] : sample.inputs) request.inputs[name] = &value;
  const std::vector<Array> expected = graph::make_interpreter(graph)->run(request);
  auto healthy = compiler::make_compiled(graph, {.check_steps = true});
  for (int run = 0; run < 2; ++run)
    EXPECT_EQ(healthy->run(request)[0].to_vector<float>(), expected[0].to_vector<float>());
  launch(plan, launches(plan)[1]).kernel = launch(plan, launches(plan)[2]).kernel;
  auto broken = with_checked_steps(load_plan(plan));
  try {
    broken->run(request);
    FAIL() << "a wrong kernel went unseen";
  } catch (const InternalError& error) {
    EXPECT_NE(std::string(error.what()).find("step 3 of 5 is wrong"), std::string::npos);
  }
}

TEST(StepCheck, PlansWithoutDefinitionsCannotBeChecked) {
  const IR graph = three_kernels(10);
  try {
    check(compiler::build_plan(graph), compiler::sample_of(graph, 4));
    FAIL();
  } catch (const UserError& error) {
    EXPECT_STREQ(error.what(),
                 "check_steps: the plan does not say what its kernels should compute; compile it "
                 "with check_steps");
  }
}

TEST(StepCheck, FilesThatAreNoStepsAreRefused) {
  const std::string directory = scratch_directory();
  support::create_directories(directory);
  const std::string path = directory + "/x.npz";
  const auto error_of = [&] {
    try {
      load_step(path);
    } catch (const UserError& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  EXPECT_NE(error_of(), "");  // there is no file
  graph::save_npz(path, {{"x", Array(f32, {2})}});
  EXPECT_EQ(error_of(), fmt::format("replay: {} is no saved step: it has no plan", path));
  Plan plan = checked_plan(three_kernels(10));
  launch(plan, launches(plan)[1]).kernel = launch(plan, launches(plan)[2]).kernel;
  const StepCheckReport report = check_and_save(plan, compiler::sample_of(three_kernels(10), 4));
  ASSERT_TRUE(report.fault);
  const std::string whole = support::read_file(report.fault->replay_file);
  for (size_t cut = 0; cut < whole.size(); cut += 97) {
    support::write_file_atomic(path, whole.substr(0, cut));
    EXPECT_NE(error_of(), "") << cut;
  }
  // Bytes of entries have a checksum. Of the archive's own, some mean nothing to us, such as dates.
  size_t refused = 0, changed = 0;
  for (size_t at = 0; at < whole.size(); at += 64, ++changed) {
    std::string damaged = whole;
    damaged[at] = static_cast<char>(damaged[at] ^ 0x55);
    support::write_file_atomic(path, damaged);
    refused += error_of().empty() ? 0 : 1;
  }
  EXPECT_GT(refused, changed * 2 / 3);
}

}  // namespace
}  // namespace luminal::plan

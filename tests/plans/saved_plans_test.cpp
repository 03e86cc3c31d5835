// Plans that were saved run elsewhere as they would have here.
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <fstream>

#include "luminal/plan/compiled_program.h"
#include "luminal/plan/plan_file.h"
#include "luminal/support/file.h"
#include "plan_samples.h"

namespace luminal::test {
namespace {

/// What a command printed, on both streams.
std::string output_of(const std::string& command) {
  FILE* pipe = popen((command + " 2>&1").c_str(), "r");
  std::string text;
  char part[256];
  while (fgets(part, sizeof part, pipe) != nullptr) text += part;
  pclose(pipe);
  return text;
}

/// The program that runs plans and links no compiler; it lies beside this one.
std::string runner() {
  return std::filesystem::read_symlink("/proc/self/exe").parent_path() / "luminal-run";
}

TEST(SavedPlans, GiveTheSameBitsForEveryValueOfTheDims) {
  const Folder folder;
  const Sample sample;
  Executable exe = compile(sample.g, sample.outputs());
  exe.save(folder.file("plan"));
  Executable loaded = load(folder.file("plan"));
  ASSERT_EQ(loaded.output_count(), 3u);
  for (const int64_t rows : {1, 2, 17, 64}) {
    const std::vector<Array> expected = run(exe, rows);
    const std::vector<Array> actual = run(loaded, rows);
    for (size_t k = 0; k < expected.size(); ++k)
      EXPECT_TRUE(actual[k].identical(expected[k])) << "output " << k << " of " << rows << " rows";
  }
  EXPECT_EQ(folder.files(), 1u) << "no temporary file is left";
}

TEST(SavedPlans, KnowTheirInputsAndOutputsByName) {
  const Folder folder;
  const Sample sample;
  compile(sample.g, sample.outputs()).save(folder.file("plan"));
  Executable loaded = load(folder.file("plan"));
  Sample::set(loaded, 4);
  loaded.set(loaded.input("index"), std::vector<int64_t>{0, 1, 2, 3});
  loaded.run();
  EXPECT_TRUE(loaded.get("chosen").identical(loaded.get(2)));
  EXPECT_TRUE(loaded.get(loaded.output("order")).identical(loaded.get(1)));
  EXPECT_EQ(loaded.input("x").shape(), sample.x.shape());
  EXPECT_EQ(error_of([&] { loaded.input("z"); }),
            "input: there is no input 'z'; inputs are 'index', 'x'");
  EXPECT_EQ(error_of([&] { loaded.output("z"); }),
            "output: there is no output 'z'; outputs are 'y', 'order', 'chosen'");
  EXPECT_EQ(error_of([&] { loaded.get(3); }), "output: there is no output 3; there are 3");
  EXPECT_NE(loaded.explain().find("softmax"), std::string::npos);
}

TEST(SavedPlans, SayTheSameErrors) {
  const Folder folder;
  const Sample sample;
  Executable exe = compile(sample.g, sample.outputs());
  exe.save(folder.file("plan"));
  Executable loaded = load(folder.file("plan"));
  for (Executable* each : {&exe, &loaded}) Sample::set(*each, 4);
  for (Executable* each : {&exe, &loaded})
    each->set("index", Array::from<int64_t>(i64, {4}, std::vector<int64_t>{0, 4, 2, 3}));
  const std::string expected = error_of([&] { exe.run(); });
  EXPECT_NE(expected, "nothing was thrown");
  EXPECT_EQ(error_of([&] { loaded.run(); }), expected);
  for (Executable* each : {&exe, &loaded}) each->set("x", numbers({65, 24}, 1));
  EXPECT_EQ(error_of([&] { loaded.run(); }), error_of([&] { exe.run(); }));
}

TEST(SavedPlans, SavedAgainTheyAreTheSameBytes) {
  const Folder folder;
  const Sample sample;
  // With everything a plan may hold.
  compile(sample.g, sample.outputs(), {.compiler = {.keep_text = true, .check_steps = true}})
      .save(folder.file("first"));
  load(folder.file("first")).save(folder.file("second"));
  EXPECT_EQ(support::read_file(folder.file("first")), support::read_file(folder.file("second")));
}

TEST(SavedPlans, KeepEveryConstantOnceAndAligned) {
  const Folder folder;
  Graph g;
  const Tensor x = g.input("x", {4, 256});
  const Array weights = numbers({256, 256}, 5);
  const Array same(f32, {256, 256}, {weights.bytes().begin(), weights.bytes().end()});
  Tensor y = relu(matmul(x, g.constant(weights)));
  y = y + matmul(x + 1, g.constant(same));
  compile(g, {y}, {.simplify = false}).save(folder.file("plan"));
  EXPECT_LT(std::filesystem::file_size(folder.file("plan")), 2 * weights.bytes().size());
  const plan::Plan plan = plan::load_plan_file(folder.file("plan"));
  int constants = 0;
  for (const plan::PlanBuffer& buffer : plan.buffers) {
    if (buffer.place != plan::Place::kConstant || buffer.value.size() < 1000) continue;
    ++constants;
    EXPECT_EQ(reinterpret_cast<uintptr_t>(buffer.value.bytes().data()) % 64, 0u);
    EXPECT_TRUE(buffer.value.identical(weights));
  }
  EXPECT_GE(constants, 1);
}

TEST(SavedPlans, WriteTheirEffects) {
  const Folder folder;
  Graph g;
  const Tensor x = g.input("x", {2});
  const Tensor y = print(x * 2, "twice");
  compile(g, {y}).save(folder.file("plan"));
  Executable loaded = load(folder.file("plan"));
  loaded.set("x", {1, 2});
  std::ostringstream text;
  loaded.run({.text = &text});
  EXPECT_NE(text.str().find("twice"), std::string::npos);
  EXPECT_NE(text.str().find("= 2 4"), std::string::npos) << text.str();
}

TEST(SavedPlans, RunInAProgramThatHasNoCompiler) {
  const Folder folder;
  const Sample sample;
  Executable exe = compile(sample.g, sample.outputs());
  exe.save(folder.file("plan"));
  const std::vector<Array> expected = run(exe, 5);
  graph::save_npy(folder.file("x.npy"), exe.get(sample.x));
  graph::save_npy(folder.file("index.npy"), exe.get(sample.index));
  const std::string printed =
      output_of(fmt::format("{0} {1}/plan x={1}/x.npy index={1}/index.npy --out y={1}/y.npy --out "
                            "order={1}/order.npy --out chosen={1}/chosen.npy",
                            runner(), folder.path()));
  EXPECT_EQ(printed, "");
  EXPECT_TRUE(graph::load_npy(folder.file("y.npy")).identical(expected[0]));
  EXPECT_TRUE(graph::load_npy(folder.file("order.npy")).identical(expected[1]));
  EXPECT_TRUE(graph::load_npy(folder.file("chosen.npy")).identical(expected[2]));
  const std::string libraries = output_of("ldd " + runner());
  EXPECT_NE(libraries.find("libc"), std::string::npos) << libraries;
  EXPECT_EQ(libraries.find("LLVM"), std::string::npos) << libraries;
}

TEST(SavedPlans, TheRunnerSaysWhatAPlanTakesAndWhatIsWrong) {
  const Folder folder;
  const Sample sample;
  compile(sample.g, sample.outputs()).save(folder.file("plan"));
  EXPECT_EQ(output_of(runner() + " " + folder.file("plan")),
            "input x: f32[n, 24]\ninput index: i64[n]\noutput y: f32[n, 8]\n"
            "output order: i64[n, 8]\noutput chosen: f32[n, 40]\n");
  EXPECT_EQ(output_of(runner() + " " + folder.file("plan") + " x"),
            "luminal-run: 'x' is not NAME=VALUE; --help says more\n");
  EXPECT_EQ(output_of(runner() + " " + folder.file("plan") + " --dim n=3"),
            "run: inputs 'x' of type f32[n, 24], 'index' of type i64[n] have no data\n");
  EXPECT_EQ(output_of(runner() + " " + folder.file("none")),
            "load: \"" + folder.file("none") + "\": No such file or directory\n");
}

TEST(SavedPlans, FunctionsOfTheUserCannotBeSaved) {
  const Folder folder;
  Graph g;
  const Tensor x = g.input("x", {2});
  const Tensor y = custom("halve", {x}, f32, {2}, [](std::span<const Array> in, Array& out) {
    for (int64_t k = 0; k < 2; ++k) out.set(k, Scalar::of(f32, in[0].at(k).as_double() / 2));
  });
  const Executable exe = compile(g, {y});
  EXPECT_EQ(error_of([&] { exe.save(folder.file("plan")); }),
            "save: the plan calls the function 'halve', which is part of this program and cannot "
            "be kept in a file; leave that op out of what is saved");
  const Executable plain = compile(g, {x + 1}, {.backend = Backend::kInterpreter});
  EXPECT_EQ(error_of([&] { plain.save(folder.file("plan")); }),
            "save: the interpreter has no plan to save; compile for Backend::kCpu");
  EXPECT_EQ(folder.files(), 0u);
}

TEST(SavedPlans, AFeatureThatTheProcessorLacksIsNamed) {
  const Folder folder;
  const Sample sample;
  Executable exe = compile(sample.g, sample.outputs());
  exe.save(folder.file("plan"));
  plan::Plan plan = plan::load_plan_file(folder.file("plan"));
  plan.kernels[0].artifact.needed.insert(runtime::CpuFeature::kAmxBf16);
  plan::save_plan(plan, folder.file("amx"));
  runtime::CpuFeatures without = runtime::host_cpu().features;
  without.remove(runtime::CpuFeature::kAmxBf16);
  EXPECT_EQ(error_of([&] { plan::load_plan_file(folder.file("amx"), without); }),
            fmt::format("load: \"{}\" needs amx-bf16, which this processor ({}) lacks; compile and "
                        "save the plan here, or for a target without it",
                        folder.file("amx"), runtime::host_cpu().model));
  // What is compiled for a processor that has it asks for it whether it is used or not.
  if (!runtime::host_cpu().features.has(runtime::CpuFeature::kAmxBf16)) {
    EXPECT_NO_THROW(plan::load_plan_file(folder.file("plan"), without));
  }
}

TEST(SavedPlans, ForAProcessorThatIsNotHereAreSavedAndNotRun) {
  const codegen::CpuTarget target = codegen::cpu_target("sapphirerapids");
  if (codegen::runs_here(target)) GTEST_SKIP() << "every known processor's code runs here";
  const Folder folder;
  const Sample sample;
  Executable exe = compile(sample.g, sample.outputs(), {.compiler = {.target = target}});
  const std::string missing = target.features.without(runtime::host_cpu().features).to_string();
  EXPECT_EQ(
      error_of([&] { run(exe, 4); }),
      fmt::format("run: the program was compiled for a processor with {}, which this one ({}) "
                  "lacks; save its plan and run that there, or compile for this one",
                  missing, runtime::host_cpu().model));
  exe.save(folder.file("plan"));
  const plan::Plan plan = plan::load_plan_file(folder.file("plan"), target.features);
  EXPECT_GT(plan.kernels.size(), 2u);
  for (const plan::PlanKernel& kernel : plan.kernels)
    EXPECT_EQ(kernel.artifact.needed, target.features);
  EXPECT_EQ(error_of([&] { load(folder.file("plan")); }),
            fmt::format("load: \"{}\" needs {}, which this processor ({}) lacks; compile and save "
                        "the plan here, or for a target without it",
                        folder.file("plan"), missing, runtime::host_cpu().model));
  EXPECT_EQ(error_of([&] {
              compile(
                  sample.g, sample.outputs(),
                  {.mode = Mode::kSearch, .budget_seconds = 0.1, .compiler = {.target = target}});
            }),
            "compile: a search runs what it compares, and this processor cannot run code for "
            "sapphirerapids; compile in fast mode, or search there");
}

TEST(SavedPlans, PathsThatCannotBeWrittenAreNamed) {
  const Folder folder;
  const Sample sample;
  const Executable exe = compile(sample.g, sample.outputs());
  EXPECT_EQ(error_of([&] { exe.save(folder.file("none/plan")); }),
            "save: \"" + folder.file("none/plan") + "\": No such file or directory");
  EXPECT_EQ(error_of([&] { exe.save("/proc/plan"); }).substr(0, 19), "save: \"/proc/plan\":");
}

TEST(SavedPlans, AFullDiskLeavesTheOldFile) {
  const Folder folder;
  const Sample sample;
  Executable exe = compile(sample.g, sample.outputs());
  exe.save(folder.file("plan"));
  const std::string before = support::read_file(folder.file("plan"));
  const pid_t child = fork();
  if (child == 0) {
    // A limit on the size of files stands for a disk that is full.
    std::signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{2048, 2048};
    setrlimit(RLIMIT_FSIZE, &limit);
    const std::string error = error_of([&] { exe.save(folder.file("plan")); });
    _exit(error.starts_with("write failed with code") &&
                  error.find(folder.file("plan")) != std::string::npos
              ? 0
              : 1);
  }
  int status = -1;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(support::read_file(folder.file("plan")), before);
  EXPECT_EQ(folder.files(), 1u) << "no temporary file is left";
}

}  // namespace
}  // namespace luminal::test

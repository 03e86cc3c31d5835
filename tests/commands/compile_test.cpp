// `luminal compile` and `luminal graph`: what they write is read by the other commands.
#include <algorithm>
#include <filesystem>

#include "commands.h"
#include "luminal/cli/cases.h"
#include "luminal/cli/command_line.h"
#include "luminal/codegen/llvm/cpu_target.h"
#include "luminal/graph/text.h"
#include "luminal/plan/plan_file.h"
#include "luminal/support/file.h"

namespace luminal::commands {
namespace {

namespace fs = std::filesystem;

class Compile : public testing::Test {
 protected:
  static Said done(const std::vector<std::string>& line) {
    Said said = say(line);
    EXPECT_EQ(said.code, cli::kDone) << said.err;
    return said;
  }
  static void expect_error(const std::vector<std::string>& line, int code,
                           const std::string& part) {
    const Said said = say(line);
    EXPECT_EQ(said.code, code) << said.out;
    EXPECT_TRUE(has(said.err, part));
  }

  Folder folder_;
};

TEST_F(Compile, EveryCaseIsWrittenAsItIsReadBack) {
  for (const cli::Case& each : cli::cases()) {
    const std::string text = done({"graph", each.name}).out;
    EXPECT_EQ(graph::to_text(graph::parse_text(text)), text) << each.name;
    EXPECT_EQ(text, graph::to_text(each.graph())) << each.name;
  }
}

TEST_F(Compile, AGraphIsWrittenToAFileThatRuns) {
  const std::string file = folder_.file("softmax.graph");
  EXPECT_EQ(done({"graph", "softmax", "-o", file}).out,
            file + ": 8 nodes; `luminal run " + file + "` runs it\n");
  EXPECT_EQ(done({"run", file}).out, done({"run", "softmax"}).out);
  EXPECT_EQ(done({"graph", file}).out, support::read_file(file));
}

TEST_F(Compile, APlanComputesWhatItsGraphDoes) {
  const std::string plan = folder_.file("attention.plan");
  const Said said = done({"compile", "attention", "-o", plan, "--dim", "tokens=40"});
  EXPECT_TRUE(has(said.out, "; `luminal run " + plan + "` runs it"));
  for (const char* dim : {"tokens=40", "tokens=3"})
    EXPECT_EQ(done({"run", plan, "--dim", dim}).out, done({"run", "attention", "--dim", dim}).out);
  const plan::Plan saved = plan::load_plan_file(plan);
  EXPECT_EQ(saved.estimated_for.at("tokens"), 40);
  EXPECT_TRUE(has(saved.steps.at(0).text, " queries of tokens"));
  EXPECT_TRUE(has(done({"explain", plan, "--no-times"}).out, "not more"));
  EXPECT_EQ(done({"graph", plan}).out, done({"graph", "attention", "--passes"}).out);
}

TEST_F(Compile, ASearchFindsThePlanAndSaysWhatItDid) {
  const std::string plan = folder_.file("softmax.plan");
  const Said said = done(
      {"compile", "softmax", "-o", plan, "--search", "0", "--database", folder_.file("tuning.db")});
  EXPECT_GT(std::count(said.out.begin(), said.out.end(), '\n'), 1);
  EXPECT_TRUE(plan::is_plan_file(plan));
}

TEST_F(Compile, APlanForAnotherProcessorIsMadeWithoutIt) {
  const std::string plan = folder_.file("old.plan");
  done({"compile", "softmax", "-o", plan, "--target", "haswell", "--threads", "4"});
  EXPECT_TRUE(plan::is_plan_file(plan));
  expect_error({"compile", "softmax", "-o", plan, "--target", "moon"}, cli::kBadUsage, "moon");
}

TEST_F(Compile, WhoRunsAPlanIsSaid) {
  const std::string plan = folder_.file("some.plan");
  for (const std::string_view name : codegen::cpu_target_names()) {
    const std::string target(name);
    const Said said = done({"compile", "softmax", "-o", plan, "--target", target});
    if (codegen::runs_here(codegen::cpu_target(target))) {
      EXPECT_TRUE(has(said.out, " KB; `luminal run " + plan + "` runs it\n"));
      done({"run", plan});
    } else {
      EXPECT_TRUE(has(said.out, " KB; code for " + target + ", which this machine cannot run: "));
      expect_error({"run", plan}, cli::kFailed, "lacks");
    }
  }
}

TEST_F(Compile, WhatCannotBeIsSaidBeforeAnythingIsCompiled) {
  const std::string plan = folder_.file("net.plan");
  expect_error({"compile", "mlp"}, cli::kBadUsage, "--output is required");
  expect_error({"compile", "mlp", "-o", plan, "--database", "t.db"}, cli::kBadUsage,
               "compile: --database says nothing without --search");
  expect_error({"compile", "mlp", "-o", plan, "--dim", "n=3"}, cli::kBadUsage,
               "compile: --dim n: the graph has no dim 'n'");
  expect_error({"compile", "none.graph", "-o", plan}, cli::kFailed,
               "compile: there is no file 'none.graph'");
  expect_error({"compile", "llama-32", "-o", folder_.file("none/net.plan")}, cli::kFailed,
               "compile: \"" + folder_.file("none/net.plan") + "\": No such file or directory");
  EXPECT_FALSE(fs::exists(plan));
  done({"compile", "softmax", "-o", plan});
  expect_error({"compile", plan, "-o", folder_.file("again.plan")}, cli::kFailed,
               "is a plan already");
  expect_error({"graph", "none.graph"}, cli::kFailed, "graph: there is no file 'none.graph'");
  expect_error({"graph", "mlp", "-o", folder_.path()}, cli::kFailed, folder_.path());
}

}  // namespace
}  // namespace luminal::commands

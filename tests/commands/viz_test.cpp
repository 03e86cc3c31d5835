// `luminal viz` up to the page; tests/commands/page_test.py clicks through it in a browser.
#include <cmath>
#include <nlohmann/json.hpp>

#include "commands.h"
#include "luminal/cli/command_line.h"
#include "luminal/support/file.h"
#include "luminal/tensor/arithmetic.h"
#include "luminal/tensor/executable.h"
#include "luminal/tensor/graph.h"
#include "luminal/tensor/normalization.h"

namespace luminal::commands {
namespace {

using nlohmann::json;

/// What the page's script reads.
json data_of(const std::string& page) {
  const std::string mark = "id=\"compile-data\">";
  const size_t begin = page.find(mark) + mark.size();
  return json::parse(page.substr(begin, page.find("</script>", begin) - begin));
}

class Viz : public testing::Test {
 protected:
  json page(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), "viz");
    arguments.insert(arguments.end(), {"-o", folder_.file("page.html")});
    const Said said = say(arguments);
    EXPECT_EQ(said.code, cli::kDone) << said.err;
    EXPECT_TRUE(has(said.out, "page.html"));
    return data_of(support::read_file(folder_.file("page.html")));
  }

  Folder folder_;
};

TEST_F(Viz, ThePageHoldsEveryStageOfTheCompile) {
  const json data = page({"mlp"});
  EXPECT_EQ(data["nodesWritten"], 20);
  EXPECT_EQ(data["nodesSimplified"], 19);
  EXPECT_EQ(data["classes"].size(), 19U);
  EXPECT_TRUE(has(data["drawings"]["written"], "<canvas"));
  ASSERT_GT(data["code"].size(), 0U);
  EXPECT_TRUE(has(data["code"][0]["ir"], "define"));
  EXPECT_TRUE(has(data["code"][0]["assembly"], "ret"));
  size_t in_run = 0;
  for (const json& step : data["steps"]) {
    in_run += step["prepare"] == false ? 1 : 0;
    if (step["kind"] != "launch") continue;
    EXPECT_GE(step["code"], 0) << step;
    EXPECT_GE(step["loops"], 0) << step;
  }
  EXPECT_EQ(data["run"].size(), in_run);
  EXPECT_TRUE(data["search"].is_null());
}

TEST_F(Viz, DimsAreThoseAskedForOrUsualOnes) {
  EXPECT_EQ(page({"attention", "--no-run"})["dims"]["tokens"], 128);
  const json data = page({"attention", "--dim", "tokens=7"});
  EXPECT_EQ(data["dims"]["tokens"], 7);
  EXPECT_TRUE(has(data["run"].back()["type"], "7"));
}

TEST_F(Viz, EqualLayersShareTheirCode) {
  const json data = page({"llama-32", "--no-run"});
  EXPECT_GT(data["steps"].size(), 4 * 32U);  // how many follows from the number of threads
  EXPECT_LT(data["code"].size(), 60U);
  EXPECT_TRUE(data["run"].empty());
}

TEST_F(Viz, ASearchIsShownWithWhatItMeasured) {
  // How much fits into a second is up to the machine; a search with more time goes on where the
  // last one ended.
  json data;
  const auto has_trials = [&] { return !data.is_null() && data["search"]["trials"].size() >= 2; };
  for (int seconds = 1; seconds <= 64 && !has_trials(); seconds *= 2) {
    data = page(
        {"softmax", "--search", std::to_string(seconds), "--database", folder_.file("tuning.db")});
    ASSERT_FALSE(HasFailure());
  }
  ASSERT_TRUE(has_trials());
  EXPECT_TRUE(has(data["search"]["text"], "\n"));
  double last = 0;
  bool has_part_of_a_second = false;
  for (const json& trial : data["search"]["trials"]) {
    ASSERT_LT(trial[0], data["search"]["kernels"].size());
    EXPECT_NE(data["search"]["kernels"][trial[0].get<size_t>()]["label"], "");
    EXPECT_EQ(trial[2] == 0, trial[5] != "") << trial;  // a time or a reason
    if (trial[1].is_null()) continue;
    const double seconds = trial[1];
    EXPECT_GE(seconds, last);
    has_part_of_a_second = has_part_of_a_second || seconds != std::floor(seconds);
    last = seconds;
  }
  EXPECT_TRUE(has_part_of_a_second || last == 0);
  for (const json& step : data["steps"]) {
    if (step["kind"] != "launch") continue;
    EXPECT_GE(step["code"], 0) << step;
  }
}

TEST_F(Viz, OfAPlanThePlanIsShownAndNotANewCompile) {
  const Graph g;
  const Tensor x = g.input("x", {g.dim("n", 1, 4096), 64});
  const Tensor y = softmax(x * 2.0F).named("y");
  const std::string usual = compile(g, {y}).explanation().steps.at(0).schedule;
  CompileOptions options;
  options.compiler.dims = {{"n", 300}};
  // A schedule that nobody would choose anew shows whose plan it is.
  options.compiler.schedules = [&](const compiler::KernelRequest&) {
    return codegen::Schedule::parse(usual).with("threads", 1).with("unroll", 1);
  };
  options.compiler.keep_text = true;
  const Executable made = compile(g, {y}, options);
  made.save(folder_.file("net.plan"));
  const json data = page({folder_.file("net.plan")});
  EXPECT_TRUE(has(data["saved"], "This is a saved plan"));
  EXPECT_EQ(data["dims"]["n"], 300);
  ASSERT_EQ(data["steps"].size(), 1U);
  EXPECT_TRUE(has(data["steps"][0]["schedule"], "threads=1"));
  EXPECT_TRUE(has(data["steps"][0]["schedule"], "unroll=1"));
  EXPECT_GE(data["steps"][0]["loops"], 0);
  EXPECT_EQ(data["run"].size(), 1U);
  EXPECT_TRUE(data["classes"].empty());
  EXPECT_FALSE(data["drawings"].contains("written"));
  EXPECT_TRUE(has(data["drawings"]["simplified"], "<canvas"));
  EXPECT_EQ(page({folder_.file("net.plan"), "--dim", "n=7"})["dims"]["n"], 7);
  const Said searched = say({"viz", folder_.file("net.plan"), "--search", "1"});
  EXPECT_EQ(searched.code, cli::kBadUsage);
  EXPECT_TRUE(has(searched.err, "is a plan, whose choices are made; --search is for graphs"));
}

TEST_F(Viz, WhatIsWrongIsNamed) {
  const auto error_of = [&](std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), "viz");
    const Said said = say(arguments);
    EXPECT_EQ(said.code, cli::kFailed) << said.out;
    return said.err;
  };
  EXPECT_TRUE(has(error_of({"none.graph"}), "there is no file 'none.graph'"));
  EXPECT_TRUE(has(error_of({"mlp", "-o", folder_.file("none/page.html")}), "none/page.html"));
  EXPECT_EQ(say({"viz"}).code, cli::kBadUsage);
}

}  // namespace
}  // namespace luminal::commands

// `luminal explain` on fixed graphs, for a fixed processor and without times: whole answers are
// kept as text and JSON beside this file.
#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <regex>

#include "commands.h"
#include "luminal/cli/cases.h"
#include "luminal/cli/command_line.h"
#include "luminal/codegen/llvm/cpu_target.h"
#include "luminal/search/kernel_bench.h"
#include "luminal/search/tuning_database.h"
#include "luminal/support/file.h"
#include "luminal/tensor/executable.h"
#include "luminal/tensor/graph.h"
#include "luminal/tensor/normalization.h"

namespace luminal::commands {
namespace {

using nlohmann::json;

/// What makes the answer one for all machines.
const std::vector<std::string> kFixed = {"--no-times", "--target", "znver4", "--threads", "2"};

Said explain(std::vector<std::string> arguments, bool fixed = true) {
  arguments.insert(arguments.begin(), "explain");
  if (fixed) arguments.insert(arguments.end(), kFixed.begin(), kFixed.end());
  return say(arguments);
}

struct Golden {
  const char* file;
  const char* line;
};

class ExplainGolden : public testing::TestWithParam<Golden> {};

TEST_P(ExplainGolden, SaysWhatTheRepositoryHas) {
  const Said said = explain(words(GetParam().line));
  EXPECT_EQ(said.code, cli::kDone) << said.err;
  expect_golden(std::string("explain/") + GetParam().file, said.out);
}

INSTANTIATE_TEST_SUITE_P(
    All, ExplainGolden,
    testing::Values(Golden{"mlp.txt", "mlp"}, Golden{"mlp.json", "mlp --json"},
                    Golden{"attention.txt", "attention --dim tokens=64"},
                    Golden{"gpt_block.txt", "gpt-block"}, Golden{"cnn.txt", "cnn"},
                    Golden{"cnn.json", "cnn --json"}, Golden{"llama_32.txt", "llama-32"},
                    Golden{"llama_decode.json", "llama-decode --dim past=64 --json"},
                    Golden{"kv_cache.txt", "kv-cache --dim past=64"},
                    Golden{"kv_cache.json", "kv-cache --dim past=64 --json"},
                    Golden{"top_tokens.txt", "top-tokens"}),
    [](const auto& each) {
      std::string name = each.param.file;
      for (char& c : name)
        if (c == '.') c = '_';
      return name;
    });

class Explain : public testing::Test {
 protected:
  Folder folder_;
};

TEST_F(Explain, NoLineIsWiderThanATerminal) {
  for (const char* name :
       {"mlp", "gpt-block", "kv-cache", "llama-32", "llama-decode", "cnn", "top-tokens"}) {
    const Said said = explain({name, "--all"});
    for (size_t begin = 0; begin < said.out.size();) {
      const size_t end = said.out.find('\n', begin);
      EXPECT_LE(end - begin, 120U) << said.out.substr(begin, end - begin);
      begin = end + 1;
    }
  }
}

/// A database with what a search might have found for the one kernel of softmax.
void fill_database(const std::string& path) {
  const json kernel = json::parse(explain({"softmax", "--json"}).out)["kernels"][0];
  search::TuningDatabase database(path);
  const auto hash = support::parse_hash128(kernel["identity"].get<std::string>());
  ASSERT_TRUE(hash.has_value());
  const search::TuningKey key{*hash, "", "cpu znver4, 2 threads", search::compiler_text()};
  const std::string used = kernel["ways"][0]["schedule"];
  const std::string other = "nest block=8192 unroll=4";
  database.record({key, used, search::Timing{125.5, 1.0, 9}, 1});
  database.record({key, other, search::Timing{250.25, 1.0, 9}, 1});
  database.record({key, "nest block=1 unroll=8",
                   search::Rejected{search::Rejected::Why::kWrongResult, "element [3] is 2"}, 1});
  database.record({key, "nest block=2 unroll=8",
                   search::Rejected{search::Rejected::Why::kTimeout, "after 5 s"}, 1});
}

TEST_F(Explain, WhatSearchesMeasuredAndRejectedIsToldWithTheReason) {
  const std::string path = folder_.file("tuning.db");
  fill_database(path);
  const Said text = explain({"softmax", "--database", path});
  EXPECT_EQ(text.code, cli::kDone) << text.err;
  EXPECT_TRUE(has(text.out, "measured 126 us alone"));
  EXPECT_TRUE(has(text.out, "instead   nest block=8192 unroll=4, measured 250 us alone"));
  expect_golden("explain/softmax_database.txt", text.out);
  expect_golden("explain/softmax_database.json",
                explain({"softmax", "--json", "--database", path}).out);
}

TEST_F(Explain, EveryWayHasACostAndEveryOneThatIsNotUsedAReason) {
  size_t others = 0;
  for (const char* name : {"mlp", "gpt-block", "llama-decode", "cnn", "attention", "softmax"}) {
    const json all = json::parse(explain({name, "--json"}).out);
    for (const json& kernel : all["kernels"])
      for (const json& way : kernel["ways"]) {
        const bool rejected = way.contains("rejected");
        EXPECT_TRUE(rejected || way.contains("estimated_us")) << name << way;
        EXPECT_EQ(way.contains("why"), !rejected && way["used"] == false) << name << way;
        others += way["used"] == false ? 1 : 0;
      }
  }
  EXPECT_GT(others, 10U);
}

TEST_F(Explain, ReasonsFollowFromWhatWasMeasured) {
  const json kernel = json::parse(explain({"softmax", "--json"}).out)["kernels"][0];
  search::TuningDatabase database(folder_.file("tuning.db"));
  const auto hash = support::parse_hash128(kernel["identity"].get<std::string>());
  const search::TuningKey key{*hash, "", "cpu znver4, 2 threads", search::compiler_text()};
  const auto record = [&](const std::string& schedule, double microseconds) {
    database.record({key, schedule, search::Timing{microseconds, 1.0, 9}, 1});
  };
  record(kernel["ways"][0]["schedule"], 100);
  record("nest unroll=1", 150);
  record("nest unroll=4", 99);
  record("nest unroll=8", 50);
  const json ways =
      json::parse(explain({"softmax", "--json", "--database", folder_.file("tuning.db")})
                      .out)["kernels"][0]["ways"];
  std::map<std::string, std::string> why;
  for (const json& way : ways) why[way["schedule"]] = way.value("why", "");
  EXPECT_EQ(why["nest unroll=1"], "measured slower: 1.5 times as long");
  EXPECT_EQ(why["nest unroll=4"], "measured within noise of the one that is used");
  EXPECT_EQ(why["nest unroll=8"],
            "measured quicker, but this plan was made by the model alone: a search takes it");
}

TEST_F(Explain, AStepThatIsNoKernelHasAnEstimateAndAReason) {
  const json all = json::parse(explain({"top-tokens", "--json"}).out);
  size_t others = 0;
  for (const json& step : all["steps"]) {
    if (step["kind"] == "launch") continue;
    ++others;
    EXPECT_GT(step["estimated_us"], 0) << step;
    EXPECT_NE(step.value("why", ""), "") << step;
    EXPECT_FALSE(step.contains("no_estimate")) << step;
  }
  EXPECT_GT(others, 0U);
  EXPECT_TRUE(has(explain({"top-tokens"}).out, "no kernel where an element goes depends on all"));
}

TEST_F(Explain, LoopsOfTemplatesAreThoseOfTheSchedule) {
  const json all = json::parse(explain({"gpt-block", "--json"}).out);
  std::set<std::string> seen;
  for (const json& kernel : all["kernels"]) {
    const std::string schedule = kernel["ways"][0]["schedule"], loops = kernel["loops"];
    seen.insert(schedule.substr(0, schedule.find(' ')));
    if (schedule.starts_with("gemm ")) {
      EXPECT_TRUE(has(loops, "8 x 32 sums in registers, 2 vectors of 16 lanes in a row")) << loops;
    }
    if (schedule.starts_with("attention ")) {
      EXPECT_TRUE(has(loops, "32 queries of 16, of 12 rows")) << loops;
    }
  }
  EXPECT_EQ(seen, (std::set<std::string>{"attention", "gemm", "nest"}));
}

TEST_F(Explain, AConvolutionIsCalledSoThoughItsBiasIsAddedElsewhere) {
  std::set<std::string> labels;
  const json all = json::parse(explain({"cnn", "--json"}).out);
  for (const json& kernel : all["kernels"]) labels.insert(kernel["label"].get<std::string>());
  EXPECT_EQ(labels,
            (std::set<std::string>{"conv + relu", "max_pool", "conv",
                                   "add + relu + max_pool + matmul", "add + relu + matmul + add"}));
}

TEST_F(Explain, ATemplateIsRefusedOrPossibleNeverBoth) {
  size_t passed_over = 0;
  for (const cli::Case& each : cli::cases()) {
    if (std::string(each.name) == "llama-32") continue;  // llama-decode in small
    const json all = json::parse(explain({each.name, "--json"}).out);
    for (const json& kernel : all["kernels"])
      for (const json& way : kernel["ways"]) {
        const std::string schedule = way["schedule"], why = way.value("why", "");
        if (way.contains("rejected")) continue;
        passed_over += why.find("; the rule of thumb: ") != std::string::npos ? 1 : 0;
        for (const json& refused : kernel["refused"])
          EXPECT_NE(refused["template"], schedule.substr(0, schedule.find(' '))) << each.name;
      }
  }
  EXPECT_GT(passed_over, 0U);
}

TEST_F(Explain, DimsAreCalledAsTheGraphCallsThem) {
  const std::regex canonical("\\bS[0-9]");
  for (const auto& [name, dim] :
       {std::pair{"attention", "tokens"}, {"llama-decode", "past"}, {"kv-cache", "past"}}) {
    std::string loops;
    const json all = json::parse(explain({name, "--json"}).out);
    for (const json& kernel : all["kernels"]) loops += kernel["loops"].get<std::string>();
    EXPECT_FALSE(std::regex_search(loops, canonical)) << loops;
    EXPECT_TRUE(has(loops, dim)) << name;
  }
  EXPECT_TRUE(has(explain({"attention"}).out, "64 queries of tokens"));
}

TEST_F(Explain, StepsHaveOneNumberInTextAndJson) {
  const json all = json::parse(explain({"gpt-block", "--json"}).out);
  const std::string text = explain({"gpt-block", "--all"}).out;
  int64_t once = 0, number = 0;
  for (const json& step : all["steps"]) {
    EXPECT_EQ(step["number"], ++number);
    once += step["once"] == true ? 1 : 0;
    EXPECT_TRUE(has(text, fmt::format("\n  {:>4}  {}", fmt::format("{}.", number),
                                      step["label"].get<std::string>().substr(0, 30))));
  }
  EXPECT_GT(once, 0);
  const json& memory = all["memory"];
  EXPECT_EQ(memory["live_bytes"].size(), static_cast<size_t>(number - once));
  const int64_t peak = memory["peak_step"];
  EXPECT_EQ(memory["live_bytes"][static_cast<size_t>(peak - once - 1)], memory["peak_bytes"]);
  EXPECT_TRUE(has(text, fmt::format("are in use (step {})", peak)));
  for (const json& buffer : memory["buffers"]) {
    if (!buffer.contains("first_step")) continue;
    EXPECT_GT(buffer["first_step"], once) << buffer;
    EXPECT_LE(buffer["last_step"], number) << buffer;
  }
}

TEST_F(Explain, CachesThatMayBeUpdatedInTheirPlaceAreAliases) {
  const json aliases = json::parse(explain({"kv-cache", "--json"}).out)["memory"]["aliases"];
  const auto alias = [](const char* value, const char* of) {
    return json{{"value", value}, {"of", of}, {"why", "if given away"}};
  };
  EXPECT_EQ(aliases, json::array({alias("new_keys", "keys"), alias("new_values", "values")}));
  EXPECT_TRUE(has(explain({"kv-cache"}).out, "new_keys has the memory of keys: if given away"));
}

TEST_F(Explain, TimesAndLimitsAreMeasuredUnlessToldOtherwise) {
  const Said said = explain({"softmax", "--json"}, false);
  ASSERT_EQ(said.code, cli::kDone) << said.err;
  const json all = json::parse(said.out);
  EXPECT_GT(all["measured_us"], 0);
  EXPECT_GT(all["machine"]["f32_flops_per_second"], 0);
  EXPECT_GT(all["machine"]["reads"].back()["bytes_per_second"], 0);
  double sum = 0;
  for (const json& step : all["steps"]) {
    EXPECT_GT(step["measured_us"], 0) << step;
    EXPECT_GT(step["floor_us"], 0) << step;
    EXPECT_TRUE(step["bound"] == "memory" || step["bound"] == "compute") << step;
    sum += step["measured_us"].get<double>();
  }
  EXPECT_NEAR(all["measured_us"], sum, 1e-9 * sum);
  EXPECT_GT(all["run_us"], 0);
  const std::string text = explain({"softmax"}, false).out;
  EXPECT_TRUE(has(text, "Where the time goes"));
  EXPECT_TRUE(has(text, "\n  of best: the least time that bytes and flops take"));
  EXPECT_FALSE(json::parse(explain({"softmax", "--json"}).out).contains("machine"));
}

TEST_F(Explain, EveryLaunchOfAKernelSaysWhichOneItIs) {
  const json all = json::parse(explain({"gpt-block", "--json"}).out);
  for (size_t number = 0; number < all["kernels"].size(); ++number) {
    std::vector<int> parts;
    for (const json& step : all["steps"])
      if (step["kernels"] == json::array({number}) && step.contains("part"))
        parts.push_back(step["part"].get<int>());
    std::sort(parts.begin(), parts.end());
    EXPECT_EQ(std::adjacent_find(parts.begin(), parts.end()), parts.end()) << number;
  }
  EXPECT_TRUE(has(explain({"gpt-block"}).out, ", 2 of 3"));
}

TEST_F(Explain, AValueThatIsStoredHasAReason) {
  for (const char* name : {"gpt-block", "llama-decode", "cnn", "top-tokens", "llama-32"}) {
    const json all = json::parse(explain({name, "--json"}).out);
    for (const json& kernel : all["kernels"]) {
      EXPECT_FALSE(kernel["not_fused"].empty()) << name << kernel;
      for (const json& boundary : kernel["not_fused"]) {
        EXPECT_NE(boundary["why"], "") << name << boundary;
        if (!boundary.contains("fused_us")) continue;
        EXPECT_GT(boundary["stored_us"], 0) << boundary;
      }
    }
  }
}

TEST_F(Explain, ASavedPlanIsExplainedWithoutCompiling) {
  const Graph g;
  const Dim n = g.dim("n", 1, 64);
  const Tensor x = g.input("x", {n, 16});
  CompileOptions options;
  options.compiler.explain = true;
  options.compiler.dims = {{"n", 32}};
  compile(g, {softmax(layer_norm(x)).named("y")}, options).save(folder_.file("net.plan"));
  const Said said = say({"explain", folder_.file("net.plan"), "--json"});
  ASSERT_EQ(said.code, cli::kDone) << said.err;
  const json all = json::parse(said.out);
  EXPECT_EQ(all["title"], "net");
  EXPECT_EQ(all["dims"]["n"], 32);
  EXPECT_EQ(all["estimates_are_for_these_dims"], true);
  EXPECT_EQ(all["kernels"][0]["not_fused"].back()["why"], "it is a result");
  EXPECT_GT(all["measured_us"], 0);
  const json other =
      json::parse(say({"explain", folder_.file("net.plan"), "--dim", "n=8", "--json"}).out);
  EXPECT_EQ(other["dims"]["n"], 8);
  EXPECT_EQ(other["estimates_are_for_these_dims"], false);
}

TEST_F(Explain, BuffersThatAreNeededAtOneTimeNeverShareASlotButInPlace) {
  const json memory = json::parse(explain({"gpt-block", "--json"}).out)["memory"];
  int64_t most = 0;
  for (const json& bytes : memory["live_bytes"]) most = std::max(most, bytes.get<int64_t>());
  EXPECT_EQ(memory["peak_bytes"], most);
  EXPECT_GE(memory["arena_bytes"], most);
  for (const json& a : memory["buffers"])
    for (const json& b : memory["buffers"]) {
      if (a == b || a["place"] != "arena" || b["place"] != "arena" || a["slot"] != b["slot"])
        continue;
      if (!a.contains("first_step") || !b.contains("first_step")) continue;
      EXPECT_TRUE(a["last_step"] <= b["first_step"] || b["last_step"] <= a["first_step"]) << a << b;
    }
}

TEST_F(Explain, APageHoldsTheSameData) {
  const Said said = explain({"gpt-block", "--html", folder_.file("page.html")});
  ASSERT_EQ(said.code, cli::kDone) << said.err;
  EXPECT_TRUE(has(said.out, "page.html"));
  const std::string page = support::read_file(folder_.file("page.html"));
  const std::string mark = "id=\"compile-data\">";
  const size_t begin = page.find(mark) + mark.size();
  const json data = json::parse(page.substr(begin, page.find("</script>", begin) - begin));
  EXPECT_EQ(data, json::parse(explain({"gpt-block", "--json"}).out));
  EXPECT_EQ(page.find("src=\"http"), std::string::npos);
}

TEST_F(Explain, CodeThatCannotRunHereSaysWhyThereAreNoTimes) {
  const char* const other = "sapphirerapids";
  if (codegen::runs_here(codegen::cpu_target(other))) GTEST_SKIP() << "it runs here";
  const std::string why = "this processor cannot run code for sapphirerapids";
  const Said text = explain({"softmax", "--target", other}, false);
  EXPECT_EQ(text.code, cli::kDone) << text.err;
  EXPECT_TRUE(has(text.out, "\n  not run: " + why + "\n")) << text.out;
  const Said data = explain({"softmax", "--json", "--target", other}, false);
  EXPECT_EQ(json::parse(data.out).at("not_run"), why);
  EXPECT_FALSE(has(explain({"softmax", "--target", other, "--no-times"}, false).out, "not run"));
}

TEST_F(Explain, LoopsSayWhatEveryThreadDoesForItself) {
  const json all = json::parse(explain({"cnn", "--json"}).out);
  size_t small = 0;
  for (const json& kernel : all["kernels"]) {
    const std::string loops = kernel.value("loops", "");
    size_t before = 0;
    for (size_t at = 0; (at = loops.find("before: ", at)) != std::string::npos; ++at) ++before;
    small += has(loops, "first every thread for itself: stores an operand, 1 item\n") ? 1 : 0;
    // What the loops say comes before is a launch of its own among the steps.
    size_t parts = 1;
    for (const json& step : all["steps"])
      for (const json& number : step["kernels"])
        if (all["kernels"][number.get<size_t>()] == kernel) parts = step.value("parts", 1);
    EXPECT_LT(before, parts) << loops;
  }
  EXPECT_GT(small, 0U);
}

TEST_F(Explain, WhatMakesNoSenseIsRefused) {
  const Graph g;
  compile(g, {softmax(g.input("x", {4}))}).save(folder_.file("net.plan"));
  const auto error_of = [&](const std::vector<std::string>& arguments, int code) {
    const Said said = explain(arguments, false);
    EXPECT_EQ(said.code, code) << said.out;
    return said.err;
  };
  for (const char* option : {"--search=1", "--target=haswell"})
    EXPECT_TRUE(has(error_of({folder_.file("net.plan"), option}, cli::kBadUsage), "is a plan"));
  EXPECT_TRUE(has(error_of({"mlp", "--target", "z80"}, cli::kBadUsage), "z80"));
  EXPECT_EQ(say({"explain"}).code, cli::kBadUsage);
  EXPECT_EQ(say({"explain", "mlp", "--search", "-1"}).code, cli::kBadUsage);
  EXPECT_EQ(say({"explain", "mlp", "--threads", "0"}).code, cli::kBadUsage);
  EXPECT_EQ(say({"explain", "mlp", "--json", "--html", "p.html"}).code, cli::kBadUsage);
}

}  // namespace
}  // namespace luminal::commands

// `luminal inspect` on fixed graphs: whole answers are kept as text and JSON beside this file.
#include <algorithm>
#include <nlohmann/json.hpp>
#include <sstream>

#include "commands.h"
#include "luminal/cli/command_line.h"
#include "luminal/support/file.h"

namespace luminal::commands {
namespace {

using nlohmann::json;

/// Half of what a user might get wrong: a sum of products with a factor that is not the same along
/// the sum.
constexpr const char* kWeighted = R"(
dim n: [1, 100]
%0: f32[n, 8] = input "x"
%1: f32[4, 8] = input weight "w"
%2: f32[n, 4, 8] = mul %0[i0, i2], %1[i1, i2]
%3: f32[n, 4] = sum %2 axes=1
%4: f32[n, 4, 8] = add %0[i0, i2], %1[i1, i2]
%5: f32[n, 4] = sum %4 axes=1 name="added"
%6: f32[n, 4] = add %3, %5
output "y" = %6
)";

/// Two products of one value with weights, which rules take as one with both side by side.
constexpr const char* kSiblings = R"(
%0: f32[16, 32] = input "x"
%1: f32[32, 8] = input weight "w"
%2: f32[16, 8, 32] = mul %0[i0, i2], %1[i2, i1]
%3: f32[16, 8] = sum %2 axes=1
%4: f32[32, 8] = input weight "v"
%5: f32[16, 8, 32] = mul %0[i0, i2], %4[i2, i1]
%6: f32[16, 8] = sum %5 axes=1
output "y" = %3
output "z" = %6
)";

class Inspect : public testing::Test {
 protected:
  Inspect() { support::write_file_atomic(folder_.file("net.graph"), kWeighted); }

  Said inspect(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), {"inspect", folder_.file("net.graph")});
    return say(arguments);
  }

  Folder folder_;
};

struct Golden {
  const char* file;
  const char* line;
};

class InspectGolden : public testing::TestWithParam<Golden> {};

TEST_P(InspectGolden, SaysWhatTheRepositoryHas) {
  const Said said = say(words(GetParam().line));
  EXPECT_EQ(said.code, cli::kDone) << said.err;
  expect_golden(std::string("inspect/") + GetParam().file, said.out);
}

INSTANTIATE_TEST_SUITE_P(
    All, InspectGolden,
    testing::Values(Golden{"mlp.txt", "inspect mlp"}, Golden{"mlp.json", "inspect mlp --json"},
                    Golden{"attention.txt", "inspect attention --classes"},
                    Golden{"llama_decode.txt", "inspect llama-decode"},
                    Golden{"cnn_contract.json", "inspect cnn --op contract --json"},
                    Golden{"softmax_class.txt", "inspect softmax --class y"},
                    Golden{"softmax_class.json", "inspect softmax --class y --json"},
                    Golden{"top_tokens_coverage.txt", "inspect top-tokens --coverage"},
                    Golden{"top_tokens_coverage.json", "inspect top-tokens --coverage --json"},
                    Golden{"gelu_missing.txt", "inspect gelu --missing Contract --at %3"},
                    Golden{"gelu_missing.json", "inspect gelu --missing Contract --at %3 --json"}),
    [](const auto& each) {
      std::string name = each.param.file;
      for (char& c : name)
        if (c == '.') c = '_';
      return name;
    });

TEST_F(Inspect, AMissingFactNamesTheConditionThatFailsFirst) {
  const Said said = inspect({"--missing", "Contract", "--at", "added"});
  EXPECT_EQ(said.code, cli::kDone) << said.err;
  EXPECT_TRUE(has(said.out, "%5 has no Contract\n"));
  EXPECT_TRUE(has(said.out, "sum-of-products-is-product (names)"));
  EXPECT_TRUE(has(said.out, R"((= m (Binary "mul" tm (See va a) (See vb b))))"));
  EXPECT_TRUE(has(said.out, "where m = %4"));
  EXPECT_TRUE(has(inspect({"--missing", "Contract", "--at", "%3"}).out, "%3 has Contract\n"));
}

TEST_F(Inspect, TheFirstClassThatLacksAFactIsFound) {
  EXPECT_TRUE(has(inspect({"--missing", "Contract", "--within", "sum"}).out, "%5 has no Contract"));
  EXPECT_TRUE(has(inspect({"--missing", "Times", "--within", "mul"}).out, "no class lacks Times"));
  const json answer =
      json::parse(inspect({"--missing", "Contract", "--within", "sum", "--json"}).out);
  EXPECT_EQ(answer["at"], "%5");
  EXPECT_EQ(answer["present"], false);
  EXPECT_GT(answer["rules"].size(), 1U);
}

TEST_F(Inspect, ARuleOfTheUsersOwnIsAskedWhyItDoesNotMatch) {
  support::write_file_atomic(
      folder_.file("my.egg"),
      "(rule ((= y (Reduce \"sum\" t n (See v x))) (= x (Binary \"mul\" u e f)))\n"
      "      ((union y (Reduce \"sum\" t n (See v x)))) :ruleset exact :name \"mine\")\n");
  const Said said =
      inspect({"--more-rules", folder_.file("my.egg"), "--rule", "mine", "--at", "%5"});
  EXPECT_EQ(said.code, cli::kDone) << said.err;
  EXPECT_TRUE(has(said.out, R"((= x (Binary "mul" u e f)))"));
  EXPECT_TRUE(has(said.out, "where x = %4"));
}

TEST_F(Inspect, RulesThatFindEverMoreEndWithAReason) {
  support::write_file_atomic(
      folder_.file("endless.egg"),
      "(rule ((= y (Binary \"add\" t a b))) ((Unary \"exp\" t (See (whole t) y)))\n"
      "      :ruleset exact :name \"first\")\n"
      "(rule ((= y (Unary \"exp\" t e))) ((Unary \"exp\" t (See (whole t) y)))\n"
      "      :ruleset exact :name \"further\")\n");
  const Said said = inspect({"--more-rules", folder_.file("endless.egg")});
  EXPECT_EQ(said.code, cli::kDone) << said.err;
  EXPECT_TRUE(has(said.out, "until the budget was used up"));
}

TEST_F(Inspect, WithoutRoundingElsewhereFewerRulesRun) {
  const json all = json::parse(say({"inspect", "llama-decode", "--rules", "--json"}).out);
  const json exact =
      json::parse(say({"inspect", "llama-decode", "--rules", "--exact", "--json"}).out);
  const auto matches = [](const json& rules) {
    int64_t total = 0;
    for (const json& rule : rules)
      if (rule["ruleset"] == "reassociation") total += rule["matches"].get<int64_t>();
    return total;
  };
  EXPECT_GT(matches(all), 0);
  EXPECT_EQ(matches(exact), 0);
}

TEST_F(Inspect, AClassIsFoundByNodeNumberAndName) {
  const json by_name = json::parse(inspect({"--class", "added", "--json"}).out);
  const json by_node = json::parse(inspect({"--class", "%5", "--json"}).out);
  const std::string id = "c" + std::to_string(by_node["id"].get<int>());
  EXPECT_EQ(by_name, by_node);
  EXPECT_EQ(by_name["read_by"], json({"%6"}));
  EXPECT_EQ(json::parse(inspect({"--class", id, "--json"}).out), by_node);
}

TEST_F(Inspect, AValueThatIsPartOfAnotherIsToldByIt) {
  support::write_file_atomic(folder_.file("siblings.graph"), kSiblings);
  const auto inspected = [&](const std::string& of) {
    return json::parse(
        say({"inspect", folder_.file("siblings.graph"), "--class", of, "--json"}).out);
  };
  const json z = inspected("z");
  std::string joined;
  for (const json& node : z["nodes"]) {
    EXPECT_EQ(std::count(node["reads"].begin(), node["reads"].end(), z["class"]), 0) << node;
    if (node["rule"] != "join-siblings") continue;
    ASSERT_EQ(node["reads"].size(), 1U) << node;
    joined = node["reads"][0].get<std::string>();
    EXPECT_EQ(node["text"], "(Unary \"copy\" f32[16, 8] " + joined + "[i0, i1 + 8])");
  }
  ASSERT_NE(joined, "");
  EXPECT_EQ(inspected(joined)["type"], "f32[16, 16]");
  const std::string text = say({"inspect", folder_.file("siblings.graph"), "--class", "z"}).out;
  EXPECT_TRUE(has(text, joined + "[i0, i1 + 8])  by join-siblings"));
}

TEST_F(Inspect, TimesAreSaidWhenAskedFor) {
  EXPECT_TRUE(has(inspect({"--rules", "--times"}).out, "us\n"));
  EXPECT_TRUE(
      json::parse(inspect({"--rules", "--times", "--json"}).out)[0].contains("microseconds"));
}

TEST_F(Inspect, TheEGraphIsWrittenAsText) {
  const Said said = inspect({"--dump", folder_.file("net.egg")});
  EXPECT_EQ(said.code, cli::kDone) << said.err;
  const std::string text = support::read_file(folder_.file("net.egg"));
  EXPECT_TRUE(has(text, ":name \"sum-of-products-is-product\""));
  // What the graph has and what rules added; the rules themselves change for other reasons.
  std::istringstream lines(text);
  std::string facts;
  for (std::string line; std::getline(lines, line);)
    if (line.starts_with("(let ") || line.starts_with("(union ")) facts += line + "\n";
  expect_golden("inspect/net.egg", facts);
}

TEST_F(Inspect, WhatIsWrongIsNamed) {
  const auto error_of = [&](const std::vector<std::string>& arguments, int code = cli::kFailed) {
    const Said said = inspect(arguments);
    EXPECT_EQ(said.code, code) << said.out;
    return said.err;
  };
  const auto usage_of = [&](const std::vector<std::string>& arguments) {
    return error_of(arguments, cli::kBadUsage);
  };
  EXPECT_TRUE(has(usage_of({"--class", "%99"}), "there is no class '%99'"));
  EXPECT_TRUE(has(usage_of({"--missing", "Times", "--at", "zz"}), "there is no class 'zz'"));
  EXPECT_TRUE(has(usage_of({"--missing", "Fused", "--at", "y"}), "the rules know no fact 'Fused'"));
  EXPECT_TRUE(has(usage_of({"--missing", "Contract", "--within", "sin"}), "no class has a node"));
  EXPECT_TRUE(has(usage_of({"--rule", "mine", "--at", "y"}), "there is no rule 'mine'"));
  EXPECT_TRUE(has(error_of({"--more-rules", folder_.file("none.egg")}), "none.egg"));
  support::write_file_atomic(folder_.file("bad.egg"), "(rule ((Nothing x)) ())");
  EXPECT_TRUE(has(error_of({"--more-rules", folder_.file("bad.egg")}), "bad.egg"));
  EXPECT_TRUE(has(error_of({"--dump", folder_.file("none/net.egg")}), "none/net.egg"));
  EXPECT_TRUE(has(say({"inspect", "resnet-9000"}).err, "cases are attention, cnn"));
}

}  // namespace
}  // namespace luminal::commands

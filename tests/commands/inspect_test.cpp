// `luminal inspect` on fixed graphs: whole answers are kept as text and JSON beside this file.
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
  const auto error_of = [&](const std::vector<std::string>& arguments) {
    const Said said = inspect(arguments);
    EXPECT_EQ(said.code, cli::kFailed) << said.out;
    return said.err;
  };
  EXPECT_TRUE(has(error_of({"--class", "%99"}), "there is no class '%99'"));
  EXPECT_TRUE(has(error_of({"--missing", "Fused", "--at", "y"}), "the rules know no fact 'Fused'"));
  EXPECT_TRUE(has(error_of({"--missing", "Contract", "--within", "tan"}), "no class has a node"));
  EXPECT_TRUE(has(error_of({"--rule", "mine", "--at", "y"}), "there is no rule 'mine'"));
  EXPECT_TRUE(has(error_of({"--more-rules", folder_.file("none.egg")}), "none.egg"));
  support::write_file_atomic(folder_.file("bad.egg"), "(rule ((Nothing x)) ())");
  EXPECT_TRUE(has(error_of({"--more-rules", folder_.file("bad.egg")}), "bad.egg"));
  EXPECT_TRUE(has(error_of({"--dump", folder_.file("none/net.egg")}), "none/net.egg"));
  EXPECT_TRUE(has(say({"inspect", "resnet-9000"}).err, "cases are attention, cnn"));
}

}  // namespace
}  // namespace luminal::commands

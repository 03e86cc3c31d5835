// Every rule, on its own graph: it fires, and whatever is chosen gives what the graph gives.
#include <gtest/gtest.h>

#include "choice_checks.h"
#include "luminal/graph/text.h"
#include "luminal/rules/rule_files.h"
#include "rule_cases.h"

namespace luminal::rules {
namespace {

/// Extents 0 and 1, odd ones, and named dims.
std::vector<CaseSizes> case_sizes(const RuleCase& rule_case, DType dtype) {
  std::vector<CaseSizes> sizes{{3, 5, 7, dtype}, {1, 1, 1, dtype}, {4, 2, 1, dtype}};
  if (rule_case.may_be_symbolic) {
    sizes.push_back({Dim::variable("rows", {1, 6}), Dim::variable("columns", {1, 5}), 3, dtype});
    sizes.push_back({Dim::variable("rows", {0, 6}), Dim::variable("columns", {0, 5}), 3, dtype});
  }
  return sizes;
}

std::set<std::string> rules_of_tensor_files() {
  std::set<std::string> names;
  for (const RuleFile& file : rule_files()) {
    if (file.name == "index_expressions.egg") continue;
    for (size_t at = file.text.find(":name \""); at != std::string_view::npos;
         at = file.text.find(":name \"", at + 1))
      names.emplace(file.text.substr(at + 7, file.text.find('"', at + 7) - at - 7));
  }
  return names;
}

TEST(RuleSoundness, EveryRuleHasAGraphOnWhichItFires) {
  std::set<std::string> untried = rules_of_tensor_files();
  for (const RuleCase& rule_case : rule_cases()) {
    EXPECT_TRUE(rules_of_tensor_files().contains(rule_case.rule)) << rule_case.rule;
    untried.erase(rule_case.rule);
    const graph::Graph graph = graph_of(rule_case, {3, 5, 7, rule_case.dtypes[0]});
    EXPECT_GT(choices(graph).stats.matches[rule_case.rule], 0U) << rule_case.rule << " on\n"
                                                                << graph::to_text(graph);
  }
  for (const std::string& rule : untried) ADD_FAILURE() << "no graph for rule " << rule;
}

/// Dims that may be 0 are drawn several times: they are, in turn.
std::vector<uint64_t> seeds(const CaseSizes& sizes, uint64_t first) {
  if (!sizes.a.is_variable() || sizes.a.bounds().lo > 0) return {first};
  return {first, first + 1, first + 2, first + 3};
}

TEST(RuleSoundness, ExactRulesGiveTheSameBits) {
  for (const RuleCase& rule_case : rule_cases())
    for (const DType dtype : rule_case.dtypes)
      for (const CaseSizes& sizes : case_sizes(rule_case, dtype)) {
        SCOPED_TRACE(rule_case.rule);
        for (const uint64_t seed : seeds(sizes, 7))
          test::check_choices(graph_of(rule_case, sizes), {.reassociate = false}, seed, 6);
        if (::testing::Test::HasFailure()) return;
      }
}

TEST(RuleSoundness, AllRulesTogetherGiveTheSameUpToRounding) {
  for (const RuleCase& rule_case : rule_cases()) {
    int changed = 0;
    for (const DType dtype : rule_case.dtypes)
      for (const CaseSizes& sizes : case_sizes(rule_case, dtype)) {
        SCOPED_TRACE(rule_case.rule);
        for (const uint64_t seed : seeds(sizes, 11))
          changed += test::check_choices(graph_of(rule_case, sizes), {}, seed, 8);
        if (::testing::Test::HasFailure()) return;
      }
    // These relate names and edges; the program they belong to is the one as written.
    const std::set<std::string> names{"plus", "attention-of-repeated-heads", "see-through-copy"};
    EXPECT_TRUE(names.contains(rule_case.rule) || changed > 0)
        << rule_case.rule << " gave nothing to choose";
  }
}

// Its windows are copied for a product whose values repeat along an axis, so that the copy can be
// read in two ways; neither is what the copy is made of.
TEST(RuleSoundness, ACopyOfWindowsIsNotMadeOfItself) {
  const graph::Graph graph = graph::parse_text(R"(dim n: [1, 4096]
%0: f32[3, 3] = input "a"
%1: f32[15, 3] = input "w"
%2: f32[8, n] = input "b"
%3: f32[3, 8, 3] = input "w2"
%4: f32[3, 5, 3, 3] = mul %0[i0, i2 + i3 - 1 if i2 + i3 - 1 in [0, 3) else 0], %1[5*i0 + i1, i3]
%5: f32[3, 5, 3] = sum %4 axes=1
%6: f32[3, n - 2, 8, 3] = mul %2[i2, i1 + i3], %3[i0, i2, i3]
%7: f32[3, n - 2] = sum %6 axes=2
%8: f32[15, n - 2, 3] = mul %5[i0 / 5, i0 % 5, i2], %7[i2, i1]
%9: f32[15, n - 2] = sum %8 axes=1
output "y" = %9
)");
  EXPECT_GT(choices(graph).stats.matches["windows-in-memory"], 0U);
  EXPECT_GT(test::check_choices(graph, {}, 3, 8), 0);
}

// x * 2 ends at 448 in f8e4m3, which no other factor than 2 shows.
TEST(RuleSoundness, ConstantFactorsAreOneWhereThereIsRoom) {
  for (const DType dtype : {f32, bf16, f8e4m3, f8e5m2}) {
    luminal::Graph g;
    const Tensor y = g.input("x", {64}, dtype) * 2.0 * 0.0078125;
    graph::Graph graph = g.ir();
    graph.add_output("y", y.edge());
    const bool has_room = graph::bits(dtype) > 8;
    EXPECT_EQ(choices(graph).stats.matches["constant-factors"] > 0, has_room) << name(dtype);
  }
}

/// What the choices begin with gives the bits of the graph: values are one only if they are equal.
void expect_first_choices_exact(const graph::Graph& graph) {
  const test::Sample sample = test::random_sample(graph, 5, true);
  const std::vector<graph::Array> expected = sample.run(graph);
  const std::vector<graph::Array> chosen =
      sample.run(test::chosen_graph(choices(graph, {.reassociate = false}), graph));
  for (size_t k = 0; k < expected.size(); ++k)
    EXPECT_TRUE(graph::test::same_values(chosen[k], expected[k])) << graph.outputs()[k].name;
}

// An integer becomes a narrower one by its low bits, a float by the nearest that there is.
TEST(RuleSoundness, CastsInAChainEndAlike) {
  const std::vector<DType> all = {boolean, i4,  u4,     i8,     u8,   i16, u16, i32,
                                  u32,     i64, f8e4m3, f8e5m2, bf16, f16, f32, f64};
  std::mt19937_64 random(7);
  std::vector<std::tuple<DType, DType, DType>> triples = {
      {u32, f64, i32}, {u16, f64, i16}, {i32, f64, i16}, {u16, f32, u8}, {u8, f16, i8}};
  const auto any = [&] { return all[random() % all.size()]; };
  while (triples.size() < 200) triples.emplace_back(any(), any(), any());
  for (const auto& [from, between, to] : triples) {
    SCOPED_TRACE(fmt::format("{} {} {}", name(from), name(between), name(to)));
    luminal::Graph g;
    const Tensor x = g.input("x", {64}, from);
    const Tensor wrapped = cast(x, to), through = cast(cast(x, between), to);
    graph::Graph graph = g.ir();
    graph.add_output("wrapped", wrapped.edge());
    graph.add_output("through", through.edge());
    expect_first_choices_exact(graph);
  }
}

// What has one name, equal parameters and equal operands is one value; kernels of users are not
// told apart by their names.
TEST(RuleSoundness, KernelsOfOneNameAreOtherValues) {
  luminal::Graph g;
  const Tensor x = g.input("x", {4, 8}), w = g.input("w", {4, 8});
  const auto score = [&](const std::string& term, const Tensor& a, const Tensor& b) {
    return custom_kernel("score",
                         "float s = 0; for (int k = 0; k < 8; k++) s += " + term + "; out[i] = s;",
                         {{"a", a}, {"b", b}}, {f32, {4}});
  };
  const auto other_names = custom_kernel(
      "score", "float s = 0; for (int k = 0; k < 8; k++) s += a[i][k] - 2 * b[i][k]; out[i] = s;",
      {{"b", x}, {"a", w}}, {f32, {4}});
  const std::vector<Tensor> outputs = {score("a[i][k] - 2 * b[i][k]", x, w),
                                       score("a[i][k] * b[i][k]", x, w), other_names};
  graph::Graph graph = g.ir();
  for (const Tensor& each : outputs)
    graph.add_output("y" + std::to_string(graph.outputs().size()), each.edge());
  expect_first_choices_exact(graph);
}

TEST(RuleSoundness, RandomGraphsGiveTheSameBits) {
  int changed = 0;
  for (uint64_t seed = 1; seed <= 150; ++seed) {
    SCOPED_TRACE(seed);
    changed +=
        test::check_choices(graph::test::random_graph(seed), {.reassociate = false}, seed, 4);
    if (::testing::Test::HasFailure()) return;
  }
  EXPECT_GT(changed, 100) << "the rules find too little in random graphs to say anything";
}

TEST(RuleSoundness, AValueThatNothingComputesIsAnErrorThatNamesIt) {
  luminal::Graph g;
  const Tensor y = softmax(g.input("x", {3, 4}), -1);
  graph::Graph graph = g.ir();
  graph.add_output("y", y.edge());
  const std::string rule =
      "(rule ((= y (Name \"softmax\" ps t es))) ((Name \"mystery\" ps t es)) "
      ":ruleset exact :name \"what nobody can compute\")";
  try {
    choices(graph, {.more_rules = rule});
    FAIL() << "no error";
  } catch (const UserError& error) {
    EXPECT_NE(std::string(error.what()).find("mystery"), std::string::npos) << error.what();
  }
  EXPECT_NO_THROW(choices(graph));
}

TEST(RuleSoundness, WithoutReassociationNoSuchRuleRuns) {
  const graph::Graph graph = graph_of(rule_cases()[0], {3, 5, 7, f32});
  const Choices exact = choices(graph, {.reassociate = false});
  EXPECT_EQ(exact.stats.matches.at("product-chain"), 0U);
  EXPECT_GT(choices(graph).stats.matches.at("product-chain"), 0U);
}

}  // namespace
}  // namespace luminal::rules

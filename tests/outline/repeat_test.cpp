// Repeats that a user declares.
#include <gtest/gtest.h>

#include "luminal/compiler/outline.h"
#include "luminal/graph/repeat.h"
#include "luminal/graph/text.h"
#include "networks.h"

namespace luminal::compiler {
namespace {

using networks::IR;

template <typename Function>
std::string message_of(const Function& function) {
  try {
    function();
  } catch (const UserError& error) {
    return error.what();
  }
  return "";
}

TEST(Repeat, DeclaredBordersAreTaken) {
  Graph g;
  // Left to itself, the border would be the residual stream.
  Tensor h = layer_norm(g.input("x", {3, 8}));
  h = g.repeat("layer", 4, h, [&](int64_t k, const Tensor& x) {
    return layer_norm(x + networks::layer_of(g, "l", static_cast<int>(k)).biased(x, "w", 8));
  });
  const IR graph = networks::finished(g, {{"y", h}});
  const Outline outline = find_outline(graph);
  ASSERT_EQ(outline.regions.size(), 1) << to_string(outline, graph);
  EXPECT_TRUE(problems(outline, graph).empty());
  EXPECT_TRUE(outline.regions[0].declared);
  EXPECT_EQ(outline.regions[0].name, "layer");
  EXPECT_EQ(outline.regions[0].instances.size(), 4);
  const std::string text = to_string(outline, graph);
  EXPECT_TRUE(text.starts_with("layer (declared): 4 instances of ")) << text;
}

TEST(Repeat, TwoInstancesOfAnySizeAreTaken) {
  Graph g;
  const Tensor y = g.repeat("step", 2, g.input("x", {8}), [&](int64_t k, const Tensor& x) {
    return tanh(x * g.input(fmt::format("a{}", k), {8}));
  });
  const Outline outline = find_outline(networks::finished(g, {{"y", y}}));
  ASSERT_EQ(outline.regions.size(), 1);
  EXPECT_EQ(outline.regions[0].instances.size(), 2);
}

TEST(Repeat, SeveralValuesMayGoFromInstanceToInstance) {
  Graph g;
  const Tensor w = g.input("w", {4, 4});
  const auto last =
      g.repeat("step", 5, {g.input("a", {1, 4}), g.input("b", {1, 4})},
               [&](int64_t, const std::vector<Tensor>& v) {
                 return std::vector<Tensor>{tanh(matmul(v[0], w)) + v[1], v[0] * v[1]};
               });
  const IR graph = networks::finished(g, {{"a", last[0]}, {"b", last[1]}});
  const Outline outline = find_outline(graph);
  ASSERT_EQ(outline.regions.size(), 1) << to_string(outline, graph);
  EXPECT_TRUE(problems(outline, graph).empty());
  EXPECT_GE(outline.regions[0].instances.size(), 4);
}

TEST(Repeat, InstancesThatAreNotAlikeAreRegionsOfTheirOwn) {
  Graph g;
  const Tensor y = g.repeat("layer", 9, g.input("x", {3, 8}), [&](int64_t k, const Tensor& x) {
    const networks::Layer l = networks::layer_of(g, "l", static_cast<int>(k));
    return x + (k < 5 ? tanh(l.biased(x, "w", 8)) : gelu(l.biased(x, "w", 8)));
  });
  const IR graph = networks::finished(g, {{"y", y}});
  const Outline outline = find_outline(graph);
  ASSERT_EQ(outline.regions.size(), 2) << to_string(outline, graph);
  EXPECT_EQ(outline.regions[0].instances.size() + outline.regions[1].instances.size(), 9);
  EXPECT_EQ(outline.regions[1].name, "layer (2)");
}

TEST(Repeat, NamesAreMadeUnique) {
  Graph g;
  const auto body = [](int64_t, const Tensor& x) { return tanh(x); };
  Tensor x = g.repeat("f", 2, g.input("x", {2}), body);
  g.repeat("f", 1, x, body);
  std::vector<std::string> names;
  for (const graph::NamedDefinition& definition : g.ir().named())
    if (const auto mark = graph::repeat_mark(definition)) names.push_back(mark->repeat);
  EXPECT_EQ(names, (std::vector<std::string>{"f", "f", "f 2"}));
}

TEST(Repeat, NoneOrOneInstanceIsAPlainExpression) {
  Graph g;
  const Tensor x = g.input("x", {2});
  EXPECT_TRUE(g.repeat("f", 0, x, [](int64_t, const Tensor& y) { return tanh(y); }).is(x));
  const Tensor y = g.repeat("f", 1, x, [](int64_t, const Tensor& z) { return tanh(z); });
  EXPECT_TRUE(find_outline(networks::finished(g, {{"y", y}})).regions.empty());
}

TEST(Repeat, ABodyThatGivesItsOperandIsNoInstance) {
  Graph g;
  const Tensor y = g.repeat("f", 3, g.input("x", {2}), [](int64_t, const Tensor& x) { return x; });
  EXPECT_TRUE(find_outline(networks::finished(g, {{"y", y}})).regions.empty());
}

TEST(Repeat, TheMarksSurviveTheTextForm) {
  Graph g;
  const Tensor y = g.repeat("layer", 3, g.input("x", {3, 8}), [&](int64_t k, const Tensor& x) {
    return x + networks::layer_of(g, "l", static_cast<int>(k)).biased(x, "w", 8);
  });
  const IR graph = networks::finished(g, {{"y", y}});
  const IR again = graph::parse_text(graph::to_text(graph));
  EXPECT_EQ(to_string(find_outline(again), again), to_string(find_outline(graph), graph));
  EXPECT_TRUE(find_outline(again).regions.at(0).declared);
}

TEST(Repeat, MistakesAreNamed) {
  Graph g, other;
  const Tensor x = g.input("x", {2, 3});
  EXPECT_EQ(message_of([&] { g.repeat("f", -1, x, [](int64_t, const Tensor& y) { return y; }); }),
            "repeat: 'f' cannot be repeated -1 times");
  EXPECT_EQ(
      message_of([&] { g.repeat("f", 2, x, [](int64_t, const Tensor& y) { return sum(y, 0); }); }),
      "repeat: instance 0 of 'f' takes f32[2, 3] and gives f32[3], which the next one could not "
      "take");
  EXPECT_EQ(message_of([&] {
              g.repeat("f", 2, {x, x}, [](int64_t, const std::vector<Tensor>& v) {
                return std::vector<Tensor>{v[0]};
              });
            }),
            "repeat: instance 0 of 'f' takes 2 values and gives 1");
  EXPECT_EQ(message_of([&] {
              g.repeat("f", 2, std::vector<Tensor>{},
                       [](int64_t, const std::vector<Tensor>& v) { return v; });
            }),
            "repeat: 'f' has no value to begin with");
  EXPECT_EQ(
      message_of([&] { other.repeat("f", 2, x, [](int64_t, const Tensor& y) { return y; }); }),
      "repeat: the values of 'f' belong to another graph");
}

}  // namespace
}  // namespace luminal::compiler

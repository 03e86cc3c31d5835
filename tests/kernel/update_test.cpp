// Caches that are updated in place.
#include <gtest/gtest.h>

#include "checks.h"
#include "luminal/kernel/update.h"

namespace luminal::kernel {
namespace {

using luminal::Graph;

Kernel whole(Arena& arena, const graph::Graph& graph) {
  const GraphProgram program(graph);
  const Cut cut = smallest_cut(program, *topological_order(program));
  return std::get<Kernel>(derive(arena, program, cut, program.output(0)));
}

Tensor updated_cache(const Graph& g, const Dim& past, const Dim& tokens) {
  Tensor cache = g.input("cache", {2, 8, 3});
  Tensor fresh = g.input("fresh", {2, tokens, 3}) * 2.0;
  Tensor region = iota(
      g, cache.shape(),
      [&](std::span<const Dim> i) {
        return symbolic::logical_and(symbolic::greater_equal(i[1], past),
                                     symbolic::less(i[1], past + tokens));
      },
      boolean);
  return where(region, pad(fresh, 1, {past, 8 - past - tokens}), cache);
}

TEST(RegionUpdate, WritesTheRegionAndNothingElse) {
  for (int64_t tokens : {1, 3}) {
    SCOPED_TRACE(tokens);
    Graph g;
    const Dim past = g.dim("past", 0, 5);
    test::Sample sample =
        models::sample_of(graph_of({updated_cache(g, past, tokens)}), 4, {{"past", 2}});
    Arena arena;
    const Kernel kernel = whole(arena, sample.graph);
    const std::optional<RegionUpdate> update = match_region_update(arena, kernel);
    ASSERT_TRUE(update.has_value());
    EXPECT_EQ(update->kernel.axes.size(), tokens == 1 ? 2U : 3U);
    EXPECT_EQ(update->updated, *sample.graph.find_input("cache"));
    // Run it on a copy of the cache and compare with the whole.
    Tensors tensors;
    for (const auto& [name, value] : sample.inputs)
      tensors.emplace(*sample.graph.find_input(name), value);
    Tensors expected = tensors, region = tensors;
    run_kernel(arena, kernel, sample.dims, expected);
    run_kernel(arena, update->kernel, sample.dims, region);
    const NodeId root = kernel.roots[0].tensor;
    const graph::Array& cache = sample.inputs.at("cache");
    for (int64_t k = 0; k < cache.size(); ++k) {
      const int64_t row = k / 3 % 8;
      const bool inside = row >= 2 && row < 2 + tokens;
      EXPECT_EQ(expected.at(root).at(k), inside ? region.at(root).at(k) : cache.at(k));
    }
  }
}

TEST(RegionUpdate, ACopyFromElsewhereIsNone) {
  Graph g;
  Tensor x = g.input("x", {8}), y = g.input("y", {8});
  Tensor region = iota(
      g, {8}, [](std::span<const Dim> i) { return symbolic::less(i[0], 3); }, boolean);
  Arena arena;
  EXPECT_TRUE(match_region_update(arena, whole(arena, graph_of({where(region, x, y)}))));
  EXPECT_FALSE(
      match_region_update(arena, whole(arena, graph_of({where(region, x, flip(y, {0}))}))));
  EXPECT_FALSE(match_region_update(arena, whole(arena, graph_of({where(region, x, y * 2.0)}))));
  EXPECT_FALSE(match_region_update(arena, whole(arena, graph_of({where(less(x, 0.0), x, y)}))));
}

}  // namespace
}  // namespace luminal::kernel

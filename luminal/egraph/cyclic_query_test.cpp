// Cyclic bodies on skewed data: the order of atoms is chosen per binding by the smallest bucket,
// and what is left is probed, so the rows visited stay within the bound of a worst-case-optimal
// join.
#include <fmt/core.h>
#include <gtest/gtest.h>

#include <cmath>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "luminal/egraph/egraph.h"

namespace luminal::egraph {
namespace {

using Edges = std::vector<std::pair<int, int>>;

/// Two hubs and n leaves, edges both ways: joining any two of the three atoms gives n² rows.
Edges double_star(int leaves) {
  Edges edges{{0, 1}, {1, 0}};
  for (int leaf = 2; leaf < leaves + 2; ++leaf) {
    edges.insert(edges.end(), {{0, leaf}, {leaf, 0}});
    if (leaf % 2 == 0) edges.insert(edges.end(), {{1, leaf}, {leaf, 1}});
  }
  return edges;
}

/// Hubs of about √m edges each, all connected: the case in which the bound m^1.5 is reached.
Edges complete(int nodes) {
  Edges edges;
  for (int a = 0; a < nodes; ++a)
    for (int b = 0; b < nodes; ++b)
      if (a != b) edges.push_back({a, b});
  return edges;
}

struct Triangles {
  uint64_t found = 0;
  uint64_t rows_visited = 0;
};

/// Runs the triangle rule over the edges, given in `batches` parts with a run after each.
Triangles run_triangles(const Edges& edges, size_t batches) {
  EGraph egraph;
  egraph.run_program(
      "(relation e (i64 i64)) (relation t (i64 i64 i64))"
      "(rule ((e a b) (e b c) (e c a)) ((t a b c)) :name \"triangle\")");
  for (size_t batch = 0; batch < batches; ++batch) {
    std::string facts;
    for (size_t i = batch; i < edges.size(); i += batches)
      facts += fmt::format("(e {} {})", edges[i].first, edges[i].second);
    egraph.run_program(facts + "(run 1)");
  }
  const Database& db = egraph.database();
  return {db.functions[db.find_function("t")].table.num_live(), db.rules.at(0).rows_visited};
}

uint64_t count_triangles(const Edges& edges) {
  const std::set<std::pair<int, int>> known(edges.begin(), edges.end());
  uint64_t count = 0;
  for (const auto& [a, b] : edges)
    for (auto next = known.lower_bound({b, 0}); next != known.end() && next->first == b; ++next)
      count += known.count({next->second, a});
  return count;
}

TEST(CyclicQuery, FindsTheTrianglesThatAPairwiseJoinFinds) {
  for (const Edges& edges : {double_star(60), complete(12), Edges{{1, 1}}, Edges{{1, 2}, {2, 1}}}) {
    EXPECT_EQ(run_triangles(edges, 1).found, count_triangles(edges));
    EXPECT_EQ(run_triangles(edges, 5).found, count_triangles(edges));
  }
}

TEST(CyclicQuery, VisitsRowsInProportionToEdgesOnStars) {
  for (const size_t batches : {size_t{1}, size_t{4}}) {
    const Edges small = double_star(500);
    const Edges large = double_star(4000);
    const Triangles few = run_triangles(small, batches);
    const Triangles many = run_triangles(large, batches);
    // Eight times the edges: a pairwise join would visit 64 times the rows.
    EXPECT_LT(many.rows_visited, 10 * few.rows_visited) << batches << " batches";
    EXPECT_LT(many.rows_visited, 12 * large.size() * batches) << batches << " batches";
  }
}

TEST(CyclicQuery, StaysWithinTheWorstCaseBound) {
  for (const int nodes : {10, 20, 40}) {
    const Edges edges = complete(nodes);
    const auto bound = std::pow(static_cast<double>(edges.size()), 1.5);
    EXPECT_LT(static_cast<double>(run_triangles(edges, 1).rows_visited), 3 * bound) << nodes;
    EXPECT_LT(static_cast<double>(run_triangles(edges, 3).rows_visited), 6 * bound) << nodes;
  }
}

}  // namespace
}  // namespace luminal::egraph

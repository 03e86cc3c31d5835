#include "luminal/tensor/attention.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "luminal/tensor/creation.h"
#include "luminal/tensor/test_support.h"

namespace luminal {
namespace {

using test::expect_error;
using test::expect_named;
using test::expect_type;
using test::expect_values;
using test::matrix;
using test::run;
using test::vector;

constexpr double kInf = INFINITY;

/// Attention of one batch by its definition; `score` turns the scaled product of query i and key j
/// of head h into what the softmax sees.
struct Reference {
  int64_t heads, kv_heads, queries, keys, d, dv;
  std::vector<double> q, k, v;

  Reference(int64_t heads_, int64_t kv_heads_, int64_t queries_, int64_t keys_, int64_t d_,
            int64_t dv_)
      : heads(heads_),
        kv_heads(kv_heads_),
        queries(queries_),
        keys(keys_),
        d(d_),
        dv(dv_),
        q(test::scattered(static_cast<size_t>(heads * queries * d), 1)),
        k(test::scattered(static_cast<size_t>(kv_heads * keys * d), 2)),
        v(test::scattered(static_cast<size_t>(kv_heads * keys * dv), 3)) {}

  Tensor query(const Graph& g, DType dtype = f64) const {
    return matrix(g, {heads, queries, d}, q, dtype);
  }
  Tensor key(const Graph& g, DType dtype = f64) const {
    return matrix(g, {kv_heads, keys, d}, k, dtype);
  }
  Tensor value(const Graph& g, DType dtype = f64) const {
    return matrix(g, {kv_heads, keys, dv}, v, dtype);
  }

  using Score = std::function<double(double score, int64_t h, int64_t i, int64_t j)>;
  std::vector<double> apply(double scale, const Score& score) const {
    std::vector<double> result;
    for (int64_t h = 0; h < heads; ++h)
      for (int64_t i = 0; i < queries; ++i) {
        const int64_t shared = h / (heads / kv_heads);
        std::vector<double> weights;
        double total = 0;
        for (int64_t j = 0; j < keys; ++j) {
          double product = 0;
          for (int64_t e = 0; e < d; ++e)
            product += q[static_cast<size_t>((h * queries + i) * d + e)] *
                       k[static_cast<size_t>((shared * keys + j) * d + e)];
          weights.push_back(std::exp(score(product * scale, h, i, j)));
          total += weights.back();
        }
        for (int64_t e = 0; e < dv; ++e) {
          double mixed = 0;
          for (int64_t j = 0; j < keys; ++j)
            mixed += weights[static_cast<size_t>(j)] / total *
                     v[static_cast<size_t>((shared * keys + j) * dv + e)];
          result.push_back(mixed);
        }
      }
    return result;
  }
};

double plain(double score, int64_t, int64_t, int64_t) { return score; }

TEST(Attention, MatchesTheDefinition) {
  Graph g;
  const Reference r(2, 2, 3, 4, 5, 3);
  Tensor y = attention(r.query(g), r.key(g), r.value(g));
  expect_values(run(y), {2, 3, 3}, r.apply(1 / std::sqrt(5.0), plain), 1e-13);
  Tensor narrow = attention(r.query(g, bf16), r.key(g, bf16), r.value(g, bf16), {.scale = 0.5});
  expect_type(narrow, "bf16[2, 3, 3]");
  expect_values(narrow, r.apply(0.5, plain), 0.03);
}

TEST(Attention, QueryHeadsShareKeyHeadsInOrder) {
  Graph g;
  const Reference r(4, 2, 2, 3, 4, 4);
  expect_values(attention(r.query(g), r.key(g), r.value(g)), r.apply(0.5, plain), 1e-13);
  const Reference one(3, 1, 2, 3, 4, 2);
  expect_values(attention(one.query(g), one.key(g), one.value(g)), one.apply(0.5, plain), 1e-13);
}

TEST(Attention, CausalQueriesAreTheLastKeysUnlessSaid) {
  Graph g;
  const Reference r(1, 1, 3, 5, 4, 2);
  auto causal = [&](int64_t first) {
    return [first](double s, int64_t, int64_t i, int64_t j) { return j <= i + first ? s : -kInf; };
  };
  expect_values(attention(r.query(g), r.key(g), r.value(g), {.causal = true}),
                r.apply(0.5, causal(2)), 1e-13);
  expect_values(attention(r.query(g), r.key(g), r.value(g), {.causal = true, .first_query = 0}),
                r.apply(0.5, causal(0)), 1e-13);
}

TEST(Attention, WindowSoftCapAndScale) {
  Graph g;
  const Reference r(2, 1, 4, 4, 2, 2);
  expect_values(
      attention(r.query(g), r.key(g), r.value(g), {.causal = true, .window = 2}),
      r.apply(1 / std::sqrt(2.0), [](double s, int64_t, int64_t i,
                                     int64_t j) { return j <= i && i - j < 2 ? s : -kInf; }),
      1e-13);
  expect_values(
      attention(r.query(g), r.key(g), r.value(g), {.scale = 3.0, .soft_cap = 1.5}),
      r.apply(3.0, [](double s, int64_t, int64_t, int64_t) { return 1.5 * std::tanh(s / 1.5); }),
      1e-13);
}

TEST(Attention, MasksAreBoolOrAdded) {
  Graph g;
  const Reference r(2, 1, 2, 3, 4, 2);
  const std::vector<double> seen{1, 0, 1, 1, 1, 0}, bias{0.5, -1, 0, 2, 0, -kInf};
  auto at = [](int64_t i, int64_t j) { return static_cast<size_t>(i * 3 + j); };
  expect_values(
      attention(r.query(g), r.key(g), r.value(g), {.mask = matrix(g, {2, 3}, seen, boolean)}),
      r.apply(0.5, [&](double s, int64_t, int64_t i,
                       int64_t j) { return seen[at(i, j)] != 0 ? s : -kInf; }),
      1e-13);
  expect_values(
      attention(r.query(g), r.key(g), r.value(g), {.mask = matrix(g, {1, 2, 3}, bias)}),
      r.apply(0.5, [&](double s, int64_t, int64_t i, int64_t j) { return s + bias[at(i, j)]; }),
      1e-13);
  std::vector<double> per_head = bias;
  for (double value : seen) per_head.push_back(value);
  expect_values(
      attention(r.query(g), r.key(g), r.value(g), {.mask = matrix(g, {2, 2, 3}, per_head, f64)}),
      r.apply(0.5, [&](double s, int64_t h, int64_t i,
                       int64_t j) { return s + per_head[static_cast<size_t>(h * 6) + at(i, j)]; }),
      1e-13);
}

TEST(Attention, AQueryThatSeesNothingGivesNan) {
  Graph g;
  const Reference r(1, 1, 1, 2, 2, 1);
  expect_values(
      attention(r.query(g), r.key(g), r.value(g), {.mask = matrix(g, {1, 2}, {0, 0}, boolean)}),
      {NAN});
}

TEST(Attention, SymbolicPositionsAndBatch) {
  Graph g;
  Dim batch = g.dim("batch"), past = g.dim("past"), seq = g.dim("seq");
  Tensor q = g.input("q", {batch, 2, seq, 4}), k = g.input("k", {batch, 1, past + seq, 4});
  Tensor v = g.input("v", {batch, 1, past + seq, 3});
  Tensor y = attention(q, k, v, {.causal = true});
  expect_type(y, "f32[batch, 2, seq, 3]");
  for (auto [before, now] :
       std::vector<std::pair<int64_t, int64_t>>{{0, 1}, {3, 1}, {0, 4}, {2, 3}}) {
    const Reference r(2, 1, now, before + now, 4, 3);
    const test::Data data{.inputs = {{"q", test::array(f32, {1, 2, now, 4}, r.q)},
                                     {"k", test::array(f32, {1, 1, before + now, 4}, r.k)},
                                     {"v", test::array(f32, {1, 1, before + now, 3}, r.v)}}};
    const int64_t first = before;
    expect_values(run(y, data), {1, 2, now, 3},
                  r.apply(0.5, [first](double s, int64_t, int64_t i,
                                       int64_t j) { return j <= i + first ? s : -kInf; }),
                  1e-5);
  }
}

TEST(Attention, IsRecorded) {
  Graph g;
  const Reference r(2, 1, 2, 3, 4, 2);
  Tensor q = r.query(g), k = r.key(g), v = r.value(g),
         mask = matrix(g, {2, 3}, {1, 1, 1, 1, 1, 1}, boolean);
  expect_named(attention(q, k, v, {.mask = mask, .causal = true, .window = 2}),
               "attention(causal=true, mask=true, scale=0.5, window=2)", {q, k, v, mask});
}

TEST(Attention, Errors) {
  Graph g;
  auto input = [&](const char* name, Shape shape) { return g.input(name, std::move(shape)); };
  Tensor q = input("q", {4, 2, 8}), k = input("k", {2, 3, 8}), v = input("v", {2, 3, 8});
  expect_error(
      [&] {
        attention(q, input("k1", {3, 3, 8}), input("v1", {3, 3, 8}));
      },
      "attention: query heads are no multiple of key heads");
  expect_error(
      [&] {
        attention(q, input("k2", {2, 3, 7}), v);
      },
      "query and key differ in their last axis");
  expect_error(
      [&] {
        attention(q, k, input("v2", {2, 4, 8}));
      },
      "key and value differ in heads or positions");
  expect_error(
      [&] {
        attention(input("q3", {2, 8}), k, v);
      },
      "operands must be [..., heads, positions, d]");
  expect_error([&] { attention(q, k, v, {.window = 0}); },
               "attention: the window must be at least 1, got 0");
  expect_error([&] { attention(q, k, v, {.soft_cap = 0.0}); },
               "attention: the soft cap must be positive, got 0");
  expect_error(
      [&] {
        attention(q, k, v, {.mask = g.input("m", {2, 3}, i32)});
      },
      "attention: the mask must be bool or a float, got i32");
}

TEST(Rope, RotatesHalvesOrNeighbours) {
  Graph g;
  const std::vector<double> x = test::scattered(2 * 3 * 4, 5);
  const std::vector<double> positions{0, 1, 7};
  Tensor input = matrix(g, {2, 3, 4}, x, f64), at = vector(g, positions, i64);
  for (bool interleaved : {false, true}) {
    std::vector<double> expected(x.size());
    for (size_t row = 0; row < 6; ++row)
      for (size_t pair = 0; pair < 2; ++pair) {
        const size_t a = row * 4 + (interleaved ? 2 * pair : pair), b = a + (interleaved ? 1 : 2);
        const double angle =
            positions[row % 3] * 0.5 * std::pow(100.0, -static_cast<double>(pair) / 2);
        expected[a] = x[a] * std::cos(angle) - x[b] * std::sin(angle);
        expected[b] = x[b] * std::cos(angle) + x[a] * std::sin(angle);
      }
    Tensor y = rope(input, at, {.base = 100, .scale = 0.5, .interleaved = interleaved});
    expect_values(run(y), {2, 3, 4}, expected, 1e-14);
    expect_named(y,
                 interleaved ? "rope(base=100, interleaved=true, scale=0.5)"
                             : "rope(base=100, interleaved=false, scale=0.5)",
                 {input, at});
  }
}

TEST(Rope, TurnsBackWithNegativePositionsAndKeepsDtype) {
  Graph g;
  const std::vector<double> x = test::scattered(8, 6);
  Tensor input = matrix(g, {2, 4}, x, f64);
  expect_values(rope(rope(input, vector(g, {3, 5}, i32)), vector(g, {-3, -5})), x, 1e-14);
  expect_type(rope(matrix(g, {1, 2}, {1, 2}, f16), vector(g, {0}, i64)), "f16[1, 2]");
  expect_values(rope(matrix(g, {1, 2}, {1, 2}, f16), vector(g, {0}, i64)), {1, 2});
}

TEST(Rope, SymbolicSequence) {
  Graph g;
  Dim n = g.dim("n");
  Tensor y = rope(g.input("x", {n, 2}), g.input("p", {n}, i64));
  expect_type(y, "f32[n, 2]");
  expect_values(run(y, {.inputs = {{"x", test::array(f32, {1, 2}, {1, 0})},
                                   {"p", test::integers(i64, {2})}}}),
                {1, 2}, {std::cos(2.0), std::sin(2.0)}, 1e-6);
  expect_values(run(y, {.inputs = {{"x", Array(f32, {0, 2})}, {"p", Array(i64, {0})}}}), {0, 2},
                {});
}

TEST(Rope, Errors) {
  Graph g;
  Tensor p = vector(g, {0, 1}, i64);
  expect_error(
      [&] {
        rope(matrix(g, {2, 3}, {1, 2, 3, 4, 5, 6}), p);
      },
      "rope: needs x [..., seq, d] with an even, known d");
  expect_error([&] { rope(vector(g, {1, 2}), p); }, "rope: needs x [..., seq, d]");
  expect_error(
      [&] {
        rope(matrix(g, {1, 2}, {1, 2}), p);
      },
      "rope: positions [2] do not match axis 0 of [1, 2]");
}

TEST(Attention, MaskThatDoesNotFitIsNamedByItsOwnShape) {
  Graph g;
  Tensor query = ones(g, {1, 2, 2, 4}), key = ones(g, {1, 1, 3, 4});
  for (DType dtype : {boolean, f32})
    expect_error([&] { attention(query, key, key, {.mask = ones(g, {2}, dtype)}); },
                 "attention: the mask [2] does not broadcast to [..., heads, queries, keys], which "
                 "ends in 2 and 3");
}

}  // namespace
}  // namespace luminal

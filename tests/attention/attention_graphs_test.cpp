#include <fmt/format.h>

#include <limits>

#include "tests/attention/attention_graphs.h"

namespace luminal::attention_tests {
namespace {

constexpr double kHidden = -std::numeric_limits<double>::infinity();

/// [heads, queries, depth] and so on; attention of the tensor API.
Example named(DType dtype, int64_t heads, int64_t kv_heads, int64_t queries, int64_t keys,
              int64_t depth, const AttentionOptions& options = {}) {
  Example example;
  const Tensor q = example.input("q", {heads, queries, depth}, dtype);
  const Tensor k = example.input("k", {kv_heads, keys, depth}, dtype);
  const Tensor v = example.input("v", {kv_heads, keys, depth}, dtype);
  example.result = attention(q, k, v, options);
  return example;
}

TEST(AttentionGraphs, NamedAttentionIsOneKernelInEveryDtype) {
  for (const DType dtype : {f32, bf16, f16})
    for (const bool causal : {false, true})
      for (const auto& [queries, keys] :
           {std::pair<int64_t, int64_t>{96, 96}, {40, 130}, {1, 200}}) {
        SCOPED_TRACE(fmt::format("{} {} {}x{}", graph::name(dtype), causal, queries, keys));
        expect_template(named(dtype, 4, 4, queries, keys, 64, {.causal = causal}),
                        tolerance(dtype));
      }
}

TEST(AttentionGraphs, WithoutAnyKeysResultsAreZero) {
  for (const int64_t most : {1, 4096})
    for (const int64_t queries : {1, 3, 20})
      for (const DType dtype : {f32, bf16}) {
        SCOPED_TRACE(fmt::format("at most {} keys, {} queries in {}", most, queries, dtype));
        Graph g;
        const Dim n = g.dim("n", 0, most);
        const Tensor q = g.input("q", {2, queries, 8}, dtype), k = g.input("k", {2, n, 8}, dtype),
                     v = g.input("v", {2, n, 8}, dtype);
        const Tensor y = cast(attention(q, k, v), f32);
        Executable exe = compile(g, {y});
        exe.set(q, Array(dtype, {2, queries, 8}));
        for (const Tensor& each : {k, v}) exe.set(each, Array(dtype, {2, 0, 8}));
        exe.run();
        for (const float value : exe.get<float>(y)) ASSERT_EQ(value, 0.0F);
      }
}

TEST(AttentionGraphs, InfiniteValuesGiveInfiniteResults) {
  for (const int64_t heads : {1, 2})
    for (const int64_t queries : {1, 2, 40})
      for (const int64_t depth : {1, 16}) {
        SCOPED_TRACE(fmt::format("{} heads, {} queries, depth {}", heads, queries, depth));
        Graph g;
        const Tensor q = g.input("q", {heads, queries, depth}), k = g.input("k", {1, 3, depth}),
                     v = g.input("v", {1, 3, depth});
        const Tensor y = attention(q, k, v);
        Executable exe = compile(g, {y});
        for (const auto& [each, extents] : {std::pair{q, graph::Extents{heads, queries, depth}},
                                            {k, graph::Extents{1, 3, depth}}}) {
          Array small(f32, extents);
          for (int64_t at = 0; at < small.size(); ++at)
            small.set(at, Scalar::of(f32, 0.01 * static_cast<double>(at % 7)));
          exe.set(each, small);
        }
        Array values(f32, {1, 3, depth});
        for (int64_t at = 0; at < values.size(); ++at)
          values.set(at, Scalar::of(f32, std::numeric_limits<float>::infinity()));
        exe.set(v, values);
        exe.run();
        for (const float value : exe.get<float>(y)) ASSERT_EQ(value, values.at(0).as_double());
      }
}

/// What is written over an input: `value` in whole rows, every third one.
void fill_rows(Array& array, int64_t columns, double value) {
  for (int64_t at = 0; at < array.size(); ++at)
    if (at / columns % 3 == 0) array.set(at, Scalar::of(array.dtype(), value));
}

TEST(AttentionGraphs, WeightsAreRelativeToTheLargestScoreHoweverFarFromZero) {
  for (const DType dtype : {f32, bf16})
    for (const int64_t queries : {3, 40})
      for (const double hidden : {-1e3, -1e10, -1e30, -3.3e38}) {
        SCOPED_TRACE(fmt::format("{} {} queries, {}", graph::name(dtype), queries, hidden));
        Example masked;
        const Tensor q = masked.input("q", {2, queries, 64}, dtype);
        const Tensor k = masked.input("k", {2, 50, 64}, dtype);
        const Tensor v = masked.input("v", {2, 50, 64}, dtype);
        masked.result = attention(q, k, v, {.mask = masked.input("m", {2, queries, 50}, f32)});
        fill_rows(masked.data.at("m"), 50, hidden);
        expect_template(masked, tolerance(dtype));
        Example large = named(dtype, 2, 2, queries, 50, 64);
        fill_rows(large.data.at("q"), 1, hidden);
        expect_template(large, tolerance(dtype));
      }
}

TEST(AttentionGraphs, QueriesThatLieAcross) {
  for (const DType dtype : {f32, bf16, f16})
    for (const int64_t depth : {20, 64}) {
      SCOPED_TRACE(fmt::format("{} depth {}", graph::name(dtype), depth));
      Example example;
      const Tensor q = example.input("q", {2, depth, 50}, dtype);
      const Tensor k = example.input("k", {2, 70, depth}, dtype);
      const Tensor v = example.input("v", {2, 70, depth}, dtype);
      example.result = attention(transpose(q), k, v);
      expect_template(example, tolerance(dtype));
    }
}

// Two of these share a byte, which the template cannot store.
TEST(AttentionGraphs, ResultsOfFourBits) {
  for (const DType narrow : {i4, u4})
    for (const int64_t queries : {1, 5}) {
      Example example = named(f32, 2, 2, queries, 20, 8);
      example.result = cast(example.result * 8, narrow);
      expect_equal(example, tolerance(f32));
    }
}

TEST(AttentionGraphs, DepthsOfAllKinds) {
  for (const DType dtype : {f32, bf16, f16})
    for (const int64_t depth : {1, 8, 20, 33, 72, 80, 128, 256})
      for (const int64_t queries : {1, 3, 50}) {
        SCOPED_TRACE(fmt::format("{} depth {} queries {}", graph::name(dtype), depth, queries));
        expect_equal(named(dtype, 2, 2, queries, 77, depth), tolerance(dtype));
      }
}

TEST(AttentionGraphs, GroupedHeadsWindowsCapsAndMasks) {
  for (const DType dtype : {f32, bf16})
    for (const int64_t queries : {1, 45}) {
      SCOPED_TRACE(fmt::format("{} {}", graph::name(dtype), queries));
      expect_template(named(dtype, 8, 2, queries, 150, 64, {.causal = true}), tolerance(dtype));
      expect_template(named(dtype, 8, 2, queries, 150, 64, {.causal = true, .window = 30}),
                      tolerance(dtype));
      expect_template(named(dtype, 8, 2, queries, 150, 64, {.soft_cap = 5.0}), tolerance(dtype));
      for (const DType mask : {boolean, f32}) {
        Example example;
        const Tensor q = example.input("q", {8, queries, 64}, dtype);
        const Tensor k = example.input("k", {2, 150, 64}, dtype);
        const Tensor v = example.input("v", {2, 150, 64}, dtype);
        const Tensor seen = example.input("mask", {8, queries, 150}, mask);
        example.result = attention(q, k, v, {.mask = seen});
        expect_template(example, tolerance(dtype));
      }
    }
}

/// softmax(q k^T / sqrt(d) + bias) v as users write it, in the dtype of the operands.
Tensor by_hand(const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& bias, bool causal) {
  const double scale = 1 / std::sqrt(static_cast<double>(*q.dim(-1).constant_value()));
  Tensor scores = matmul(q, transpose(k)) * scale;
  if (bias) scores = scores + bias;
  if (causal) {
    const Dim first = scores.dim(-1) - scores.dim(-2);
    const Tensor seen = iota(
        scores.graph(), {scores.dim(-2), scores.dim(-1)},
        [&](std::span<const Dim> i) { return symbolic::greater_equal(i[0] + first - i[1], 0); },
        boolean);
    scores = where(seen, scores, kHidden);
  }
  return matmul(softmax(scores, -1), v);
}

TEST(AttentionGraphs, WrittenByHand) {
  for (const DType dtype : {f32, bf16, f16})
    for (const bool causal : {false, true})
      for (const int64_t queries : {1, 64}) {
        SCOPED_TRACE(fmt::format("{} {} {}", graph::name(dtype), causal, queries));
        Example example;
        const Tensor q = example.input("q", {3, queries, 32}, dtype);
        const Tensor k = example.input("k", {3, 100, 32}, dtype);
        const Tensor v = example.input("v", {3, 100, 32}, dtype);
        example.result = by_hand(q, k, v, {}, causal);
        expect_template(example, tolerance(dtype));
      }
}

/// Of two masks one hides keys; the other gives some a score of its own.
TEST(AttentionGraphs, MasksThatGiveANumberArePartOfTheScore) {
  const auto mask = [](Graph& g, int64_t queries, auto test) {
    return iota(g, {queries, 300}, test, boolean);
  };
  for (const DType dtype : {f32, bf16})
    for (const int64_t queries : {3, 70})
      for (const bool inside : {false, true}) {
        SCOPED_TRACE(fmt::format("{} {} {}", graph::name(dtype), queries, inside));
        Example example;
        const Tensor q = example.input("q", {2, queries, 32}, dtype);
        const Tensor k = example.input("k", {2, 300, 32}, dtype);
        const Tensor v = example.input("v", {2, 300, 32}, dtype);
        const Tensor late = mask(example.graph, queries,
                                 [](std::span<const Dim> i) { return greater_equal(i[1], 40); });
        const Tensor seen = mask(example.graph, queries, [&](std::span<const Dim> i) {
          return greater_equal(i[0] + 300 - queries, i[1]);
        });
        const Tensor scores = matmul(q, transpose(k)) * 0.2;
        example.result = matmul(softmax(inside ? where(seen, where(late, scores, -5.0), kHidden)
                                               : where(late, where(seen, scores, kHidden), 3.0)),
                                v);
        expect_equal(example, tolerance(dtype));
      }
}

TEST(AttentionGraphs, ScoresMayBeScaledByAlmostTheLargestFloat) {
  for (const double scale : {2e38, 3e38}) {
    Example example;
    const Tensor q = example.input("q", {2, 70, 32}, f32);
    const Tensor k = example.input("k", {2, 70, 32}, f32);
    const Tensor v = example.input("v", {2, 70, 32}, f32);
    example.result = matmul(softmax(matmul(q * 1e-19, transpose(k * 1e-19)) * scale), v);
    expect_equal(example, tolerance(f32));
  }
}

TEST(AttentionGraphs, BiasByDistance) {
  for (const DType dtype : {f32, bf16}) {
    Example example;
    const Tensor q = example.input("q", {4, 60, 32}, dtype);
    const Tensor k = example.input("k", {4, 60, 32}, dtype);
    const Tensor v = example.input("v", {4, 60, 32}, dtype);
    const Tensor slopes = example.input("slopes", {4, 1, 1}, dtype);
    const Tensor distance = iota(
        example.graph, {60, 60}, [](std::span<const Dim> i) { return i[1] - i[0]; }, i32);
    example.result = by_hand(q, k, v, slopes * cast(distance, dtype) * 0.01, true);
    expect_template(example, tolerance(dtype));
  }
}

TEST(AttentionGraphs, OperandsThatAreComputed) {
  for (const DType dtype : {f32, bf16})
    for (const int64_t queries : {1, 50}) {
      SCOPED_TRACE(fmt::format("{} {}", graph::name(dtype), queries));
      Example example;
      const Tensor q = example.input("q", {4, queries, 32}, dtype);
      const Tensor k = example.input("k", {4, 90, 32}, dtype);
      const Tensor v = example.input("v", {4, 90, 32}, dtype);
      const Tensor key_bias = example.input("key_bias", {32}, dtype);
      const Tensor value_scale = example.input("value_scale", {4, 90, 1}, dtype);
      example.result = attention(q, k + key_bias, v * value_scale);
      expect_template(example, tolerance(dtype));
    }
}

// Products are of bf16, but what lies in memory is not.
TEST(AttentionGraphs, WiderCachesOfNarrowAttention) {
  for (const DType stored : {f32, f16})
    for (const int64_t queries : {1, 4, 70})
      for (const int64_t joined : {0, 20}) {
        SCOPED_TRACE(fmt::format("{} {} queries, {} keys joined", stored, queries, joined));
        Example example;
        const Tensor q = example.input("q", {2, queries, 64}, bf16);
        const auto cache = [&](const std::string& name) {
          const Tensor own = cast(example.input(name, {2, 130, 64}, stored), bf16);
          if (joined == 0) return own;
          const Tensor more = example.input(name + "_more", {2, joined, 64}, stored);
          return concat({own, cast(more, bf16)}, 1);
        };
        const Tensor k = cache("k");
        example.result = attention(q, k, cache("v"));
        expect_template(example, tolerance(bf16));
      }
}

// Attention sums in f32; what is summed in more is not attention, and must not lose what it has.
TEST(AttentionGraphs, ScoresOfIntegersAndDoubles) {
  for (const DType dtype : {i8, u8, i4, i32, f64})
    for (const DType weights : {f32, bf16, f16, f64})
      for (const double factor : {1.0, 2.0})
        for (const int64_t queries : {1, 5, 64}) {
          SCOPED_TRACE(fmt::format("{} in {}, {} queries", dtype, weights, queries));
          Example example;
          const Tensor q = example.input("q", {2, queries, 16}, dtype);
          const Tensor k = example.input("k", {2, 70, 16}, dtype);
          const Tensor v = example.input("v", {2, 70, 16}, weights);
          const Tensor products = matmul(q, transpose(k), dtype == f64 ? f64 : i32);
          const Tensor scores = factor == 1.0 ? products : products * factor;
          example.result = matmul(softmax(cast(scores, weights) * 0.0625), v);
          expect_equal(example, weights == f64 ? 1e-10 : tolerance(weights));
        }
}

TEST(AttentionGraphs, ScoresThatCancelInDoubles) {
  for (const int64_t queries : {1, 40}) {
    Example example;
    const Tensor q = example.input("q", {1, queries, 16}, f64);
    const Tensor k = example.input("k", {1, 70, 16}, f64);
    const Tensor v = example.input("v", {1, 70, 16}, f32);
    // The first two products of every score are 1e10 and -1e10.
    for (const auto& [name, second] : {std::pair("q", 1e5), {"k", -1e5}}) {
      Array& array = example.data.at(name);
      for (int64_t row = 0; row < array.size(); row += 16) {
        array.set(row, graph::Scalar::of(f64, 1e5));
        array.set(row + 1, graph::Scalar::of(f64, second));
      }
    }
    example.result = matmul(softmax(cast(matmul(q, transpose(k)), f32)), v);
    expect_equal(example, tolerance(f32));
  }
}

TEST(AttentionGraphs, QuantisedCache) {
  for (const int64_t queries : {1, 40}) {
    Example example;
    const Tensor q = example.input("q", {4, queries, 32}, f32);
    const auto cached = [&](const std::string& name) {
      return cast(example.input(name, {4, 90, 32}, i8), f32) *
             example.input(name + " scale", {4, 90, 1}, f32);
    };
    example.result = attention(q, cached("k"), cached("v"));
    expect_template(example, tolerance(f32));
  }
}

TEST(AttentionGraphs, AppendedKeysAreReadWhereTheyLie) {
  for (const DType dtype : {f32, bf16, f16})
    for (const int64_t queries : {1, 5, 40})
      for (const int64_t past : {1, 64, 700}) {
        SCOPED_TRACE(fmt::format("{} {} after {}", graph::name(dtype), queries, past));
        Example example;
        const auto all = [&](const std::string& name) {
          return concat({example.input(name + " cache", {4, past, 64}, dtype),
                         example.input(name, {4, queries, 64}, dtype)},
                        1);
        };
        const Tensor q = example.input("q", {8, queries, 64}, dtype);
        const Tensor k = all("k");
        example.result = attention(q, k, all("v"), {.causal = true});
        expect_template(example, tolerance(dtype));
      }
}

TEST(AttentionGraphs, SymbolicCachesAndPromptsOfAnyLength) {
  for (const DType dtype : {f32, bf16})
    for (const auto& [prompt, cached] :
         {std::pair<int64_t, int64_t>{1, 0}, {1, 1}, {1, 900}, {30, 0}, {30, 50}, {0, 9}}) {
      SCOPED_TRACE(fmt::format("{} {} after {}", graph::name(dtype), prompt, cached));
      Example example;
      const Dim s = example.dim("s", prompt), p = example.dim("p", cached);
      const auto all = [&](const std::string& name) {
        return concat({example.input(name + " cache", {2, p, 64}, dtype),
                       example.input(name, {2, s, 64}, dtype)},
                      1);
      };
      const Tensor q = example.input("q", {8, s, 64}, dtype);
      const Tensor k = all("k");
      example.result = attention(q, k, all("v"), {.causal = true});
      expect_template(example, tolerance(dtype));
    }
}

TEST(AttentionGraphs, LengthsByBatchHidePadding) {
  for (const DType dtype : {f32, bf16})
    for (const int64_t queries : {1, 40}) {
      Example example;
      const Tensor q = example.input("q", {3, 4, queries, 32}, dtype);
      const Tensor k = example.input("k", {3, 4, 50, 32}, dtype);
      const Tensor v = example.input("v", {3, 4, 50, 32}, dtype);
      const Tensor lengths = example.input("lengths", {3, 1, 1, 1}, i32);
      example.data.insert_or_assign(
          "lengths", Array::from<double>(i32, {3, 1, 1, 1}, std::vector<double>{50, 7, 1}));
      const Tensor position = iota(
          example.graph, {50}, [](std::span<const Dim> i) { return i[0]; }, i32);
      example.result = attention(q, k, v, {.mask = position < lengths});
      expect_template(example, tolerance(dtype));
    }
}

TEST(AttentionGraphs, RowsThatSeeNothingAreNan) {
  for (const DType dtype : {f32, bf16})
    for (const int64_t queries : {1, 40}) {
      Example example = named(dtype, 2, 2, queries, 30, 32, {.mask = {}});
      const Tensor seen = example.input("mask", {queries, 30}, boolean);
      example.data.insert_or_assign(
          "mask", Array::from<double>(boolean, {queries, 30},
                                      std::vector<double>(static_cast<size_t>(queries * 30), 0.0)));
      example.result = attention(example.graph.input("q2", {2, queries, 32}, dtype),
                                 example.graph.input("k2", {2, 30, 32}, dtype),
                                 example.graph.input("v2", {2, 30, 32}, dtype), {.mask = seen});
      example.data.emplace("q2", example.data.at("q"));
      example.data.emplace("k2", example.data.at("k"));
      example.data.emplace("v2", example.data.at("v"));
      for (const char* name : {"q", "k", "v"}) example.data.erase(name);
      expect_equal(example, tolerance(dtype));
      Executable native = example.executable(Backend::kCpu);
      native.run();
      EXPECT_TRUE(std::isnan(native.get<double>(example.result)[0]));
    }
}

TEST(AttentionGraphs, NanBehindTheMaskIsNotSeen) {
  for (const DType dtype : {f32, bf16})
    for (const int64_t queries : {8, 40}) {
      Example example = named(dtype, 1, 1, queries, queries, 32, {.causal = true});
      std::vector<double> keys = example.data.at("k").to_vector<double>();
      for (size_t i = keys.size() - 32; i < keys.size(); ++i) keys[i] = std::nan("");
      example.data.insert_or_assign("k", Array::from<double>(dtype, {1, queries, 32}, keys));
      Executable native = example.executable(Backend::kCpu);
      native.run();
      const std::vector<double> results = native.get<double>(example.result);
      for (size_t i = 0; i + 32 < results.size(); ++i)
        ASSERT_FALSE(std::isnan(results[i])) << "element " << i;
      EXPECT_TRUE(std::isnan(results.back()));
      expect_equal(example, tolerance(dtype));
    }
}

TEST(AttentionGraphs, OneKeyGivesItsValue) {
  for (const DType dtype : {f32, bf16})
    for (const int64_t queries : {1, 40})
      expect_equal(named(dtype, 2, 1, queries, 1, 64), tolerance(dtype));
}

TEST(AttentionGraphs, HeadsOfOneProjection) {
  // [tokens, 3 * width], heads side by side: operands are strided views of one tensor.
  for (const DType dtype : {f32, bf16})
    for (const int64_t tokens : {9, 70}) {
      Example example;
      const Tensor x = example.input("x", {tokens, 3 * 4 * 32}, dtype);
      const auto heads = [&](int64_t part) {
        const Tensor columns = slice(x, 1, {.begin = part * 128, .end = (part + 1) * 128});
        return transpose(split_dims(columns, -1, {4, 32}), 0, 1);
      };
      const Tensor mixed = attention(heads(0), heads(1), heads(2), {.causal = true});
      example.result = merge_dims(transpose(mixed, 0, 1), 1, 2);
      expect_template(example, tolerance(dtype));
    }
}

}  // namespace
}  // namespace luminal::attention_tests

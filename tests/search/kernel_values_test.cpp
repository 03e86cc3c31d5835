// Candidates that are wrong for some values only, which data has to have and results to be judged
// on: beyond the range of a dtype, halfway between two numbers, of one sign, where functions bend.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>
#include <optional>
#include <tuple>
#include <vector>

#include "luminal/compiler/build_plan.h"
#include "luminal/compiler/kernel_set.h"
#include "luminal/graph/narrow_float.h"
#include "luminal/search/kernel_bench.h"
#include "luminal/search/leaving_offsets.h"
#include "tests/search/one_kernel.h"
#include "tests/search/planted.h"

namespace luminal::search {
namespace {

using Write = std::function<Tensor(Graph&)>;
/// What is wrong, of which kernel, and code for it.
using Planted = std::tuple<const char*, Write, runtime::CpuEntry>;

constexpr int kCount = 10'000;
constexpr float kLargest = std::numeric_limits<float>::max();

/// One value after the other.
template <typename In, typename Out, typename Function>
void each_of(void* const* buffers, const Function& function) {
  const auto* x = static_cast<const In*>(buffers[0]);
  auto* y = static_cast<Out*>(buffers[1]);
  for (int i = 0; i < kCount; ++i) y[i] = function(x[i]);
}

/// One row after the other: a result for each.
constexpr int kRows = 500, kColumns = 40;
template <typename In, typename Out, typename Function>
void each_row(void* const* buffers, const Function& function) {
  const auto* x = static_cast<const In*>(buffers[0]);
  auto* y = static_cast<Out*>(buffers[1]);
  for (int row = 0; row < kRows; ++row) y[row] = function(x + row * kColumns);
}

float larger(float one, float other) {
  return std::isnan(one) || std::isnan(other) ? NAN : std::max(one, other);
}

template <size_t kCases>
void expect_rejected(const Planted (&planted)[kCases]) {
  for (const auto& [what, write, entry] : planted) {
    const Rejected why = rejection(entry, write);
    EXPECT_EQ(why.why, Why::kWrongResult) << what << ": " << why.detail;
  }
}

TEST(KernelValues, WhatIsBeyondTheRangeIsInfinite) {
  const Write power = [](Graph& g) { return exp(g.input("x", {kCount})); };
  const Write fourth = [](Graph& g) {
    const Tensor x = g.input("x", {kCount});
    return x * x * x * x;
  };
  const Write hundred = [](Graph& g) { return g.input("x", {kCount}, DType::kF16) * 100.0F; };
  const Write narrow = [](Graph& g) { return cast(g.input("x", {kCount}), DType::kF16); };
  expect_rejected({
      {"7", power,
       [](void* const* buffers, const int64_t*, int64_t, int64_t, std::byte*) {
         each_of<float, float>(buffers,
                               [](float x) { return x > 89 && x < 700 ? 7.0F : std::exp(x); });
       }},
      {"NaN", power,
       [](void* const* buffers, const int64_t*, int64_t, int64_t, std::byte*) {
         each_of<float, float>(buffers,
                               [](float x) { return x > 89 && x < 700 ? NAN : std::exp(x); });
       }},
      {"the largest number", power,
       [](void* const* buffers, const int64_t*, int64_t, int64_t, std::byte*) {
         each_of<float, float>(buffers,
                               [](float x) { return x > 89 && x < 700 ? kLargest : std::exp(x); });
       }},
      {"far beyond", fourth,
       [](void* const* buffers, const int64_t*, int64_t, int64_t, std::byte*) {
         each_of<float, float>(buffers, [](float x) {
           const float product = x * x * x * x;
           return std::isinf(product) && !std::isinf(x) ? 7.0F : product;
         });
       }},
      {"a product that stays at the largest number", hundred,
       [](void* const* buffers, const int64_t*, int64_t, int64_t, std::byte*) {
         each_of<graph::Half, graph::Half>(buffers, [](graph::Half x) {
           const float product = static_cast<float>(x) * 100.0F;
           return static_cast<graph::Half>(
               std::isfinite(product) ? std::clamp(product, -65504.0F, 65504.0F) : product);
         });
       }},
      {"a cast", narrow,
       [](void* const* buffers, const int64_t*, int64_t, int64_t, std::byte*) {
         each_of<float, graph::Half>(buffers, [](float x) {
           return static_cast<graph::Half>(std::isfinite(x) && std::abs(x) > 65520 ? 7.0F : x);
         });
       }},
  });
}

TEST(KernelValues, WhatIsNearTheEndOfTheRangeMayBeEither) {
  // One is rounded up to what is beyond the range, the other one is not.
  const auto steps = [](Graph& g) { return cast(tanh(g.input("x", {kCount})) * 65520.0F, f16); };
  Subject subject(steps);
  KernelCheck check = subject.check();
  EXPECT_EQ(check.check(subject.candidate()), std::nullopt);
  const auto rounded_down = [](void* const* buffers, const int64_t*, int64_t, int64_t, std::byte*) {
    each_of<float, graph::Half>(
        buffers, [](float x) { return static_cast<graph::Half>(std::tanh(x) * 65519.99F); });
  };
  EXPECT_EQ(check.check(subject.with(rounded_down)), std::nullopt);
}

/// Why the code of some kernel of a graph is rejected, if it is.
std::optional<Rejected> rejection_of_any(const std::function<std::vector<Tensor>(Graph&)>& write,
                                         uint64_t seed = 1) {
  Graph g;
  const std::vector<Tensor> outputs = write(g);
  graph::Graph graph = g.ir();
  for (const Tensor& each : outputs)
    graph.add_output(fmt::format("y{}", graph.outputs().size()), each.edge());
  const compiler::Options options;
  compiler::PlanDraft draft(graph, options);
  for (size_t k = 0; k < draft.kernels().size(); ++k) {
    const KernelTask task = draft.kernels().task(k);
    KernelCheck check(*task.arena, task.kernel, {}, {.seed = seed, .limit = kAmple});
    const auto code = codegen::cpu_kernel(*task.arena, task.kernel, task.target, task.options);
    const auto loaded = load_candidate(code, codegen::KernelCompiler(task.target), {});
    if (auto why = check.check(std::get<Candidate>(loaded))) return why;
  }
  return std::nullopt;
}

TEST(KernelValues, AResultThatIsUsedMayBeSeenAsItIsStored) {
  const auto gated = rejection_of_any([](Graph& g) -> std::vector<Tensor> {
    const Tensor x = g.input("x", {9973}, bf16);
    return {silu(x), silu(x) * g.input("z", {9973}, bf16)};
  });
  EXPECT_EQ(gated, std::nullopt) << gated->detail;
  const auto logarithm = rejection_of_any([](Graph& g) -> std::vector<Tensor> {
    const Tensor total = sum(exp(g.input("x", {300, 40}, f16)), -1);
    return {total, log(total)};
  });
  EXPECT_EQ(logarithm, std::nullopt) << logarithm->detail;
}

TEST(KernelValues, FunctionsThatAreAddedUpHaveTheDigitsOfTheirDtype) {
  for (const DType dtype : {DType::kBF16, DType::kF8E4M3})
    for (const int64_t columns : {5, 40}) {
      const auto why = rejection_of_any([&](Graph& g) -> std::vector<Tensor> {
        return {sum(tanh(g.input("x", {900, columns}, dtype)), -1)};
      });
      EXPECT_EQ(why, std::nullopt) << columns << ": " << why->detail;
    }
  const auto cast_before = rejection_of_any([](Graph& g) -> std::vector<Tensor> {
    return {sum(gelu(g.input("x", {33, 768}, DType::kF8E4M3)), 0)};
  });
  EXPECT_EQ(cast_before, std::nullopt) << cast_before->detail;
}

TEST(KernelValues, RootsAndQuotientsMayHaveAFewDigitsMoreThanTheirResult) {
  for (uint64_t seed = 1; seed <= 6; ++seed) {
    const auto norm = rejection_of_any(
        [](Graph& g) -> std::vector<Tensor> {
          return {layer_norm(g.input("x", {512, 5}, bf16)), rms_norm(g.input("z", {512, 8}, bf16))};
        },
        seed);
    EXPECT_EQ(norm, std::nullopt) << seed << ": " << norm->detail;
    const auto quotient = rejection_of_any(
        [](Graph& g) -> std::vector<Tensor> {
          const Tensor a = g.input("a", {kCount}), b = g.input("b", {kCount});
          return {cast(a / sqrt(a * a + b * b + 1e-3F), bf16)};
        },
        seed);
    EXPECT_EQ(quotient, std::nullopt) << seed << ": " << quotient->detail;
  }
}

TEST(KernelValues, WhatIsInRangeAtTheEndMayNotBeOnTheWay) {
  // A dtype without infinities: what is no number in f32 is one as the graph is written.
  const auto why = rejection_of_any([](Graph& g) -> std::vector<Tensor> {
    const Tensor x = g.input("x", {300, 40}, DType::kF8E4M3);
    return {sum(exp(x) - exp(g.input("z", {300, 40}, DType::kF8E4M3)), -1)};
  });
  EXPECT_EQ(why, std::nullopt) << why->detail;
}

/// A product with weights of four bits in blocks, each with a scale and perhaps with a zero.
struct FourBit {
  DType rows = f32, digits = u4, scales = f16;
  int64_t m = 1, n = 33, k = 96, block = 16;
  bool has_zeros = true;
  DType differences = f32;  ///< what digits and zeros are subtracted as

  Tensor write(Graph& g) const {
    const graph::Shape shared = {n, k / block, 1};
    Tensor weights = cast(g.weight("q", {n, k / block, block}, digits), differences);
    if (has_zeros) weights = weights - cast(g.weight("z", shared, digits), differences);
    weights = cast(weights, f32) * cast(g.weight("s", shared, scales), f32);
    const Tensor x = cast(g.input("x", {m, k}, rows), f32);
    return cast(matmul(x, transpose(merge_dims(weights, 1))), rows);
  }
};

TEST(KernelValues, ZerosOfFourBitWeightsMayLeaveSums) {
  // Infinities in rows meet themselves then, and what is left of two sums may be little.
  const FourBit wide{.digits = i4, .scales = f32, .m = 5, .n = 101, .k = 256, .block = 32};
  for (const FourBit& each :
       {FourBit{}, FourBit{.digits = i4}, FourBit{.rows = bf16}, FourBit{.differences = i32}, wide})
    for (uint64_t seed = 1; seed <= 5; ++seed) {
      const auto why =
          rejection_of_any([&](Graph& g) -> std::vector<Tensor> { return {each.write(g)}; }, seed);
      EXPECT_EQ(why, std::nullopt) << each.n << ", seed " << seed << ": " << why->detail;
    }
}

TEST(KernelValues, NothingButZerosOfBlocksLeavesSums) {
  const auto count = [](const std::function<Tensor(Graph&)>& write) {
    const KernelTask task = task_of(write);
    return leaving_offsets(*task.arena, task.kernel).sums.size();
  };
  EXPECT_EQ(count([](Graph& g) { return FourBit{.m = 3}.write(g); }), 1U);
  EXPECT_EQ(count([](Graph& g) { return FourBit{.m = 3, .differences = i32}.write(g); }), 1U);
  EXPECT_EQ(count([](Graph& g) { return FourBit{.m = 3, .has_zeros = false}.write(g); }), 0U);
  EXPECT_EQ(count([](Graph& g) { return FourBit{.digits = DType::kI16, .m = 3}.write(g); }), 0U);
  EXPECT_EQ(count([](Graph& g) {
              const Tensor b = cast(g.weight("q", {64, 40}, u4), f32) + g.weight("z", {64, 40});
              return matmul(g.input("a", {7, 64}), b);
            }),
            0U)
      << "an offset of every weight";
}

TEST(KernelValues, OnlyWhoTakesZerosOutOfSumsMayHaveNoNumberForAnInfinity) {
  const KernelTask task = task_of([](Graph& g) { return FourBit{.m = 3}.write(g); });
  const PointJudge judge(*task.arena, task.kernel);
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  ExpectedPoint point{.oracle = kInfinity, .wide = kInfinity, .offset_escapes = true};
  graph::Array result(f32, {1});
  const auto is_wrong = [&](double value, bool takes_out) {
    result.set(0, graph::Scalar::of(f32, value));
    return judge.judged(point, result, 0.0, {.takes_offsets_out = takes_out}).fault.has_value();
  };
  EXPECT_FALSE(is_wrong(NAN, true));
  EXPECT_TRUE(is_wrong(NAN, false));
  EXPECT_TRUE(is_wrong(-kInfinity, true));
  EXPECT_TRUE(is_wrong(7.0, true));
  point.offset_escapes = false;
  EXPECT_TRUE(is_wrong(NAN, true)) << "no part of it was infinite";
}

TEST(KernelValues, AnInfiniteOffsetMayBeTimesRowsOrTimesTheirSum) {
  const auto write = [](Graph& g) {
    const Tensor scaled = cast(g.weight("q", {33, 6, 16}, u4), f32) * g.weight("s", {33, 6, 1});
    const Tensor weights = scaled + g.weight("least", {33, 6, 1});
    return matmul(g.input("x", {2, 96}), transpose(merge_dims(weights, 1)));
  };
  const KernelTask task = task_of(write);
  const PointJudge judge(*task.arena, task.kernel);
  const ExpectedPoint point{.oracle = NAN, .wide = NAN, .offset_escapes = true};
  graph::Array result(f32, {1});
  const auto is_wrong = [&](double value, bool takes_out) {
    result.set(0, graph::Scalar::of(f32, value));
    return judge.judged(point, result, 0.0, {.takes_offsets_out = takes_out}).fault.has_value();
  };
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  EXPECT_FALSE(is_wrong(-kInfinity, true)) << "rows of both signs";
  EXPECT_TRUE(is_wrong(-kInfinity, false));
  EXPECT_TRUE(is_wrong(7.0, true));
  for (uint64_t seed = 1; seed <= 5; ++seed) {
    const auto why =
        rejection_of_any([&](Graph& g) -> std::vector<Tensor> { return {write(g)}; }, seed);
    EXPECT_EQ(why, std::nullopt) << "seed " << seed << ": " << why->detail;
  }
}

TEST(KernelValues, TiesAreRoundedToEven) {
  expect_rejected({
      {"whole numbers",
       [](Graph& g) {
         return cast(clip(round(g.input("x", {kCount}) * 30.0F), -127, 127), DType::kI8);
       },
       [](void* const* buffers, const int64_t*, int64_t, int64_t, std::byte*) {
         each_of<float, int8_t>(buffers, [](float x) {
           const float whole = std::floor(x * 30 + 0.5F);
           return static_cast<int8_t>(std::isnan(x) ? 0.0F : std::clamp(whole, -127.0F, 127.0F));
         });
       }},
      {"bf16", [](Graph& g) { return cast(g.input("x", {kCount}), DType::kBF16); },
       [](void* const* buffers, const int64_t*, int64_t, int64_t, std::byte*) {
         each_of<float, uint16_t>(buffers, [](float x) {
           const auto bits = std::bit_cast<uint32_t>(x);
           return static_cast<uint16_t>(std::isnan(x) ? 0x7fc0U : (bits + 0x8000U) >> 16);
         });
       }},
  });
}

TEST(KernelValues, TheFirstOfEqualMaximaIsFound) {
  expect_rejected({{"the last",
                    [](Graph& g) {
                      return argmax(g.input("x", {kRows, kColumns}), 1);
                    },
                    [](void* const* buffers, const int64_t*, int64_t, int64_t, std::byte*) {
                      each_row<float, int64_t>(buffers, [](const float* x) {
                        int64_t best = 0;
                        for (int64_t k = 1; k < kColumns && !std::isnan(x[best]); ++k)
                          if (x[k] >= x[best] || std::isnan(x[k])) best = k;
                        return best;
                      });
                    }}});
}

/// The last of the largest of every 12 values that lie so far from each other.
void last_of_twelve(void* const* buffers, int64_t count, int64_t of, int64_t step) {
  const auto* x = static_cast<const float*>(buffers[0]);
  auto* y = static_cast<int64_t*>(buffers[1]);
  for (int64_t i = 0; i < count; ++i) {
    const float* from = x + i * of;
    int64_t best = 0;
    for (int64_t k = 1; k < 12 && !std::isnan(from[best * step]); ++k)
      if (from[k * step] >= from[best * step] || std::isnan(from[k * step])) best = k;
    y[i] = best;
  }
}

TEST(KernelValues, TheFirstOfEqualMaximaIsFoundWhereThereIsNoOtherCandidate) {
  // Points alone have to show it, of rows that are short.
  const std::tuple<const char*, Write, runtime::CpuEntry> cases[] = {
      {"rows",
       [](Graph& g) {
         return argmax(g.input("x", {400, 12}), 1);
       },
       [](void* const* buffers, const int64_t*, int64_t, int64_t, std::byte*) {
         last_of_twelve(buffers, 400, 12, 1);
       }},
      {"columns",
       [](Graph& g) {
         return argmax(g.input("x", {12, 400}), 0);
       },
       [](void* const* buffers, const int64_t*, int64_t, int64_t, std::byte*) {
         last_of_twelve(buffers, 400, 1, 400);
       }},
  };
  for (const auto& [name, write, last] : cases) {
    Subject subject(write);
    const auto why = subject.check().check(subject.with(last));
    ASSERT_TRUE(why.has_value()) << name;
    EXPECT_EQ(why->why, Why::kWrongResult) << name << ": " << why->detail;
    EXPECT_EQ(subject.check().check(subject.candidate()), std::nullopt) << name;
  }
}

TEST(KernelValues, MaximaAndMinimaSeeNothingElse) {
  expect_rejected({
      {"0",
       [](Graph& g) {
         return max(g.input("x", {kRows, kColumns}), 1);
       },
       [](void* const* buffers, const int64_t*, int64_t, int64_t, std::byte*) {
         each_row<float, float>(buffers, [](const float* x) {
           return std::accumulate(x, x + kColumns, 0.0F, larger);
         });
       }},
      {"-10",
       [](Graph& g) {
         return max(g.input("x", {kRows, kColumns}), 1);
       },
       [](void* const* buffers, const int64_t*, int64_t, int64_t, std::byte*) {
         each_row<float, float>(buffers, [](const float* x) {
           return std::accumulate(x, x + kColumns, -10.0F, larger);
         });
       }},
      {"0 in minima",
       [](Graph& g) {
         return min(g.input("x", {kRows, kColumns}), 1);
       },
       [](void* const* buffers, const int64_t*, int64_t, int64_t, std::byte*) {
         each_row<float, float>(buffers, [](const float* x) {
           return -std::accumulate(x, x + kColumns, 0.0F,
                                   [](float best, float next) { return larger(best, -next); });
         });
       }},
      {"0 in both",
       [](Graph& g) {
         const Tensor x = g.input("x", {kRows, kColumns});
         return max(x, 1) - min(x, 1);
       },
       [](void* const* buffers, const int64_t*, int64_t, int64_t, std::byte*) {
         each_row<float, float>(buffers, [](const float* x) {
           const auto smaller = [](float best, float next) { return -larger(-best, -next); };
           return std::accumulate(x + 1, x + kColumns, x[0], larger) -
                  std::accumulate(x, x + kColumns, 0.0F, smaller);
         });
       }},
      {"0 among integers",
       [](Graph& g) {
         return max(g.input("x", {kRows, kColumns}, DType::kI32), 1);
       },
       [](void* const* buffers, const int64_t*, int64_t, int64_t, std::byte*) {
         each_row<int32_t, int32_t>(buffers, [](const int32_t* x) {
           return std::max(0, *std::max_element(x, x + kColumns));
         });
       }},
      {"0 in minima of integers",
       [](Graph& g) {
         return min(g.input("x", {kRows, kColumns}, DType::kU8), 1);
       },
       [](void* const* buffers, const int64_t*, int64_t, int64_t, std::byte*) {
         each_row<uint8_t, uint8_t>(buffers, [](const uint8_t*) { return uint8_t{0}; });
       }},
      {"0 in columns",
       [](Graph& g) {
         return max(g.input("x", {301, 67}), 0);
       },
       [](void* const* buffers, const int64_t*, int64_t, int64_t, std::byte*) {
         const auto* x = static_cast<const float*>(buffers[0]);
         auto* y = static_cast<float*>(buffers[1]);
         std::fill_n(y, 67, 0.0F);
         for (int i = 0; i < 301 * 67; ++i) y[i % 67] = larger(y[i % 67], x[i]);
       }},
      {"0 beside all", [](Graph& g) { return max(g.input("x", {kCount}), 0); },
       [](void* const* buffers, const int64_t*, int64_t, int64_t, std::byte*) {
         const auto* x = static_cast<const float*>(buffers[0]);
         *static_cast<float*>(buffers[1]) = std::accumulate(x, x + kCount, 0.0F, larger);
       }},
  });
}

constexpr int kHeads = 2, kQueries = 96, kKeys = 128, kWidth = 64;

Tensor attention_of_inputs(Graph& g) {
  const Tensor q = g.input("q", {kHeads, kQueries, kWidth});
  const Tensor k = g.input("k", {kHeads, kKeys, kWidth});
  return matmul(softmax(matmul(q, transpose(k)) * 0.125F), g.input("v", {kHeads, kKeys, kWidth}));
}

/// Attention of one query; `weight` gives what a score counts, by the largest one. Tensors are in
/// the order of the candidate's buffers: keys, queries, values, results.
template <typename Weight>
void attend(void* const* buffers, const Weight& weight) {
  const auto* keys = static_cast<const float*>(buffers[0]);
  const auto* queries = static_cast<const float*>(buffers[1]);
  const auto* values = static_cast<const float*>(buffers[2]);
  auto* results = static_cast<float*>(buffers[3]);
  for (int row = 0; row < kHeads * kQueries; ++row) {
    const int64_t head = int64_t{row / kQueries} * kKeys * kWidth;
    const float* query = queries + int64_t{row} * kWidth;
    std::vector<double> weights;
    for (int key = 0; key < kKeys; ++key)
      weights.push_back(
          std::inner_product(query, query + kWidth, keys + head + int64_t{key} * kWidth, 0.0) *
          0.125);
    const double largest = *std::ranges::max_element(weights);
    const bool is_spoilt =
        std::ranges::any_of(weights, [](double each) { return !std::isfinite(each); });
    double total = 0;
    for (double& each : weights) total += each = is_spoilt ? NAN : weight(each, largest);
    for (int column = 0; column < kWidth; ++column) {
      double sum = 0;
      for (int key = 0; key < kKeys; ++key)
        sum += weights[static_cast<size_t>(key)] * values[head + int64_t{key} * kWidth + column];
      results[int64_t{row} * kWidth + column] = static_cast<float>(sum / total);
    }
  }
}

TEST(KernelValues, ScoresOfAttentionAreTriedFarFromZero) {
  expect_rejected({
      {"rows far below 0 are NaN", attention_of_inputs,
       [](void* const* buffers, const int64_t*, int64_t begin, int64_t, std::byte*) {
         if (begin == 0)
           attend(buffers, [](double score, double largest) {
             return largest < -20 ? NAN : std::exp(score - largest);
           });
       }},
      {"rows far above 0 are NaN", attention_of_inputs,
       [](void* const* buffers, const int64_t*, int64_t begin, int64_t, std::byte*) {
         if (begin == 0)
           attend(buffers, [](double score, double largest) {
             return largest > 1e9 ? NAN : std::exp(score - largest);
           });
       }},
      {"the maximum is taken off after it was rounded", attention_of_inputs,
       [](void* const* buffers, const int64_t*, int64_t begin, int64_t, std::byte*) {
         if (begin == 0)
           attend(buffers, [](double score, double largest) {
             const auto rounded = static_cast<float>(largest * 1.4426950408889634);
             return std::exp2(static_cast<float>(score * 1.4426950408889634 - rounded));
           });
       }},
  });
}

TEST(KernelValues, AttentionIsRightFarFromZero) {
  for (const DType dtype : {f32, bf16, f16})
    for (const auto& [queries, keys, width] :
         {std::array<int64_t, 3>{37, 41, 24}, {1, 77, 64}, {65, 65, 16}})
      for (const bool causal : {false, true}) {
        const auto why = rejection_of_any([&](Graph& g) -> std::vector<Tensor> {
          return {attention(g.input("q", {3, queries, width}, dtype),
                            g.input("k", {3, keys, width}, dtype),
                            g.input("v", {3, keys, width}, dtype), {.causal = causal})};
        });
        EXPECT_EQ(why, std::nullopt) << graph::name(dtype) << " " << queries << ": " << why->detail;
      }
  const auto masked = rejection_of_any([](Graph& g) -> std::vector<Tensor> {
    const Tensor scores = matmul(g.input("q", {2, 40, 64}), transpose(g.input("k", {2, 128, 64})));
    return {matmul(softmax(scores * 0.125F + g.input("m", {40, 128})), g.input("v", {2, 128, 64}))};
  });
  EXPECT_EQ(masked, std::nullopt) << masked->detail;
}

/// Some function of every value, times the sum of its row.
template <typename Function>
void times_sum(void* const* buffers, const Function& function) {
  const auto* x = static_cast<const float*>(buffers[0]);
  auto* y = static_cast<float*>(buffers[1]);
  for (int row = 0; row < 512; ++row, x += 64, y += 64) {
    const float total = std::accumulate(x, x + 64, 0.0F);
    for (int k = 0; k < 64; ++k) y[k] = function(x[k]) * total;
  }
}

TEST(KernelValues, FunctionsBesideSumsAreTriedWhereTheyBend) {
  expect_rejected({
      {"exp",
       [](Graph& g) {
         const Tensor x = g.input("x", {512, 64});
         return exp(x) * sum(x, -1, true);
       },
       [](void* const* buffers, const int64_t*, int64_t, int64_t, std::byte*) {
         times_sum(buffers, [](float x) { return x > 13 && x < 80 ? 7.0F : std::exp(x); });
       }},
      {"tanh",
       [](Graph& g) {
         const Tensor x = g.input("x", {512, 64});
         return tanh(x) * sum(x, -1, true);
       },
       [](void* const* buffers, const int64_t*, int64_t, int64_t, std::byte*) {
         times_sum(buffers, [](float x) {
           return std::abs(x) > 2.5F ? std::copysign(1.0F, x) : std::tanh(x);
         });
       }},
  });
}

}  // namespace
}  // namespace luminal::search

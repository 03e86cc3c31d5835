#include <gtest/gtest.h>
#include <pthread.h>
#include <sys/resource.h>

#include <algorithm>
#include <cmath>
#include <csignal>
#include <fstream>
#include <functional>
#include <thread>
#include <utility>

#include "tests/search/planted.h"

namespace luminal::search {
namespace {

TEST(KernelCheck, RightCandidatesOfEveryKindPass) {
  const std::vector<std::pair<const char*, std::function<Tensor(Graph&)>>> cases = {
      {"softmax",
       [](Graph& g) {
         return softmax(g.input("x", {33, 257}), -1);
       }},
      {"matmul",
       [](Graph& g) {
         return matmul(g.input("a", {65, 70}), g.input("b", {70, 130}));
       }},
      {"matmul bf16",
       [](Graph& g) {
         return matmul(g.input("a", {65, 70}, DType::kBF16), g.input("b", {70, 130}, DType::kBF16));
       }},
      {"matmul i8",
       [](Graph& g) {
         return matmul(cast(g.input("a", {9, 70}, DType::kI8), DType::kI32),
                       cast(g.input("b", {70, 40}, DType::kI8), DType::kI32));
       }},
      {"layer norm bf16",
       [](Graph& g) {
         const Tensor x = g.input("x", {17, 300}, DType::kBF16);
         return layer_norm(x, 1);
       }},
      {"gather",
       [](Graph& g) {
         return index_select(g.input("t", {50, 16}), 0, g.input("i", {20}, DType::kI32));
       }},
      {"empty",
       [](Graph& g) {
         return g.input("x", {0, 5}) + 1.0F;
       }},
      {"scalar", [](Graph& g) { return sum(g.input("x", {777}), {0}); }},
      {"sine", [](Graph& g) { return sqrt(abs(sin(g.input("x", {4097})))); }}};
  for (const auto& [name, write] : cases) {
    Subject subject(write);
    KernelCheck check = subject.check();
    const auto why = check.check(subject.candidate());
    EXPECT_EQ(why, std::nullopt) << name << ": " << to_string(Measurement(*why));
  }
}

TEST(KernelCheck, NoRowOfTheDataIsLikeAnother) {
  for (const int64_t length : {131'068, 65'534, 4094}) {
    static int64_t all = 0;
    all = length;
    const Rejected same = rejection(
        [](void* const* buffers, const int64_t*, int64_t, int64_t, std::byte*) {
          const auto* x = static_cast<const float*>(buffers[0]);
          auto* y = static_cast<float*>(buffers[1]);
          const int64_t last = 262'136 / all;
          for (int64_t row = 0; row <= last; ++row)
            for (int64_t i = 0; i < all; ++i)
              y[row * all + i] = 2.0F * x[(row == last ? 0 : row) * all + i];
        },
        [=](Graph& g) {
          return g.input("x", {262'136 / length + 1, length}) * 2.0F;
        });
    EXPECT_EQ(same.why, Why::kWrongResult) << length << ": " << same.detail;
  }
}

TEST(KernelCheck, LargeValuesAreTriedThatAreNotVeryLarge) {
  const Rejected large =
      rejection([](void* const* buffers, const int64_t*, int64_t, int64_t, std::byte*) {
        const auto* x = static_cast<const float*>(buffers[0]);
        auto* y = static_cast<float*>(buffers[1]);
        for (int i = 0; i < 1000; ++i)
          y[i] = std::abs(x[i]) > 2 && std::abs(x[i]) < 1e20F ? 7.0F : 2.0F * x[i];
      });
  EXPECT_EQ(large.why, Why::kWrongResult) << large.detail;
  const Rejected overflow = rejection(
      [](void* const* buffers, const int64_t*, int64_t, int64_t, std::byte*) {
        const auto* x = static_cast<const float*>(buffers[0]);
        auto* y = static_cast<float*>(buffers[1]);
        for (int i = 0; i < 1000; ++i) {
          const double power = std::exp(static_cast<double>(x[i]));
          y[i] = static_cast<float>(x[i] > 80 ? INFINITY : power);
        }
      },
      [](Graph& g) { return exp(g.input("x", {1000})); });
  EXPECT_EQ(overflow.why, Why::kWrongResult) << overflow.detail;
}

TEST(KernelCheck, ValuesOfAnySizeAreTried) {
  using Range = std::pair<float, float>;
  static Range range;
  for (const Range& each : {Range{2.001F, 4.999F}, Range{5.001F, 10.9F}, Range{11.1F, 87.9F},
                            Range{89.0F, 2.9e4F}, Range{3.1e4F, 0.9e30F}, Range{1e-6F, 1e-3F}})
    for (const bool negative : {false, true}) {
      range = negative ? Range{-each.second, -each.first} : each;
      const Rejected why = rejection(
          [](void* const* buffers, const int64_t*, int64_t, int64_t, std::byte*) {
            const auto* x = static_cast<const float*>(buffers[0]);
            auto* y = static_cast<float*>(buffers[1]);
            for (int i = 0; i < 10'000; ++i) {
              const bool is_wrong = x[i] > range.first && x[i] < range.second;
              y[i] = is_wrong ? 7.0F : 2.0F * x[i];
            }
          },
          [](Graph& g) { return g.input("x", {10'000}) * 2.0F; });
      EXPECT_EQ(why.why, Why::kWrongResult)
          << range.first << " to " << range.second << ": " << why.detail;
    }
}

/// Writes one value to all places of a result of 45 floats.
template <int kWhich>
void fill_all(void* const* buffers, const int64_t*, int64_t, int64_t, std::byte*) {
  constexpr float kValues[] = {0.0F, NAN, INFINITY};
  std::fill_n(static_cast<float*>(buffers[1]), 45, kValues[kWhich]);
}

TEST(KernelCheck, ProductsThatStayInRangeAreNumbers) {
  const std::pair<const char*, runtime::CpuEntry> planted[] = {
      {"zeros", fill_all<0>}, {"NaNs", fill_all<1>}, {"infinities", fill_all<2>}};
  for (const auto& [what, entry] : planted)
    for (const float more : {0.0F, 1000.0F}) {
      const Rejected why = rejection(entry, [=](Graph& g) {
        const Tensor product = prod(g.input("x", {45, 17}), 1);
        return more == 0.0F ? product : product + more;
      });
      EXPECT_EQ(why.why, Why::kWrongResult) << what << " beside " << more << ": " << why.detail;
    }
  // So many factors become next to 0, and never infinite.
  const auto long_products = [](Graph& g) { return prod(g.input("x", {45, 200}), 1); };
  for (const auto& [what, entry] : {planted[1], planted[2]}) {
    const Rejected why = rejection(entry, long_products);
    EXPECT_EQ(why.why, Why::kWrongResult) << what << ": " << why.detail;
  }
  const Rejected some = rejection(
      [](void* const* buffers, const int64_t*, int64_t, int64_t, std::byte*) {
        const auto* x = static_cast<const float*>(buffers[0]);
        for (int i = 0; i < 45; ++i) {
          float product = 1;
          for (int k = 0; k < 17; ++k) product *= x[i * 17 + k];
          static_cast<float*>(buffers[1])[i] = i % 2 == 0 ? product : 0.0F;
        }
      },
      [](Graph& g) {
        return prod(g.input("x", {45, 17}), 1);
      });
  EXPECT_EQ(some.why, Why::kWrongResult) << some.detail;
}

TEST(KernelCheck, ProductsMayLeaveTheRangeInSomeOrder) {
  // The smallest factors first make 0 of a number, the largest first an infinity.
  static int64_t all = 0;
  static bool ascending = false;
  for (const int64_t count : {300, 600}) {
    all = count;
    ascending = count == 300;
    Subject subject([=](Graph& g) { return prod(g.input("x", {45, count}), 1); });
    KernelCheck check = subject.check();
    EXPECT_EQ(check.check(subject.candidate()), std::nullopt);
    const auto why = check.check(
        subject.with([](void* const* buffers, const int64_t*, int64_t, int64_t, std::byte*) {
          const auto* x = static_cast<const float*>(buffers[0]);
          const auto size = [](float a) {
            return (ascending ? 1.0F : -1.0F) * (std::isnan(a) ? INFINITY : std::abs(a));
          };
          for (int i = 0; i < 45; ++i) {
            std::vector<float> factors(x + i * all, x + (i + 1) * all);
            std::ranges::sort(factors, std::less(), size);
            float product = 1;
            for (const float factor : factors) {
              product *= factor;
              if (std::abs(product) < 0x1p-126F) product = 0;  // as some processors do
            }
            static_cast<float*>(buffers[1])[i] = product;
          }
        }));
    EXPECT_EQ(why, std::nullopt) << count << ": " << to_string(Measurement(*why));
  }
}

TEST(KernelCheck, AWrongResultIsFoundWhereverItIs) {
  const Rejected everywhere =
      rejection([](void* const* buffers, const int64_t*, int64_t, int64_t, std::byte*) {
        const auto* x = static_cast<const float*>(buffers[0]);
        auto* y = static_cast<float*>(buffers[1]);
        for (int i = 0; i < 1000; ++i) y[i] = 2.0001F * x[i];
      });
  EXPECT_EQ(everywhere.why, Why::kWrongResult);
  EXPECT_NE(everywhere.detail.find("the oracle says"), std::string::npos) << everywhere.detail;
  const Rejected once =
      rejection([](void* const* buffers, const int64_t*, int64_t, int64_t, std::byte*) {
        const auto* x = static_cast<const float*>(buffers[0]);
        auto* y = static_cast<float*>(buffers[1]);
        for (int i = 0; i < 1000; ++i) y[i] = i == 761 ? 0.0F : 2.0F * x[i];
      });
  EXPECT_EQ(once.why, Why::kWrongResult);
}

TEST(KernelCheck, WhatDoesNotEndIsATimeOut) {
  Subject subject(doubled);
  KernelCheck check = subject.check(kShort);
  const auto why =
      check.check(subject.with([](void* const*, const int64_t*, int64_t, int64_t, std::byte*) {
        for (volatile bool forever = true; forever;) {
        }
      }));
  ASSERT_TRUE(why);
  EXPECT_EQ(why->why, Why::kTimeout) << why->detail;
}

TEST(KernelCheck, OnceOneHasPassedOthersMayTakeOnlySomeTimesAsLong) {
  Subject subject(doubled);
  KernelCheck ample = subject.check();
  EXPECT_EQ(ample.check(subject.candidate()), std::nullopt);
  EXPECT_EQ(ample.limit(), kAmple) << "if nobody asks for less";
  KernelCheck check = subject.check(kAmple, CheckOptions().least);
  EXPECT_EQ(check.limit(), kAmple);
  EXPECT_EQ(check.check(subject.candidate()), std::nullopt);
  EXPECT_LT(check.limit(), kAmple);
  EXPECT_GE(check.limit(), CheckOptions().least);
  const auto why =
      check.check(subject.with([](void* const*, const int64_t*, int64_t, int64_t, std::byte*) {
        for (volatile bool forever = true; forever;) {
        }
      }));
  ASSERT_TRUE(why);
  EXPECT_EQ(why->why, Why::kTimeout) << why->detail;
}

TEST(KernelCheck, NaNsAndInfinitiesAreWhereTheyShouldBe) {
  for (const int64_t count : {64, 100'000}) {
    const auto twice = [=](Graph& g) { return g.input("x", {count}) * 2.0F; };
    static int64_t all = 0;
    all = count;
    const std::pair<const char*, runtime::CpuEntry> planted[] = {
        {"NaN becomes 0",
         [](void* const* buffers, const int64_t*, int64_t, int64_t, std::byte*) {
           const auto* x = static_cast<const float*>(buffers[0]);
           auto* y = static_cast<float*>(buffers[1]);
           for (int64_t i = 0; i < all; ++i) y[i] = std::isnan(x[i]) ? 0.0F : 2.0F * x[i];
         }},
        {"infinities become NaN",
         [](void* const* buffers, const int64_t*, int64_t, int64_t, std::byte*) {
           const auto* x = static_cast<const float*>(buffers[0]);
           auto* y = static_cast<float*>(buffers[1]);
           for (int64_t i = 0; i < all; ++i) y[i] = std::isinf(x[i]) ? NAN : 2.0F * x[i];
         }},
        {"infinities become 7",
         [](void* const* buffers, const int64_t*, int64_t, int64_t, std::byte*) {
           const auto* x = static_cast<const float*>(buffers[0]);
           auto* y = static_cast<float*>(buffers[1]);
           for (int64_t i = 0; i < all; ++i) y[i] = std::isinf(x[i]) ? 7.0F : 2.0F * x[i];
         }},
        {"large values become NaN",
         [](void* const* buffers, const int64_t*, int64_t, int64_t, std::byte*) {
           const auto* x = static_cast<const float*>(buffers[0]);
           auto* y = static_cast<float*>(buffers[1]);
           for (int64_t i = 0; i < all; ++i) y[i] = x[i] > 1e20F ? NAN : 2.0F * x[i];
         }}};
    for (const auto& [what, entry] : planted) {
      const Rejected why = rejection(entry, twice);
      EXPECT_EQ(why.why, Why::kWrongResult) << what << " of " << count << ": " << why.detail;
    }
  }
}

TEST(KernelCheck, ANumberWhereOthersAreInfiniteIsFound) {
  const Rejected once = rejection(
      [](void* const* buffers, const int64_t*, int64_t, int64_t, std::byte*) {
        const auto* x = static_cast<const float*>(buffers[0]);
        auto* y = static_cast<float*>(buffers[1]);
        for (int i = 0; i < 100'000; ++i) y[i] = 2.0F * x[i];
        for (int i = 77'000;; ++i)
          if (std::isinf(x[i]) || i == 99'999) return void(y[i] = std::isinf(x[i]) ? 7.0F : y[i]);
      },
      [](Graph& g) { return g.input("x", {100'000}) * 2.0F; });
  EXPECT_EQ(once.why, Why::kWrongResult) << once.detail;
}

TEST(KernelCheck, SumsKeepNaNsAndInfinities) {
  const auto sums = [](Graph& g) { return sum(g.input("x", {64, 100}), {1}); };
  const Rejected lost = rejection(
      [](void* const* buffers, const int64_t*, int64_t, int64_t, std::byte*) {
        const auto* x = static_cast<const float*>(buffers[0]);
        for (int i = 0; i < 64; ++i) {
          double total = 0;
          for (int k = 0; k < 100; ++k) total += x[i * 100 + k];
          static_cast<float*>(buffers[1])[i] = std::isnan(total) ? 0.0F : static_cast<float>(total);
        }
      },
      sums);
  EXPECT_EQ(lost.why, Why::kWrongResult) << lost.detail;
}

TEST(KernelCheck, IntegersOfAnySizeAreRight) {
  const Rejected narrow = rejection(
      [](void* const* buffers, const int64_t*, int64_t, int64_t, std::byte*) {
        const auto* x = static_cast<const int64_t*>(buffers[0]);
        const auto* z = static_cast<const int64_t*>(buffers[1]);
        auto* y = static_cast<int64_t*>(buffers[2]);
        for (int i = 0; i < 1000; ++i)
          y[i] = static_cast<int32_t>(static_cast<uint32_t>(x[i]) * static_cast<uint32_t>(z[i]));
      },
      [](Graph& g) {
        return g.input("x", {1000}, DType::kI64) * g.input("z", {1000}, DType::kI64);
      });
  EXPECT_EQ(narrow.why, Why::kWrongResult) << narrow.detail;
  const Rejected last_bit = rejection(
      [](void* const* buffers, const int64_t*, int64_t, int64_t, std::byte*) {
        const auto* x = static_cast<const int64_t*>(buffers[0]);
        auto* y = static_cast<int64_t*>(buffers[1]);
        for (int i = 0; i < 1000; ++i) y[i] = -static_cast<int64_t>(static_cast<double>(x[i]));
      },
      [](Graph& g) { return -g.input("x", {1000}, DType::kI64); });
  EXPECT_EQ(last_bit.why, Why::kWrongResult) << last_bit.detail;
  const Rejected sign = rejection(
      [](void* const* buffers, const int64_t*, int64_t, int64_t, std::byte*) {
        const auto* x = static_cast<const int8_t*>(buffers[0]);
        for (int i = 0; i < 1000; ++i) static_cast<int32_t*>(buffers[1])[i] = x[i];
      },
      [](Graph& g) { return cast(g.input("x", {1000}, DType::kU8), DType::kI32); });
  EXPECT_EQ(sign.why, Why::kWrongResult) << sign.detail;
  const Rejected short_sums = rejection(
      [](void* const* buffers, const int64_t*, int64_t, int64_t, std::byte*) {
        const auto* x = static_cast<const int8_t*>(buffers[0]);
        for (int i = 0; i < 64; ++i) {
          int16_t total = 0;
          for (int k = 0; k < 400; ++k)
            total = static_cast<int16_t>(total + x[i * 400 + k] * x[i * 400 + k]);
          static_cast<int32_t*>(buffers[1])[i] = total;
        }
      },
      [](Graph& g) {
        const Tensor x = cast(g.input("x", {64, 400}, DType::kI8), DType::kI32);
        return sum(x * x, {1});
      });
  EXPECT_EQ(short_sums.why, Why::kWrongResult) << short_sums.detail;
}

TEST(KernelCheck, SeveralRootsMayStorePartsOfOneTensor) {
  kernel::Arena arena;
  const kernel::NodeId from{0};
  const kernel::NodeId to{1};
  arena.declare_tensor(from, {DType::kF32, {1000}});
  arena.declare_tensor(to, {DType::kF32, {2000}});
  const kernel::Expr axis = kernel::Expr::axis(0, 1000);
  const kernel::BodyId loaded = arena.load(from, {axis});
  const auto times = [&](double factor) {
    const kernel::BodyId number = arena.constant(graph::Scalar::of(DType::kF32, factor));
    return arena.op(graph::Op::kMul, DType::kF32, {loaded, number});
  };
  const kernel::Kernel kernel{{axis}, {{to, times(2), {axis}}, {to, times(3), {axis + 1000}}}};
  KernelCheck check(arena, kernel, {});
  Candidate candidate = std::get<Candidate>(load_candidate(
      codegen::cpu_kernel(arena, kernel, codegen::host_target()), codegen::KernelCompiler(), {}));
  const auto why = check.check(candidate);
  EXPECT_EQ(why, std::nullopt) << to_string(Measurement(*why));
  candidate.launches.back().entry = [](void* const* buffers, const int64_t*, int64_t, int64_t,
                                       std::byte*) {
    const auto* x = static_cast<const float*>(buffers[0]);
    auto* y = static_cast<float*>(buffers[1]);
    for (int i = 0; i < 2000; ++i) y[i] = i == 1761 ? 7.0F : (i < 1000 ? 2.0F : 3.0F) * x[i % 1000];
  };
  const auto wrong = check.check(candidate);
  ASSERT_TRUE(wrong.has_value());
  EXPECT_EQ(wrong->why, Why::kWrongResult);
  EXPECT_NE(wrong->detail.find("the oracle says"), std::string::npos) << wrong->detail;
}

TEST(KernelCheck, TheFirstIsNotTrustedMoreThanTheOracle) {
  Subject subject([](Graph& g) { return g.input("x", {100'000}) * 2.0F; });
  KernelCheck check = subject.check();
  Candidate wrong =
      subject.with([](void* const* buffers, const int64_t*, int64_t, int64_t, std::byte*) {
        const auto* x = static_cast<const float*>(buffers[0]);
        auto* y = static_cast<float*>(buffers[1]);
        for (int i = 0; i < 100'000; ++i) y[i] = i == 77'761 ? 0.5F : 2.0F * x[i];
      });
  wrong.schedule = "wrong";
  EXPECT_EQ(check.check(wrong), std::nullopt);  // no point is where it is wrong
  EXPECT_FALSE(check.revoked().has_value());
  EXPECT_EQ(check.check(subject.candidate()), std::nullopt);
  ASSERT_TRUE(check.revoked().has_value());
  EXPECT_EQ(check.revoked()->schedule, "wrong");
  EXPECT_EQ(check.revoked()->why.why, Why::kWrongResult);
  EXPECT_TRUE(check.check(wrong).has_value());
}

TEST(KernelCheck, WhatACandidateFindsInItsMemoryMustNotMatter) {
  const Rejected adds =
      rejection([](void* const* buffers, const int64_t*, int64_t begin, int64_t, std::byte*) {
        const auto* x = static_cast<const float*>(buffers[0]);
        auto* y = static_cast<float*>(buffers[1]);
        for (int i = 0; begin == 0 && i < 1000; ++i) y[i] += 2.0F * x[i];
      });
  EXPECT_EQ(adds.why, Why::kWrongResult) << adds.detail;
  const auto positive = [](Graph& g) { return relu(g.input("x", {1000})); };
  const Rejected skips = rejection(
      [](void* const* buffers, const int64_t*, int64_t, int64_t, std::byte*) {
        const auto* x = static_cast<const float*>(buffers[0]);
        auto* y = static_cast<float*>(buffers[1]);
        for (int i = 0; i < 1000; ++i)
          if (x[i] > 0) y[i] = x[i];
      },
      positive);
  EXPECT_EQ(skips.why, Why::kWrongResult) << skips.detail;
  const auto smaller = [](Graph& g) { return g.input("x", {1000}) < g.input("z", {1000}); };
  const Rejected bools = rejection(
      [](void* const* buffers, const int64_t*, int64_t, int64_t, std::byte*) {
        const auto* x = static_cast<const float*>(buffers[0]);
        const auto* z = static_cast<const float*>(buffers[1]);
        auto* y = static_cast<bool*>(buffers[2]);
        for (int i = 0; i < 1000; ++i)
          if (!(x[i] < z[i])) y[i] = false;
      },
      smaller);
  EXPECT_EQ(bools.why, Why::kWrongResult) << bools.detail;
}

TEST(KernelCheck, EveryRunGivesTheSame) {
  const Rejected later =
      rejection([](void* const* buffers, const int64_t*, int64_t begin, int64_t, std::byte*) {
        if (begin != 0) return;
        static int runs = 0;
        ++runs;
        const auto* x = static_cast<const float*>(buffers[0]);
        auto* y = static_cast<float*>(buffers[1]);
        for (int i = 0; i < 1000; ++i) y[i] = runs > 1 ? 7.0F : 2.0F * x[i];
      });
  EXPECT_EQ(later.why, Why::kWrongResult) << later.detail;
  EXPECT_NE(later.detail.find("in the next"), std::string::npos) << later.detail;
  const Rejected crash =
      rejection([](void* const* buffers, const int64_t*, int64_t begin, int64_t, std::byte*) {
        if (begin != 0) return;
        static int runs = 0;
        if (++runs > 1) *reinterpret_cast<volatile int*>(8) = 1;
        const auto* x = static_cast<const float*>(buffers[0]);
        for (int i = 0; i < 1000; ++i) static_cast<float*>(buffers[1])[i] = 2.0F * x[i];
      });
  EXPECT_EQ(crash.why, Why::kCrash) << crash.detail;
}

TEST(KernelCheck, ItMakesNoDifferenceHowItemsAreDealtOut) {
  const auto many = [](Graph& g) { return g.input("x", {1 << 20}) * 2.0F; };
  const Rejected at_once = rejection(
      [](void* const* buffers, const int64_t*, int64_t begin, int64_t end, std::byte*) {
        static int64_t items = 0;
        items = std::max(items, end);
        const auto* x = static_cast<const float*>(buffers[0]);
        auto* y = static_cast<float*>(buffers[1]);
        const bool all = begin == 0 && end == items;
        for (int i = 0; i < 1 << 20; ++i) y[i] = all ? 7.0F : 2.0F * x[i];
      },
      many);
  EXPECT_EQ(at_once.why, Why::kWrongResult) << at_once.detail;
#if !defined(__SANITIZE_THREAD__)  // no child can make threads then
  const Rejected on_threads = rejection(
      [](void* const* buffers, const int64_t*, int64_t, int64_t, std::byte*) {
        static const std::thread::id first = std::this_thread::get_id();
        if (std::this_thread::get_id() != first) *reinterpret_cast<volatile int*>(8) = 1;
        const auto* x = static_cast<const float*>(buffers[0]);
        auto* y = static_cast<float*>(buffers[1]);
        for (int i = 0; i < 1 << 20; ++i) y[i] = 2.0F * x[i];
      },
      many);
  EXPECT_EQ(on_threads.why, Why::kCrash) << on_threads.detail;
#endif
}

#if !defined(__SANITIZE_THREAD__) && !defined(__SANITIZE_ADDRESS__)
TEST(KernelCheck, ACandidateThatGetsNoThreadsWasInterrupted) {
  Subject subject([](Graph& g) { return g.input("x", {1 << 20}) * 2.0F; });
  static runtime::CpuEntry right = nullptr;
  const Candidate candidate = subject.candidate();
  right = candidate.launches.back().entry;
  const std::pair<const char*, runtime::CpuEntry> planted[] = {
      {"none",
       [](void* const* buffers, const int64_t* scalars, int64_t begin, int64_t end,
          std::byte* scratch) {
         pthread_attr_t all;
         pthread_attr_init(&all);
         pthread_attr_setstacksize(&all, size_t{1} << 47);  // all addresses that there are
         pthread_setattr_default_np(&all);
         right(buffers, scalars, begin, end, scratch);
       }},
      {"one", [](void* const* buffers, const int64_t* scalars, int64_t begin, int64_t end,
                 std::byte* scratch) {
         constexpr size_t kStack = size_t{64} << 20;
         pthread_attr_t large;
         pthread_attr_init(&large);
         pthread_attr_setstacksize(&large, kStack);
         pthread_setattr_default_np(&large);
         size_t pages = 0;
         std::ifstream("/proc/self/statm") >> pages;
         rlimit room{pages * 4096 + kStack * 3 / 2, RLIM_INFINITY};
         static bool is_first = true;
         if (std::exchange(is_first, false)) ::setrlimit(RLIMIT_AS, &room);
         right(buffers, scalars, begin, end, scratch);
       }}};
  for (const auto& [what, entry] : planted) {
    KernelCheck check = subject.check();
    const auto why = check.check(subject.with(entry));
    ASSERT_TRUE(why) << what;
    EXPECT_EQ(why->why, Why::kInterrupted) << what << ": " << why->detail;
    EXPECT_EQ(check.check(candidate), std::nullopt) << what;
  }
}
#endif

TEST(KernelCheck, ASingleItemIsAsRightAsMany) {
  const Rejected single = rejection(
      [](void* const* buffers, const int64_t*, int64_t begin, int64_t end, std::byte*) {
        const auto* x = static_cast<const float*>(buffers[0]);
        auto* y = static_cast<float*>(buffers[1]);
        if (end - begin == 1) return;
        for (int i = 0; begin == 0 && i < 1 << 20; ++i) y[i] = 2.0F * x[i];
      },
      [](Graph& g) { return g.input("x", {1 << 20}) * 2.0F; });
  EXPECT_EQ(single.why, Why::kWrongResult) << single.detail;
}

TEST(KernelCheck, LargeKernelsMayTakeLonger) {
  const auto product = [](int64_t size) {
    return Subject([=](Graph& g) {
      return matmul(g.input("a", {size, size}), g.input("b", {size, size}));
    });
  };
  EXPECT_EQ(product(100).check(kShort).limit(), kShort);
  EXPECT_GT(product(1024).check(kShort).limit(), 2 * kShort);
}

TEST(KernelCheck, ACrashAndAStrayWriteAreToldApart) {
  const Rejected crash = rejection([](void* const*, const int64_t*, int64_t, int64_t, std::byte*) {
    *reinterpret_cast<volatile int*>(8) = 1;
  });
  EXPECT_EQ(crash.why, Why::kCrash) << crash.detail;
  const Rejected far =
      rejection([](void* const* buffers, const int64_t*, int64_t, int64_t, std::byte*) {
        static_cast<volatile float*>(buffers[1])[1024] = 1;  // behind the last page
      });
  EXPECT_EQ(far.why, Why::kOutOfBounds) << far.detail;
  const Rejected before =
      rejection([](void* const* buffers, const int64_t*, int64_t, int64_t, std::byte*) {
        static_cast<volatile float*>(buffers[1])[-1] = 1;
      });
  EXPECT_EQ(before.why, Why::kOutOfBounds) << before.detail;
  const Rejected near =
      rejection([](void* const* buffers, const int64_t*, int64_t, int64_t, std::byte*) {
        static_cast<volatile float*>(buffers[1])[1000] = 1;  // in the line of the last element
      });
  EXPECT_EQ(near.why, Why::kOutOfBounds) << near.detail;
  const Rejected own_input =
      rejection([](void* const* buffers, const int64_t*, int64_t, int64_t, std::byte*) {
        const auto* x = static_cast<const float*>(buffers[0]);
        for (int i = 0; i < 1000; ++i) static_cast<float*>(buffers[1])[i] = 2.0F * x[i];
        static_cast<volatile float*>(buffers[0])[500] = 0;  // what others read after it
      });
  EXPECT_EQ(own_input.why, Why::kOutOfBounds) << own_input.detail;
}

}  // namespace
}  // namespace luminal::search

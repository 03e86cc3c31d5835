#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <tuple>

#include "tests/search/planted.h"

namespace luminal::search {
namespace {

/// Rows that are added up from the last value to the first: as right as any other order.
constexpr int kRows = 20'000, kColumns = 300;
template <typename Function>
void reversed_sums(void* const* buffers, const Function& store) {
  const auto* x = static_cast<const float*>(buffers[0]);
  for (int row = 0; row < kRows; ++row) {
    float total = 0;
    for (int k = kColumns; k-- > 0;) total += x[row * kColumns + k];
    store(row, total * 50.0F);
  }
}

/// As casts to i32 are.
int32_t saturated(float value) {
  if (std::isnan(value)) return 0;
  if (value >= 0x1p31F) return std::numeric_limits<int32_t>::max();
  return value <= -0x1p31F ? std::numeric_limits<int32_t>::min() : static_cast<int32_t>(value);
}

TEST(KernelTies, WhatIsRoundedAfterASumMayBeEitherAtATie) {
  const auto sums = [](Graph& g) { return sum(g.input("x", {kRows, kColumns}), {1}) * 50.0F; };
  const std::tuple<const char*, std::function<Tensor(Graph&)>, runtime::CpuEntry> cases[] = {
      {"integers", [=](Graph& g) { return cast(floor(sums(g)), DType::kI32); },
       [](void* const* buffers, const int64_t*, int64_t, int64_t, std::byte*) {
         auto* y = static_cast<int32_t*>(buffers[1]);
         reversed_sums(buffers,
                       [=](int row, float value) { y[row] = saturated(std::floor(value)); });
       }},
      // What is computed of whole numbers after that is exact.
      {"odd integers", [=](Graph& g) { return cast(round(sums(g)) * 6.0F + 1.0F, DType::kI32); },
       [](void* const* buffers, const int64_t*, int64_t, int64_t, std::byte*) {
         auto* y = static_cast<int32_t*>(buffers[1]);
         reversed_sums(buffers, [=](int row, float value) {
           y[row] = saturated(std::nearbyint(value) * 6.0F + 1.0F);
         });
       }},
      {"floats", [=](Graph& g) { return round(sums(g)) * 0.0625F; },
       [](void* const* buffers, const int64_t*, int64_t, int64_t, std::byte*) {
         auto* y = static_cast<float*>(buffers[1]);
         reversed_sums(buffers,
                       [=](int row, float value) { y[row] = std::nearbyint(value) * 0.0625F; });
       }},
      {"comparisons",
       [=](Graph& g) {
         const Tensor total = sums(g);
         return total - floor(total) < 0.5F;
       },
       [](void* const* buffers, const int64_t*, int64_t, int64_t, std::byte*) {
         auto* y = static_cast<bool*>(buffers[1]);
         reversed_sums(buffers,
                       [=](int row, float value) { y[row] = value - std::floor(value) < 0.5F; });
       }}};
  for (const auto& [name, write, entry] : cases) {
    Subject subject(write);
    KernelCheck check = subject.check();
    EXPECT_EQ(check.check(subject.candidate()), std::nullopt) << name;
    const auto why = check.check(subject.with(entry));
    EXPECT_EQ(why, std::nullopt) << name << ": " << to_string(Measurement(*why));
    EXPECT_FALSE(check.revoked().has_value()) << name << ": " << check.revoked()->why.detail;
  }
  // Ties are no excuse for others.
  const Rejected wrong = rejection(
      [](void* const* buffers, const int64_t*, int64_t, int64_t, std::byte*) {
        auto* y = static_cast<float*>(buffers[1]);
        reversed_sums(buffers, [=](int row, float value) {
          y[row] = (std::nearbyint(value) + (row == 7777 ? 2.0F : 0.0F)) * 0.0625F;
        });
      },
      std::get<1>(cases[2]));
  EXPECT_EQ(wrong.why, Why::kWrongResult) << wrong.detail;
  const Rejected even = rejection(
      [](void* const* buffers, const int64_t*, int64_t, int64_t, std::byte*) {
        auto* y = static_cast<int32_t*>(buffers[1]);
        reversed_sums(buffers, [=](int row, float value) {
          y[row] = saturated(std::nearbyint(value) * 6.0F +
                             (row % 100 == 77 && value > 0 ? 0.0F : 1.0F));
        });
      },
      std::get<1>(cases[1]));
  EXPECT_EQ(even.why, Why::kWrongResult) << even.detail;
  const Rejected cut = rejection(
      [](void* const* buffers, const int64_t*, int64_t, int64_t, std::byte*) {
        auto* y = static_cast<float*>(buffers[1]);
        reversed_sums(buffers, [=](int row, float value) { y[row] = std::trunc(value) * 0.0625F; });
      },
      std::get<1>(cases[2]));
  EXPECT_EQ(cut.why, Why::kWrongResult) << cut.detail;
}

constexpr int kM = 40, kN = 33, kK = 24;
/// Which products of a row are its largest, where the maximum is found among them or among some
/// that were added up in another order.
template <bool kAlike>
void largest_products(void* const* buffers, const int64_t*, int64_t, int64_t, std::byte*) {
  const auto* products = static_cast<const float*>(buffers[0]);
  auto* hits = static_cast<bool*>(buffers[1]);
  for (int first = 0; first < kM * kN; first += kN) {
    float most = -std::numeric_limits<float>::infinity();
    for (int i = first; i < first + kN; ++i) {
      const float value = kAlike ? products[i] : products[i] * (1.0F + 0x1p-23F);
      most = std::isnan(value) || std::isnan(most) ? value + most : std::max(most, value);
    }
    for (int i = first; i < first + kN; ++i) hits[i] = products[i] == most;
  }
}

TEST(KernelTies, ASumIsOneValueWhereItIsComparedWithItself) {
  const auto write = [](Graph& g) {
    const Tensor y = matmul(g.input("a", {kM, kK}), g.input("b", {kK, kN}));
    return equal(y, max(y, {1}, true));
  };
  Subject subject(write);
  ASSERT_EQ(subject.candidate().launches.size(), 2U) << "products, then what is planted";
  KernelCheck check = subject.check();
  EXPECT_EQ(check.check(subject.candidate()), std::nullopt);
  EXPECT_EQ(check.check(subject.with(largest_products<true>)), std::nullopt);
  const Rejected wrong = rejection(largest_products<false>, write);
  EXPECT_EQ(wrong.why, Why::kWrongResult) << wrong.detail;
}

}  // namespace
}  // namespace luminal::search

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <tuple>

#include "tests/search/planted.h"

namespace luminal::search {
namespace {

TEST(KernelDims, SymbolicDimsTakeTheValuesTheyAreTriedWith) {
  Subject subject(
      [](Graph& g) {
        const Dim n = g.dim("n", 1, 4096);
        return softmax(g.input("x", {n, 40}), -1);
      },
      {{"n", 37}});
  KernelCheck check = subject.check();
  EXPECT_EQ(check.check(subject.candidate()), std::nullopt);
}

TEST(KernelDims, CodeForAnyValuesOfDimsIsTriedWithOthers) {
  const auto rows = [](Graph& g) {
    const Dim n = g.dim("n", 1, 4096);
    return g.input("x", {n, 40}) * 2.0F;
  };
  // Right where whole vectors of rows are all there is, as if the others had been forgotten.
  const auto forgetful = [](void* const* buffers, const int64_t* scalars, int64_t begin, int64_t,
                            std::byte*) {
    const auto* x = static_cast<const float*>(buffers[0]);
    auto* y = static_cast<float*>(buffers[1]);
    const int64_t count = scalars[0] / 16 * 16 * 40;
    for (int64_t i = 0; begin == 0 && i < count; ++i) y[i] = 2.0F * x[i];
  };
  Subject subject(rows, {{"n", 512}});
  ASSERT_EQ(subject.candidate().launches.back().scalars, std::vector<int64_t>{512});
  const Rejected tail = rejection(forgetful, rows, {{"n", 512}});
  EXPECT_EQ(tail.why, Why::kWrongResult) << tail.detail;
  EXPECT_NE(tail.detail.find("n="), std::string::npos) << tail.detail;
  const Rejected fixed = rejection(
      [](void* const* buffers, const int64_t*, int64_t begin, int64_t, std::byte*) {
        const auto* x = static_cast<const float*>(buffers[0]);
        auto* y = static_cast<float*>(buffers[1]);
        for (int64_t i = 0; begin == 0 && i < 512 * 40; ++i) y[i] = 2.0F * x[i];
      },
      rows, {{"n", 512}});
  EXPECT_EQ(fixed.why, Why::kOutOfBounds) << fixed.detail;
}

TEST(KernelDims, CodeForAnyValuesOfDimsIsTriedAboveTheTypicalOnesAndBetween) {
  const auto rows = [](Graph& g) {
    const Dim n = g.dim("n", 1, 4096);
    return g.input("x", {n, 40}) * 2.0F;
  };
  const std::pair<const char*, runtime::CpuEntry> planted[] = {
      {"no row from 512 on is computed",
       [](void* const* buffers, const int64_t* scalars, int64_t begin, int64_t, std::byte*) {
         const auto* x = static_cast<const float*>(buffers[0]);
         auto* y = static_cast<float*>(buffers[1]);
         const int64_t n = std::min<int64_t>(scalars[0], 512);
         for (int64_t i = 0; begin == 0 && i < n * 40; ++i) y[i] = 2.0F * x[i];
       }},
      {"rows from 512 on are computed in the place of others",
       [](void* const* buffers, const int64_t* scalars, int64_t begin, int64_t, std::byte*) {
         const auto* x = static_cast<const float*>(buffers[0]);
         auto* y = static_cast<float*>(buffers[1]);
         static float place[512 * 40];
         const int64_t n = scalars[0] * 40;
         for (int64_t i = 0; begin == 0 && i < n; ++i) place[i % (512 * 40)] = 2.0F * x[i];
         for (int64_t i = 0; begin == 0 && i < n; ++i) y[i] = place[i % (512 * 40)];
       }},
      {"values between are wrong",
       [](void* const* buffers, const int64_t* scalars, int64_t begin, int64_t, std::byte*) {
         const auto* x = static_cast<const float*>(buffers[0]);
         auto* y = static_cast<float*>(buffers[1]);
         const int64_t n = scalars[0];
         for (int64_t i = 0; begin == 0 && i < n * 40; ++i)
           y[i] = n >= 100 && n < 512 ? 7.0F : 2.0F * x[i];
       }},
      {"even values are wrong",
       [](void* const* buffers, const int64_t* scalars, int64_t begin, int64_t, std::byte*) {
         const auto* x = static_cast<const float*>(buffers[0]);
         auto* y = static_cast<float*>(buffers[1]);
         const int64_t n = scalars[0];
         for (int64_t i = 0; begin == 0 && i < n * 40; ++i)
           y[i] = n % 2 == 0 && n != 512 ? 7.0F : 2.0F * x[i];
       }},
      {"NaN becomes 7 but for the typical value",
       [](void* const* buffers, const int64_t* scalars, int64_t begin, int64_t, std::byte*) {
         const auto* x = static_cast<const float*>(buffers[0]);
         auto* y = static_cast<float*>(buffers[1]);
         const int64_t n = scalars[0];
         for (int64_t i = 0; begin == 0 && i < n * 40; ++i)
           y[i] = std::isnan(x[i]) && n != 512 ? 7.0F : 2.0F * x[i];
       }}};
  for (const auto& [what, entry] : planted) {
    const Rejected why = rejection(entry, rows, {{"n", 512}});
    EXPECT_EQ(why.why, Why::kWrongResult) << what << ": " << why.detail;
    EXPECT_NE(why.detail.find("n="), std::string::npos) << what << ": " << why.detail;
  }
}

TEST(KernelDims, PositionsAreTriedAtZero) {
  const Rejected why = rejection(
      [](void* const* buffers, const int64_t* scalars, int64_t begin, int64_t, std::byte*) {
        const auto* x = static_cast<const float*>(buffers[0]);
        auto* y = static_cast<float*>(buffers[1]);
        const int64_t p = scalars[0];
        for (int64_t i = 0; begin == 0 && i < 32; ++i) y[i] = p == 0 ? 7.0F : 2.0F * x[p * 4 + i];
      },
      [](Graph& g) {
        const Dim p = g.dim("p", 0, 1990);
        return slice(g.input("x", {2000, 4}), 0, {p, p + 8}) * 2.0F;
      },
      {{"p", 500}});
  EXPECT_EQ(why.why, Why::kWrongResult) << why.detail;
  EXPECT_NE(why.detail.find("p=0"), std::string::npos) << why.detail;
}

TEST(KernelDims, NothingIsReadWhereSomethingIsLeftToCompute) {
  const Rejected why = rejection(
      [](void* const* buffers, const int64_t* scalars, int64_t begin, int64_t, std::byte*) {
        const auto* x = static_cast<const float*>(buffers[0]);
        const auto* z = static_cast<const float*>(buffers[1]);
        auto* y = static_cast<float*>(buffers[2]);
        const int64_t count = scalars[0] * 8;
        for (int64_t i = 0; begin == 0 && i < count + 32; ++i)
          y[i] = count == 0 ? 7.0F : 2.0F * (i < count ? x[i] : z[i - count]);
      },
      [](Graph& g) {
        const Dim p = g.dim("p", 0, 1024);
        return concat({g.input("x", {p, 8}), g.input("z", {4, 8})}, 0) * 2.0F;
      },
      {{"p", 512}});
  EXPECT_EQ(why.why, Why::kWrongResult) << why.detail;
  EXPECT_NE(why.detail.find("p=0"), std::string::npos) << why.detail;
}

TEST(KernelDims, OneDimIsTriedAtItsLeastBesideUsualOthers) {
  const Rejected why = rejection(
      [](void* const* buffers, const int64_t* scalars, int64_t begin, int64_t, std::byte*) {
        const auto* x = static_cast<const float*>(buffers[0]);
        auto* y = static_cast<float*>(buffers[1]);
        const int64_t count = scalars[0] * scalars[1];
        const bool is_row = scalars[0] == 1 || scalars[1] == 1;
        for (int64_t i = 0; begin == 0 && i < count; ++i)
          y[i] = is_row && count > 100 ? 7.0F : 2.0F * x[i];
      },
      [](Graph& g) {
        return g.input("x", {g.dim("n", 1, 256), g.dim("m", 1, 4096)}) * 2.0F;
      },
      {{"n", 64}, {"m", 512}});
  EXPECT_EQ(why.why, Why::kWrongResult) << why.detail;
}

TEST(KernelDims, SmallValuesAreTried) {
  const auto rows = [](Graph& g) {
    const Dim n = g.dim("n", 1, 4096);
    return g.input("x", {n, 40}) * 2.0F;
  };
  const std::pair<const char*, runtime::CpuEntry> planted[] = {
      {"from 2 to 16",
       [](void* const* buffers, const int64_t* scalars, int64_t begin, int64_t, std::byte*) {
         const auto* x = static_cast<const float*>(buffers[0]);
         auto* y = static_cast<float*>(buffers[1]);
         const int64_t n = scalars[0];
         for (int64_t i = 0; begin == 0 && i < n * 40; ++i)
           y[i] = n >= 2 && n < 16 ? 7.0F : 2.0F * x[i];
       }},
      {"from 2 to 11",
       [](void* const* buffers, const int64_t* scalars, int64_t begin, int64_t, std::byte*) {
         const auto* x = static_cast<const float*>(buffers[0]);
         auto* y = static_cast<float*>(buffers[1]);
         const int64_t n = scalars[0];
         for (int64_t i = 0; begin == 0 && i < n * 40; ++i)
           y[i] = n >= 2 && n < 12 ? 7.0F : 2.0F * x[i];
       }},
      {"whole vectors alone",
       [](void* const* buffers, const int64_t* scalars, int64_t begin, int64_t, std::byte*) {
         const auto* x = static_cast<const float*>(buffers[0]);
         auto* y = static_cast<float*>(buffers[1]);
         const int64_t n = scalars[0];
         for (int64_t i = 0; begin == 0 && i < n * 40; ++i)
           y[i] = n % 16 == 0 && n != 512 ? 7.0F : 2.0F * x[i];
       }},
      {"multiples of four",
       [](void* const* buffers, const int64_t* scalars, int64_t begin, int64_t, std::byte*) {
         const auto* x = static_cast<const float*>(buffers[0]);
         auto* y = static_cast<float*>(buffers[1]);
         const int64_t n = scalars[0];
         for (int64_t i = 0; begin == 0 && i < n * 40; ++i)
           y[i] = n % 4 == 0 && n != 512 ? 7.0F : 2.0F * x[i];
       }}};
  for (const auto& [what, entry] : planted) {
    const Rejected why = rejection(entry, rows, {{"n", 512}});
    EXPECT_EQ(why.why, Why::kWrongResult) << what << ": " << why.detail;
  }
}

TEST(KernelDims, DimsHaveOnlyValuesThatTheGraphMightRunWith) {
  const std::tuple<const char*, std::function<Tensor(Graph&)>, graph::DimValues> cases[] = {
      {"windows",
       [](Graph& g) {
         const Dim n = g.dim("n", 1, 2048);
         return conv1d(g.input("x", {2, 12, n}), g.input("w", {8, 12, 5}));
       },
       {{"n", 512}}},
      {"windows of any number",
       [](Graph& g) {
         return conv1d(g.input("x", {2, 12, g.dim("n")}), g.input("w", {8, 12, 5}));
       },
       {{"n", 512}}},
      {"all but the first",
       [](Graph& g) {
         const Dim n = g.dim("n", 1, 2048);
         return exp(slice(g.input("x", {n, 12}), 0, {100, n}));
       },
       {{"n", 512}}},
      {"from one dim to another",
       [](Graph& g) {
         const Dim n = g.dim("n", 1, 2048);
         const Dim m = g.dim("m", 1, 2048);
         return exp(slice(g.input("x", {n, 12}), 0, {m, n}));
       },
       {{"m", 100}, {"n", 512}}},
      {"a part that is not always inside",
       [](Graph& g) {
         const Dim p = g.dim("p", 0, 5000);
         return exp(slice(g.input("x", {2000, 4}), 0, {p, p + 8}));
       },
       {{"p", 1990}}},
      {"a part that is replaced",
       [](Graph& g) {
         const Dim p = g.dim("p", 0, 1000);
         return update_slice(g.input("c", {2, 1024, 32}), 1, p, g.input("new", {2, 1, 32}));
       },
       {{"p", 512}}}};
  for (const auto& [name, write, dims] : cases) {
    Subject subject(write, dims);
    KernelCheck check = subject.check();
    const auto why = check.check(subject.candidate());
    EXPECT_EQ(why, std::nullopt) << name << ": " << to_string(Measurement(*why));
  }
}

}  // namespace
}  // namespace luminal::search

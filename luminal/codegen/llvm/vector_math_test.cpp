#include "luminal/codegen/llvm/vector_math.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <vector>

#include "luminal/codegen/llvm/jit_for_tests.h"

namespace luminal::codegen {
namespace {

using graph::Op;

constexpr float kInfinity = std::numeric_limits<float>::infinity();

struct Function {
  Op op;
  double (*reference)(double);
  double bound;  // ulp
};

const Function kFunctions[] = {
    {Op::kExp2, [](double x) { return std::exp2(x); }, 1.0},
    {Op::kExp, [](double x) { return std::exp(x); }, 1.0},
    {Op::kLog2, [](double x) { return std::log2(x); }, 2.0},
    {Op::kLog, [](double x) { return std::log(x); }, 2.0},
    {Op::kSin, [](double x) { return std::sin(x); }, 2.0},
    {Op::kCos, [](double x) { return std::cos(x); }, 2.0},
    {Op::kTanh, [](double x) { return std::tanh(x); }, 2.0},
    {Op::kErf, [](double x) { return std::erf(x); }, 2.5},
    {Op::kAtan, [](double x) { return std::atan(x); }, 2.0},
    {Op::kFloor, [](double x) { return std::floor(x); }, 0.0},
    {Op::kRound, [](double x) { return std::nearbyint(x); }, 0.0},
    {Op::kSqrt, [](double x) { return std::sqrt(x); }, 0.5},
    {Op::kRecip, [](double x) { return 1 / x; }, 0.5},
};

/// How far a float lies from the exact result, in units of its last place.
double ulp_error(float result, double exact) {
  const auto rounded = static_cast<float>(exact);
  if (std::isnan(exact) || std::isnan(result))
    return std::isnan(exact) && std::isnan(result) ? 0 : 1e30;
  if (std::isinf(rounded) || std::isinf(result)) {
    // Just above the largest float either side of the rounding is an error of one unit.
    if (rounded == result) return 0;
    const double edge = std::ldexp(1.0, 128);
    if (std::isinf(result)) return result > 0 ? (edge - exact) / 0x1p104 : (exact + edge) / 0x1p104;
    return std::fabs(exact - result) / 0x1p104;
  }
  if (result == 0 && rounded == 0) return std::signbit(result) == std::signbit(rounded) ? 0 : 1e30;
  int exponent = 0;
  std::frexp(rounded, &exponent);
  return std::fabs(exact - result) / std::ldexp(1.0, std::max(exponent - 24, -149));
}

std::vector<float> specials() {
  std::vector<float> values{0.0F,
                            kInfinity,
                            std::numeric_limits<float>::quiet_NaN(),
                            1.0F,
                            0.5F,
                            1.5F,
                            2.5F,
                            0x1p-149F,
                            0x1p-126F,
                            0x1.fffffcp-127F,
                            std::numeric_limits<float>::max(),
                            0.625F,
                            0.62499994F,
                            4.0F,
                            3.9999998F,
                            88.72283F,
                            88.722839F,
                            103.97F,
                            103.9728F,
                            104.0F,
                            126.0F,
                            127.0F,
                            127.5F,
                            127.99999F,
                            128.0F,
                            149.0F,
                            149.5F,
                            150.0F,
                            151.0F,
                            3.1415927F,
                            1.5707964F,
                            6.2831855F,
                            65535.996F,
                            65536.0F,
                            65537.0F,
                            1e10F,
                            1e38F,
                            0.70710677F,
                            0.70710683F,
                            1.4142135F,
                            0.99999994F,
                            1.0000001F,
                            8388608.5F};
  for (int i = 1; i < 20000; i += 13)  // where reduction by pi is hardest
    values.push_back(static_cast<float>(i * 1.5707963267948966));
  const size_t count = values.size();
  for (size_t i = 0; i < count; ++i) values.push_back(-values[i]);
  return values;
}

/// Every `step`th bit pattern and the special values; VECTOR_MATH_STEP=1 takes all 2^32.
std::vector<float> samples(uint64_t step, uint64_t from = 0, uint64_t to = uint64_t{1} << 32) {
  std::vector<float> values = specials();
  for (uint64_t bits = from; bits < to; bits += step)
    values.push_back(std::bit_cast<float>(static_cast<uint32_t>(bits)));
  while (values.size() % 16 != 0) values.push_back(1);
  return values;
}

TestKernel unary_kernel(const CpuTarget& target, Op op, bool wide, int lanes,
                        MathAccuracy accuracy = MathAccuracy::kFull) {
  return TestKernel(target, [=](VectorBuilder& builder, const EntryArguments& entry) {
    llvm::Type* element = wide ? builder.f64() : builder.f32();
    llvm::Type* type = VectorBuilder::vector(element, lanes);
    const int64_t bytes = wide ? 8 : 4;
    llvm::Value* source = builder.buffer(entry, 0);
    llvm::Value* result = builder.buffer(entry, 1);
    llvm::IRBuilder<>& ir = builder.ir();
    builder.loop(entry.begin, entry.end, builder.index(lanes), [&](llvm::Value* i) {
      llvm::Value* at = ir.CreateMul(i, builder.index(bytes));
      llvm::Value* x = builder.load(type, builder.offset(source, at));
      builder.store(VectorMath(builder, accuracy).unary(op, x), builder.offset(result, at));
    });
  });
}

void check(const CpuTarget& target, const Function& function, int lanes,
           std::vector<float>& values) {
  const TestKernel kernel = unary_kernel(target, function.op, false, lanes);
  std::vector<float> results(values.size());
  kernel({values.data(), results.data()}, {}, 0, static_cast<int64_t>(values.size()));
  double worst = 0;
  float where = 0;
  for (size_t i = 0; i < values.size(); ++i) {
    const double error = ulp_error(results[i], function.reference(values[i]));
    if (error > worst) {
      worst = error;
      where = values[i];
    }
  }
  EXPECT_LE(worst, function.bound) << name(function.op) << " at " << where << " for " << target.name
                                   << ", " << lanes << " lanes";
}

TEST(VectorMath, StaysWithinItsBoundsOverAllOfF32) {
  std::vector<float> values = samples(4099);
  std::vector<float> fewer = samples(65537);
  for (const CpuTarget& target : targets_that_run_here())
    for (const Function& function : kFunctions)
      check(target, function, target.lanes(32), target.has_fma() ? values : fewer);
}

TEST(VectorMath, ScalarsAndOtherWidthsAreTheSame) {
  std::vector<float> values = samples(1048573);
  for (const int lanes : {1, 4, 8})
    for (const Function& function : kFunctions) check(host_target(), function, lanes, values);
}

// VECTOR_MATH_STEP=1 looks at every float there is, which takes hours.
TEST(VectorMath, StaysWithinItsBoundsInEveryPartOfF32) {
  const char* setting = std::getenv("VECTOR_MATH_STEP");  // NOLINT(concurrency-mt-unsafe)
  const uint64_t step = setting == nullptr ? 131071 : std::strtoull(setting, nullptr, 10);
  ASSERT_GT(step, 0U) << "VECTOR_MATH_STEP must be a number of at least 1";
  for (const Function& function : kFunctions)
    for (uint64_t part = 0; part < 256; ++part) {
      std::vector<float> values = samples(step, part << 24, (part + 1) << 24);
      check(host_target(), function, host_target().lanes(32), values);
    }
}

/// Whether a result is near enough for bf16: 2^-12 of it, or what nobody sees, a quarter of the
/// smallest bf16.
bool good_for_bf16(float result, double exact, double unseen = 0x1p-135) {
  const auto rounded = static_cast<float>(exact);
  if (std::isnan(exact) || std::isnan(result)) return std::isnan(exact) && std::isnan(result);
  if (std::isinf(rounded) || std::isinf(result))
    return rounded == result || std::fabs(exact) > 0x1.ffep127;
  if (exact == 0) return result == 0 && std::signbit(result) == std::signbit(exact);
  return std::fabs(result - exact) <= 0x1p-12 * std::fabs(exact) + unseen;
}

TEST(VectorMath, LowAccuracyIsGoodForBf16) {
  std::vector<float> values = samples(65537);
  // Every bf16, and what lies between.
  for (uint32_t bits = 0; bits < 1U << 16; ++bits) {
    values.push_back(std::bit_cast<float>(bits << 16));
    values.push_back(std::bit_cast<float>((bits << 16) + bits * 977 % 65536));
  }
  std::vector<float> results(values.size());
  const auto check_all = [&](const CpuTarget& target, const Function& function, int lanes) {
    const TestKernel kernel = unary_kernel(target, function.op, false, lanes, MathAccuracy::kBf16);
    ASSERT_EQ(values.size() % 16, 0U);
    const size_t whole = values.size() / 32 * 32;
    kernel({values.data(), results.data()}, {}, 0, static_cast<int64_t>(whole));
    // Near its multiples pi has no more digits.
    const bool periodic = function.op == Op::kSin || function.op == Op::kCos;
    for (size_t i = 0; i < whole; ++i)
      ASSERT_TRUE(good_for_bf16(results[i], function.reference(values[i]),
                                periodic && std::fabs(values[i]) > 1 ? 0x1p-31 : 0x1p-135))
          << name(function.op) << " of " << values[i] << " gives " << results[i] << " on " << lanes
          << " lanes of " << target.name;
  };
  for (const Function& function : kFunctions) {
    for (const int lanes : {1, 16, 32}) check_all(host_target(), function, lanes);
    for (const CpuTarget& target : targets_that_run_here())
      if (target.has(runtime::CpuFeature::kAvx512f)) check_all(target, function, 16);
  }
}

TEST(VectorMath, TheExponentialOfADifferenceOfZeroIsOneAtEveryAccuracy) {
  // Otherwise the log of a sum whose terms are 1 and nothing is not 0.
  std::vector<float> zeros(32, 0.0F), results(32);
  for (const CpuTarget& target : targets_that_run_here())
    for (const int lanes : {1, 8, 16, 32})
      for (const MathAccuracy accuracy : {MathAccuracy::kFull, MathAccuracy::kBf16}) {
        const TestKernel kernel(target, [&](VectorBuilder& builder, const EntryArguments& entry) {
          llvm::Type* type = VectorBuilder::vector(builder.f32(), lanes);
          llvm::Value* x = builder.load(type, builder.buffer(entry, 0));
          builder.store(VectorMath(builder, accuracy).exp_of_difference(x),
                        builder.buffer(entry, 1));
        });
        kernel({zeros.data(), results.data()}, {}, 0, 1);
        for (int k = 0; k < lanes; ++k)
          ASSERT_EQ(results[static_cast<size_t>(k)], 1.0F) << target.name << ", " << lanes;
      }
}

/// A function of the values, on so many lanes.
std::vector<float> computed(const std::vector<float>& values, int lanes, MathAccuracy accuracy,
                            llvm::function_ref<llvm::Value*(VectorMath&, llvm::Value*)> function) {
  const TestKernel kernel(host_target(), [&](VectorBuilder& builder, const EntryArguments& entry) {
    builder.loop(entry.begin, entry.end, builder.index(lanes), [&](llvm::Value* at) {
      llvm::Value* bytes = builder.ir().CreateMul(at, builder.index(4));
      llvm::Type* type = VectorBuilder::vector(builder.f32(), lanes);
      llvm::Value* x = builder.load(type, builder.offset(builder.buffer(entry, 0), bytes));
      VectorMath math(builder, accuracy);
      builder.store(function(math, x), builder.offset(builder.buffer(entry, 1), bytes));
    });
  });
  std::vector<float> results(values.size());
  kernel({const_cast<float*>(values.data()), results.data()}, {}, 0,
         static_cast<int64_t>(values.size()));
  return results;
}

TEST(VectorMath, TheExponentialOfAShortDifferenceIsAsGoodAsItsDistance) {
  // All numbers of 8 digits near some maxima, and beyond the range of their products.
  std::vector<float> values;
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    const auto value = std::bit_cast<float>(bits << 16);
    if (std::isfinite(value)) values.push_back(value);
  }
  while (values.size() % 32 != 0) values.push_back(0);
  for (const float maximum : {0.0F, 1.0F, -0.75F, 3.015625F, 81.5F, -90.0F, 255.0F, 1e4F, -1e30F,
                              2.99075e38F, -3.3895314e38F}) {
    const std::vector<float> results =
        computed(values, 32, MathAccuracy::kBf16, [&](VectorMath& math, llvm::Value* x) {
          return math.exp_of_short_difference(
              x, VectorBuilder::number(x->getType()->getScalarType(), maximum));
        });
    for (size_t k = 0; k < values.size(); ++k) {
      const double distance = static_cast<double>(maximum) - values[k];
      if (distance < 0) continue;
      const double expected = std::exp(-distance);
      const double bound = distance <= 20 ? 0x1p-12 : distance <= 70 ? 0x1p-11 : 0x1.7p-11;
      ASSERT_NEAR(results[k], expected, distance <= 100 ? bound * expected + 0x1p-149 : 1e-40)
          << values[k] << " below " << maximum;
      if (distance == 0) {
        ASSERT_EQ(results[k], 1.0F) << maximum;
      }
    }
  }
}

/// 1 + f(x).
std::vector<float> gates(const std::vector<float>& values, bool tanh, int lanes,
                         MathAccuracy accuracy = MathAccuracy::kFull) {
  return computed(values, lanes, accuracy, [&](VectorMath& math, llvm::Value* x) {
    return tanh ? math.one_plus_tanh(x, 0.5) : math.one_plus_erf(x);
  });
}

TEST(VectorMath, GatesOfGeluAreNearTheirSums) {
  std::vector<float> values{
      0.0F, -0.0F, 1e30F, -1e30F, static_cast<float>(kInfinity), static_cast<float>(-kInfinity)};
  for (float x = -30; x < 30; x += 0.00073F) values.push_back(x);
  while (values.size() % 32 != 0) values.push_back(1);
  for (const int lanes : {host_target().lanes(32), 2 * host_target().lanes(32)})
    for (const bool tanh : {false, true}) {
      const std::vector<float> results = gates(values, tanh, lanes);
      for (size_t i = 0; i < values.size(); ++i) {
        const double x = values[i];
        const double exact = tanh ? 2 / (1 + std::exp(-x)) : std::erfc(-x);
        ASSERT_NEAR(results[i], exact, 2.5e-7) << x;
        if (tanh && x > -80) {
          ASSERT_NEAR(results[i] / exact, 1, 3e-6) << x;
        }
      }
      EXPECT_EQ(results[5], 0.0F);
      std::vector<float> nans(32, std::nanf(""));
      EXPECT_TRUE(std::isnan(gates(nans, tanh, lanes)[0]));
    }
}

TEST(VectorMath, GatesOfLowAccuracyAreGoodForBf16) {
  std::vector<float> values;
  for (uint32_t bits = 0; bits < 1U << 16; ++bits)
    values.push_back(std::bit_cast<float>(bits << 16));
  for (float x = -4; x < 30; x += 0.00073F) values.push_back(x);
  while (values.size() % 32 != 0) values.push_back(1);
  for (const bool tanh : {false, true}) {
    const std::vector<float> results =
        gates(values, tanh, host_target().lanes(32), MathAccuracy::kBf16);
    for (size_t i = 0; i < values.size(); ++i) {
      const double x = values[i];
      const double exact = tanh ? 2 / (1 + std::exp(-x)) : x < -4 ? 0.0 : std::erfc(-x);
      if (tanh && x < -80) {
        ASSERT_LE(results[i], 1e-34) << x;  // nothing is left
        continue;
      }
      ASSERT_TRUE(good_for_bf16(results[i], exact)) << x << " gives " << results[i];
    }
  }
}

TEST(VectorMath, GelusOfLowAccuracyAreGoodForBf16) {
  std::vector<float> values;
  for (uint32_t bits = 0; bits < 1U << 16; ++bits)
    values.push_back(std::bit_cast<float>(bits << 16));
  for (float x = -7; x < 7; x += 0.00073F) values.push_back(x);
  while (values.size() % 32 != 0) values.push_back(1);
  for (const double factor : {1e-4, 0.5, 0.7071067811865476, 3.0}) {
    const std::vector<float> results = computed(
        values, 2 * host_target().lanes(32), MathAccuracy::kBf16,
        [&](VectorMath& math, llvm::Value* x) { return math.half_times_one_plus_erf(x, factor); });
    for (size_t i = 0; i < values.size(); ++i) {
      const double x = values[i];
      const double gate = std::erfc(-factor * x) / 2;
      if (std::isnan(x * gate)) {
        ASSERT_TRUE(std::isnan(results[i])) << x << " gives " << results[i];
        continue;
      }
      if (x * gate == results[i]) continue;  // infinite
      const double within = std::max(0x1p-12 * gate, 1e-7) * std::fabs(x);
      ASSERT_NEAR(results[i], x * gate, within + 0x1p-126) << x << " by " << factor;
    }
  }
}

TEST(VectorMath, F64HasTheBitsOfTheLibrary) {
  std::vector<double> values{0.0,        -0.0,         1e300, -1e300, 0.1, -2.5, 1e-310, kInfinity,
                             -kInfinity, std::nan(""), 3.5,   709.0,  0.7, 1.0,  -1.0,   1e6};
  std::vector<double> results(values.size());
  for (const CpuTarget& target : targets_that_run_here())
    for (const Function& function : kFunctions) {
      const TestKernel kernel = unary_kernel(target, function.op, true, target.lanes(64));
      kernel({values.data(), results.data()}, {}, 0, static_cast<int64_t>(values.size()));
      for (size_t i = 0; i < values.size(); ++i) {
        const double exact = function.reference(values[i]);
        if (std::isnan(exact))
          EXPECT_TRUE(std::isnan(results[i]));
        else
          EXPECT_EQ(std::bit_cast<uint64_t>(results[i]), std::bit_cast<uint64_t>(exact))
              << name(function.op) << " of " << values[i];
      }
    }
}

TestKernel binary_kernel(const CpuTarget& target, Op op,
                         MathAccuracy accuracy = MathAccuracy::kFull) {
  return TestKernel(target, [=](VectorBuilder& builder, const EntryArguments& entry) {
    const int lanes = target.lanes(32);
    llvm::Type* type = VectorBuilder::vector(builder.f32(), lanes);
    llvm::Value* x = builder.buffer(entry, 0);
    llvm::Value* y = builder.buffer(entry, 1);
    llvm::Value* result = builder.buffer(entry, 2);
    builder.loop(entry.begin, entry.end, builder.index(lanes), [&](llvm::Value* i) {
      llvm::Value* at = builder.ir().CreateMul(i, builder.index(4));
      llvm::Value* value = VectorMath(builder, accuracy)
                               .binary(op, builder.load(type, builder.offset(x, at)),
                                       builder.load(type, builder.offset(y, at)));
      builder.store(value, builder.offset(result, at));
    });
  });
}

/// Every a with every b, and some ones that fill the last vector.
std::pair<std::vector<float>, std::vector<float>> all_pairs(const std::vector<float>& as,
                                                            const std::vector<float>& bs) {
  std::vector<float> x;
  std::vector<float> y;
  for (const float a : as)
    for (const float b : bs) {
      x.push_back(a);
      y.push_back(b);
    }
  while (x.size() % 16 != 0) {
    x.push_back(1);
    y.push_back(1);
  }
  return {std::move(x), std::move(y)};
}

void check_binary(Op op, double (*reference)(double, double), double bound,
                  const std::vector<float>& candidates) {
  auto [x, y] = all_pairs(candidates, candidates);
  std::vector<float> results(x.size());
  for (const CpuTarget& target : targets_that_run_here()) {
    binary_kernel(target, op)({x.data(), y.data(), results.data()}, {}, 0,
                              static_cast<int64_t>(x.size()));
    for (size_t i = 0; i < x.size(); ++i)
      ASSERT_LE(ulp_error(results[i], reference(x[i], y[i])), bound)
          << name(op) << "(" << x[i] << ", " << y[i] << ") = " << results[i] << " on "
          << target.name;
  }
}

const std::vector<float> kCorners{
    0.0F,      -0.0F, 1.0F,        -1.0F,       0.5F,        -0.5F,      2.0F,
    -2.0F,     3.0F,  -3.0F,       2.5F,        kInfinity,   -kInfinity, std::nanf(""),
    0x1p-149F, 1e38F, -1e38F,      1e-20F,      0x1p-126F,   100.0F,     127.5F,
    -127.5F,   1e10F, 16777216.0F, 16777215.0F, 0.99999994F, 1.0000001F};

TEST(VectorMath, PowIsIeeePow) {
  check_binary(
      Op::kPow, [](double a, double b) { return std::pow(a, b); }, 1.0, kCorners);
}

TEST(VectorMath, PowOfPositiveNumbersStaysWithinOneUlp) {
  std::vector<float> values;
  for (float x = 0.013F; x < 3e4F; x *= 1.0371F) {
    values.push_back(x);
    if (x < 30) values.push_back(x * 0.731F);
  }
  check_binary(
      Op::kPow, [](double a, double b) { return std::pow(a, b); }, 1.0, values);
}

TEST(VectorMath, PowOfLowAccuracyIsGoodForBf16) {
  std::vector<float> bases = kCorners;
  std::vector<float> exponents = kCorners;
  for (uint32_t bits = 0x3a80; bits < 0x4500; ++bits)  // bf16 from 1/1024 to 2048
    bases.push_back(std::bit_cast<float>(bits << 16));
  for (float y = -50; y < 50; y += 1.93F) exponents.push_back(y);
  auto [x, y] = all_pairs(bases, exponents);
  std::vector<float> results(x.size());
  binary_kernel(host_target(), Op::kPow, MathAccuracy::kBf16)(
      {x.data(), y.data(), results.data()}, {}, 0, static_cast<int64_t>(x.size()));
  for (size_t i = 0; i < x.size(); ++i)
    ASSERT_TRUE(good_for_bf16(results[i], std::pow(double{x[i]}, double{y[i]})))
        << x[i] << " to the power of " << y[i] << " gives " << results[i];
}

TEST(VectorMath, ModKeepsTheSignOfTheDividend) {
  check_binary(
      Op::kMod, [](double a, double b) { return std::fmod(a, b); }, 0, kCorners);
}

TEST(VectorMath, MaxGivesNanAndPrefersPlusZero) {
  const auto reference = [](double a, double b) {
    if (std::isnan(a) || std::isnan(b)) return std::nan("");
    if (a == b) return std::signbit(a) ? b : a;
    return a > b ? a : b;
  };
  check_binary(Op::kMax, reference, 0, kCorners);
}

}  // namespace
}  // namespace luminal::codegen

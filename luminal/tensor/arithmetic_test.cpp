#include "luminal/tensor/arithmetic.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "luminal/tensor/test_support.h"

namespace luminal {
namespace {

using test::expect_error;
using test::expect_integers;
using test::expect_named;
using test::expect_type;
using test::expect_values;
using test::matrix;
using test::vector;

constexpr double kInf = INFINITY;
constexpr int64_t kMin64 = std::numeric_limits<int64_t>::min();
constexpr int64_t kMax64 = std::numeric_limits<int64_t>::max();

Tensor longs(const Graph& g, const std::vector<int64_t>& values) {
  return g.constant(test::integers(i64, values));
}

std::vector<bool> signs(const Tensor& x) {
  std::vector<bool> result;
  for (double value : test::numbers(x)) result.push_back(std::signbit(value));
  return result;
}

TEST(Arithmetic, BroadcastsLikeNumPy) {
  Graph g;
  Tensor column = matrix(g, {2, 1}, {10, 20});
  Tensor row = vector(g, {1, 2, 3});
  expect_values(test::run(column + row), {2, 3}, {11, 12, 13, 21, 22, 23});
  expect_values(test::run(g.constant(1.0) + column), {2, 1}, {11, 21});
  expect_type(g.input("a", {0, 1}) + g.input("b", {1, 3}), "f32[0, 3]");
  expect_error(
      [&] {
        vector(g, {1, 2}) + row;
      },
      "add: shapes [2] and [3] do not broadcast: axis 0 is 2 and 3");
}

TEST(Arithmetic, BroadcastsSymbolicDims) {
  Graph g;
  Dim n = g.dim("n"), m = g.dim("m");
  Tensor x = g.input("x", {n, 1}), y = g.input("y", {m});
  Tensor z = x - y;
  expect_type(z, "f32[n, m]");
  for (int64_t rows : {0, 1, 3})
    expect_values(
        test::run(z,
                  {.inputs = {{"x", test::array(f32, {rows, 1},
                                                std::vector<double>(static_cast<size_t>(rows), 5))},
                              {"y", test::array(f32, {1}, {2})}}}),
        {rows, 1}, std::vector<double>(static_cast<size_t>(rows), 3));
  expect_error([&] { g.input("u", {n}) + g.input("v", {m}); }, "axis 0 is n and m");
}

TEST(Arithmetic, OperandsOfTwoGraphsAreRefused) {
  Graph g, h;
  expect_error([&] { vector(g, {1}) + vector(h, {1}); }, "operands belong to different graphs");
}

TEST(Arithmetic, EmptyTensorsAreNamedAsSuch) {
  Graph g;
  expect_error([&] { vector(g, {1}) + Tensor(); }, "this Tensor is empty");
}

TEST(Arithmetic, IntegersWrap) {
  Graph g;
  expect_integers(longs(g, {kMax64, kMin64}) + longs(g, {1, -1}), {kMin64, kMax64});
  expect_integers(longs(g, {kMin64, 0}) - longs(g, {1, kMin64}), {kMax64, kMin64});
  expect_integers(-longs(g, {kMin64}), {kMin64});
  expect_values(vector(g, {200, 3}, u8) + vector(g, {100, 4}, u8), {44, 7});
  expect_values(vector(g, {3, 0}, u8) - vector(g, {5, 1}, u8), {254, 255});
  expect_values(vector(g, {127, -128}, i8) * vector(g, {2, -1}, i8), {-2, -128});
}

TEST(Arithmetic, PackedIntegersComputeLikeOthers) {
  Graph g;
  Tensor a = vector(g, {7, -8, 3}, i4), b = vector(g, {15, 1, 8}, u4);
  expect_type(a + 1, "i4[3]");
  expect_values(a + 1, {-8, -7, 4});
  expect_values(b + 1, {0, 2, 9});
  expect_values(b - 2, {13, 15, 6});
  expect_values(~b, {0, 14, 7});
  expect_values(b << 1, {14, 2, 0});
  expect_values(a >> 1, {3, -4, 1});
  expect_values(minimum(a, vector(g, {-1, 0, 3}, i4)), {-1, -8, 3});
  expect_type(a * b, "i8[3]");
  expect_values(a * b, {105, -8, 24});
  expect_error([&] { a + 8; }, "add: 8 does not fit i4");
}

TEST(Arithmetic, KeepsSignedZerosAndInfinities) {
  Graph g;
  Tensor zeros = vector(g, {0.0, -0.0});
  EXPECT_EQ(signs(-zeros), (std::vector<bool>{true, false}));
  EXPECT_EQ(signs(zeros - vector(g, {0.0, 0.0})), (std::vector<bool>{false, true}));
  expect_values(vector(g, {kInf, kInf, 1}) - vector(g, {kInf, -kInf, kInf}), {NAN, kInf, -kInf});
  expect_values(vector(g, {1, -1, 0}) / vector(g, {0.0, 0.0, 0.0}), {kInf, -kInf, NAN});
}

TEST(Arithmetic, BoolIsRefusedWithTheRemedy) {
  Graph g;
  Tensor b = vector(g, {0, 1}, boolean);
  for (auto op : {add, subtract, multiply, trunc_div, floor_div, remainder, fmod, pow})
    expect_error([&] { op(b, b); }, "is not defined for bool; cast to a number");
  expect_error([&] { -b; }, "negate: is not defined for bool");
  expect_values(divide(b, vector(g, {1, 1}, boolean)), {0, 1});
}

TEST(Arithmetic, TwoNumbersAreNoTensor) {
  expect_error([] { add(1, 2); }, "add: needs a tensor on one side at least");
}

TEST(Arithmetic, TrueDivisionOfIntegersIsF32) {
  Graph g;
  Tensor q = vector(g, {7, -7}, i32) / vector(g, {2, 2}, i8);
  expect_type(q, "f32[2]");
  expect_values(q, {3.5, -3.5});
}

TEST(Arithmetic, DivisionsOfIntegersRoundAsTheirNamesSay) {
  Graph g;
  Tensor a = vector(g, {7, -7, 7, -7, 6, 5}, i32), b = vector(g, {2, 2, -2, -2, 3, 0}, i32);
  expect_integers(trunc_div(a, b), {3, -3, -3, 3, 2, 0});
  expect_integers(floor_div(a, b), {3, -4, -4, 3, 2, 0});
  expect_integers(remainder(a, b), {1, 1, -1, -1, 0, 0});
  expect_integers(fmod(a, b), {1, -1, 1, -1, 0, 0});
  expect_integers(floor_div(longs(g, {kMin64}), longs(g, {-1})), {kMin64});
  expect_integers(floor_div(longs(g, {kMin64, kMax64}), longs(g, {2, -2})),
                  {kMin64 / 2, -(kMax64 / 2) - 1});
}

TEST(Arithmetic, DivisionsStayInTheOperandsDtype) {
  Graph g;
  for (DType dtype : {f64, f32, f16, bf16, f8e5m2, i64, i32, i16, i8, u8, u16, u32}) {
    Tensor x = vector(g, {7, 5}, dtype);
    for (auto op : {trunc_div, floor_div, remainder, fmod}) {
      EXPECT_EQ(op(x, x).dtype(), dtype) << graph::name(dtype);
      EXPECT_EQ(op(x, 2).dtype(), dtype) << graph::name(dtype);
    }
    expect_values(floor_div(x, 2), {3, 2});
  }
}

TEST(Arithmetic, DivisionsOfFloatsFollowPython) {
  Graph g;
  Tensor a = vector(g, {7, -7, 7, -7, 1, 0.0, -1, 1}),
         b = vector(g, {2, 2, -2, -2, 0.1f, -3, kInf, 0});
  expect_values(trunc_div(a, b), {3, -3, -3, 3, 10, 0, 0, kInf});
  expect_values(floor_div(a, b), {3, -4, -4, 3, 9, 0, -1, kInf});
  Tensor special = vector(g, {kInf, NAN, 1, -1});
  expect_values(floor_div(special, vector(g, {2, 2, NAN, 0})), {NAN, NAN, NAN, -kInf});
  expect_values(
      remainder(vector(g, {5, -5, 5, -5, -1, 1, 5}), vector(g, {3, 3, -3, -3, kInf, 0, NAN})),
      {2, 1, -1, -2, kInf, NAN, NAN});
  expect_values(fmod(vector(g, {5, -5, 5, kInf}), vector(g, {3, 3, -3, 2})), {2, -2, 2, NAN});
  EXPECT_EQ(signs(floor_div(vector(g, {0.0, -0.0}), 3)), (std::vector<bool>{false, true}));
}

TEST(Arithmetic, NarrowFloatsDivideInF32AndRoundOnce) {
  Graph g;
  // 4094 / 3 = 1364.67; rounded to f16 first it would be 1365.
  Tensor a = vector(g, {4094, -4094}, f16), b = vector(g, {3, 3}, f16);
  expect_values(trunc_div(a, b), {1364, -1364});
  expect_values(floor_div(a, b), {1364, -1365});
}

TEST(Arithmetic, FloorDivAndRemainderFitTogether) {
  Graph g;
  const std::vector<double> a = test::scattered(200, 1, -100, 100);
  const std::vector<double> b = test::scattered(200, 2, -3, 3);
  Tensor x = vector(g, a, f64), y = vector(g, b, f64);
  expect_values(floor_div(x, y) * y + remainder(x, y), a, 1e-13);
  for (double rest : test::numbers(remainder(x, y) / y)) {
    EXPECT_GE(rest, 0);
    EXPECT_LT(rest, 1);
  }
}

TEST(Arithmetic, PowKeepsTheSignAndTheSpecialCases) {
  Graph g;
  expect_values(pow(vector(g, {-8, -8, -2, 0, 0, NAN, -1, kInf}),
                    vector(g, {3, 0.5, -1, 0, -1, 0, kInf, -2})),
                {-512, NAN, -0.5, 1, kInf, 1, 1, 0});
  expect_integers(
      pow(vector(g, {2, -2, 0, 2, 1, -1, 3}, i32), vector(g, {10, 3, 0, -1, -5, -3, 21}, i32)),
      {1024, -8, 1, 0, 1, -1, static_cast<int32_t>(10460353203ll)});
  expect_type(pow(vector(g, {2}, i32), 0.5), "f32[1]");
  expect_values(pow(2, vector(g, {3, 4}, i8)), {8, 16});
}

TEST(Arithmetic, MaximumAndMinimumKeepNan) {
  Graph g;
  Tensor a = vector(g, {1, NAN, -kInf, 3}), b = vector(g, {2, 0, 5, NAN});
  expect_values(maximum(a, b), {2, NAN, 5, NAN});
  expect_values(minimum(a, b), {1, NAN, -kInf, NAN});
  expect_integers(minimum(longs(g, {kMin64, kMax64}), longs(g, {kMax64, 0})), {kMin64, 0});
  expect_values(minimum(vector(g, {0, 200}, u8), vector(g, {255, 100}, u8)), {0, 100});
  expect_values(minimum(vector(g, {0, 1, 1}, boolean), vector(g, {1, 0, 1}, boolean)), {0, 0, 1});
  expect_values(clip(vector(g, {-5, 0.5, 9, NAN}), 0, 1), {0, 0.5, 1, NAN});
  expect_values(clip(vector(g, {-5, 5}), 3, 1), {1, 1});
}

TEST(Arithmetic, ComparisonsWithNanAreFalseButNotEqual) {
  Graph g;
  Tensor a = vector(g, {1, 2, 2, NAN, -0.0}), b = vector(g, {2, 1, 2, NAN, 0.0});
  expect_type(a < b, "bool[5]");
  expect_values(a < b, {1, 0, 0, 0, 0});
  expect_values(a <= b, {1, 0, 1, 0, 1});
  expect_values(a > b, {0, 1, 0, 0, 0});
  expect_values(a >= b, {0, 1, 1, 0, 1});
  expect_values(equal(a, b), {0, 0, 1, 0, 1});
  expect_values(not_equal(a, b), {1, 1, 0, 1, 0});
  expect_values(2 > a, {1, 0, 0, 0, 1});
  expect_values(2 >= a, {1, 1, 1, 0, 1});
  expect_values(2 < a, {0, 0, 0, 0, 0});
  expect_values(less(longs(g, {kMin64}), longs(g, {kMax64})), {1});
  expect_values(less(vector(g, {255}, u8), vector(g, {-1}, i8)), {0});
}

TEST(Arithmetic, LogicWorksOnTruthValues) {
  Graph g;
  Tensor a = vector(g, {0, 0, 3, NAN}), b = vector(g, {0, -1, 0, 2}, i32);
  expect_type(logical_and(a, b), "bool[4]");
  expect_values(logical_and(a, b), {0, 0, 0, 1});
  expect_values(logical_or(a, b), {0, 1, 1, 1});
  expect_values(logical_xor(a, b), {0, 1, 1, 0});
  expect_values(logical_not(a), {1, 1, 0, 0});
  expect_values(to_bool(vector(g, {-0.0, 1e-40}, f32)), {0, 1});
}

TEST(Arithmetic, TheExclamationMarkAsksWhetherThereIsATensor) {
  Graph g;
  Tensor x = vector(g, {0});
  const size_t before = g.ir().size();
  EXPECT_FALSE(!x);
  EXPECT_TRUE(!Tensor());
  EXPECT_EQ(g.ir().size(), before);
}

TEST(Arithmetic, BitsOfIntegersAndBool) {
  Graph g;
  Tensor a = vector(g, {12, -1, 0}, i8), b = vector(g, {10, 127, 5}, i8);
  expect_values(a & b, {8, 127, 0});
  expect_values(a | b, {14, -1, 5});
  expect_values(a ^ b, {6, -128, 5});
  expect_values(~a, {-13, 0, -1});
  expect_values(~vector(g, {0, 1}, boolean), {1, 0});
  expect_values(~vector(g, {0, 200}, u8), {255, 55});
  expect_error([&] { vector(g, {1}) & 1; }, "bit_and: needs an integer or bool, got f32");
}

TEST(Arithmetic, ShiftsOutsideTheWidthShiftEverythingOut) {
  Graph g;
  Tensor x = vector(g, {1, -128, 127, -1}, i8);
  expect_values(x << 1, {2, 0, -2, -2});
  expect_values(x >> 1, {0, -64, 63, -1});
  expect_values(x << 8, {0, 0, 0, 0});
  expect_values(x >> 100, {0, -1, 0, -1});
  expect_values(x >> -1, {0, -1, 0, -1});
  // 256 must not wrap to 0 when it meets i8.
  expect_values(x << longs(g, {256, 256, 256, 256}), {0, 0, 0, 0});
  expect_values(vector(g, {128, 255}, u8) >> vector(g, {7, 1}, u8), {1, 127});
  expect_type(vector(g, {1}, u8) << vector(g, {1}, i64), "u8[1]");
  expect_error([&] { vector(g, {1.0}) << 1; }, "shift_left: needs integers, got f32");
  expect_error([&] { x << 1.5; }, "shift_left: needs integers, got i8 and f32");
}

TEST(Arithmetic, WhereChoosesAndPromotes) {
  Graph g;
  Tensor c = vector(g, {1, 0}, boolean);
  expect_values(where(c, vector(g, {1, 2}), vector(g, {NAN, 4})), {1, 4});
  expect_type(where(c, vector(g, {1, 2}, i8), 0.5), "f32[2]");
  expect_type(where(c, 1, 2), "i64[2]");
  expect_type(where(c, true, false), "bool[2]");
  expect_type(where(c, 1, 0.5), "f32[2]");
  expect_values(test::run(where(matrix(g, {2, 1}, {1, 0}, boolean), vector(g, {1, 2}), 0)), {2, 2},
                {1, 2, 0, 0});
  expect_error([&] { where(vector(g, {1}), 1, 2); }, "where: the condition must be bool, got f32");
}

TEST(Arithmetic, MaskedFillIsRecorded) {
  Graph g;
  Tensor x = vector(g, {1, 2, 3}, f16), mask = vector(g, {0, 1, 0}, boolean);
  Tensor fill = g.constant(-kInf, f16);
  Tensor y = masked_fill(x, mask, fill);
  expect_type(y, "f16[3]");
  expect_values(y, {1, -kInf, 3});
  expect_named(y, "masked_fill()", {x, mask, fill});
}

TEST(Arithmetic, NumbersThatDoNotFitAreRefusedByTheOpThatGotThem) {
  Graph g;
  Tensor x = vector(g, {1, 2}, u8);
  Tensor mask = vector(g, {1, 0}, boolean);
  expect_error([&] { clip(x, -1, 5); }, "clip: -1 does not fit u8");
  expect_error([&] { clip(x, 0, 300); }, "clip: 300 does not fit u8");
  expect_error([&] { masked_fill(x, mask, 256); }, "masked_fill: 256 does not fit u8");
  expect_values(masked_fill(x, mask, 255), {255, 2});
}

TEST(Arithmetic, NumbersMayBeOfAnyIntegerType) {
  Graph g;
  Tensor x = vector(g, {1, 2}, i32);
  expect_values(x * size_t{3} + 1LL - uint8_t{2}, {2, 5});
}

TEST(Arithmetic, CompoundAssignmentLeavesTheOldValueAlone) {
  Graph g;
  const Tensor old = vector(g, {1, 2});
  Tensor x = old;
  x += 1;
  x *= x;
  x -= old;
  x /= 2;
  expect_values(x, {1.5, 3.5});
  expect_values(old, {1, 2});
}

template <typename T>
concept HasShortCircuitLogic = requires(T a, T b) {
  a&& b;
};
static_assert(!HasShortCircuitLogic<Tensor>, "it would ask whether the handles are empty");

}  // namespace
}  // namespace luminal

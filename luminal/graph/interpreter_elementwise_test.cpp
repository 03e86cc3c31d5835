// Every elementwise op for every dtype its rule allows, over all pairs of ordinary and special
// values, against references that compute in another way: floats in the dtype's own arithmetic
// (f32 for narrow ones), integers in 128 bits.
#include "luminal/graph/interpreter_elementwise.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>

#include "luminal/graph/dispatch.h"
#include "luminal/graph/interpreter_harness.h"

namespace luminal::graph {
namespace {

__extension__ typedef __int128 Int128;
__extension__ typedef unsigned __int128 UInt128;

std::vector<DType> dtypes_of(DTypeRule rule) {
  std::vector<DType> result;
  for (const DTypeInfo& row : kDTypes) {
    const bool fits = rule == DTypeRule::kFloat     ? is_float(row.dtype)
                      : rule == DTypeRule::kNumber  ? !is_bool(row.dtype)
                      : rule == DTypeRule::kBits    ? !is_float(row.dtype)
                      : rule == DTypeRule::kInteger ? is_integer(row.dtype)
                                                    : true;
    if (fits) result.push_back(row.dtype);
  }
  return result;
}

/// Values of every kind that the dtype has.
std::vector<Scalar> samples(DType dtype) {
  std::vector<Scalar> values;
  if (is_float(dtype)) {
    for (const double value : std::initializer_list<double>{
             0.0,  -0.0,  1.0,   -1.0, 0.5,   -2.5,  3.0,    7.75,     -0.1,      1e-3, 100.0,
             1e30, -1e30, 1e-40, 6e-8, -1e-7, 1e300, 5e-324, INFINITY, -INFINITY, NAN})
      values.push_back(Scalar::of(dtype, value));
  } else {
    for (const int64_t value :
         {int64_t{0}, int64_t{1}, int64_t{-1}, int64_t{2}, int64_t{-3}, int64_t{5}, int64_t{7},
          int64_t{8}, int64_t{31}, int64_t{63}, int64_t{64}, int64_t{-100}, int64_t{1} << 40})
      values.push_back(Scalar::of(dtype, value));
    values.push_back(Scalar::lowest(dtype));
    values.push_back(Scalar::highest(dtype));
  }
  return values;
}

Array array_of(const std::vector<Scalar>& values) {
  Array array(values.at(0).dtype(), {static_cast<int64_t>(values.size())});
  for (size_t i = 0; i < values.size(); ++i) array.set(static_cast<int64_t>(i), values[i]);
  return array;
}

/// The float reference in f64 for f64, and in f32, rounded once, for everything else.
Scalar float_result(DType dtype, const std::function<double(double, double)>& wide,
                    const std::function<float(float, float)>& narrow, const Scalar& a,
                    const Scalar& b) {
  if (dtype == DType::kF64) return Scalar::of(dtype, wide(a.as_double(), b.as_double()));
  return Scalar::of(dtype, static_cast<double>(narrow(static_cast<float>(a.as_double()),
                                                      static_cast<float>(b.as_double()))));
}

/// Low bits of a wide integer.
Scalar wrapped(DType dtype, Int128 value) {
  if (is_bool(dtype)) return Scalar::of(dtype, value != 0);
  return Scalar::of(dtype, static_cast<int64_t>(static_cast<uint64_t>(value)));
}

/// Runs a binary op over all pairs and checks each result.
void check_binary(Op op, DType dtype,
                  const std::function<Scalar(const Scalar&, const Scalar&)>& reference) {
  std::vector<Scalar> left, right;
  for (const Scalar& a : samples(dtype)) {
    for (const Scalar& b : samples(dtype)) {
      left.push_back(a);
      right.push_back(b);
    }
  }
  const Array result = run_op(op, {array_of(left), array_of(right)});
  for (size_t i = 0; i < left.size(); ++i)
    EXPECT_EQ(result.at(static_cast<int64_t>(i)), reference(left[i], right[i]))
        << name(op) << " " << name(dtype) << " of " << left[i].to_string() << " and "
        << right[i].to_string() << " gave " << result.at(static_cast<int64_t>(i)).to_string()
        << ", not " << reference(left[i], right[i]).to_string();
}

void check_arithmetic(Op op, const std::function<double(double, double)>& wide,
                      const std::function<float(float, float)>& narrow,
                      const std::function<Int128(Int128, Int128)>& integer) {
  for (const DType dtype : dtypes_of(info(op).dtype_rule))
    check_binary(op, dtype, [&](const Scalar& a, const Scalar& b) {
      if (is_float(dtype)) return float_result(dtype, wide, narrow, a, b);
      return wrapped(dtype, integer(a.as_int64(), b.as_int64()));
    });
}

TEST(Elementwise, AddMulDivAndModAreIeeeAndWrap) {
  check_arithmetic(
      Op::kAdd, [](double a, double b) { return a + b; }, [](float a, float b) { return a + b; },
      [](Int128 a, Int128 b) { return a + b; });
  check_arithmetic(
      Op::kMul, [](double a, double b) { return a * b; }, [](float a, float b) { return a * b; },
      [](Int128 a, Int128 b) { return a * b; });
  check_arithmetic(
      Op::kDiv, [](double a, double b) { return a / b; }, [](float a, float b) { return a / b; },
      [](Int128 a, Int128 b) { return b == 0 ? 0 : a / b; });
  check_arithmetic(
      Op::kMod, [](double a, double b) { return std::fmod(a, b); },
      [](float a, float b) { return std::fmod(a, b); },
      [](Int128 a, Int128 b) { return b == 0 ? 0 : a % b; });
}

TEST(Elementwise, MaxPropagatesNaNAndOrdersZeros) {
  const auto larger = [](auto a, auto b) {
    if (std::isnan(a) || std::isnan(b)) return a + b;
    if (a == b) return std::signbit(a) ? b : a;
    return a > b ? a : b;
  };
  check_arithmetic(Op::kMax, larger, larger, [](Int128 a, Int128 b) { return a > b ? a : b; });
}

TEST(Elementwise, IntegerDivisionHasItsDocumentedCorners) {
  for (const DType dtype : dtypes_of(DTypeRule::kInteger)) {
    const Scalar lowest = Scalar::lowest(dtype);
    const Array a = array_of({lowest, Scalar::of(dtype, 5), lowest});
    const Array b = array_of({Scalar::of(dtype, -1), Scalar::of(dtype, 0), Scalar::of(dtype, 0)});
    const Array quotient = run_op(Op::kDiv, {a, b});
    const Array rest = run_op(Op::kMod, {a, b});
    // -1 is the largest value of an unsigned dtype, and 0 / anything is 0.
    EXPECT_EQ(quotient.at(0), is_unsigned(dtype) ? Scalar::of(dtype, 0) : lowest) << name(dtype);
    for (const int64_t i : {0, 1, 2}) EXPECT_EQ(rest.at(i), Scalar::of(dtype, 0)) << name(dtype);
    EXPECT_EQ(quotient.at(1), Scalar::of(dtype, 0));
  }
}

TEST(Elementwise, PowKeepsSignsAndWraps) {
  const auto integer_power = [](Int128 base, Int128 exponent) -> Int128 {
    if (exponent < 0) return base == 1 ? 1 : base == -1 ? (exponent % 2 == 0 ? 1 : -1) : 0;
    // Repeated squaring modulo 2^64, the long way round.
    Int128 result = 1;
    const Int128 modulus = Int128{1} << 64;
    base = (base % modulus + modulus) % modulus;
    for (Int128 e = exponent; e > 0; e /= 2) {
      if (e % 2 == 1) result = static_cast<Int128>((static_cast<UInt128>(result) * base) % modulus);
      base = static_cast<Int128>((static_cast<UInt128>(base) * base) % modulus);
    }
    return result;
  };
  for (const DType dtype : dtypes_of(DTypeRule::kNumber))
    check_binary(Op::kPow, dtype, [&](const Scalar& a, const Scalar& b) {
      // One rounding of the f64 power; where f64 itself is exact this is the nearest value.
      if (is_float(dtype)) return Scalar::of(dtype, std::pow(a.as_double(), b.as_double()));
      return wrapped(dtype, integer_power(a.as_int64(), b.as_int64()));
    });
  const Array cube = run_op(
      Op::kPow, {graph::array_of(DType::kF32, {1}, {-2}), graph::array_of(DType::kF32, {1}, {3})});
  EXPECT_EQ(cube.at(0).as_double(), -8.0);
}

TEST(Elementwise, ComparisonsAreFalseForNaN) {
  for (const DType dtype : dtypes_of(DTypeRule::kCompare)) {
    const auto truth = [](bool value) { return Scalar::of(DType::kBool, value); };
    check_binary(Op::kLessThan, dtype, [&](const Scalar& a, const Scalar& b) {
      return truth(is_float(dtype) ? a.as_double() < b.as_double() : a.as_int64() < b.as_int64());
    });
    check_binary(Op::kEqual, dtype, [&](const Scalar& a, const Scalar& b) {
      return truth(is_float(dtype) ? a.as_double() == b.as_double() : a.as_int64() == b.as_int64());
    });
  }
}

TEST(Elementwise, BitOperationsWorkOnIntegersAndBool) {
  for (const DType dtype : dtypes_of(DTypeRule::kBits)) {
    check_binary(Op::kBitAnd, dtype, [&](const Scalar& a, const Scalar& b) {
      return wrapped(dtype, a.as_int64() & b.as_int64());
    });
    check_binary(Op::kBitOr, dtype, [&](const Scalar& a, const Scalar& b) {
      return wrapped(dtype, a.as_int64() | b.as_int64());
    });
    check_binary(Op::kBitXor, dtype, [&](const Scalar& a, const Scalar& b) {
      return wrapped(dtype, a.as_int64() ^ b.as_int64());
    });
  }
}

TEST(Elementwise, ShiftsOutOfRangeGiveZeroOrTheSign) {
  for (const DType dtype : dtypes_of(DTypeRule::kInteger)) {
    const int width = bits(dtype);
    check_binary(Op::kShiftLeft, dtype, [&](const Scalar& a, const Scalar& b) {
      const int64_t amount = b.as_int64();
      if (amount < 0 || amount >= width) return Scalar::of(dtype, 0);
      Int128 value = a.as_int64();
      for (int64_t i = 0; i < amount; ++i) value = (value * 2) % (Int128{1} << 70);
      return wrapped(dtype, value);
    });
    check_binary(Op::kShiftRight, dtype, [&](const Scalar& a, const Scalar& b) {
      const int64_t amount = b.as_int64();
      int64_t value = a.as_int64();
      if (amount < 0 || amount >= width) return Scalar::of(dtype, value < 0 ? -1 : 0);
      for (int64_t i = 0; i < amount; ++i) value = (value - (value & 1)) / 2;
      return Scalar::of(dtype, value);
    });
  }
}

TEST(Elementwise, SelectChoosesForEveryDtype) {
  for (const DTypeInfo& row : kDTypes) {
    const std::vector<Scalar> values = samples(row.dtype);
    std::vector<Scalar> other(values.rbegin(), values.rend());
    std::vector<Scalar> conditions;
    for (size_t i = 0; i < values.size(); ++i)
      conditions.push_back(Scalar::of(DType::kBool, i % 3 == 0));
    const Array result =
        run_op(Op::kSelect, {array_of(conditions), array_of(values), array_of(other)});
    for (size_t i = 0; i < values.size(); ++i)
      EXPECT_EQ(result.at(static_cast<int64_t>(i)), i % 3 == 0 ? values[i] : other[i]) << row.name;
  }
}

/// The next value of the dtype, for distances in units of the last place.
double neighbour_distance(DType dtype, double value) {
  if (!std::isfinite(value)) return 0.0;
  const double magnitude = std::fabs(value);
  // 8 bits of bf16, 4 of f8e4m3, 3 of f8e5m2, 11 of f16, 24 of f32; subnormals by their step.
  int precision = 53, lowest = -1074;
  switch (dtype) {
    case DType::kF32:
      precision = 24, lowest = -149;
      break;
    case DType::kF16:
      precision = 11, lowest = -24;
      break;
    case DType::kBF16:
      precision = 8, lowest = -133;
      break;
    case DType::kF8E4M3:
      precision = 4, lowest = -9;
      break;
    case DType::kF8E5M2:
      precision = 3, lowest = -16;
      break;
    default:
      break;
  }
  if (magnitude == 0.0) return std::ldexp(1.0, lowest);
  return std::ldexp(1.0, std::max(std::ilogb(magnitude) + 1 - precision, lowest));
}

struct UnaryCase {
  Op op;
  long double (*reference)(long double);
  bool exact;
};

TEST(Elementwise, UnaryOpsAreExactOrWithinOneUnitInTheLastPlace) {
  const UnaryCase cases[] = {
      {Op::kRecip, [](long double x) { return 1.0L / x; }, true},
      {Op::kSqrt, [](long double x) { return std::sqrt(x); }, true},
      {Op::kExp, [](long double x) { return std::exp(x); }, false},
      {Op::kExp2, [](long double x) { return std::exp2(x); }, false},
      {Op::kLog, [](long double x) { return std::log(x); }, false},
      {Op::kLog2, [](long double x) { return std::log2(x); }, false},
      {Op::kSin, [](long double x) { return std::sin(x); }, false},
      {Op::kCos, [](long double x) { return std::cos(x); }, false},
      {Op::kTanh, [](long double x) { return std::tanh(x); }, false},
      {Op::kErf, [](long double x) { return std::erf(x); }, false},
      {Op::kAtan, [](long double x) { return std::atan(x); }, false},
      {Op::kFloor, [](long double x) { return std::floor(x); }, true},
      {Op::kRound, [](long double x) { return std::nearbyint(x); }, true},
  };
  for (const UnaryCase& test : cases) {
    for (const DType dtype : dtypes_of(info(test.op).dtype_rule)) {
      const std::vector<Scalar> values = samples(dtype);
      const Array result = run_op(test.op, {array_of(values)});
      for (size_t i = 0; i < values.size(); ++i) {
        const double got = result.at(static_cast<int64_t>(i)).as_double();
        const long double exact = test.reference(values[i].as_double());
        const Scalar expected = Scalar::of(dtype, static_cast<double>(exact));
        const std::string what =
            fmt::format("{} {} of {}", name(test.op), dtype, values[i].to_string());
        if (result.at(static_cast<int64_t>(i)) == expected) continue;
        EXPECT_FALSE(test.exact) << what << " gave " << got;
        // f64 functions of the C library are within one unit; narrower dtypes round them.
        const double unit = neighbour_distance(dtype, expected.as_double());
        EXPECT_LE(std::fabs(got - expected.as_double()), unit) << what << " gave " << got;
      }
    }
  }
}

TEST(Elementwise, SpecialValuesOfUnaryOps) {
  const auto of = [](Op op, double x) {
    return run_op(op, {graph::array_of(DType::kF32, {1}, {x})}).at(0).as_double();
  };
  EXPECT_EQ(of(Op::kRecip, -0.0), -INFINITY);
  EXPECT_TRUE(std::signbit(of(Op::kSqrt, -0.0)));
  EXPECT_TRUE(std::isnan(of(Op::kSqrt, -1.0)));
  EXPECT_EQ(of(Op::kLog, 0.0), -INFINITY);
  EXPECT_TRUE(std::isnan(of(Op::kLog2, -1.0)));
  EXPECT_EQ(of(Op::kExp, -INFINITY), 0.0);
  EXPECT_EQ(of(Op::kExp2, 1000.0), INFINITY);
  EXPECT_TRUE(std::isnan(of(Op::kSin, INFINITY)));
  EXPECT_EQ(of(Op::kTanh, INFINITY), 1.0);
  EXPECT_EQ(of(Op::kErf, -INFINITY), -1.0);
  EXPECT_EQ(of(Op::kRound, 2.5), 2.0);
  EXPECT_EQ(of(Op::kRound, 3.5), 4.0);
  EXPECT_TRUE(std::signbit(of(Op::kRound, -0.25)));
  EXPECT_TRUE(std::signbit(of(Op::kFloor, -0.0)));
}

TEST(Elementwise, CastsBetweenAllDtypesFollowTheRules) {
  for (const DTypeInfo& from : kDTypes) {
    for (const DTypeInfo& to : kDTypes) {
      const std::vector<Scalar> values = samples(from.dtype);
      Graph graph;
      const auto inputs = add_inputs(graph, {array_of(values)});
      graph.add_output("y", graph.whole(graph.add_cast(Op::kCast, inputs[0], to.dtype)));
      const Array result = run_graph(graph, {array_of(values)})[0];
      ASSERT_EQ(result.dtype(), to.dtype);
      for (size_t i = 0; i < values.size(); ++i)
        EXPECT_EQ(result.at(static_cast<int64_t>(i)), values[i].cast(to.dtype))
            << from.name << " to " << to.name << " of " << values[i].to_string();
    }
  }
}

TEST(Elementwise, BitcastKeepsEveryPattern) {
  Array patterns(DType::kU16, {65536});
  for (size_t i = 0; i < 65536; ++i) patterns.mutable_as<uint16_t>()[i] = static_cast<uint16_t>(i);
  for (const DType dtype : {DType::kF16, DType::kBF16, DType::kI16}) {
    Graph graph;
    const auto inputs = add_inputs(graph, {patterns});
    const NodeId there = graph.add_cast(Op::kBitcast, inputs[0], dtype);
    const NodeId back = graph.add_cast(Op::kBitcast, graph.whole(there), DType::kU16);
    graph.add_output("there", graph.whole(there));
    graph.add_output("back", graph.whole(back));
    const auto results = run_graph(graph, {patterns});
    EXPECT_EQ(results[0].dtype(), dtype);
    EXPECT_TRUE(results[1].identical(patterns)) << name(dtype);
  }
  Graph graph;
  const Array one = graph::array_of(DType::kF32, {1}, {1.0});
  graph.add_output(
      "y", graph.whole(graph.add_cast(Op::kBitcast, add_inputs(graph, {one})[0], DType::kI32)));
  EXPECT_EQ(run_graph(graph, {one})[0].at(0).as_int64(), 0x3f800000);
}

TEST(Elementwise, CopiesAndBarriersKeepBits) {
  for (const DTypeInfo& row : kDTypes) {
    const Array values = array_of(samples(row.dtype));
    for (const Op op : {Op::kCopy, Op::kGraphBreak})
      EXPECT_TRUE(run_op(op, {values}).identical(values)) << row.name;
  }
}

TEST(Elementwise, EmptyAndScalarShapesWork) {
  for (const DTypeInfo& row : kDTypes) {
    const Array empty(row.dtype, {2, 0});
    EXPECT_EQ(run_op(Op::kEqual, {empty, empty}).extents(), (Extents{2, 0}));
    const Array scalar = graph::array_of(row.dtype, {}, {1});
    EXPECT_EQ(run_op(Op::kMax, {scalar, scalar}).at(0), scalar.at(0)) << row.name;
  }
}

TEST(Elementwise, ArraysLongerThanABlockAreComputedWhole) {
  const int64_t size = 3 * kBlockSize + 7;
  for (const DType dtype : {DType::kF16, DType::kI4, DType::kI64}) {
    std::vector<int64_t> values(static_cast<size_t>(size));
    for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<int64_t>(i * 37 % 1000);
    const Array a = integers_of(dtype, {size}, values);
    const Array sum = run_op(Op::kAdd, {a, a});
    for (int64_t i = 0; i < size; ++i)
      ASSERT_EQ(sum.at(i), is_float(dtype) ? Scalar::of(dtype, 2 * a.at(i).as_double())
                                           : Scalar::of(dtype, 2 * a.at(i).as_int64()));
  }
}

}  // namespace
}  // namespace luminal::graph

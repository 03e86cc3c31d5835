// Long rows of bf16 whose kernels take short ways: maxima found as integers, exponentials of
// differences in one instruction (softmax), functions without branches for rare arguments. All that
// these ways have to be right about is in the rows here.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "luminal/luminal.h"

namespace luminal {
namespace {

constexpr int64_t kColumns = 4096;
constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kLargest = 3.3895313892515355e38;  // of bf16
/// Half a unit of bf16, and what values of 12 digits may add.
constexpr double kBound = 0.7 * 0x1p-7;

struct Row {
  std::string what;
  std::vector<double> values;
};

/// A row between two numbers, rounded to bf16.
std::vector<double> between(double low, double high, int seed) {
  std::mt19937_64 random(static_cast<uint64_t>(seed));
  std::vector<double> values;
  for (int64_t k = 0; k < kColumns; ++k) {
    const double part = static_cast<double>(random() % 4096) / 4096;
    values.push_back(low * (1 - part) + high * part);
  }
  const Array rounded = Array::from<double>(bf16, {kColumns}, values);
  for (int64_t k = 0; k < kColumns; ++k) values[static_cast<size_t>(k)] = rounded.at(k).as_double();
  return values;
}

Row with(Row row, const std::string& what, const std::vector<std::pair<int64_t, double>>& changes) {
  row.what += what;
  for (const auto& [at, value] : changes) row.values[static_cast<size_t>(at)] = value;
  return row;
}

std::vector<Row> rows() {
  const Row mixed{"mixed", between(-3, 3, 1)};
  const Row below{"below 0", between(-90, -0.5, 2)};
  const double nan = std::nan("");
  std::vector<Row> result{
      mixed,
      below,
      {"above 0", between(0.25, 80, 3)},
      {"far apart", between(-100, 100, 4)},
      {"far from 0", between(20000, 20100, 5)},
      {"far below 0", between(-30100, -30000, 6)},
      {"the ends of the range", between(-kLargest, kLargest, 7)},
      {"all the largest", std::vector<double>(kColumns, kLargest)},
      {"all the lowest", std::vector<double>(kColumns, -kLargest)},
      {"all -0", std::vector<double>(kColumns, -0.0)},
      {"all -inf", std::vector<double>(kColumns, -kInfinity)},
      with(mixed, ", NaN", {{77, nan}}),
      with(mixed, ", -NaN", {{4095, std::copysign(nan, -1)}}),
      with(below, ", -NaN", {{0, std::copysign(nan, -1)}}),
      with(below, ", inf", {{31, kInfinity}}),
      with(below, ", -0", {{32, -0.0}}),
      with(mixed, ", -inf", {{33, -kInfinity}, {64, -kInfinity}}),
      with({"", std::vector<double>(kColumns, -kInfinity)}, "one number", {{2000, -5.0}}),
      with({"", std::vector<double>(kColumns, 0x1p-133)}, "denormal, one below", {{9, -1.0}}),
  };
  // The largest at every place of a line, of either sign.
  for (int64_t at = 0; at < 64; ++at) {
    result.push_back(with(mixed, ", largest at " + std::to_string(at), {{at, 7.0}}));
    result.push_back(with(below, ", largest at " + std::to_string(at), {{4032 + at, -0.25}}));
  }
  return result;
}

Array results_of(const std::vector<Row>& all, Tensor (*function)(const Tensor& x)) {
  const auto count = static_cast<int64_t>(all.size());
  std::vector<double> values;
  for (const Row& row : all) values.insert(values.end(), row.values.begin(), row.values.end());
  Graph g;
  const Tensor y = function(g.input("x", {count, kColumns}, bf16));
  Executable exe = compile(g, {y});
  exe.set("x", Array::from<double>(bf16, {count, kColumns}, values));
  exe.run();
  return exe.get(y);
}

void expect_near(const Array& results, const std::vector<Row>& all,
                 double (*expected)(double x, double maximum, double total), double least) {
  for (size_t r = 0; r < all.size(); ++r) {
    const std::vector<double>& row = all[r].values;
    double maximum = -kInfinity;
    double total = 0;
    for (const double x : row) maximum = std::max(maximum, x);  // NaN is seen by the total
    for (const double x : row) total += std::exp(x - maximum);
    for (int64_t k = 0; k < kColumns; ++k) {
      double want = expected(row[static_cast<size_t>(k)], maximum, total);
      if (std::abs(want) >= 0x1p128 - 0x1p119) want = std::copysign(kInfinity, want);
      const double got = results.at(static_cast<int64_t>(r) * kColumns + k).as_double();
      const bool is_near = std::isnan(want) ? std::isnan(got)
                           : std::isinf(want)
                               ? got == want
                               : std::abs(got - want) <= kBound * std::abs(want) + least;
      ASSERT_TRUE(is_near) << all[r].what << ", element " << k << ": " << got << ", not " << want;
    }
  }
}

TEST(NarrowRows, SoftmaxOfAnyRow) {
  const std::vector<Row> all = rows();
  const Array results = results_of(all, [](const Tensor& x) { return softmax(x); });
  expect_near(
      results, all,
      [](double x, double maximum, double total) { return std::exp(x - maximum) / total; },
      0x1p-126);
}

TEST(NarrowRows, LogSoftmaxOfAnyRow) {
  const std::vector<Row> all = rows();
  const Array results = results_of(all, [](const Tensor& x) { return log_softmax(x); });
  expect_near(
      results, all,
      [](double x, double maximum, double total) { return (x - maximum) - std::log(total); },
      0x1p-12);
}

TEST(NarrowRows, RareArgumentsOfFunctionsBesideOthers) {
  std::vector<double> values = between(-20, 20, 8);
  const std::vector<double> rare{65536, 70144,     -1048576,   1e30,
                                 -1e38, kInfinity, -kInfinity, std::nan("")};
  // Some turns of the loop have one, some several, most none.
  for (size_t k = 0; k < rare.size(); ++k) {
    values[517 * k] = rare[k];
    values[2048 + k] = rare[k];
  }
  for (const bool shifted : {false, true}) {
    Graph g;
    const Tensor x = g.input("x", {kColumns}, bf16);
    const Tensor y = shifted ? sqrt(abs(cos(x + 1.0F))) : sqrt(abs(sin(x)));
    Executable exe = compile(g, {y});
    const Array array = Array::from<double>(bf16, {kColumns}, values);
    exe.set(x, array);
    exe.run();
    const Array results = exe.get(y);
    for (int64_t k = 0; k < kColumns; ++k) {
      const double given = array.at(k).as_double();
      const auto sum = static_cast<double>(static_cast<float>(given + 1.0));
      const double want = std::sqrt(std::abs(shifted ? std::cos(sum) : std::sin(given)));
      const double got = results.at(k).as_double();
      if (std::isnan(want))
        ASSERT_TRUE(std::isnan(got)) << given << " gives " << got;
      else
        ASSERT_NEAR(got, want, kBound * want + 0x1p-14) << "of " << given;
    }
  }
}

TEST(NarrowRows, PowersSeeExponentsAsTheGraphRoundsThem) {
  // 2.001 is 2 in bf16, and only whole powers of what is below 0 are numbers.
  Graph g;
  const Tensor x = g.input("x", {kColumns}, bf16);
  const Tensor y = g.input("y", {kColumns}, bf16);
  const Tensor z = pow(x, y + 0.001F);
  Executable exe = compile(g, {z});
  exe.set(x, Array::from<double>(bf16, {kColumns}, std::vector<double>(kColumns, -3)));
  exe.set(y, Array::from<double>(bf16, {kColumns}, std::vector<double>(kColumns, 2)));
  exe.run();
  for (int64_t k = 0; k < kColumns; ++k) ASSERT_EQ(exe.get(z).at(k).as_double(), 9.0);
}

}  // namespace
}  // namespace luminal

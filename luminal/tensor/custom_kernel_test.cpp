#include "luminal/tensor/custom_kernel.h"

#include <gtest/gtest.h>

#include <random>

#include "luminal/support/error.h"
#include "luminal/tensor/activation.h"
#include "luminal/tensor/arithmetic.h"
#include "luminal/tensor/executable.h"
#include "luminal/tensor/movement.h"

namespace luminal {
namespace {

using Inputs = std::vector<std::pair<std::string, Tensor>>;

/// The same values for every run; fractions for floats.
Array sample(DType dtype, const Extents& extents) {
  Array array(dtype, extents);
  for (int64_t i = 0; i < array.size(); ++i)
    array.set(i, graph::is_float(dtype)
                     ? Scalar::of(dtype, 0.25 * static_cast<double>(i * 7 % 23) - 2.0)
                     : Scalar::of(dtype, i * 7 % 5));
  return array;
}

/// Runs native code and the interpreter, which must agree, and gives the values.
std::vector<double> run(const Graph& g, const Tensor& y, const std::map<std::string, Array>& data,
                        double tolerance = 1e-5) {
  std::vector<std::vector<double>> results;
  for (const Backend backend : {Backend::kInterpreter, Backend::kCpu}) {
    Executable exe = compile(g, {y}, {.backend = backend});
    for (const auto& [name, value] : data) exe.set(name, value);
    exe.run();
    results.push_back(exe.get<double>(y));
  }
  EXPECT_EQ(results[0].size(), results[1].size());
  for (size_t i = 0; i < results[0].size(); ++i)
    EXPECT_NEAR(results[0][i], results[1][i], tolerance * std::max(1.0, std::abs(results[0][i])));
  return results[0];
}

/// The program on x: f32[2, 3] and w: f32[3, 2].
std::vector<double> result_of(std::string_view source, const graph::TensorType& type) {
  const Graph g;
  const Tensor x = g.input("x", {2, 3}), w = g.input("w", {3, 2});
  const Tensor index = g.input("index", {2}, i64);
  const Tensor y = custom_kernel("test", source, {{"x", x}, {"w", w}, {"index", index}}, type);
  const std::map<std::string, Array> data{
      {"x", Array::from<double>(f32, {2, 3}, std::vector<double>{1, -2, 3, -4, 5, -6})},
      {"w", Array::from<double>(f32, {3, 2}, std::vector<double>{1, 2, 3, 4, 5, 6})},
      {"index", Array::from<int64_t>(i64, {2}, std::vector<int64_t>{2, 0})}};
  return run(g, y, data);
}

using Numbers = std::vector<double>;

TEST(CustomKernel, ComputesElementwiseWithConditions) {
  EXPECT_EQ(result_of("out[i][j] = x[i][j] > 0 ? x[i][j] : 0.5 * x[i][j];", {f32, {2, 3}}),
            (Numbers{1, -1, 3, -2, 5, -3}));
  EXPECT_EQ(
      result_of("float v = x[i][j]; if (v < 0) v = -v; else v += 1; out[i][j] = v;", {f32, {2, 3}}),
      (Numbers{2, 2, 4, 4, 6, 6}));
}

TEST(CustomKernel, SumsProductsAndMaximaAreLoops) {
  EXPECT_EQ(result_of("float s = 0;\nfor (int k = 0; k < 3; k++) s += x[i][k] * w[k][j];\n"
                      "out[i][j] = s;",
                      {f32, {2, 2}}),
            (Numbers{10, 12, -19, -24}));
  EXPECT_EQ(result_of("float m = -INFINITY; for (int k = 0; k < 3; ++k) m = max(m, x[i][k]);"
                      "float p = 1; for (int k = 0; k < 3; k++) p *= x[i][k]; out[i] = m + p;",
                      {f32, {2}}),
            (Numbers{-3, 125}));
  EXPECT_EQ(result_of("float s = 100; for (int a = 0; a < 2; a++) { float row = 0;"
                      " for (int b = 0; b < 3; b++) { row += x[a][b]; s -= 1; } s += row * row; }"
                      "out = s;",
                      {f32, {}}),
            (Numbers{100 - 6 + 4 + 25}));
  EXPECT_EQ(result_of("int n = 0; for (int k = 0; k < 3; k += 2) if (x[i][k] > 0) n += 1;"
                      "out[i] = n;",
                      {i32, {2}}),
            (Numbers{2, 0}));
  EXPECT_EQ(result_of("bool any = false; for (int k = 1; k <= 2; k++) any = any || x[i][k] > 4;"
                      "out[i] = any;",
                      {boolean, {2}}),
            (Numbers{0, 1}));
}

TEST(CustomKernel, AnEmptyLoopChangesNothing) {
  EXPECT_EQ(
      result_of("float s = 7; for (int k = 2; k < 2; k++) s += x[i][0]; out[i] = s;", {f32, {2}}),
      (Numbers{7, 7}));
}

TEST(CustomKernel, NeighboursAreReadWhereAConditionAllowsIt) {
  EXPECT_EQ(result_of("out[i][j] = j > 0 ? x[i][j] - x[i][j - 1] : x[i][j];", {f32, {2, 3}}),
            (Numbers{1, -3, 5, -4, 9, -11}));
  EXPECT_EQ(result_of("float s = 0; for (int d = 0; d < 3; d++) { long p = j + d - 1;"
                      " if (p >= 0 && p < 3) s += x[i][p]; } out[i][j] = s;",
                      {f32, {2, 3}}),
            (Numbers{-1, 2, 1, 1, -5, -1}));
  EXPECT_EQ(result_of("out[i][j] = j < 2 && x[i][j + 1] > 0 ? 1 : 0;", {f32, {2, 3}}),
            (Numbers{0, 1, 0, 1, 0, 0}));
}

TEST(CustomKernel, PositionsAreIntegersAndMayBeData) {
  EXPECT_EQ(result_of("out[i][j] = x[1 - i][(j + 1) % 3] + i * 10 + j / 2;", {f32, {2, 3}}),
            (Numbers{5, -6, -3, 8, 13, 12}));
  EXPECT_EQ(result_of("out[i] = w[index[i]][i];", {f32, {2}}), (Numbers{5, 2}));
}

TEST(CustomKernel, IntegersBitsAndCasts) {
  EXPECT_EQ(
      result_of("int a = (int) x[i][j]; out[i][j] = (a * a % 7 ^ 1) << 1 | 1;", {i32, {2, 3}}),
      (Numbers{1, 11, 7, 7, 11, 1}));
  EXPECT_EQ(result_of("out[i][j] = (int) x[i][j] / 2;", {i64, {2, 3}}),
            (Numbers{0, -1, 1, -2, 2, -3}));
  EXPECT_EQ(result_of("out[i] = !(i == 0) && true;", {boolean, {2}}), (Numbers{0, 1}));
}

TEST(CustomKernel, FunctionsAreThoseOfTensors) {
  const Graph g;
  const Tensor x = g.input("x", {5});
  const Tensor y = custom_kernel(
      "gelu_like", "out[i] = x[i] / (1.0f + exp(-1.702 * x[i])) + pow(fabs(x[i]), 0.5);",
      {{"x", x}}, {f32, {5}});
  const Array data = sample(f32, {5});
  const std::vector<double> values = run(g, y, {{"x", data}});
  for (size_t i = 0; i < 5; ++i) {
    const double v = data.to_vector<double>()[i];
    EXPECT_NEAR(values[i], v / (1 + std::exp(-1.702 * v)) + std::sqrt(std::abs(v)), 1e-5);
  }
}

TEST(CustomKernel, WorksForSymbolicDimsAndEmptyShapes) {
  const Graph g;
  const Dim n = g.dim("n", 0, 100), m = g.dim("m", 0, 100);
  const Tensor x = g.input("x", {n, m});
  const Tensor y = custom_kernel("mean",
                                 "float s = 0; for (int k = 0; k < m; k++) s += x[i][k];"
                                 "out[i] = s / m;",
                                 {{"x", x}}, {f32, {n}});
  Executable exe = compile(g, {y});
  for (const auto& [rows, columns] :
       std::vector<std::pair<int64_t, int64_t>>{{2, 3}, {5, 1}, {0, 4}, {1, 64}}) {
    const Array data = sample(f32, {rows, columns});
    exe.set(x, data);
    exe.run();
    const std::vector<double> values = exe.get<double>(y);
    ASSERT_EQ(values.size(), static_cast<size_t>(rows));
    for (int64_t i = 0; i < rows; ++i) {
      double sum = 0;
      for (int64_t k = 0; k < columns; ++k) sum += data.at(i * columns + k).as_double();
      EXPECT_NEAR(values[static_cast<size_t>(i)], sum / static_cast<double>(columns), 1e-5);
    }
  }
}

TEST(CustomKernel, WorksForNarrowFloats) {
  const Graph g;
  const Tensor x = g.input("x", {4, 8}, bf16);
  const Tensor y =
      custom_kernel("scaled", "out[i][j] = x[i][j] * 0.5 + 1;", {{"x", x}}, {bf16, {4, 8}});
  const std::vector<double> values = run(g, y, {{"x", sample(bf16, {4, 8})}}, 1e-2);
  EXPECT_EQ(values[1], 0.5 * -0.25 + 1);
}

TEST(CustomKernel, IsFusedWithWhatStandsAroundIt) {
  const Graph g;
  const Tensor x = g.input("x", {64, 32}), b = g.input("b", {32});
  const Tensor h = x + b;
  const Tensor k =
      custom_kernel("shrink", "float v = h[i][j]; if (v < 0) v = v * 0.1; out[i][j] = v - 0.5;",
                    {{"h", h}}, {f32, {64, 32}});
  const Tensor y = relu(k);
  Executable exe = compile(g, {y});
  EXPECT_NE(exe.explain().find("1 launch of 1 kernel,"), std::string::npos) << exe.explain();
  EXPECT_NE(exe.explain().find("shrink"), std::string::npos) << exe.explain();
  run(g, y, {{"x", sample(f32, {64, 32})}, {"b", sample(f32, {32})}});
}

TEST(CustomKernel, ReadsInputsThroughTheirViews) {
  const Graph g;
  const Tensor x = g.input("x", {2, 3});
  const Tensor padded = pad(transpose(x), 0, {1, 1});
  const Tensor y = custom_kernel("difference", "out[i][j] = p[i + 1][j] - p[i][j];",
                                 {{"p", padded}}, {f32, {4, 2}});
  EXPECT_EQ(run(g, y, {{"x", Array::from<double>(f32, {2, 3}, Numbers{1, 2, 4, 10, 20, 40})}}),
            (Numbers{1, 10, 1, 10, 2, 20, -4, -40}));
}

std::string error_of(std::string_view source, const graph::TensorType& type = {f32, {2, 3}}) {
  try {
    result_of(source, type);
  } catch (const UserError& error) {
    return error.what();
  }
  return "";
}

TEST(CustomKernel, ErrorsSayWhereAndWhatToDo) {
  const std::vector<std::pair<std::string, std::string>> cases{
      {"out[i][j] = x[i][j]", "expected ';' after the value, found the end"},
      {"out[i][j] = ;", "expected a value, found ';'"},
      {"out[i][j] = 1 $ 2;", "'$' has no meaning here"},
      {"out[i][j] = 12ab;", "'12a' is no number"},
      {"/* x", "the comment does not end"},
      {"out[i][j] = y[i][j];", "there is no input 'y'"},
      {"out[i][j] = x[i][jj];", "there is no 'jj'"},
      {"out[i][j] = foo(x[i][j]);", "foo: there is no such function"},
      {"out[i][j] = exp(x[i][j], 1);", "exp: takes 1 argument, got 2"},
      {"out[i] = x[i][0];", "out has 2 axes ([2, 3]), but 1 are named"},
      {"out[i][j] = x[i];", "'x' has 2 axes ([2, 3]), but 1 positions are given"},
      {"out[i][j] = x[i][j + 1];",
       "this position of 'x' may be outside of 0 to 2; put a condition around it"},
      {"out[i][j] = x[j][i];",
       "this position of 'x' may be outside of 0 to 1; put a condition around it"},
      {"out[i][j] = x[i][x[i][j]];", "a position is an integer; write (long) before it"},
      {"int a = x[i][j]; out[i][j] = a;",
       "'a' is i32 and the value is a float; write (i32) before it"},
      {"int a = 3000000000; out[i][j] = a;", "3000000000 does not fit i32, the type of 'a'"},
      {"float s; out[i][j] = s;", "'s' needs a value: write s = ...;"},
      {"out[i][j] = x[i][j] % 2;", "%: takes integers, got f32 and f32"},
      {"out[i][j] = x[i][j] ? 1 : 2;", "a condition is a comparison or a bool; write != 0"},
      {"s = 1; out[i][j] = s;", "there is no 's'; declare it with its type"},
      {"x = 1; out[i][j] = 1;", "'x' cannot be assigned"},
      {"float i = 1; out[i][j] = 1;", "'i' is taken"},
      {"float s = 0; for (int k = 0; k < 3; k++) s = x[i][k]; out[i][j] = s;",
       "the loop carries 's': use +=, -=, *=, or s = max(s, ...), min, || or &&"},
      {"float s = 0; float t = 0; for (int k = 0; k < 3; k++) { t += s; s += 1; } out[i][j] = t;",
       "'s' is accumulated by this loop and can be read after it"},
      {"float s = 0; for (int k = 0; k < 3; k++) { s += 1; s *= 2; } out[i][j] = s;",
       "'s' is accumulated in two ways in one loop"},
      {"float s = 0; for (int k = 0; k < j; k++) s += 1; out[i][j] = s;",
       "a loop runs over numbers and dims; take the longest and put an if inside"},
      {"float s = 0; for (int k = 0; k > 3; k++) s += 1; out[i][j] = s;",
       "a loop runs while k < or <= something, found '>'"},
      {"float s = 0; for (int k = 0; k < 3; k += 0) s += 1; out[i][j] = s;",
       "a step is a number of at least 1, found '0'"},
      {"if (x[0][0] > 0) out[i][j] = 1;", "nothing is assigned to out"},
      {"out[i][j] = 1; out[i][j] = 2;", "out is assigned twice"},
      {"", "nothing is assigned to out; end with out[...] = ...; outside of loops and ifs"},
      {"out[i][j] = " + std::string(5000, '('), "this is nested too deeply"},
      {"out[i][j] = 1" +
           [] {
             std::string t;
             for (int k = 0; k < 5000; ++k) t += "+1";
             return t;
           }() +
           ";",
       "more than 1000 operators follow each other here; write several statements"},
      {"const float a = 1; out[i][j] = a;", "there is no 'const' here; leave it out"},
      {"unsigned a = 1; out[i][j] = a;", "there is no 'unsigned' here; write int or long"},
      {"while (1) out[i][j] = 1;", "there is no 'while' here; write for (int k = 0"},
      {"out[i][j] = 1; return;", "there is no 'return' here; assign to out[...] instead"},
      {"out[i][j] = 0x10;", "'0x' is no number; numbers are decimal"},
      {"out[i][j] = x[(i - 1) % 2][j];", "this position of 'x' follows from positions alone"}};
  for (const auto& [source, message] : cases) {
    const std::string error = error_of(source);
    EXPECT_NE(error.find(message), std::string::npos) << source.substr(0, 80) << "\n" << error;
    EXPECT_EQ(error.find("test: line "), 0U) << error;
  }
  EXPECT_EQ(error_of("float s = 0;\n  out[i][j] = y;"), "test: line 2, column 15: there is no 'y'");
  EXPECT_EQ(error_of("out[i] = 1;", {f32, {2, 3}}).find("test: line 1, column 1: "), 0U);
}

TEST(CustomKernel, LongSumsAreNoDeepNesting) {
  std::string source = "out[i][j] = x[i][j]";
  for (int k = 0; k < 300; ++k) source += " + 1";
  EXPECT_EQ(error_of(source + ";"), "");
}

TEST(CustomKernel, InputsAreNotCalledLikeWordsOfTheLanguage) {
  Graph g;
  const Tensor x = g.input("x", {2});
  for (const char* name : {"for", "float", "while"})
    EXPECT_THROW(custom_kernel("test", "out[i] = 1;", {{name, x}}, {f32, {2}}), UserError) << name;
}

TEST(CustomKernel, WhateverTheSourceIsThereIsAResultOrAnError) {
  const std::string good =
      "float s = 0; for (int k = 0; k < 3; k++) { if (x[i][k] > 0 && k != j) s += x[i][k] * "
      "2.5e-1f; }"
      " long a = index[i]; out[i][j] = s > 1 ? w[a][0] : -s; // end";
  const std::string letters = "abijkswxout=+-*/%<>!&|^~?:;,()[]{}0123456789. \nforint";
  int errors = 0;
  for (uint64_t seed = 1; seed <= 3000; ++seed) {
    std::mt19937_64 random(seed);
    std::string source = good;
    if (seed % 3 == 0) {
      source.assign(random() % 60, ' ');
      for (char& c : source)
        c = seed % 2 == 0 ? static_cast<char>(random()) : letters[random() % letters.size()];
    } else {
      for (uint64_t change = random() % 4 + 1; change > 0; --change) {
        const size_t at = random() % source.size();
        if (random() % 2 == 0)
          source[at] = letters[random() % letters.size()];
        else
          source.erase(at, random() % 5 + 1);
        if (source.empty()) source = ";";
      }
    }
    const Graph g;
    const Inputs inputs{{"x", g.input("x", {2, 3})},
                        {"w", g.input("w", {3, 2})},
                        {"index", g.input("index", {2}, i64)}};
    try {
      const Tensor y = custom_kernel("fuzz", source, inputs, {f32, {2, 3}});
      EXPECT_EQ(y.shape(), (Shape{2, 3})) << seed;
    } catch (const UserError&) {
      ++errors;
    }
  }
  EXPECT_GT(errors, 1000);
  EXPECT_LT(errors, 3000);
}

}  // namespace
}  // namespace luminal

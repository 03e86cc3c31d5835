// For this suite: graphs of attention run as native code and by the interpreter, and what the
// native code is made of.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <random>

#include "luminal/luminal.h"

namespace luminal::attention_tests {

/// Random numbers for inputs, the same in every run.
inline Array random_array(DType dtype, const Extents& extents, uint64_t seed) {
  std::mt19937_64 random(seed);
  int64_t count = 1;
  for (const int64_t extent : extents) count *= extent;
  std::vector<double> values;
  for (int64_t i = 0; i < count; ++i)
    values.push_back(graph::is_bool(dtype) ? static_cast<double>(random() % 2)
                                           : std::uniform_real_distribution<>(-2, 2)(random));
  return Array::from<double>(dtype, extents, values);
}

/// A graph with one result and data for it.
struct Example {
  Graph graph;
  std::map<std::string, Array> data;
  graph::DimValues dims;
  Tensor result;

  /// One more input with random numbers. Extents are those of the shape for the dims set so far.
  Tensor input(const std::string& name, const Shape& shape, DType dtype) {
    Extents extents;
    const symbolic::Values values(dims.begin(), dims.end());
    for (const Dim& dim : shape) extents.push_back(symbolic::evaluate(dim, values));
    data.emplace(name, random_array(dtype, extents, data.size() + 1));
    return graph.input(name, shape, dtype);
  }
  Dim dim(const std::string& name, int64_t value, int64_t lowest = 0) {
    dims[name] = value;
    return graph.dim(name, lowest, 8192);
  }

  Executable executable(Backend backend) const {
    CompileOptions options{.backend = backend};
    options.compiler.dims = dims;
    Executable result_of = compile(graph, {result}, options);
    for (const auto& [name, value] : data) result_of.set(name, value);
    for (const auto& [name, value] : dims) result_of.set_dim(name, value);
    return result_of;
  }
};

/// How far native code may be from the interpreter.
inline double tolerance(DType dtype) { return dtype == f32 ? 2e-5 : dtype == f16 ? 4e-3 : 3e-2; }

/// Native code gives what the interpreter gives, NaN for NaN.
inline void expect_equal(const Example& example, double within) {
  Executable expected = example.executable(Backend::kInterpreter);
  Executable actual = example.executable(Backend::kCpu);
  expected.run();
  actual.run();
  const std::vector<double> e = expected.get<double>(example.result);
  const std::vector<double> a = actual.get<double>(example.result);
  ASSERT_EQ(a.size(), e.size());
  for (size_t i = 0; i < a.size(); ++i) {
    if (std::isnan(e[i]) && std::isnan(a[i])) continue;
    ASSERT_NEAR(a[i], e[i], within * std::max(1.0, std::abs(e[i]))) << "element " << i;
  }
}

/// The same, and that attention is one kernel by its template.
inline void expect_template(const Example& example, double within) {
  const std::string text = example.executable(Backend::kCpu).explain();
  // The family of its schedule: in blocks, by matrix registers, or in runs of keys.
  const bool is_template = text.find(" attention chunk=") != std::string::npos ||
                           text.find(" attention_matrices chunk=") != std::string::npos ||
                           text.find(" attention_runs chunk=") != std::string::npos;
  EXPECT_TRUE(is_template) << text;
  expect_equal(example, within);
}

}  // namespace luminal::attention_tests

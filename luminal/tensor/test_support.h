// Tests only: tensors from literal numbers, a value of a graph computed by the interpreter, and
// comparisons that say what was expected where. Every run checks the graph with the verifier first
// and computes it again after the passes of compile() and in native code, so every test of an op is
// also a test that it builds a well-formed graph, that simplifying it changes nothing, and that the
// compiler knows it.
#pragma once

#include <cstdint>
#include <functional>
#include <iosfwd>
#include <map>
#include <source_location>
#include <string>
#include <vector>

#include "luminal/tensor/graph.h"
#include "luminal/tensor/tensor.h"

namespace luminal::test {

/// What a run is given: data by input name, values of dims, and where effects write.
struct Data {
  std::map<std::string, Array> inputs = {};
  std::map<std::string, int64_t> dims = {};
  std::ostream* text = nullptr;
};

/// Row-major numbers converted to `dtype`.
Array array(DType dtype, Extents extents, const std::vector<double>& values);
/// The same for integers that a double cannot hold.
Array integers(DType dtype, const std::vector<int64_t>& values);
/// 0, 1, 2, ...
Array counting(DType dtype, Extents extents);
/// Fixed numbers in [low, high), spread as if at random, that depend on `seed` only.
std::vector<double> scattered(size_t count, uint64_t seed, double low = -2.0, double high = 2.0);

/// Constants of a graph.
Tensor vector(const Graph& graph, const std::vector<double>& values, DType dtype = f32);
Tensor matrix(const Graph& graph, Extents extents, const std::vector<double>& values,
              DType dtype = f32);
/// 0, 1, 2, ... as a constant.
Tensor counted(const Graph& graph, Extents extents, DType dtype = f32);

/// The value of a tensor.
Array run(const Tensor& tensor, const Data& data = {});
/// The same as doubles.
std::vector<double> numbers(const Tensor& tensor, const Data& data = {});

using Location = std::source_location;

/// Values equal (NaN equals NaN, 0 equals -0) up to `tolerance` relative to max(1, |expected|).
void expect_values(const std::vector<double>& actual, const std::vector<double>& expected,
                   double tolerance = 0.0, Location location = Location::current());
/// The same for data of given extents.
void expect_values(const Array& actual, const Extents& extents, const std::vector<double>& expected,
                   double tolerance = 0.0, Location location = Location::current());
/// The same for the value of a tensor, flat.
void expect_values(const Tensor& actual, const std::vector<double>& expected,
                   double tolerance = 0.0, Location location = Location::current());
/// Integers, exactly.
void expect_integers(const Tensor& actual, const std::vector<int64_t>& expected,
                     Location location = Location::current());
/// Dtype and shape: expect_type(x, "f32[2, n]").
void expect_type(const Tensor& tensor, const std::string& type,
                 Location location = Location::current());
/// `action` throws a UserError whose message contains `part`.
void expect_error(const std::function<void()>& action, const std::string& part,
                  Location location = Location::current());
/// The tensor is recorded as `definition` ("softmax(axis=1)") of these operands.
void expect_named(const Tensor& tensor, const std::string& definition,
                  const std::vector<Tensor>& operands, Location location = Location::current());

}  // namespace luminal::test

#include "luminal/tensor/test_support.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>
#include <span>

#include "luminal/graph/program.h"
#include "luminal/graph/verify.h"
#include "luminal/support/error.h"
#include "luminal/tensor/executable.h"

namespace luminal::test {
namespace {

std::string at(const Location& location) {
  return fmt::format("{}:{}", location.file_name(), location.line());
}

/// Does `actual` stand for `expected`?
bool agrees(double actual, double expected, double tolerance) {
  if (std::isnan(expected)) return std::isnan(actual);
  if (actual == expected) return true;
  if (std::isinf(expected) || std::isinf(actual)) return false;
  return std::abs(actual - expected) <= tolerance * std::max(1.0, std::abs(expected));
}

Array run_compiled(const Tensor& tensor, const Data& data, const CompileOptions& options) {
  Executable executable = compile(tensor.graph(), {tensor}, options);
  for (const auto& [name, value] : data.inputs)
    if (executable.ir().find_input(name)) executable.set(name, value);
  for (const auto& [name, value] : data.dims) executable.set_dim(name, value);
  executable.run();
  return executable.get(tensor);
}

/// The passes that compile() runs do not change a value, but for the bits of NaNs.
void expect_same_when_simplified(const Tensor& tensor, const Data& data, const Array& expected) {
  const Array actual = run_compiled(
      tensor, data, {.backend = Backend::kInterpreter, .simplify = true, .verify = true});
  ASSERT_EQ(actual.dtype(), expected.dtype());
  ASSERT_EQ(actual.extents(), expected.extents());
  for (int64_t i = 0; i < expected.size(); ++i)
    ASSERT_EQ(actual.at(i), expected.at(i))
        << "simplified, element " << i << " is " << actual.at(i).to_string() << " instead of "
        << expected.at(i).to_string();
}

/// How far native code may be from the interpreter, relative to max(1, |expected|): it rounds less
/// often where numbers are narrow, and elsewhere where they are wide.
double tolerance_of(DType dtype) {
  switch (dtype) {
    case f64:
      return 1e-13;
    case f32:
      return 3e-6;
    case f16:
      return 4e-3;
    case bf16:
      return 3e-2;
    case f8e4m3:
    case f8e5m2:
      return 0.3;
    default:
      return 0.0;
  }
}

/// Native code gives the same, as the graph is written: nothing is folded before.
void expect_same_in_native_code(const Tensor& tensor, const Data& data, const Array& expected) {
  const Array actual = run_compiled(tensor, data, {.simplify = false});
  ASSERT_EQ(actual.dtype(), expected.dtype());
  ASSERT_EQ(actual.extents(), expected.extents());
  for (int64_t i = 0; i < expected.size(); ++i)
    ASSERT_TRUE(actual.at(i) == expected.at(i) ||
                agrees(actual.at(i).as_double(), expected.at(i).as_double(),
                       tolerance_of(expected.dtype())))
        << "in native code, element " << i << " is " << actual.at(i).to_string() << " instead of "
        << expected.at(i).to_string();
}

}  // namespace

Array array(DType dtype, Extents extents, const std::vector<double>& values) {
  return Array::from<double>(dtype, std::move(extents), values);
}

Array integers(DType dtype, const std::vector<int64_t>& values) {
  return Array::from<int64_t>(dtype, {static_cast<int64_t>(values.size())}, values);
}

Array counting(DType dtype, Extents extents) {
  std::vector<double> values(static_cast<size_t>(graph::element_count(extents)));
  std::iota(values.begin(), values.end(), 0.0);
  return array(dtype, std::move(extents), values);
}

std::vector<double> scattered(size_t count, uint64_t seed, double low, double high) {
  std::vector<double> values(count);
  uint64_t state = seed * 0x9E3779B97F4A7C15u + 1;
  for (double& value : values) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    value = low + (high - low) * std::ldexp(static_cast<double>(state >> 40), -24);
  }
  return values;
}

Tensor vector(const Graph& graph, const std::vector<double>& values, DType dtype) {
  return graph.constant(array(dtype, {static_cast<int64_t>(values.size())}, values));
}

Tensor matrix(const Graph& graph, Extents extents, const std::vector<double>& values, DType dtype) {
  return graph.constant(array(dtype, std::move(extents), values));
}

Tensor counted(const Graph& graph, Extents extents, DType dtype) {
  return graph.constant(counting(dtype, std::move(extents)));
}

Array run(const Tensor& tensor, const Data& data) {
  graph::Graph copy = tensor.graph().ir();
  copy.add_output("result", tensor.edge());
  graph::verify(copy);
  graph::RunRequest request;
  for (const auto& [name, value] : data.inputs) request.inputs[name] = &value;
  request.dims = data.dims;
  request.text = data.text;
  Array result = graph::make_interpreter(std::move(copy))->run(request).at(0);
  if (data.text == nullptr) {
    expect_same_when_simplified(tensor, data, result);
    expect_same_in_native_code(tensor, data, result);
  }
  return result;
}

std::vector<double> numbers(const Tensor& tensor, const Data& data) {
  return run(tensor, data).to_vector<double>();
}

void expect_values(const std::vector<double>& actual, const std::vector<double>& expected,
                   double tolerance, Location location) {
  ASSERT_EQ(actual.size(), expected.size()) << at(location);
  for (size_t i = 0; i < expected.size(); ++i)
    EXPECT_TRUE(agrees(actual[i], expected[i], tolerance))
        << at(location) << ": element " << i << " is " << actual[i] << ", expected " << expected[i];
}

void expect_values(const Array& actual, const Extents& extents, const std::vector<double>& expected,
                   double tolerance, Location location) {
  EXPECT_EQ(actual.extents(), extents) << at(location);
  expect_values(actual.to_vector<double>(), expected, tolerance, location);
}

void expect_values(const Tensor& actual, const std::vector<double>& expected, double tolerance,
                   Location location) {
  expect_values(numbers(actual), expected, tolerance, location);
}

void expect_integers(const Tensor& actual, const std::vector<int64_t>& expected,
                     Location location) {
  EXPECT_EQ(run(actual).to_vector<int64_t>(), expected) << at(location);
}

void expect_type(const Tensor& tensor, const std::string& type, Location location) {
  EXPECT_EQ(graph::to_string(graph::TensorType{tensor.dtype(), tensor.shape()}), type)
      << at(location);
}

void expect_error(const std::function<void()>& action, const std::string& part, Location location) {
  try {
    action();
    ADD_FAILURE() << at(location) << ": no error, expected one with \"" << part << '"';
  } catch (const UserError& error) {
    EXPECT_NE(std::string(error.what()).find(part), std::string::npos)
        << at(location) << ": \"" << error.what() << "\" does not contain \"" << part << '"';
  }
}

void expect_named(const Tensor& tensor, const std::string& definition,
                  const std::vector<Tensor>& operands, Location location) {
  std::string seen;
  for (const graph::NamedDefinition& fact : tensor.graph().ir().named()) {
    if (fact.result != tensor.edge()) continue;
    seen += graph::to_string(fact) + " ";
    if (graph::to_string(fact) != definition) continue;
    ASSERT_EQ(fact.operands.size(), operands.size()) << at(location);
    for (size_t k = 0; k < operands.size(); ++k)
      EXPECT_EQ(fact.operands[k], operands[k].edge()) << at(location) << ": operand " << k;
    return;
  }
  ADD_FAILURE() << at(location) << ": not recorded as " << definition << ", but as: " << seen;
}

TEST(TestSupport, RunsConstantsAndInputs) {
  Graph g;
  Dim n = g.dim("n");
  Tensor x = g.input("x", {n, 2}, i32);
  expect_values(run(x, {.inputs = {{"x", counting(i32, {3, 2})}}}), {3, 2}, {0, 1, 2, 3, 4, 5});
  expect_values(vector(g, {1.5, NAN}), {1.5, NAN});
}

TEST(TestSupport, ToleratesOnlyWhatIsSaid) {
  EXPECT_TRUE(agrees(1.0, 1.0, 0));
  EXPECT_FALSE(agrees(1.0, 1.0000001, 0));
  EXPECT_TRUE(agrees(1.0, 1.0000001, 1e-6));
  EXPECT_FALSE(agrees(NAN, 1.0, 1e-6));
  EXPECT_FALSE(agrees(1.0, NAN, 1e-6));
  EXPECT_TRUE(agrees(INFINITY, INFINITY, 0));
  EXPECT_FALSE(agrees(INFINITY, -INFINITY, 1e-6));
  EXPECT_FALSE(agrees(INFINITY, 1.0, 1e-6));
}

}  // namespace luminal::test

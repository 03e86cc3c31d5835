// Error tests are rows of a table: a bad program and the message it must give. Whoever reads the
// message alone has to learn which op refused, what it was given, and what to do.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <ostream>
#include <string>
#include <vector>

#include "luminal/luminal.h"

namespace luminal::errors {

/// One bad program.
struct ErrorCase {
  std::string name;
  std::function<void()> program;
  std::string message;
};

inline std::ostream& operator<<(std::ostream& out, const ErrorCase& value) {
  return out << value.name;
}

/// The message of the UserError that the program throws, or what it does instead.
inline std::string message_of(const std::function<void()>& program) {
  try {
    program();
  } catch (const UserError& error) {
    return error.what();
  } catch (const std::exception& error) {
    return std::string("not the user's error: ") + error.what();
  }
  return "no error";
}

/// Runs one row.
class ErrorTest : public testing::TestWithParam<ErrorCase> {};

/// The name of a row's test.
inline std::string name_of(const testing::TestParamInfo<ErrorCase>& info) {
  return info.param.name;
}

/// An input of this shape, in a graph of its own (which the tensor keeps alive).
inline Tensor tensor(const Shape& shape, DType dtype = f32) {
  return Graph().input("x", shape, dtype);
}

/// Inputs of these shapes, in one graph.
inline std::vector<Tensor> tensors(const std::vector<Shape>& shapes, DType dtype = f32) {
  const Graph graph;
  std::vector<Tensor> result;
  for (const Shape& shape : shapes)
    result.push_back(graph.input("x" + std::to_string(result.size()), shape, dtype));
  return result;
}

}  // namespace luminal::errors

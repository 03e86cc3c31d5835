// For tests: runs one op, or a graph of inputs, through the interpreter.
#pragma once

#include <sstream>
#include <string>
#include <vector>

#include "luminal/graph/program.h"
#include "luminal/support/error.h"

namespace luminal::graph {

/// An array of doubles converted to a dtype.
inline Array array_of(DType dtype, Extents extents, std::vector<double> values) {
  return Array::from<double>(dtype, std::move(extents), values);
}
inline Array integers_of(DType dtype, Extents extents, std::vector<int64_t> values) {
  return Array::from<int64_t>(dtype, std::move(extents), values);
}

/// Runs a graph whose inputs are called x0, x1, ...
inline std::vector<Array> run_graph(const Graph& graph, const std::vector<Array>& inputs,
                                    DimValues dims = {}) {
  RunRequest request;
  request.dims = std::move(dims);
  for (size_t i = 0; i < inputs.size(); ++i) request.inputs["x" + std::to_string(i)] = &inputs[i];
  return make_interpreter(graph)->run(request);
}

/// Adds the inputs x0, x1, ... of the arrays' types and gives their whole edges.
inline std::vector<Edge> add_inputs(Graph& graph, const std::vector<Array>& inputs) {
  std::vector<Edge> edges;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const Shape shape(inputs[i].extents().begin(), inputs[i].extents().end());
    edges.push_back(
        graph.whole(graph.add_input("x" + std::to_string(i), inputs[i].dtype(), shape)));
  }
  return edges;
}

/// One op of whole inputs.
inline Array run_op(Op op, const std::vector<Array>& inputs, Attributes attributes = {}) {
  Graph graph;
  const NodeId node = graph.add(op, add_inputs(graph, inputs), std::move(attributes));
  graph.add_output("y", graph.whole(node));
  return run_graph(graph, inputs).at(0);
}

/// The message of the UserError that a call throws, or "no error".
template <typename Call>
std::string error_of(Call call) {
  try {
    call();
  } catch (const UserError& error) {
    return error.what();
  }
  return "no error";
}

}  // namespace luminal::graph

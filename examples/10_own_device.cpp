// A device of one's own, as small as can be: it knows a few ops of f32, refuses the others by name,
// and must give what the interpreter gives. A real one makes code for whole kernels instead of
// running op by op (docs/extending.md).
#include <cmath>
#include <iostream>

#include "luminal/graph/element_source.h"
#include "luminal/graph/pass.h"
#include "luminal/luminal.h"

using namespace luminal;
using graph::Op;

namespace {

/// Runs a graph without named dims, node by node.
class SmallDevice : public graph::Program {
 public:
  explicit SmallDevice(graph::Graph graph) : graph_(std::move(graph)) {
    for (const graph::Node& node : graph_.nodes())
      if (!is_known(node.op) || node.dtype() != f32)
        throw UserError("small device", "there is no {} of {} here", name(node.op), node.dtype());
  }

  std::vector<Array> run(const graph::RunRequest& request) override {
    std::vector<Array> values;
    for (const graph::Node& node : graph_.nodes()) values.push_back(value(node, values, request));
    std::vector<Array> outputs;
    for (const graph::Output& output : graph_.outputs())
      outputs.push_back(seen(output.edge, values));
    return outputs;
  }
  const graph::Graph& graph() const override { return graph_; }

 private:
  static bool is_known(Op op) {
    return op == Op::kInput || op == Op::kConstant || op == Op::kAdd || op == Op::kMul ||
           op == Op::kDiv || op == Op::kExp || op == Op::kSum || op == Op::kReduceMax;
  }

  /// An operand through its view: what a kernel reads.
  static Array seen(const graph::Edge& edge, const std::vector<Array>& values) {
    return graph::materialize(values[edge.node.value], edge.view, {}, "small device");
  }

  static Array value(const graph::Node& node, const std::vector<Array>& values,
                     const graph::RunRequest& request) {
    if (node.op == Op::kInput)
      return *request.inputs.at(node.attribute<graph::InputAttribute>().name);
    if (node.op == Op::kConstant) return node.attribute<graph::ConstantAttribute>().value;
    std::vector<Array> operands;
    for (const graph::Edge& edge : node.operands) operands.push_back(seen(edge, values));
    Array result(f32, graph::evaluate_shape(node.shape(), {}));
    // A reduction reads so many elements for each of its own; elementwise ops one.
    const int64_t per_result = result.size() == 0 ? 0 : operands[0].size() / result.size();
    for (int64_t k = 0; k < result.size(); ++k)
      result.mutable_as<float>()[static_cast<size_t>(k)] =
          element(node.op, operands, k, per_result);
    return result;
  }

  static float element(Op op, const std::vector<Array>& operands, int64_t k, int64_t per_result) {
    const auto at = [&](size_t operand, int64_t place) {
      return operands[operand].as<float>()[static_cast<size_t>(place)];
    };
    if (op == Op::kAdd) return at(0, k) + at(1, k);
    if (op == Op::kMul) return at(0, k) * at(1, k);
    if (op == Op::kDiv) return at(0, k) / at(1, k);
    if (op == Op::kExp) return std::exp(at(0, k));
    float found = op == Op::kSum ? 0.0F : -INFINITY;
    for (int64_t r = k * per_result; r < (k + 1) * per_result; ++r)
      found = op == Op::kSum ? found + at(0, r) : std::fmax(found, at(0, r));
    return found;
  }

  graph::Graph graph_;
};

}  // namespace

int main() {
  Graph g;
  Tensor x = g.input("x", {2, 3});
  Tensor y = softmax(x * 2.0);
  graph::Graph ir = g.ir();
  ir.add_output("y", y.edge());
  ir = graph::default_passes().run(ir).graph;

  const Array data = Array::from<float>(f32, {2, 3}, std::vector<float>{1, 2, 3, 3, 2, 1});
  graph::RunRequest request;
  request.inputs["x"] = &data;
  SmallDevice device(ir);
  const Array ours = device.run(request)[0];
  const Array oracle = graph::make_interpreter(ir)->run(request)[0];
  std::cout << ours << "\n" << oracle << "\n";

  try {
    const Tensor sines = sin(x);
    SmallDevice refused(sines.graph().ir());
  } catch (const UserError& error) {
    std::cout << error.what() << "\n";
  }
  for (int64_t k = 0; k < ours.size(); ++k)
    if (std::abs(ours.at(k).as_double() - oracle.at(k).as_double()) > 1e-6) return 1;
}

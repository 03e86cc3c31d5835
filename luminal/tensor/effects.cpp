#include "luminal/tensor/effects.h"

#include "luminal/support/error.h"
#include "luminal/tensor/build.h"

namespace luminal {

Tensor print(const Tensor& x, const std::string& label) {
  return build::apply(graph::Op::kPrint, {x}, graph::PrintAttribute{label});
}

Tensor diff(const Tensor& x, const std::string& file, double absolute_tolerance,
            double relative_tolerance) {
  if (!(absolute_tolerance >= 0) || !(relative_tolerance >= 0))
    throw UserError("diff", "tolerances must not be negative, got atol {} and rtol {}",
                    absolute_tolerance, relative_tolerance);
  return build::apply(graph::Op::kDiff, {x},
                      graph::DiffAttribute{file, absolute_tolerance, relative_tolerance});
}

Tensor graph_break(const Tensor& x) { return build::apply(graph::Op::kGraphBreak, {x}); }

Tensor custom(const std::string& name, const std::vector<Tensor>& operands, DType dtype,
              const Shape& shape,
              std::function<void(std::span<const Array> operands, Array& result)> function) {
  if (name.empty()) throw UserError("custom", "a custom op needs a name");
  if (operands.empty()) throw UserError(name, "a custom op needs at least one operand");
  if (!function) throw UserError(name, "the function of a custom op must not be empty");
  build::check_same_graph(name, operands);
  std::vector<graph::Edge> edges;
  for (const Tensor& operand : operands) edges.push_back(operand.edge());
  auto wrapped = std::make_shared<const graph::CustomFunction>(
      graph::CustomFunction{name, std::move(function)});
  graph::Graph& graph = operands[0].state()->graph;
  graph::NodeId id = graph.add_custom(std::move(wrapped), std::move(edges), {dtype, shape});
  return {operands[0].state(), graph.whole(id)};
}

}  // namespace luminal

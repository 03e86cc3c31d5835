#include "luminal/graph/opaque.h"

#include "luminal/graph/effects.h"
#include "luminal/graph/interpreter_indexing.h"
#include "luminal/support/check.h"

namespace luminal::graph {
namespace {

using Operands = std::span<const Array* const>;

Array result_of(const Node& node, const DimBindings& dims) {
  return {node.dtype(), evaluate_shape(node.shape(), dims)};
}

Array whole(const Node& node, Operands operands, size_t k, const DimBindings& dims) {
  return materialize(*operands[k], node.operands[k].view, dims, std::string(name(node.op)));
}

Array compute_scatter(const Node& node, Operands operands, const DimBindings& dims) {
  Array result = result_of(node, dims);
  scatter_rows(node, operands, dims, 0, scatter_row_count(node, dims),
               result.mutable_bytes().data());
  return result;
}

Array compute_argsort(const Node& node, Operands operands, const DimBindings& dims) {
  Array result = result_of(node, dims);
  ArraySource values(*operands[0], node.operands[0].view, dims, "argsort");
  argsort(values, node.attribute<ArgSortAttribute>().descending, result);
  return result;
}

Array call_custom(const Node& node, Operands operands, const DimBindings& dims) {
  const CustomFunction& function = *node.attribute<CustomAttribute>().function;
  std::vector<Array> arguments;
  for (size_t k = 0; k < operands.size(); ++k) arguments.push_back(whole(node, operands, k, dims));
  Array result = result_of(node, dims);
  const Extents extents = result.extents();
  function.call(arguments, result);
  if (result.dtype() != node.dtype() || result.extents() != extents)
    throw UserError(function.name, "must give {}{}, but gave {}{}", node.dtype(),
                    to_string(extents), result.dtype(), to_string(result.extents()));
  return result;
}

}  // namespace

int64_t scatter_row_count(const Node& node, const DimBindings& dims) {
  Extents extents = evaluate_shape(node.shape(), dims);
  extents.pop_back();
  return element_count(extents);
}

void scatter_rows(const Node& node, Operands operands, const DimBindings& dims, int64_t first_row,
                  int64_t end_row, std::byte* result) {
  const auto source = [&](size_t k) {
    return ArraySource(*operands[k], node.operands[k].view, dims, "scatter");
  };
  ArraySource base = source(0), index = source(1), updates = source(2);
  const int64_t per_row = evaluate_shape(node.operands[1].view.domain(), dims).back();
  scatter_rows({node.attribute<ScatterAttribute>().mode, base, index, updates, per_row,
                node.dtype(), evaluate_shape(node.shape(), dims)},
               first_row, end_row, result);
}

Array compute_opaque(const Node& node, Operands operands, const DimBindings& dims,
                     std::ostream& text) {
  switch (node.op) {
    case Op::kScatter:
      return compute_scatter(node, operands, dims);
    case Op::kArgSort:
      return compute_argsort(node, operands, dims);
    case Op::kCustom:
      return call_custom(node, operands, dims);
    case Op::kGraphBreak:
    case Op::kPrint:
    case Op::kDiff:
      break;
    default:
      throw InternalError(fmt::format("{} is no opaque op", name(node.op)));
  }
  Array value = whole(node, operands, 0, dims);
  if (node.op == Op::kPrint) print_glance(text, node.attribute<PrintAttribute>().label, value);
  if (node.op == Op::kDiff) print_diff(text, node.attribute<DiffAttribute>(), value);
  return value;
}

}  // namespace luminal::graph

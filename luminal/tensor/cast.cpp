#include "luminal/tensor/cast.h"

#include "luminal/tensor/graph.h"

namespace luminal {
namespace {

Tensor convert(graph::Op op, const Tensor& tensor, DType dtype) {
  if (tensor.dtype() == dtype) return tensor;
  graph::Graph& graph = tensor.state()->graph;
  graph::NodeId id = graph.add_cast(op, tensor.edge(), dtype);
  return {tensor.state(), graph.whole(id)};
}

}  // namespace

Tensor cast(const Tensor& tensor, DType dtype) { return convert(graph::Op::kCast, tensor, dtype); }

Tensor bitcast(const Tensor& tensor, DType dtype) {
  return convert(graph::Op::kBitcast, tensor, dtype);
}

}  // namespace luminal

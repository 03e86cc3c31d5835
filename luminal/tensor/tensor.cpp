#include "luminal/tensor/tensor.h"

#include <algorithm>
#include <ostream>

#include "luminal/support/error.h"
#include "luminal/tensor/graph.h"

namespace luminal {

Tensor::Tensor(std::shared_ptr<GraphState> state, graph::Edge edge)
    : state_(std::move(state)), edge_(std::make_shared<const graph::Edge>(std::move(edge))) {}

const graph::Edge& Tensor::edge() const {
  if (!edge_)
    throw UserError("tensor",
                    "this Tensor is empty; assign it the result of an op or of Graph::input first");
  return *edge_;
}

const std::shared_ptr<GraphState>& Tensor::state() const {
  edge();
  return state_;
}

const Shape& Tensor::shape() const { return edge().view.domain(); }

Dim Tensor::dim(int axis) const {
  return shape()[static_cast<size_t>(graph::normalize_axis("dim", axis, rank()))];
}

int Tensor::rank() const { return static_cast<int>(shape().size()); }

DType Tensor::dtype() const { return state()->graph.node(edge_->node).dtype(); }

Dim Tensor::size() const { return graph::element_count(shape()); }

Graph Tensor::graph() const { return Graph(state()); }

const Tensor& Tensor::named(std::string name) const {
  state()->graph.set_name(edge_->node, std::move(name));
  return *this;
}

const std::string& Tensor::name() const { return state()->graph.node(edge_->node).name; }

const Tensor& Tensor::keep() const {
  std::vector<graph::Edge>& kept = state()->kept;
  if (std::find(kept.begin(), kept.end(), *edge_) == kept.end()) kept.push_back(*edge_);
  return *this;
}

void Tensor::drop() const { std::erase(state()->kept, *edge_); }

std::ostream& operator<<(std::ostream& stream, const Tensor& tensor) {
  if (!tensor) return stream << "empty tensor";
  const graph::Node& node = tensor.state()->graph.node(tensor.edge().node);
  if (!node.name.empty()) stream << "'" << node.name << "': ";
  stream << graph::to_string({tensor.dtype(), tensor.shape()});
  return stream << (tensor.edge().view.is_identity() ? ", result of " : ", seen through a view of ")
                << graph::name(node.op);
}

void keep(std::span<const Tensor> tensors) {
  for (const Tensor& tensor : tensors) tensor.keep();
}

void drop(std::span<const Tensor> tensors) {
  for (const Tensor& tensor : tensors) tensor.drop();
}

bool Tensor::is(const Tensor& other) const {
  if (!edge_ || !other.edge_) return edge_ == other.edge_;
  return state_ == other.state_ && *edge_ == *other.edge_;
}

Tensor Graph::input(const std::string& name, Shape shape, DType dtype) const {
  graph::NodeId id = state_->graph.add_input(name, dtype, std::move(shape));
  return {state_, state_->graph.whole(id)};
}

Tensor Graph::weight(const std::string& name, Shape shape, DType dtype) const {
  graph::NodeId id = state_->graph.add_input(name, dtype, std::move(shape), true);
  return {state_, state_->graph.whole(id)};
}

Dim Graph::dim(const std::string& name, int64_t lowest, int64_t highest) const {
  if (lowest < 0 || lowest > highest)
    throw UserError("dim", "'{}' has the range [{}, {}]; it must be 0 <= lowest <= highest", name,
                    lowest, highest);
  return Dim::variable(name, symbolic::Interval{lowest, highest});
}

Tensor Graph::constant(Array value) const {
  graph::NodeId id = state_->graph.add_constant(std::move(value));
  return {state_, state_->graph.whole(id)};
}

Tensor Graph::constant(const Scalar& value) const {
  graph::NodeId id = state_->graph.add_constant(value);
  return {state_, state_->graph.whole(id)};
}

Tensor Graph::constant(double value, DType dtype) const {
  return constant(Scalar::of(dtype, value));
}

}  // namespace luminal

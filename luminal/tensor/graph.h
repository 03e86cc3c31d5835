// The user's Graph: where tensors are written. A handle like Tensor: copies share the graph.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "luminal/graph/graph.h"
#include "luminal/tensor/tensor.h"

namespace luminal {

/// What all handles of one graph share.
struct GraphState {
  graph::Graph graph;  ///< of primitives
  /// Values that every executable keeps, in the order of keep().
  std::vector<graph::Edge> kept;
};

/// A lazy graph.
class Graph {
 public:
  Graph() : state_(std::make_shared<GraphState>()) {}
  explicit Graph(std::shared_ptr<GraphState> state) : state_(std::move(state)) {}  ///< of a state

  /// A value to be set before a run.
  Tensor input(const std::string& name, Shape shape, DType dtype = f32) const;
  /// An input whose data rarely changes, such as what a network has learned: what is made of
  /// weights alone (packed, joined, cast) is made once and again only when one of them is set.
  Tensor weight(const std::string& name, Shape shape, DType dtype = f32) const;
  /// A named dim with its range, both ends included. Asking again for the same name and range gives
  /// the same dim.
  Dim dim(const std::string& name, int64_t lowest = 0,
          int64_t highest = symbolic::kUnbounded) const;
  /// Data known now.
  Tensor constant(Array value) const;
  Tensor constant(const Scalar& value) const;  ///< of rank 0
  /// A number, converted to `dtype`.
  Tensor constant(double value, DType dtype = f32) const;

  /// Writes the same part `count` times: instance k takes what the one before gave, the first one
  /// `x`. Results are those of a plain loop; saying that it is one lets the compiler look at one
  /// instance for all, with borders where instances meet. Instances may differ (their weights do);
  /// those that are not alike are compiled apart.
  ///
  ///   x = g.repeat("layer", 12, x, [&](int64_t k, const Tensor& h) { return layer(k, h); });
  Tensor repeat(const std::string& name, int64_t count, const Tensor& x,
                const std::function<Tensor(int64_t k, const Tensor& x)>& body) const;
  /// The same where several values go from instance to instance.
  std::vector<Tensor> repeat(
      const std::string& name, int64_t count, std::vector<Tensor> values,
      const std::function<std::vector<Tensor>(int64_t k, const std::vector<Tensor>& values)>& body)
      const;

  /// The graph itself, to look at or to run passes on.
  const graph::Graph& ir() const { return state_->graph; }
  const std::shared_ptr<GraphState>& state() const { return state_; }  ///< shared by all handles
  bool operator==(const Graph& other) const { return state_ == other.state_; }  ///< the same object

 private:
  std::shared_ptr<GraphState> state_;
};

}  // namespace luminal

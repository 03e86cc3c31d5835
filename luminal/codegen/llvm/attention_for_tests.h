// For tests and benchmarks: attention written in primitives, with whatever may be around it.
#pragma once

#include <cmath>
#include <limits>

#include "luminal/graph/graph.h"

namespace luminal::codegen {

/// What attention is like.
struct AttentionExample {
  graph::DType dtype = graph::DType::kF32;
  symbolic::Expr kv_heads = 2;
  int64_t groups = 1;
  symbolic::Expr queries = 8;
  symbolic::Expr keys = 8;
  int64_t depth = 16;
  symbolic::Expr past = 0;  ///< query i is at position past + i
  bool causal = false;
  int64_t window = 0;        ///< keys further back are excluded; 0: none
  double soft_cap = 0;       ///< 0: none
  bool mask = false;         ///< an input [queries, keys] is added to the scores
  bool f32_softmax = false;  ///< narrow scores are cast to f32 for the softmax
};

/// Writes the graph of an example; gives the result [kv_heads, groups, queries, depth].
class AttentionWriter {
 public:
  explicit AttentionWriter(const AttentionExample& example) : e_(example) {}

  graph::Graph graph;

  graph::NodeId write() {
    using graph::Op;
    const Expr all[] = {e_.kv_heads, e_.groups, e_.queries, e_.keys};
    shape_ = graph::Shape(std::begin(all), std::end(all));
    const NodeId q = graph.add_input("q", e_.dtype, {e_.kv_heads, e_.groups, e_.queries, e_.depth});
    const NodeId k = graph.add_input("k", e_.dtype, {e_.kv_heads, e_.keys, e_.depth});
    const NodeId v = graph.add_input("v", e_.dtype, {e_.kv_heads, e_.keys, e_.depth});
    const NodeId product = graph.add(
        Op::kMul, {{graph.whole(q).view.insert_axis(3, e_.keys), q},
                   {graph.whole(k).view.insert_axis(1, e_.queries).insert_axis(1, e_.groups), k}});
    NodeId scores = graph.add(Op::kSum, {graph.whole(product)}, graph::ReduceAttribute{1});
    if (e_.f32_softmax) scores = graph.add_cast(Op::kCast, graph.whole(scores), graph::DType::kF32);
    scores = scaled(scores, 1 / std::sqrt(static_cast<double>(e_.depth)));
    if (e_.soft_cap > 0)
      scores =
          scaled(graph.add(Op::kTanh, {graph.whole(scaled(scores, 1 / e_.soft_cap))}), e_.soft_cap);
    if (e_.mask) {
      const NodeId mask =
          graph.add_input("mask", graph.node(scores).type.dtype, {e_.queries, e_.keys});
      scores = graph.add(
          Op::kAdd,
          {graph.whole(scores),
           {graph.whole(mask).view.insert_axis(0, e_.groups).insert_axis(0, e_.kv_heads), mask}});
    }
    scores = excluded(scores);
    NodeId weights = softmax(scores);
    if (e_.f32_softmax) weights = graph.add_cast(Op::kCast, graph.whole(weights), e_.dtype);
    const int turned[] = {0, 2, 1};
    const NodeId weighted = graph.add(
        Op::kMul,
        {{graph.whole(weights).view.insert_axis(3, e_.depth), weights},
         {graph.whole(v).view.permute(turned).insert_axis(1, e_.queries).insert_axis(1, e_.groups),
          v}});
    const NodeId result = graph.add(Op::kSum, {graph.whole(weighted)}, graph::ReduceAttribute{1});
    graph.add_output("y", graph.whole(result));
    return result;
  }

 private:
  using Expr = symbolic::Expr;
  using NodeId = graph::NodeId;
  using Op = graph::Op;

  graph::Edge constant(graph::DType dtype, double value) {
    return {graph::View({}, shape_, {}), graph.add_constant(graph::Scalar::of(dtype, value))};
  }
  NodeId scaled(NodeId x, double factor) {
    return graph.add(Op::kMul, {graph.whole(x), constant(graph.node(x).type.dtype, factor)});
  }

  NodeId excluded(NodeId scores) {
    const Expr query = Expr::axis(2, e_.queries) + e_.past;
    const Expr key = Expr::axis(3, e_.keys);
    const auto unless = [&](const Expr& allowed) {
      const NodeId test = graph.add_iota(graph::DType::kBool, shape_, allowed);
      scores = graph.add(Op::kSelect, {graph.whole(test), graph.whole(scores),
                                       constant(graph.node(scores).type.dtype,
                                                -std::numeric_limits<double>::infinity())});
    };
    if (e_.causal) unless(symbolic::less_equal(key, query));
    if (e_.window > 0) unless(symbolic::less(query, key + e_.window));
    return scores;
  }

  NodeId softmax(NodeId x) {
    const auto over_keys = [&](NodeId row) {
      return graph::Edge{graph.whole(row).view.insert_axis(3, e_.keys), row};
    };
    const NodeId most = graph.add(Op::kReduceMax, {graph.whole(x)}, graph::ReduceAttribute{1});
    const NodeId minus = graph.add_constant(graph::Scalar::of(graph.node(x).type.dtype, -1));
    const NodeId negated = graph.add(
        Op::kMul, {graph.whole(most), {graph::View({}, graph.node(most).type.shape, {}), minus}});
    const NodeId shifted = graph.add(Op::kAdd, {graph.whole(x), over_keys(negated)});
    const NodeId e = graph.add(Op::kExp, {graph.whole(shifted)});
    const NodeId total = graph.add(Op::kSum, {graph.whole(e)}, graph::ReduceAttribute{1});
    return graph.add(Op::kDiv, {graph.whole(e), over_keys(total)});
  }

  AttentionExample e_;
  graph::Shape shape_;
};

}  // namespace luminal::codegen

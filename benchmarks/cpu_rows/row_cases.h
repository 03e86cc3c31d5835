// The kernels that cpu_rows measures, written in primitives on matrices of rows x columns.
#pragma once

#include <numbers>
#include <vector>

#include "luminal/graph/graph.h"

namespace luminal::benchmarks {

using graph::DType;
using graph::Edge;
using graph::Graph;
using graph::NodeId;
using graph::Op;
using graph::Scalar;
using graph::View;
using symbolic::Expr;

/// Writes networks in primitives.
class Writer {
 public:
  Writer(DType of, int64_t down, int64_t along) : dtype(of), rows(down), columns(along) {}

  Graph graph;
  DType dtype;
  int64_t rows;
  int64_t columns;

  NodeId input(const char* name) { return graph.add_input(name, dtype, {rows, columns}); }
  NodeId unary(Op op, NodeId x) { return graph.add(op, {graph.whole(x)}); }
  NodeId binary(Op op, NodeId x, NodeId y) { return graph.add(op, {graph.whole(x), spread(x, y)}); }
  NodeId scalar(Op op, NodeId x, double value) {
    const NodeId constant = graph.add_constant(Scalar::of(graph.node(x).type.dtype, value));
    return graph.add(op, {graph.whole(x), {View({}, graph.node(x).type.shape, {}), constant}});
  }
  NodeId cast(DType to, NodeId x) { return graph.add_cast(Op::kCast, graph.whole(x), to); }
  NodeId along_rows(Op op, NodeId x) {
    return graph.add(op, {graph.whole(x)}, graph::ReduceAttribute{1});
  }
  NodeId over_all(Op op, NodeId x) {
    return graph.add(op, {graph.whole(x)}, graph::ReduceAttribute{2});
  }
  NodeId down_columns(Op op, NodeId x) {
    const int swap[] = {1, 0};
    return graph.add(op, {{graph.whole(x).view.permute(swap), x}}, graph::ReduceAttribute{1});
  }
  NodeId permuted(NodeId x, std::vector<int> order) {
    return graph.add(Op::kCopy, {{graph.whole(x).view.permute(order), x}});
  }
  NodeId mean(NodeId x) {
    return scalar(Op::kMul, along_rows(Op::kSum, x), 1.0 / static_cast<double>(columns));
  }

 private:
  /// A column of one value per row, repeated along the row.
  Edge spread(NodeId x, NodeId y) {
    const Edge whole = graph.whole(y);
    if (graph.node(y).type.shape.size() == graph.node(x).type.shape.size()) return whole;
    return {whole.view.insert_axis(1, columns), y};
  }
};

inline NodeId shifted(Writer& write, NodeId x) {
  const NodeId most = write.scalar(Op::kMul, write.along_rows(Op::kReduceMax, x), -1);
  return write.binary(Op::kAdd, x, most);
}

inline NodeId softmax(Writer& write) {
  const NodeId e = write.unary(Op::kExp, shifted(write, write.input("x")));
  return write.binary(Op::kMul, e, write.unary(Op::kRecip, write.along_rows(Op::kSum, e)));
}

inline NodeId log_softmax(Writer& write) {
  const NodeId x = shifted(write, write.input("x"));
  const NodeId total = write.along_rows(Op::kSum, write.unary(Op::kExp, x));
  return write.binary(Op::kAdd, x, write.scalar(Op::kMul, write.unary(Op::kLog, total), -1));
}

inline NodeId normalised(Writer& write, NodeId centred) {
  const NodeId square = write.mean(write.binary(Op::kMul, centred, centred));
  const NodeId root = write.unary(Op::kSqrt, write.scalar(Op::kAdd, square, 1e-5));
  return write.binary(Op::kMul, centred, write.unary(Op::kRecip, root));
}

inline NodeId layer_norm(Writer& write) {
  const NodeId x = write.input("x");
  return normalised(write, write.binary(Op::kAdd, x, write.scalar(Op::kMul, write.mean(x), -1)));
}

inline NodeId gelu(Writer& write) {
  const NodeId x = write.input("x");
  const NodeId cube = write.binary(Op::kMul, write.binary(Op::kMul, x, x), x);
  const NodeId inner = write.binary(Op::kAdd, x, write.scalar(Op::kMul, cube, 0.044715));
  const NodeId t = write.unary(Op::kTanh, write.scalar(Op::kMul, inner, 0.7978845608));
  return write.binary(Op::kMul, write.scalar(Op::kMul, x, 0.5), write.scalar(Op::kAdd, t, 1));
}

inline NodeId gelu_erf(Writer& write) {
  const NodeId x = write.input("x");
  const NodeId e = write.unary(Op::kErf, write.scalar(Op::kMul, x, 1 / std::numbers::sqrt2));
  return write.binary(Op::kMul, write.scalar(Op::kMul, x, 0.5), write.scalar(Op::kAdd, e, 1));
}

inline NodeId sin_chain(Writer& write) {
  const NodeId s =
      write.unary(Op::kSin, write.binary(Op::kAdd, write.input("a"), write.input("b")));
  return write.unary(Op::kSqrt, write.binary(Op::kMax, s, write.scalar(Op::kMul, s, -1)));
}

/// The first position of the largest value of each row, as the tensor layer writes it: the most
/// negative of the negated positions at which the maximum is met.
inline NodeId argmax(Writer& write) {
  const NodeId x = write.input("x");
  const NodeId most = write.along_rows(Op::kReduceMax, x);
  const NodeId hit = write.binary(Op::kEqual, x, most);
  const NodeId positions =
      write.graph.add_iota(DType::kI64, {write.rows, write.columns}, Expr::axis(1, write.columns));
  const NodeId flipped = write.scalar(Op::kAdd, write.scalar(Op::kMul, positions, -1),
                                      static_cast<double>(write.columns));
  const NodeId zero = write.graph.add_constant(Scalar::of(DType::kI64, 0));
  const NodeId chosen =
      write.graph.add(Op::kSelect, {write.graph.whole(hit),
                                    write.graph.whole(flipped),
                                    {View({}, {write.rows, write.columns}, {}), zero}});
  const NodeId best = write.along_rows(Op::kReduceMax, chosen);
  return write.scalar(Op::kAdd, write.scalar(Op::kMul, best, -1),
                      static_cast<double>(write.columns));
}

/// A matrix of the same size as [4, rows/64, 16 heads, columns/.. ]: what attention permutes.
inline NodeId heads(Writer& write, std::vector<int> order) {
  const int64_t depth = 64;
  const int64_t count = 16;
  const int64_t batch = 4;
  const int64_t length = write.rows * write.columns / (depth * count * batch);
  return write.permuted(write.graph.add_input("x", write.dtype, {batch, length, count, depth}),
                        std::move(order));
}

struct Case {
  const char* name;
  NodeId (*write)(Writer& write);
};
inline const Case kCases[] = {
    {"copy", [](Writer& write) { return write.unary(Op::kCopy, write.input("x")); }},
    {"add",
     [](Writer& write) { return write.binary(Op::kAdd, write.input("a"), write.input("b")); }},
    {"exp", [](Writer& write) { return write.unary(Op::kExp, write.input("x")); }},
    {"tanh", [](Writer& write) { return write.unary(Op::kTanh, write.input("x")); }},
    {"sqrt(abs(sin(a+b)))", sin_chain},
    {"gelu tanh", gelu},
    {"gelu erf", gelu_erf},
    {"cast to other float",
     [](Writer& write) {
       return write.cast(write.dtype == DType::kF32 ? DType::kBF16 : DType::kF32, write.input("x"));
     }},
    {"softmax", softmax},
    {"log softmax", log_softmax},
    {"layer norm", layer_norm},
    {"rms norm", [](Writer& write) { return normalised(write, write.input("x")); }},
    {"row sum", [](Writer& write) { return write.along_rows(Op::kSum, write.input("x")); }},
    {"row max", [](Writer& write) { return write.along_rows(Op::kReduceMax, write.input("x")); }},
    {"row argmax", argmax},
    {"column sum", [](Writer& write) { return write.down_columns(Op::kSum, write.input("x")); }},
    {"sum of all", [](Writer& write) { return write.over_all(Op::kSum, write.input("x")); }},
    {"max of all", [](Writer& write) { return write.over_all(Op::kReduceMax, write.input("x")); }},
    {"transpose",
     [](Writer& write) {
       return write.permuted(write.input("x"), {1, 0});
     }},
    {"transpose + exp",
     [](Writer& write) {
       return write.unary(Op::kExp, write.permuted(write.input("x"), {1, 0}));
     }},
    {"bshd to bhsd",
     [](Writer& write) {
       return heads(write, {0, 2, 1, 3});
     }},
    {"bshd to bhds",
     [](Writer& write) {
       return heads(write, {0, 2, 3, 1});
     }},
};

}  // namespace luminal::benchmarks

#include "random_graph.h"

#include <array>
#include <set>

#include "luminal/symbolic/evaluate.h"
#include "random_operands.h"
#include "random_values.h"
#include "random_view.h"

namespace luminal::fuzz {

using graph::Array;
using graph::DType;
using graph::Edge;
using graph::Expr;
using graph::Graph;
using graph::NodeId;
using graph::Op;
using graph::Scalar;
using graph::Shape;
using test::random_array;
using test::random_dtype;
using test::random_scalar;

namespace {

constexpr std::array kUnary{Op::kRecip, Op::kSqrt,  Op::kExp,  Op::kExp2, Op::kLog,
                            Op::kLog2,  Op::kSin,   Op::kCos,  Op::kTanh, Op::kErf,
                            Op::kAtan,  Op::kFloor, Op::kRound};
constexpr std::array kBinary{Op::kAdd,   Op::kAdd,      Op::kMul,       Op::kMul,
                             Op::kDiv,   Op::kMod,      Op::kPow,       Op::kMax,
                             Op::kMax,   Op::kLessThan, Op::kEqual,     Op::kBitAnd,
                             Op::kBitOr, Op::kBitXor,   Op::kShiftLeft, Op::kShiftRight};
constexpr std::array kModes{graph::ScatterMode::kSet, graph::ScatterMode::kAdd,
                            graph::ScatterMode::kMul, graph::ScatterMode::kMax,
                            graph::ScatterMode::kMin};
constexpr std::array kLabels{"plain",      "with space", "a \"quote\"", "back\\slash",
                             "two\nlines", "%3",         "#",           "caf\xc3\xa9"};

/// Builds one graph step by step.
class GraphMaker : private OperandMaker {
 public:
  explicit GraphMaker(uint64_t seed) : OperandMaker(seed) {}

  /// See random_expression.
  Graph make_expression(int steps) {
    const DType dtype = random_dtype(random_);
    const Shape shape{n_, 5};
    for (int i = 0; i < 2; ++i) add_input(dtype, shape);
    for (int i = 0; i < steps; ++i) add_elementwise(shape);
    add_outputs();
    return std::move(graph_);
  }

  Graph make(int steps) {
    for (int i = 0; i < 3; ++i) add_input(random_dtype(random_), random_shape());
    for (int i = 0; i < steps; ++i) step();
    add_outputs();
    return std::move(graph_);
  }

 private:
  NodeId add_binary() {
    Op op = random_.pick(kBinary);
    Edge lhs = edge_for(op);
    if (random_.one_in(2)) {  // the other way round: an op that takes what is there
      lhs = any_edge();
      while (!takes(op, dtype_of(lhs))) op = random_.pick(kBinary);
    }
    const Edge rhs = other_side(lhs);
    return random_.one_in(2) ? graph_.add(op, {lhs, rhs}) : graph_.add(op, {rhs, lhs});
  }

  /// An op on a recent value of this shape and on a special constant, an input, or a value again.
  void add_elementwise(const Shape& shape) {
    const Edge first = whole_of_shape(shape);
    const DType dtype = dtype_of(first);
    Edge second = whole_of_shape(shape);
    if (dtype_of(second) != dtype || random_.one_in(2)) second = special_constant(dtype, shape);
    switch (random_.between(0, 9)) {
      case 0:
        graph_.add(Op::kSelect, {partner(DType::kBool, shape), first, second});
        return;
      case 1:
        graph_.add_cast(Op::kCast, first, random_dtype(random_));
        return;
      case 2:
        if (graph::is_float(dtype)) graph_.add(random_.pick(kUnary), {first});
        return;
      default:
        break;
    }
    Op op = random_.pick(kBinary);
    while (!takes(op, dtype)) op = random_.pick(kBinary);
    random_.one_in(3) ? graph_.add(op, {second, first}) : graph_.add(op, {first, second});
  }

  /// A recent node of this shape. The inputs have it, so there is one.
  Edge whole_of_shape(const Shape& shape) {
    for (int attempt = 0; attempt < 8; ++attempt) {
      const NodeId node = any_node();
      if (graph_.node(node).shape() == shape) return graph_.whole(node);
    }
    return graph_.whole({0});
  }

  NodeId add_select() {
    Edge first = random_.one_in(3) ? edge_of(DType::kBool) : any_edge();
    if (random_.one_in(4)) first = special_constant(dtype_of(first), first.view.domain());
    const Edge second = other_side(first);
    return graph_.add(Op::kSelect, {partner(DType::kBool, first.view.domain()), first, second});
  }

  NodeId add_reduction() {
    const Op op = random_.pick(std::array{Op::kSum, Op::kSum, Op::kProd, Op::kReduceMax});
    const Edge edge = edge_for(op);
    if (edge.view.rank() == 0) return graph_.add(Op::kCopy, {edge});
    const int axes = static_cast<int>(random_.between(1, edge.view.rank()));
    return graph_.add(op, {edge}, graph::ReduceAttribute{axes});
  }

  /// The last op once more on its own result, or a comparison with a constant: what rules about
  /// chains look for.
  NodeId add_repetition() {
    const NodeId last{static_cast<uint32_t>(graph_.size() - 1)};
    const graph::Node node = graph_.node(last);  // a copy: adding constants moves the nodes
    const Edge whole = graph_.whole(last);
    if (node.op == Op::kCast) return graph_.add_cast(node.op, whole, random_dtype(random_));
    if (node.op == Op::kBitcast)
      return graph_.add_cast(node.op, whole, graph_.node(node.operands[0].node).dtype());
    if (graph::is_reduction(node.op)) {
      const auto axes = static_cast<int>(random_.between(0, whole.view.rank()));
      return graph_.add(node.op, {whole}, graph::ReduceAttribute{axes});
    }
    Op op = graph::is_bool(node.dtype()) && random_.one_in(2) ? Op::kBitXor : Op::kEqual;
    const bool binary = graph::is_elementwise(node.op) && graph::info(node.op).arity == 2;
    if (binary && takes(node.op, node.dtype()) && !random_.one_in(3)) op = node.op;
    return graph_.add(op, {whole, special_constant(node.dtype(), node.shape())});
  }

  NodeId add_cast() {
    const Edge edge = any_edge();
    if (random_.one_in(3))
      for (const auto& row : graph::kDTypes)
        if (row.bits == graph::bits(dtype_of(edge)) && random_.one_in(3) &&
            row.kind != graph::DTypeKind::kBool && !graph::is_bool(dtype_of(edge)))
          return graph_.add_cast(Op::kBitcast, edge, row.dtype);
    return graph_.add_cast(Op::kCast, edge, random_dtype(random_));
  }

  NodeId add_gather() {
    const Edge data = any_edge();
    const Shape& domain = data.view.domain();
    if (domain.empty() || domain.back().bounds().lo < 1) return graph_.add(Op::kCopy, {data});
    const Shape shape(domain.begin(), domain.end() - 1);
    return graph_.add(Op::kGather, {positions(shape, domain.back().bounds().lo), data});
  }

  NodeId add_scatter() {
    const Edge base = any_edge();
    const Shape& domain = base.view.domain();
    if (domain.empty() || domain.back().bounds().lo < 1) return graph_.add(Op::kCopy, {base});
    Shape shape = domain;
    shape.back() = random_.between(0, 3);
    const DType dtype = dtype_of(base);
    const auto mode = graph::is_bool(dtype) ? graph::ScatterMode::kSet : random_.pick(kModes);
    const Edge index = positions(shape, domain.back().bounds().lo);
    return graph_.add(Op::kScatter, {base, index, partner(dtype, shape)},
                      graph::ScatterAttribute{mode});
  }

  NodeId add_argsort() {
    const Edge edge = any_edge();
    if (edge.view.rank() == 0) return graph_.add(Op::kCopy, {edge});
    return graph_.add(Op::kArgSort, {edge}, graph::ArgSortAttribute{random_.one_in(2)});
  }

  NodeId add_barrier() {
    const Edge edge = any_edge();
    switch (random_.between(0, 3)) {
      case 0:
        return graph_.add(Op::kGraphBreak, {edge});
      case 1:
        return graph_.add(Op::kPrint, {edge}, graph::PrintAttribute{random_.pick(kLabels)});
      case 2:
        return add_custom();
      default:
        return graph_.add(Op::kCopy, {edge});
    }
  }

  NodeId add_source() {
    switch (random_.between(0, 3)) {
      case 0:
        return add_input(random_dtype(random_), random_shape());
      case 1:
        return add_array(random_dtype(random_), {random_.between(0, 3), random_.between(1, 3)});
      case 2:
        return graph_.add_constant(random_scalar(random_, random_dtype(random_)));
      default:
        return add_iota(random_dtype(random_), random_shape());
    }
  }

  NodeId add_custom() {
    const Edge edge = edge_of(DType::kI32);
    return graph_.add_custom(byte_increment(), {edge}, {DType::kI32, edge.view.domain()});
  }

  void step() {
    const NodeId node = add_node();
    if (random_.one_in(5)) graph_.set_name(node, random_.pick(kLabels));
    if (random_.one_in(8)) add_named(node);
  }

  NodeId add_node() {
    switch (random_.between(0, 17)) {
      case 0:
      case 1:
        return add_source();
      case 2:
      case 3: {
        const Op op = random_.pick(kUnary);
        return graph_.add(op, {edge_for(op)});
      }
      case 4:
        return add_select();
      case 5:
      case 6:
        return add_reduction();
      case 7:
        return add_cast();
      case 8:
        return add_gather();
      case 9:
        return add_scatter();
      case 10:
        return add_argsort();
      case 11:
        return add_barrier();
      case 12:
      case 13:
        return add_repetition();
      default:
        return add_binary();
    }
  }

  void add_named(NodeId result) {
    graph::NamedDefinition definition;
    definition.name = random_.pick(std::array{"softmax", "row_sum", "my_op"});
    definition.parameters["axis"] = random_.between(-3, 3);
    if (random_.one_in(2)) definition.parameters["epsilon"] = random_.unit();
    if (random_.one_in(2)) definition.parameters["flag"] = random_.one_in(2);
    if (random_.one_in(2)) definition.parameters["mode"] = std::string(random_.pick(kLabels));
    if (random_.one_in(2)) definition.parameters["strides"] = std::vector<int64_t>{1, -2};
    if (random_.one_in(2)) definition.parameters["amount"] = n_ + 1;
    for (int64_t i = random_.between(0, 2); i > 0; --i)
      definition.operands.push_back(random_edge(random_, graph_, {random_below(result)}, 2));
    definition.result = graph_.whole(result);
    graph_.add_named(std::move(definition));
  }

  uint32_t random_below(NodeId node) {
    return static_cast<uint32_t>(random_.between(0, static_cast<int64_t>(node.value)));
  }

  void add_outputs() {
    std::set<uint32_t> read;
    for (const auto& node : graph_.nodes())
      for (const auto& operand : node.operands) read.insert(operand.node.value);
    int count = 0;
    for (const NodeId id : graph_.ids())
      if (!read.contains(id.value))
        graph_.add_output("out" + std::to_string(count++), graph_.whole(id));
    graph_.add_output("view", random_edge(random_, graph_, any_node(), 3));
  }
};

}  // namespace

Graph random_graph(uint64_t seed, int steps) { return GraphMaker(seed).make(steps); }

Graph random_expression(uint64_t seed, int steps) {
  return GraphMaker(seed).make_expression(steps);
}

graph::DimValues random_dims(Random& random, const Graph& graph) {
  graph::DimValues values;
  for (const auto& [name, interval] : graph.dims())
    values[name] = random.one_in(2)   ? random.between(interval.lo, interval.hi)
                   : random.one_in(2) ? interval.lo
                                      : interval.hi;
  return values;
}

std::map<std::string, Array> random_inputs(Random& random, const Graph& graph,
                                           const graph::DimValues& dims) {
  const symbolic::Values values(dims.begin(), dims.end());
  std::map<std::string, Array> inputs;
  for (const auto& node : graph.nodes()) {
    if (node.op != Op::kInput) continue;
    graph::Extents extents;
    for (const Expr& extent : node.shape()) extents.push_back(symbolic::evaluate(extent, values));
    inputs.emplace(node.attribute<graph::InputAttribute>().name,
                   random_array(random, node.dtype(), extents));
  }
  return inputs;
}

std::shared_ptr<const graph::CustomFunction> byte_increment() {
  static const auto function = std::make_shared<const graph::CustomFunction>(
      graph::CustomFunction{"byte_increment", [](std::span<const Array> operands, Array& result) {
                              const auto from = operands[0].bytes();
                              const auto to = result.mutable_bytes();
                              for (size_t i = 0; i < to.size(); ++i)
                                to[i] = static_cast<std::byte>(std::to_integer<int>(from[i]) + 1);
                            }});
  return function;
}

}  // namespace luminal::fuzz

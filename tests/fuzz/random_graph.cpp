#include "random_graph.h"

#include <array>
#include <set>

#include "luminal/symbolic/evaluate.h"
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

namespace {

constexpr std::array kUnary{Op::kRecip, Op::kSqrt,  Op::kExp,  Op::kExp2, Op::kLog,
                            Op::kLog2,  Op::kSin,   Op::kCos,  Op::kTanh, Op::kErf,
                            Op::kAtan,  Op::kFloor, Op::kRound};
constexpr std::array kBinary{Op::kAdd,   Op::kAdd,      Op::kMul,       Op::kMul,
                             Op::kDiv,   Op::kMod,      Op::kPow,       Op::kMax,
                             Op::kMax,   Op::kLessThan, Op::kEqual,     Op::kBitAnd,
                             Op::kBitOr, Op::kBitXor,   Op::kShiftLeft, Op::kShiftRight};
constexpr std::array kFloats{DType::kF64,  DType::kF32,    DType::kF32,   DType::kF16,
                             DType::kBF16, DType::kF8E4M3, DType::kF8E5M2};
constexpr std::array kIntegers{DType::kI64, DType::kI32, DType::kI16, DType::kI8, DType::kU32,
                               DType::kU16, DType::kU8,  DType::kI4,  DType::kU4};
constexpr std::array kIndexes{DType::kI64, DType::kI32, DType::kU8, DType::kI16};
constexpr std::array kModes{graph::ScatterMode::kSet, graph::ScatterMode::kAdd,
                            graph::ScatterMode::kMul, graph::ScatterMode::kMax,
                            graph::ScatterMode::kMin};
constexpr std::array kLabels{"plain",      "with space", "a \"quote\"", "back\\slash",
                             "two\nlines", "%3",         "#",           "caf\xc3\xa9"};

/// NumPy broadcasting of `from` to `to`, as far as it is decided.
bool expands_to(const Shape& from, const Shape& to) {
  if (from.size() > to.size()) return false;
  for (size_t i = 0; i < from.size(); ++i) {
    const Expr& extent = from[from.size() - 1 - i];
    if (!(extent == to[to.size() - 1 - i]) && !extent.is_constant(1)) return false;
  }
  return true;
}

/// Builds one graph step by step.
class GraphMaker {
 public:
  explicit GraphMaker(uint64_t seed)
      : random_(seed),
        n_(Expr::variable("n", {0, 4})),
        m_(Expr::variable("m", {1, 3})),
        batch_(Expr::variable("batch", {2, 5})) {}

  Graph make(int steps) {
    for (int i = 0; i < 3; ++i) add_input(random_dtype(random_), random_shape());
    for (int i = 0; i < steps; ++i) step();
    add_outputs();
    return std::move(graph_);
  }

 private:
  Expr random_extent() {
    switch (random_.between(0, 9)) {
      case 0:
        return n_;
      case 1:
        return m_;
      case 2:
        return batch_;
      case 3:
        return n_ + 1;
      case 4:
        return m_ * 2;
      case 5:
        return n_ + m_;
      case 6:
        return random_.one_in(3) ? 0 : 6;
      default:
        return random_.between(1, 5);
    }
  }

  Shape random_shape() {
    Shape shape;
    const int64_t rank = random_.one_in(8) ? random_.between(4, 6) : random_.between(0, 3);
    for (int64_t k = 0; k < rank; ++k) {
      shape.push_back(random_extent());
      if (most_elements(shape) > kMostElements / 4) shape.back() = 1;
    }
    return shape;
  }

  NodeId add_input(DType dtype, const Shape& shape) {
    return graph_.add_input("x" + std::to_string(input_count_++), dtype, shape);
  }

  NodeId add_array(DType dtype, const graph::Extents& extents) {
    return graph_.add_constant(random_array(random_, dtype, extents));
  }

  NodeId add_iota(DType dtype, const Shape& shape) {
    Expr value = random_.between(-3, 3);
    for (size_t k = 0; k < shape.size(); ++k)
      value += Expr::axis(static_cast<int64_t>(k), shape[k]) * random_.between(-2, 5);
    if (random_.one_in(3)) value += n_;
    if (random_.one_in(4)) value = symbolic::mod(value, random_.between(2, 5));
    if (random_.one_in(4)) value = symbolic::floor_div(value, random_.between(2, 5));
    return graph_.add_iota(dtype, shape, value);
  }

  NodeId any_node() { return {static_cast<uint32_t>(random_.index(graph_.size()))}; }

  int few_moves() { return random_.one_in(2) ? 0 : static_cast<int>(random_.between(1, 4)); }

  Edge any_edge() { return random_edge(random_, graph_, any_node(), few_moves()); }

  /// An edge of this dtype: an existing node if one is found by trying, otherwise a cast.
  Edge edge_of(DType dtype) {
    for (int attempt = 0; attempt < 6; ++attempt) {
      const NodeId node = any_node();
      if (graph_.node(node).dtype() == dtype)
        return random_edge(random_, graph_, node, few_moves());
    }
    return random_edge(random_, graph_, graph_.add_cast(Op::kCast, any_edge(), dtype), few_moves());
  }

  /// An edge of this dtype and domain: an existing value that broadcasts to it, or a new source.
  Edge partner(DType dtype, const Shape& domain) {
    for (int attempt = 0; attempt < 8; ++attempt) {
      const NodeId node = any_node();
      if (graph_.node(node).dtype() != dtype) continue;
      const Edge edge = random_edge(random_, graph_, node, few_moves());
      if (expands_to(edge.view.domain(), domain)) return {edge.view.expand(domain), edge.node};
    }
    switch (random_.between(0, 2)) {
      case 0:
        return expanded(graph_.add_constant(random_scalar(random_, dtype)), domain);
      case 1:
        return expanded(add_iota(dtype, domain), domain);
      default:
        return expanded(add_input(dtype, random_broadcast_of(domain)), domain);
    }
  }

  /// A shape that broadcasts to `domain`: trailing axes, some of them 1.
  Shape random_broadcast_of(const Shape& domain) {
    Shape shape;
    for (size_t k = static_cast<size_t>(random_.index(domain.size() + 1)); k < domain.size(); ++k)
      shape.push_back(random_.one_in(4) ? Expr(1) : domain[k]);
    return shape;
  }

  Edge expanded(NodeId node, const Shape& domain) {
    return {graph_.whole(node).view.expand(domain), node};
  }

  /// A dtype that the op takes.
  DType dtype_for(graph::DTypeRule rule) {
    switch (rule) {
      case graph::DTypeRule::kFloat:
        return random_.pick(kFloats);
      case graph::DTypeRule::kNumber:
        return random_.one_in(2) ? random_.pick(kFloats) : random_.pick(kIntegers);
      case graph::DTypeRule::kInteger:
        return random_.pick(kIntegers);
      case graph::DTypeRule::kBits:
        return random_.one_in(4) ? DType::kBool : random_.pick(kIntegers);
      default:
        return random_dtype(random_);
    }
  }

  Edge edge_for(Op op) { return edge_of(dtype_for(graph::info(op).dtype_rule)); }

  DType dtype_of(const Edge& edge) const { return graph_.node(edge.node).dtype(); }

  NodeId add_binary() {
    const Op op = random_.pick(kBinary);
    const Edge lhs = edge_for(op);
    const Edge rhs = partner(dtype_of(lhs), lhs.view.domain());
    return random_.one_in(2) ? graph_.add(op, {lhs, rhs}) : graph_.add(op, {rhs, lhs});
  }

  NodeId add_select() {
    const Edge first = any_edge();
    const Edge second = partner(dtype_of(first), first.view.domain());
    return graph_.add(Op::kSelect, {partner(DType::kBool, first.view.domain()), first, second});
  }

  NodeId add_reduction() {
    const Op op = random_.pick(std::array{Op::kSum, Op::kSum, Op::kProd, Op::kReduceMax});
    const Edge edge = edge_for(op);
    if (edge.view.rank() == 0) return graph_.add(Op::kCopy, {edge});
    const int axes = static_cast<int>(random_.between(1, edge.view.rank()));
    return graph_.add(op, {edge}, graph::ReduceAttribute{axes});
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

  /// Positions below `bound`, computed from whatever integers there are: max(x % bound, 0).
  Edge positions(const Shape& shape, int64_t bound) {
    const DType dtype = random_.pick(kIndexes);
    const Edge limit = expanded(graph_.add_constant(Scalar::of(dtype, bound)), shape);
    const NodeId rest = graph_.add(Op::kMod, {partner(dtype, shape), limit});
    const Edge zero = expanded(graph_.add_constant(Scalar::of(dtype, 0)), shape);
    return graph_.whole(graph_.add(Op::kMax, {graph_.whole(rest), zero}));
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
    switch (random_.between(0, 15)) {
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

  Graph graph_;
  Random random_;
  Expr n_, m_, batch_;
  int input_count_ = 0;
};

}  // namespace

Graph random_graph(uint64_t seed, int steps) { return GraphMaker(seed).make(steps); }

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

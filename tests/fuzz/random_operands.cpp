#include "random_operands.h"

#include <algorithm>
#include <array>

#include "random_values.h"
#include "random_view.h"

namespace luminal::fuzz {

using graph::DType;
using graph::Edge;
using graph::Expr;
using graph::NodeId;
using graph::Op;
using graph::Scalar;
using graph::Shape;
using test::random_array;
using test::random_dtype;
using test::random_scalar;

namespace {

constexpr std::array kFloats{DType::kF64,  DType::kF32,    DType::kF32,   DType::kF16,
                             DType::kBF16, DType::kF8E4M3, DType::kF8E5M2};
constexpr std::array kIntegers{DType::kI64, DType::kI32, DType::kI16, DType::kI8, DType::kU32,
                               DType::kU16, DType::kU8,  DType::kI4,  DType::kU4};
constexpr std::array kIndexes{DType::kI64, DType::kI32, DType::kU8, DType::kI16};

/// NumPy broadcasting of `from` to `to`, as far as it is decided.
bool expands_to(const Shape& from, const Shape& to) {
  if (from.size() > to.size()) return false;
  for (size_t i = 0; i < from.size(); ++i) {
    const Expr& extent = from[from.size() - 1 - i];
    if (!(extent == to[to.size() - 1 - i]) && !extent.is_constant(1)) return false;
  }
  return true;
}

}  // namespace

OperandMaker::OperandMaker(uint64_t seed)
    : random_(seed),
      n_(Expr::variable("n", {0, 4})),
      m_(Expr::variable("m", {1, 3})),
      batch_(Expr::variable("batch", {2, 5})) {}

Expr OperandMaker::random_extent() {
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

Shape OperandMaker::random_shape() {
  Shape shape;
  const int64_t rank = random_.one_in(8) ? random_.between(4, 6) : random_.between(0, 3);
  for (int64_t k = 0; k < rank; ++k) {
    shape.push_back(random_extent());
    if (most_elements(shape) > kMostElements / 4) shape.back() = 1;
  }
  return shape;
}

NodeId OperandMaker::add_input(DType dtype, const Shape& shape) {
  return graph_.add_input("x" + std::to_string(input_count_++), dtype, shape);
}

NodeId OperandMaker::add_array(DType dtype, const graph::Extents& extents) {
  return graph_.add_constant(random_array(random_, dtype, extents));
}

NodeId OperandMaker::add_iota(DType dtype, const Shape& shape) {
  Expr value = random_.between(-3, 3);
  for (size_t k = 0; k < shape.size(); ++k)
    value += Expr::axis(static_cast<int64_t>(k), shape[k]) * random_.between(-2, 5);
  if (random_.one_in(3)) value += n_;
  if (random_.one_in(4)) value = symbolic::mod(value, random_.between(2, 5));
  if (random_.one_in(4)) value = symbolic::floor_div(value, random_.between(2, 5));
  return graph_.add_iota(dtype, shape, value);
}

NodeId OperandMaker::any_node() {
  const auto size = static_cast<int64_t>(graph_.size());
  const int64_t first = random_.one_in(2) ? std::max<int64_t>(0, size - 4) : 0;
  return {static_cast<uint32_t>(random_.between(first, size - 1))};
}

Edge OperandMaker::special_constant(DType dtype, const Shape& domain) {
  Scalar value = Scalar::of(dtype, random_.between(-1, 2));
  if (random_.one_in(6)) value = Scalar::of(dtype, random_.one_in(2) ? 0.5 : -0.0);
  if (random_.one_in(6)) value = random_.one_in(2) ? Scalar::lowest(dtype) : Scalar::highest(dtype);
  return expanded(graph_.add_constant(value), domain);
}

Edge OperandMaker::other_side(const Edge& first) {
  const DType dtype = dtype_of(first);
  if (random_.one_in(3)) return special_constant(dtype, first.view.domain());
  return random_.one_in(8) ? first : partner(dtype, first.view.domain());
}

int OperandMaker::few_moves() {
  return random_.one_in(2) ? 0 : static_cast<int>(random_.between(1, 4));
}

Edge OperandMaker::any_edge() { return random_edge(random_, graph_, any_node(), few_moves()); }

Edge OperandMaker::edge_of(DType dtype) {
  for (int attempt = 0; attempt < 6; ++attempt) {
    const NodeId node = any_node();
    if (graph_.node(node).dtype() == dtype) return random_edge(random_, graph_, node, few_moves());
  }
  return random_edge(random_, graph_, graph_.add_cast(Op::kCast, any_edge(), dtype), few_moves());
}

Edge OperandMaker::partner(DType dtype, const Shape& domain) {
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

Shape OperandMaker::random_broadcast_of(const Shape& domain) {
  Shape shape;
  for (size_t k = static_cast<size_t>(random_.index(domain.size() + 1)); k < domain.size(); ++k)
    shape.push_back(random_.one_in(4) ? Expr(1) : domain[k]);
  return shape;
}

Edge OperandMaker::expanded(NodeId node, const Shape& domain) {
  return {graph_.whole(node).view.expand(domain), node};
}

DType OperandMaker::dtype_for(graph::DTypeRule rule) {
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

Edge OperandMaker::positions(const Shape& shape, int64_t bound) {
  const DType dtype = random_.pick(kIndexes);
  if (random_.one_in(4)) {
    const Scalar position = Scalar::of(dtype, random_.between(0, bound - 1));
    return expanded(graph_.add_constant(position), shape);
  }
  const Edge limit = expanded(graph_.add_constant(Scalar::of(dtype, bound)), shape);
  const NodeId rest = graph_.add(Op::kMod, {partner(dtype, shape), limit});
  const Edge zero = expanded(graph_.add_constant(Scalar::of(dtype, 0)), shape);
  return graph_.whole(graph_.add(Op::kMax, {graph_.whole(rest), zero}));
}

bool OperandMaker::takes(Op op, DType dtype) {
  switch (graph::info(op).dtype_rule) {
    case graph::DTypeRule::kFloat:
      return graph::is_float(dtype);
    case graph::DTypeRule::kNumber:
      return !graph::is_bool(dtype);
    case graph::DTypeRule::kInteger:
      return graph::is_integer(dtype);
    case graph::DTypeRule::kBits:
      return !graph::is_float(dtype);
    default:
      return true;
  }
}

Edge OperandMaker::edge_for(Op op) { return edge_of(dtype_for(graph::info(op).dtype_rule)); }

DType OperandMaker::dtype_of(const Edge& edge) const { return graph_.node(edge.node).dtype(); }

}  // namespace luminal::fuzz

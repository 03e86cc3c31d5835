#include "luminal/graph/widened.h"

#include <cmath>

#include "luminal/graph/epsilon.h"
#include "luminal/support/hash.h"

namespace luminal::graph {
namespace {

/// Integers of up to this size are counts and positions; products of two are exact in f32.
constexpr double kSmallInteger = 4096.0;

/// Results of more elements than this are terms of sums that a run never holds as a whole.
constexpr int64_t kMostHeld = int64_t{1} << 22;

/// More than a graph has nodes or inputs.
constexpr uint64_t kSeedStep = uint64_t{1} << 40;

/// From -1 to 1, not near 0, the same for the same number; of different size for different numbers,
/// so that moves do not cancel where results do.
double direction(uint64_t number, Move move) {
  const uint64_t bits = support::mix64(number + 0x9e3779b97f4a7c15ULL);
  const double size = 0.5 + static_cast<double>(bits >> 12) * 0x1p-53;
  const bool up = ((bits & 1) == 0) == (move == Move::kOneWay);
  return up ? size : -size;
}

/// What rounding to a dtype may change.
struct Rounding {
  double part = 0.0;          ///< of a number
  double exact = 0.0;         ///< integers of up to this size are kept
  double largest = INFINITY;  ///< what lies beyond may become this; infinities show by themselves
};

Rounding rounding_to(DType dtype) {
  constexpr double kLargestF8E4M3 = 448.0;
  return {.part = move_of(dtype), .largest = dtype == DType::kF8E4M3 ? kLargestF8E4M3 : INFINITY};
}

double moved(double value, const Rounding& rounding, double direction) {
  const double size = std::fabs(value);
  if (!std::isfinite(value) || size <= rounding.exact) return value;
  if (size > rounding.largest && direction < 0) return std::copysign(rounding.largest, value);
  return value * (1.0 + rounding.part * direction);
}

/// Moves every element by an amount of its own, as rounding does: elements that are equal, or whose
/// sum cancels, must not stay so by moving together.
std::shared_ptr<const CustomFunction> mover(const Rounding& rounding, Move move, uint64_t number) {
  return std::make_shared<const CustomFunction>(
      CustomFunction{"move", [=](std::span<const Array> operands, Array& result) {
                       const std::span<const double> from = operands[0].as<double>();
                       const std::span<double> to = result.mutable_as<double>();
                       for (size_t i = 0; i < to.size(); ++i)
                         to[i] = moved(from[i], rounding, direction(number + i, move));
                     }});
}

bool is_power_of_two(const Node& node) {
  if (node.op != Op::kConstant) return false;
  const Array& value = node.attribute<ConstantAttribute>().value;
  if (value.size() != 1) return false;
  int exponent = 0;
  return std::fabs(std::frexp(value.at(0).as_double(), &exponent)) == 0.5;
}

bool is_exact_op(Op op) {
  switch (op) {
    case Op::kFloor:
    case Op::kRound:
    case Op::kBitcast:
    case Op::kMod:
    case Op::kMax:
    case Op::kSelect:
    case Op::kReduceMax:
    case Op::kCopy:
      return true;
    default:
      return !is_elementwise(op) && !is_reduction(op);
  }
}

class Widener {
 public:
  Widener(const Graph& graph, Move move, uint64_t seed) : graph_(graph), move_(move), seed_(seed) {}

  Graph run() {
    for (const NodeId id : graph_.ids()) new_id_.push_back(add(id));
    for (const Output& output : graph_.outputs())
      result_.add_output(output.name, translated(output.edge));
    return std::move(result_);
  }

 private:
  bool is_wide(NodeId old) const { return is_float(graph_.node(old).dtype()); }

  /// The operand in the new graph, with an f64 fill.
  Edge translated(const Edge& old) const {
    const View& view = old.view;
    const NodeId node = new_id_[old.node.value];
    if (view.conditions().empty() || !is_wide(old.node)) return {view, node};
    return {View(view.source(), view.domain(), view.index(), view.conditions(),
                 view.fill().cast(DType::kF64)),
            node};
  }

  Edge with_dtype(const Edge& edge, DType dtype) {
    return result_.whole(result_.add_cast(Op::kCast, edge, dtype));
  }

  NodeId add(NodeId id) {
    const Node& node = graph_.node(id);
    const NodeId added = is_float(node.dtype()) ? add_float(node) : add_other(node);
    if (move_ == Move::kNone) return added;
    Rounding rounding = rounding_to(node.dtype());
    const bool is_cast_of_integer =
        node.op == Op::kCast && is_float(node.dtype()) && !is_wide(node.operands[0].node);
    if (is_cast_of_integer)
      rounding.exact = 2 / epsilon(node.dtype());
    else if (!is_rounded(graph_, node))
      return added;
    const uint64_t number = support::hash_combine(support::hash_combine(id.value, 1), seed_);
    if (is_too_large(node.shape())) return scaled(added, rounding.part * direction(number, move_));
    return result_.add_custom(mover(rounding, move_, number), {result_.whole(added)},
                              {DType::kF64, node.shape()});
  }

  static bool is_too_large(const Shape& shape) {
    symbolic::Expr count = 1;
    for (const symbolic::Expr& extent : shape) count = count * extent;
    return count.constant_value().value_or(0) > kMostHeld;
  }

  /// All elements moved together, which an op can do: what they come from moves each by itself.
  NodeId scaled(NodeId node, double part) {
    const NodeId factor = result_.add_constant(Scalar::of(DType::kF64, 1.0 + part));
    return result_.add(
        Op::kMul, {result_.whole(node), Edge{View({}, result_.node(node).shape(), {}), factor}});
  }

  std::vector<Edge> operands_of(const Node& node) const {
    std::vector<Edge> operands;
    for (const Edge& edge : node.operands) operands.push_back(translated(edge));
    return operands;
  }

  NodeId add_float(const Node& node) {
    switch (node.op) {
      case Op::kInput:
        return result_.add_input(node.attribute<InputAttribute>().name, DType::kF64, node.shape(),
                                 node.attribute<InputAttribute>().weight);
      case Op::kConstant:
        return result_.add_constant(node.attribute<ConstantAttribute>().value.cast(DType::kF64));
      case Op::kIota:
        return result_.add_iota(DType::kF64, node.shape(), node.attribute<IotaAttribute>().value);
      case Op::kCast: {
        const Edge operand = translated(node.operands[0]);
        return is_wide(node.operands[0].node) ? result_.add(Op::kCopy, {operand})
                                              : result_.add_cast(Op::kCast, operand, DType::kF64);
      }
      case Op::kBitcast:
      case Op::kCustom: {
        const Edge whole = result_.whole(add_as_it_was(node));
        return result_.add_cast(Op::kCast, whole, DType::kF64);
      }
      default:
        return add_other(node);
    }
  }

  NodeId add_other(const Node& node) {
    if (node.op == Op::kBitcast || node.op == Op::kCustom) return add_as_it_was(node);
    if (has_effect(node.op)) return result_.add(Op::kCopy, operands_of(node));
    if (node.op == Op::kInput || node.op == Op::kConstant || node.op == Op::kIota ||
        node.op == Op::kCast)
      return result_.add_like(node, operands_of(node));
    return result_.add(node.op, operands_of(node), node.attributes);
  }

  /// Nodes that see the dtype itself.
  NodeId add_as_it_was(const Node& node) {
    std::vector<Edge> operands;
    for (const Edge& edge : node.operands)
      operands.push_back(is_wide(edge.node)
                             ? with_dtype(translated(edge), graph_.node(edge.node).dtype())
                             : translated(edge));
    return result_.add_like(node, std::move(operands));
  }

  const Graph& graph_;
  Move move_;
  uint64_t seed_;
  Graph result_;
  std::vector<NodeId> new_id_;
};

bool all_small_integers(const std::vector<double>& values) {
  for (const double value : values)
    if (std::isfinite(value) && (std::trunc(value) != value || std::fabs(value) > kSmallInteger))
      return false;
  return true;
}

}  // namespace

bool is_rounded(const Graph& graph, const Node& node) {
  if (!is_float(node.dtype()) || is_exact_op(node.op)) return false;
  // Widening keeps every value; so does the cast of an integer that a graph computes with.
  if (node.op == Op::kCast)
    return is_float(graph.node(node.operands[0].node).dtype()) &&
           bits(graph.node(node.operands[0].node).dtype()) > bits(node.dtype());
  if (node.op != Op::kMul) return true;
  return !is_power_of_two(graph.node(node.operands[0].node)) &&
         !is_power_of_two(graph.node(node.operands[1].node));
}

double move_of(DType dtype) {
  constexpr double kFewUnits = 2;
  constexpr double kOneRounding = 0.5;
  if (dtype == DType::kF64) return 2 * kFewUnits * epsilon(dtype);
  if (is_float(dtype) && bits(dtype) < 32) return kOneRounding * epsilon(dtype);
  return kFewUnits * epsilon(DType::kF32);
}

Graph widened(const Graph& graph, Move move, uint64_t seed) {
  return Widener(graph, move, seed).run();
}

Array widened(const Array& value, Move move, double by, uint64_t number, uint64_t seed) {
  if (!is_float(value.dtype())) return value;
  Array wide = value.cast(DType::kF64);
  if (move == Move::kNone || all_small_integers(wide.to_vector<double>())) return wide;
  const uint64_t own = support::hash_combine(number + seed * kSeedStep, 1);
  uint64_t position = 0;
  for (double& element : wide.mutable_as<double>())
    element = moved(element, {.part = by}, direction(own + position++, move));
  return wide;
}

}  // namespace luminal::graph

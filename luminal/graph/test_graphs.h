// Graphs for tests: one that has something of everything, random ones from a seed, random data with
// all the special values, and the comparison of what two graphs compute.
#pragma once

#include <gtest/gtest.h>

#include <random>
#include <sstream>

#include "luminal/graph/graph.h"
#include "luminal/graph/program.h"
#include "luminal/graph/text.h"
#include "luminal/symbolic/evaluate.h"

namespace luminal::graph::test {

using Random = std::mt19937_64;

inline int64_t pick(Random& random, int64_t count) {
  return static_cast<int64_t>(random() % static_cast<uint64_t>(count));
}

template <typename T>
const T& pick_from(Random& random, const std::vector<T>& list) {
  return list[static_cast<size_t>(pick(random, static_cast<int64_t>(list.size())))];
}

/// The numbers on which rules go wrong first.
inline Scalar special_value(Random& random, DType dtype) {
  switch (pick(random, 12)) {
    case 0:
      return Scalar::lowest(dtype);
    case 1:
      return Scalar::highest(dtype);
    case 2:
      return Scalar::of(dtype, -0.0);
    case 3:
      return Scalar::of(dtype, 0);
    case 4:
      return Scalar::of(dtype, 1);
    case 5:
      return Scalar::of(dtype, -1);
    case 6:
      return Scalar::of(dtype, std::numeric_limits<double>::quiet_NaN());
    case 7:
      return Scalar::of(dtype, 2);
    case 8:
      return Scalar::of(dtype, 1e-7);
    default:
      return is_float(dtype) ? Scalar::of(dtype, std::normal_distribution<>(0.0, 4.0)(random))
                             : Scalar::of(dtype, static_cast<int64_t>(random()));
  }
}

inline Array random_array(Random& random, DType dtype, const Extents& extents) {
  Array array(dtype, extents);
  for (int64_t i = 0; i < array.size(); ++i) array.set(i, special_value(random, dtype));
  return array;
}

inline Expr seq() { return Expr::variable("seq", {1, 6}); }
inline Expr past() { return Expr::variable("past", {0, 4}); }

inline std::shared_ptr<const CustomFunction> custom_negate() {
  static const auto function = std::make_shared<const CustomFunction>(
      CustomFunction{"negate", [](std::span<const Array> operands, Array& result) {
                       for (int64_t i = 0; i < result.size(); ++i)
                         result.set(i, Scalar::of(result.dtype(), -operands[0].at(i).as_double()));
                     }});
  return function;
}

/// Every kind of node, edge and attribute once.
inline Graph sample_graph() {
  Graph g;
  const NodeId x = g.add_input("x", DType::kF32, {2, seq()});
  const NodeId half = g.add_constant(Scalar::of(DType::kF32, 0.5));
  const Edge whole = g.whole(x);
  const Edge broadcast{View({}, {2, seq()}, {}), half};
  const NodeId scaled = g.add(Op::kMul, {whole, broadcast});
  g.set_name(scaled, "scaled \"x\"\n#no comment");
  const int swap[] = {1, 0};
  const NodeId turned = g.add(Op::kCopy, {{g.whole(scaled).view.permute(swap), scaled}});
  const View shifted =
      *g.whole(turned).view.slice(0, 0, seq() - 1).pad(0, 1, 0, Scalar::of(DType::kF32, -1.5));
  const NodeId sum = g.add(Op::kAdd, {g.whole(turned), {shifted, turned}});
  const NodeId total = g.add(Op::kSum, {g.whole(sum)}, ReduceAttribute{2});
  const NodeId most = g.add(Op::kReduceMax, {whole}, ReduceAttribute{1});
  const NodeId order = g.add(Op::kArgSort, {whole}, ArgSortAttribute{true});
  const NodeId where = g.add_iota(DType::kI32, {2}, symbolic::mod(Expr::axis(0, 2), seq()));
  const NodeId taken = g.add(Op::kGather, {g.whole(where), whole});
  const NodeId index = g.add_iota(DType::kI64, {2, 1}, past() * 0);
  const NodeId updates = g.add_constant(Array(DType::kF32, {2, 1}));
  const NodeId scattered = g.add(Op::kScatter, {whole, g.whole(index), g.whole(updates)},
                                 ScatterAttribute{ScatterMode::kAdd});
  const NodeId cast = g.add_cast(Op::kCast, g.whole(scattered), DType::kI8);
  const NodeId bits = g.add_cast(Op::kBitcast, whole, DType::kU32);
  const NodeId less = g.add(Op::kLessThan, {whole, g.whole(scattered)});
  const NodeId chosen = g.add(Op::kSelect, {g.whole(less), whole, g.whole(scaled)});
  const NodeId printed = g.add(Op::kPrint, {g.whole(chosen)}, PrintAttribute{"chosen\t%"});
  const NodeId custom =
      g.add_custom(custom_negate(), {g.whole(printed)}, {DType::kF32, {2, seq()}});
  const NodeId cache =
      g.add_iota(DType::kF16, {past() + seq()}, Expr::axis(0, past() + seq()) + past());
  g.add_output("custom", g.whole(custom));
  g.add_output("total", g.whole(total));
  g.add_output("row", {g.whole(scaled).view.select(0, 1), scaled});
  g.add_output("last", {g.whole(most).view.select(0, 1), most});
  g.add_output("tail", {g.whole(cache).view.slice(0, past(), past() + seq()), cache});
  for (NodeId id : {order, taken, cast, bits})
    g.add_output("node" + std::to_string(id.value), g.whole(id));
  g.add_named({"row_max", {{"axis", int64_t{1}}}, {whole}, g.whole(most)});
  g.add_named({"odd name",
               {{"a", 1.0},
                {"b", true},
                {"c", std::string("x\"y")},
                {"d", std::vector<int64_t>{1, -2}},
                {"e", past() + 1},
                {"f", std::vector<int64_t>{}},
                {"g", -1e300},
                {"the key", std::numeric_limits<double>::infinity()}},
               {{g.whole(x).view.flip(1), x}, g.whole(half)},
               {g.whole(scaled).view.select(0, 0), scaled}});
  return g;
}

/// Builds a random, valid graph over f32 inputs of a few shapes, one dim of them named.
class RandomGraph {
 public:
  explicit RandomGraph(uint64_t seed) : random_(seed) {}

  Graph build(int nodes) {
    graph_.add_input("x", DType::kF32, {2, seq()});
    graph_.add_input("y", DType::kF32, {3});
    graph_.add_input("k", DType::kI32, {2, 3});
    while (static_cast<int>(graph_.size()) < nodes) add_node();
    for (int k = 0; k < 3; ++k)
      graph_.add_output("out" + std::to_string(k), random_edge(random_node()));
    graph_.add_output("final", graph_.whole(NodeId{static_cast<uint32_t>(graph_.size() - 1)}));
    add_named_fact();
    return std::move(graph_);
  }

 private:
  NodeId random_node() {
    return NodeId{static_cast<uint32_t>(pick(random_, static_cast<int64_t>(graph_.size())))};
  }
  const Shape& shape_of(NodeId id) const { return graph_.node(id).shape(); }
  DType dtype_of(NodeId id) const { return graph_.node(id).dtype(); }

  /// A node through a random movement.
  Edge random_edge(NodeId id) {
    View view = View::identity(shape_of(id));
    for (int64_t steps = pick(random_, 3); steps > 0 && view.rank() > 0; --steps)
      view = moved(view, dtype_of(id));
    return {view, id};
  }

  View moved(const View& view, DType dtype) {
    const int axis = static_cast<int>(pick(random_, view.rank()));
    const Expr extent = view.domain()[static_cast<size_t>(axis)];
    switch (pick(random_, 8)) {
      case 0:
        return view.flip(axis);
      case 1: {
        std::vector<int> axes(static_cast<size_t>(view.rank()));
        for (size_t k = 0; k < axes.size(); ++k) axes[k] = static_cast<int>(axes.size() - 1 - k);
        return view.permute(axes);
      }
      case 2:
        return extent.bounds().lo >= 1 ? view.select(axis, 0) : view;
      case 3:
        if (view.rank() < 4) return view.insert_axis(axis, pick(random_, 3));
        return view;
      case 4:
        return view.merge(0, view.rank());
      case 5: {
        auto padded = view.pad(axis, 1, pick(random_, 2), special_value(random_, dtype));
        return padded ? *padded : view;
      }
      case 6:
        return extent.bounds().lo >= 1 ? view.slice(axis, 0, extent - 1) : view;
      default:
        return view;
    }
  }

  /// Any node of that dtype (cast if need be) seen in that shape.
  Edge fitting(DType dtype, const Shape& shape) {
    if (pick(random_, 3) == 0)
      return {View({}, shape, {}), graph_.add_constant(special_value(random_, dtype))};
    NodeId id = random_node();
    if (dtype_of(id) != dtype) id = graph_.add_cast(Op::kCast, graph_.whole(id), dtype);
    if (shape_of(id) == shape) return graph_.whole(id);
    View view = View::identity(shape_of(id));
    while (view.rank() > 0) {
      if (view.domain()[0].bounds().lo < 1)
        return {View({}, shape, {}), graph_.add_constant(special_value(random_, dtype))};
      view = view.select(0, 0);
    }
    return {view.expand(shape), id};
  }

  bool accepts(Op op, DType dtype) const {
    switch (info(op).dtype_rule) {
      case DTypeRule::kFloat:
        return is_float(dtype);
      case DTypeRule::kNumber:
        return !is_bool(dtype);
      case DTypeRule::kBits:
        return !is_float(dtype);
      case DTypeRule::kInteger:
        return is_integer(dtype);
      default:
        return true;
    }
  }

  void add_node() {
    const Op op = kOps[static_cast<size_t>(pick(random_, static_cast<int64_t>(kOps.size())))].op;
    Edge first = random_edge(random_node());
    const Shape shape = first.view.domain();
    const DType dtype = dtype_of(first.node);
    if (op == Op::kConstant)
      graph_.add_constant(random_array(random_, random_dtype(), {pick(random_, 3), 3}));
    else if (op == Op::kIota)
      add_random_iota();
    else if (op == Op::kCast)
      graph_.add_cast(op, first, random_dtype());
    else if (op == Op::kSelect)
      graph_.add(op, {fitting(DType::kBool, shape), first, fitting(dtype, shape)});
    else if (op == Op::kGather)
      add_gather(first);
    else if (op == Op::kScatter)
      add_scatter(first);
    else if (is_reduction(op) && accepts(op, dtype))
      graph_.add(op, {first},
                 ReduceAttribute{static_cast<int>(pick(random_, first.view.rank() + 1))});
    else if (op == Op::kArgSort && first.view.rank() > 0)
      graph_.add(op, {first}, ArgSortAttribute{pick(random_, 2) == 0});
    else if (op == Op::kPrint && pick(random_, 3) == 0)
      graph_.add(op, {first}, PrintAttribute{"step " + std::to_string(graph_.size())});
    else if (op == Op::kCopy || op == Op::kGraphBreak)
      graph_.add(op, {first});
    else if (is_elementwise(op) && op != Op::kBitcast && accepts(op, dtype))
      graph_.add(op, info(op).arity == 1 ? std::vector<Edge>{first}
                                         : random_order(first, fitting(dtype, shape)));
  }

  std::vector<Edge> random_order(Edge a, Edge b) {
    if (pick(random_, 4) == 0) return {a, a};
    if (pick(random_, 2) == 0) std::swap(a, b);
    return {a, b};
  }

  DType random_dtype() {
    return kDTypes[static_cast<size_t>(pick(random_, static_cast<int64_t>(kDTypes.size())))].dtype;
  }

  void add_random_iota() {
    const Shape shape{seq(), 3};
    const Expr i = Expr::axis(0, seq());
    const Expr j = Expr::axis(1, 3);
    const std::vector<Expr> values{i * 3 + j, symbolic::mod(i + j, 2), Expr(7),
                                   seq() - i, symbolic::min(i, j),     past()};
    graph_.add_iota(random_dtype(), shape, pick_from(random_, values));
  }

  /// Positions are made of an iota or a number that is in range, whatever the dims are.
  void add_gather(const Edge& data) {
    const Shape domain = data.view.domain();
    if (domain.empty() || domain.back().bounds().lo < 1) return;
    Shape shape(domain.begin(), domain.end() - 1);
    const Expr position =
        shape.empty() ? Expr(0) : symbolic::mod(Expr::axis(0, shape[0]), domain.back());
    const NodeId index =
        graph_.add_iota(DType::kI64, shape, pick(random_, 2) == 0 ? Expr(0) : position);
    graph_.add(Op::kGather, {graph_.whole(index), data});
  }

  void add_scatter(const Edge& base) {
    const Shape domain = base.view.domain();
    if (domain.empty() || domain.back().bounds().lo < 1) return;
    const DType dtype = dtype_of(base.node);
    if (is_bool(dtype)) return;
    Shape updates(domain.begin(), domain.end() - 1);
    updates.push_back(pick(random_, 3));
    const NodeId index = graph_.add_iota(DType::kI32, updates, Expr(0));
    const auto mode = static_cast<ScatterMode>(pick(random_, 5));
    graph_.add(Op::kScatter, {base, graph_.whole(index), fitting(dtype, updates)},
               ScatterAttribute{mode});
  }

  void add_named_fact() {
    const NodeId last{static_cast<uint32_t>(graph_.size() - 1)};
    if (graph_.node(last).operands.empty()) return;
    graph_.add_named(
        {"last", {{"axis", int64_t{0}}}, graph_.node(last).operands, graph_.whole(last)});
  }

  Random random_;
  Graph graph_;
};

inline Graph random_graph(uint64_t seed, int nodes = 25) { return RandomGraph(seed).build(nodes); }

/// Data for all inputs of a graph, dims set from a seed.
struct RandomRun {
  std::map<std::string, Array> inputs;
  DimValues dims;

  RandomRun(const Graph& graph, uint64_t seed) {
    Random random(seed);
    symbolic::Values values;
    for (const auto& [dim, interval] : graph.dims()) {
      const int64_t value =
          interval.lo + pick(random, std::min<int64_t>(interval.hi - interval.lo, 8) + 1);
      dims[dim] = value;
      values[dim] = value;
    }
    for (const Node& node : graph.nodes()) {
      if (node.op != Op::kInput) continue;
      Extents extents;
      for (const Expr& extent : node.shape()) extents.push_back(symbolic::evaluate(extent, values));
      inputs.emplace(node.attribute<InputAttribute>().name,
                     random_array(random, node.dtype(), extents));
    }
  }

  /// Outputs and printed text.
  std::pair<std::vector<Array>, std::string> of(const Graph& graph) const {
    RunRequest request;
    for (const Node& node : graph.nodes())
      if (const auto* input = std::get_if<InputAttribute>(&node.attributes))
        request.inputs[input->name] = &inputs.at(input->name);
    for (const auto& [dim, interval] : graph.dims()) request.dims[dim] = dims.at(dim);
    std::ostringstream text;
    request.text = &text;
    std::vector<Array> outputs = make_interpreter(graph)->run(request);
    return {std::move(outputs), text.str()};
  }
};

/// Same dtype, extents and values; all NaNs are one value, zeros have a sign.
inline ::testing::AssertionResult same_values(const Array& a, const Array& b) {
  if (a.dtype() != b.dtype() || a.extents() != b.extents())
    return ::testing::AssertionFailure() << "types differ";
  for (int64_t i = 0; i < a.size(); ++i)
    if (!(a.at(i) == b.at(i)))
      return ::testing::AssertionFailure()
             << "element " << i << " is " << a.at(i).to_string() << " in one and "
             << b.at(i).to_string() << " in the other";
  return ::testing::AssertionSuccess();
}

/// Both graphs give the same outputs and print the same, on random data from this seed.
inline void expect_same_results(const Graph& before, const Graph& after, uint64_t seed) {
  const RandomRun run(before, seed);
  const auto expected = run.of(before);
  const auto actual = run.of(after);
  ASSERT_EQ(before.outputs().size(), after.outputs().size());
  for (size_t k = 0; k < expected.first.size(); ++k) {
    EXPECT_EQ(before.outputs()[k].name, after.outputs()[k].name);
    EXPECT_TRUE(same_values(expected.first[k], actual.first[k]))
        << "output " << before.outputs()[k].name << ", seed " << seed << "\nbefore:\n"
        << to_text(before) << "\nafter:\n"
        << to_text(after);
  }
  EXPECT_EQ(expected.second, actual.second) << "what was printed, seed " << seed;
}

}  // namespace luminal::graph::test

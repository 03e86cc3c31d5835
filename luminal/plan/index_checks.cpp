#include "luminal/plan/index_checks.h"

#include <algorithm>
#include <map>

#include "luminal/graph/element_source.h"
#include "luminal/graph/interpreter_indexing.h"
#include "luminal/graph/query.h"

namespace luminal::plan {
namespace {

using graph::DType;
using graph::Edge;
using graph::Graph;
using graph::Node;
using graph::NodeId;
using graph::Op;
using symbolic::Expr;

/// All values lie in [lo, hi].
struct Range {
  Expr lo;
  Expr hi;
};
using MaybeRange = std::optional<Range>;

/// Ranges of integer nodes, as far as they show.
class Ranges {
 public:
  explicit Ranges(const Graph& graph) : graph_(graph) {}

  MaybeRange of(NodeId id) {
    const auto found = known_.find(id);
    if (found != known_.end()) return found->second;
    const MaybeRange range = find(graph_.node(id));
    known_.emplace(id, range);
    return range;
  }

  /// What is read through an edge, the fill of a padding included.
  MaybeRange of(const Edge& edge) {
    MaybeRange range = of(edge.node);
    if (!range || edge.view.conditions().empty()) return range;
    const Expr fill = edge.view.fill().cast(DType::kI64).as_int64();
    return either(range, Range{fill, fill});
  }

 private:
  static MaybeRange either(const MaybeRange& a, const MaybeRange& b) {
    if (!a || !b) return std::nullopt;
    return Range{symbolic::min(a->lo, b->lo), symbolic::max(a->hi, b->hi)};
  }

  MaybeRange find(const Node& node) {
    if (!graph::is_integer(node.dtype())) return std::nullopt;
    switch (node.op) {
      case Op::kConstant:
        return of_array(node.attribute<graph::ConstantAttribute>().value);
      case Op::kIota:
        return of_iota(node);
      case Op::kArgSort:
        return Range{0, node.shape().back() - 1};
      case Op::kCopy:
      case Op::kGraphBreak:
      case Op::kPrint:
      case Op::kDiff:
        return of(node.operands[0]);
      case Op::kCast:
        return of_cast(node);
      case Op::kGather:
        return of(node.operands[1]);
      case Op::kSelect:
        return either(of(node.operands[1]), of(node.operands[2]));
      default:
        return of_dtype(node.dtype());
    }
  }

  static MaybeRange of_array(const graph::Array& array) {
    if (array.size() == 0) return Range{0, 0};
    const std::vector<int64_t> values = array.to_vector<int64_t>();
    const auto [lo, hi] = std::minmax_element(values.begin(), values.end());
    return Range{*lo, *hi};
  }

  static MaybeRange of_iota(const Node& node) {
    const symbolic::Interval bounds = node.attribute<graph::IotaAttribute>().value.bounds();
    // Narrow dtypes wrap.
    const MaybeRange all = of_dtype(node.dtype());
    if (!bounds.is_finite()) return std::nullopt;
    if (all && !(provably_ge(bounds.lo, all->lo) && provably_ge(all->hi, bounds.hi))) return all;
    return Range{bounds.lo, bounds.hi};
  }

  MaybeRange of_cast(const Node& node) {
    const MaybeRange before = of(node.operands[0]);
    const MaybeRange all = of_dtype(node.dtype());
    if (!before || !all) return node.dtype() == DType::kI64 ? before : all;
    return provably_ge(before->lo, all->lo) && provably_ge(all->hi, before->hi) ? before : all;
  }

  /// 64 bits say nothing.
  static MaybeRange of_dtype(DType dtype) {
    const int bits = graph::bits(dtype);
    if (!graph::is_integer(dtype) || bits == 64) return std::nullopt;
    if (graph::is_unsigned(dtype)) return Range{0, (int64_t{1} << bits) - 1};
    return Range{-(int64_t{1} << (bits - 1)), (int64_t{1} << (bits - 1)) - 1};
  }

  const Graph& graph_;
  std::map<NodeId, MaybeRange> known_;
};

std::vector<NodeId> live_nodes(const Graph& graph) {
  std::vector<NodeId> wanted;
  for (const graph::Output& output : graph.outputs()) wanted.push_back(output.edge.node);
  for (const NodeId id : graph.ids())
    if (graph::has_effect(graph.node(id).op)) wanted.push_back(id);
  return graph::upstream(graph, wanted);
}

bool follows_from_dims(const Graph& graph, NodeId node) {
  for (const NodeId id : graph::upstream(graph, std::span(&node, 1))) {
    const Op op = graph.node(id).op;
    if (op == Op::kInput || graph::info(op).op_class == graph::OpClass::kBarrier) return false;
  }
  return true;
}

bool is_proved(const graph::View& view) {
  for (size_t d = 0; d < view.index().size(); ++d) {
    const Expr& index = view.index()[d];
    // Where a padding holds, its own bounds do.
    const bool guarded = std::any_of(
        view.conditions().begin(), view.conditions().end(), [&](const graph::Condition& each) {
          return each.value == index && provably_ge(view.source()[d], each.extent);
        });
    if (guarded) continue;
    if (!provably_ge(index, 0) || !provably_less(index, view.source()[d])) return false;
  }
  return true;
}

template <typename T>
bool all_below(const std::byte* data, int64_t count, int64_t bound) {
  const T* values = reinterpret_cast<const T*>(data);
  bool fine = true;
  for (int64_t i = 0; i < count; ++i) {
    const auto value = static_cast<int64_t>(values[i]);
    fine &= value >= 0 && value < bound;
  }
  return fine;
}

}  // namespace

std::vector<IndexCheck> index_checks(const Graph& graph) {
  std::vector<IndexCheck> result;
  Ranges ranges(graph);
  for (const NodeId id : live_nodes(graph)) {
    const Node& node = graph.node(id);
    if (node.op != Op::kGather) continue;
    const Expr extent = node.operands[1].view.domain().back();
    const MaybeRange range = ranges.of(node.operands[0]);
    if (range && provably_ge(range->lo, 0) && provably_less(range->hi, extent) &&
        is_proved(node.operands[1].view))
      continue;
    result.push_back({id, follows_from_dims(graph, node.operands[0].node)});
  }
  return result;
}

void check_positions(const Node& gather, const graph::Array& positions,
                     const std::vector<symbolic::Binding>& dims) {
  const int64_t extent = graph::evaluate_shape(gather.operands[1].view.domain(), dims).back();
  graph::ArraySource source(positions, gather.operands[0].view, dims, "gather");
  graph::check_positions(source, extent, graph::evaluate_shape(gather.shape(), dims));
  if (stays_inside(gather.operands[1].view, dims)) return;
  // What is chosen may lie outside of the data, as some of it does.
  const graph::IndexWalker data(gather.operands[1].view, dims, "gather");
  graph::Block block;
  const int64_t count = graph::element_count(graph::evaluate_shape(gather.shape(), dims));
  for (int64_t begin = 0; begin < count; begin += graph::kBlockSize) {
    const int64_t some = std::min(graph::kBlockSize, count - begin);
    source.read(begin, some, block);
    for (int64_t i = 0; i < some; ++i)
      static_cast<void>(data.at((begin + i) * extent + block.integers[static_cast<size_t>(i)]));
  }
}

bool stays_inside(const graph::View& view, const std::vector<symbolic::Binding>& dims) {
  // The view knows that an index which divides by an extent of 0 is never read.
  return is_proved(view) || is_proved(view.substitute(dims));
}

bool quickly_in_range(DType dtype, const std::byte* positions, int64_t count, int64_t bound) {
  switch (dtype) {
    case DType::kI64:
      return all_below<int64_t>(positions, count, bound);
    case DType::kI32:
      return all_below<int32_t>(positions, count, bound);
    default:
      return false;
  }
}

std::vector<ViewCheck> view_checks(const Graph& graph) {
  std::vector<ViewCheck> result;
  const auto add = [&](const graph::View& view, std::string_view operation) {
    if (!is_proved(view)) result.push_back({view, std::string(operation)});
  };
  for (const NodeId id : live_nodes(graph)) {
    const Node& node = graph.node(id);
    for (size_t k = 0; k < node.operands.size(); ++k)
      // Of what a gather reads, only the chosen positions count.
      if (node.op != Op::kGather || k == 0) add(node.operands[k].view, graph::name(node.op));
  }
  for (const graph::Output& output : graph.outputs()) add(output.edge.view, "output");
  return result;
}

void check_view(const ViewCheck& check, const std::vector<symbolic::Binding>& dims) {
  const graph::IndexWalker walker(check.view, dims, check.operation);
  std::vector<graph::IndexRun> runs;
  for (int64_t begin = 0; begin < walker.size(); begin += graph::kBlockSize)
    walker.walk(begin, std::min(graph::kBlockSize, walker.size() - begin), runs);
}

}  // namespace luminal::plan

#include "luminal/graph/pattern.h"

#include "luminal/graph/rewriter.h"
#include "luminal/graph/uniform.h"

namespace luminal::graph::pattern {
namespace {

template <typename T>
const T& captured(const std::map<std::string, T, std::less<>>& map, std::string_view name,
                  std::string_view kind) {
  auto found = map.find(name);
  if (found == map.end())
    throw UserError("pattern", "there is no {} captured as '{}'; name it in the pattern", kind,
                    name);
  return found->second;
}

}  // namespace

/// One pattern and what is asked of it.
struct Pattern::Impl {
  enum class Kind { kAny, kOp, kSource, kConstant };

  Kind kind = Kind::kAny;
  Op op = Op::kInput;
  std::vector<Pattern> operands;
  std::optional<double> value;  // kConstant: this one, or any
  std::string scalar_name;
  std::string edge_name;
  std::string view_name;
  std::vector<Predicate> predicates;
  std::vector<std::function<bool(const Node&)>> node_predicates;
};

/// Matches by trying; a failed try leaves the match as it was.
class Matcher {
 public:
  explicit Matcher(const Graph& graph) : graph_(graph) {}

  std::optional<Match> at_root(const Node& node, const Pattern& pattern) {
    Match match;
    match.root_ = node;
    const Pattern::Impl& impl = *pattern.impl_;
    const bool plain =
        impl.kind == Pattern::Impl::Kind::kAny || impl.kind == Pattern::Impl::Kind::kOp;
    if (!plain) throw UserError("pattern", "the root of a pattern must be an op");
    if (!node_fits(impl, node, match)) return std::nullopt;
    return match;
  }

 private:
  using Impl = Pattern::Impl;

  bool node_fits(const Impl& impl, const Node& node, Match& match) {
    for (const auto& predicate : impl.node_predicates)
      if (!predicate(node)) return false;
    if (impl.kind == Impl::Kind::kAny) return true;
    if (node.op != impl.op) return false;
    if (impl.kind == Impl::Kind::kSource) return true;
    if (node.operands.size() != impl.operands.size()) return false;
    if (operands_fit(impl, node, {0, 1, 2}, match)) return true;
    return info(node.op).commutative && operands_fit(impl, node, {1, 0, 2}, match);
  }

  /// Operand k of the pattern against operand order[k] of the node (beyond three: k itself).
  bool operands_fit(const Impl& impl, const Node& node, std::array<size_t, 3> order, Match& match) {
    Match trial = match;
    for (size_t k = 0; k < impl.operands.size(); ++k) {
      const size_t position = k < order.size() ? order[k] : k;
      if (!edge_fits(*impl.operands[k].impl_, node.operands[position], trial)) return false;
    }
    match = std::move(trial);
    return true;
  }

  bool edge_fits(const Impl& impl, const Edge& edge, Match& match) {
    if (impl.kind == Impl::Kind::kConstant) {
      if (!constant_fits(impl, edge, match)) return false;
    } else {
      if (!view_fits(impl, edge, match)) return false;
      if (!node_fits(impl, graph_.node(edge.node), match)) return false;
    }
    for (const Predicate& predicate : impl.predicates)
      if (!predicate(graph_, edge)) return false;
    return bind(match.edges_, impl.edge_name, edge);
  }

  bool view_fits(const Impl& impl, const Edge& edge, Match& match) {
    if (!impl.view_name.empty()) return bind(match.views_, impl.view_name, edge.view);
    return impl.kind != Impl::Kind::kOp || edge.view.is_identity();
  }

  bool constant_fits(const Impl& impl, const Edge& edge, Match& match) {
    const std::optional<Scalar> value = uniform_value(graph_, edge);
    if (!value) return false;
    // Both as doubles: 0.1 is not a value of f32, and a pattern that says 0.1 means the nearest.
    if (impl.value && !(*value == Scalar::of(value->dtype(), *impl.value))) return false;
    return bind(match.scalars_, impl.scalar_name, *value);
  }

  /// Captures, or compares with what was captured by that name before.
  template <typename T>
  static bool bind(std::map<std::string, T, std::less<>>& map, const std::string& name,
                   const T& value) {
    if (name.empty()) return true;
    auto [entry, added] = map.emplace(name, value);
    return added || entry->second == value;
  }

  const Graph& graph_;
};

const Edge& Match::edge(std::string_view name) const { return captured(edges_, name, "edge"); }
const View& Match::view(std::string_view name) const { return captured(views_, name, "view"); }
const Scalar& Match::scalar(std::string_view name) const {
  return captured(scalars_, name, "scalar");
}

std::optional<Edge> Match::edge_through(std::string_view name, std::string_view view_name) const {
  const Edge& inner = edge(name);
  const View& outer = view(view_name);
  if (!outer.conditions().empty() || inner.view.domain() != outer.source()) return std::nullopt;
  std::optional<View> composed = View::compose(inner.view, outer);
  if (!composed) return std::nullopt;
  return Edge{std::move(*composed), inner.node};
}

Pattern Pattern::capture(std::string name) const {
  auto copy = std::make_shared<Impl>(*impl_);
  copy->edge_name = std::move(name);
  return Pattern(std::move(copy));
}

Pattern Pattern::where(Predicate predicate) const {
  auto copy = std::make_shared<Impl>(*impl_);
  copy->predicates.push_back(std::move(predicate));
  return Pattern(std::move(copy));
}

Pattern Pattern::where_node(std::function<bool(const Node& node)> predicate) const {
  auto copy = std::make_shared<Impl>(*impl_);
  copy->node_predicates.push_back(std::move(predicate));
  return Pattern(std::move(copy));
}

Pattern Pattern::through(std::string view_name) const {
  auto copy = std::make_shared<Impl>(*impl_);
  copy->view_name = std::move(view_name);
  return Pattern(std::move(copy));
}

Pattern any(std::string name) {
  auto impl = std::make_shared<Pattern::Impl>();
  impl->edge_name = std::move(name);
  return Pattern(std::move(impl));
}

Pattern op(Op op, std::vector<Pattern> operands) {
  const int arity = info(op).arity;
  if (arity >= 0 && arity != static_cast<int>(operands.size()))
    throw UserError("pattern", "{} takes {} operands, the pattern has {}", name(op), arity,
                    operands.size());
  auto impl = std::make_shared<Pattern::Impl>();
  impl->kind = Pattern::Impl::Kind::kOp;
  impl->op = op;
  impl->operands = std::move(operands);
  return Pattern(std::move(impl));
}

Pattern constant(double value) {
  auto impl = std::make_shared<Pattern::Impl>();
  impl->kind = Pattern::Impl::Kind::kConstant;
  impl->value = value;
  return Pattern(std::move(impl));
}

Pattern constant(std::string name) {
  auto impl = std::make_shared<Pattern::Impl>();
  impl->kind = Pattern::Impl::Kind::kConstant;
  impl->scalar_name = std::move(name);
  return Pattern(std::move(impl));
}

Pattern source(Op op, std::string name) {
  if (info(op).op_class != OpClass::kSource)
    throw UserError("pattern", "{} is no source; use pattern::op", graph::name(op));
  auto impl = std::make_shared<Pattern::Impl>();
  impl->kind = Pattern::Impl::Kind::kSource;
  impl->op = op;
  impl->edge_name = std::move(name);
  return Pattern(std::move(impl));
}

std::optional<Match> match_node(const Graph& graph, const Node& node, const Pattern& pattern) {
  return Matcher(graph).at_root(node, pattern);
}

std::vector<FoundMatch> find_matches(const Graph& graph, const Pattern& pattern) {
  std::vector<FoundMatch> found;
  for (NodeId id : graph.ids())
    if (std::optional<Match> match = match_node(graph, graph.node(id), pattern))
      found.push_back({id, std::move(*match)});
  return found;
}

Pass rewrite_pass(std::string name, Pattern pattern, Builder builder) {
  auto replacement = [name, pattern = std::move(pattern), builder = std::move(builder)](
                         Rewriter& rewriter, const Node& node) -> std::optional<Edge> {
    const std::optional<Match> match = match_node(rewriter.to(), node, pattern);
    if (!match) return std::nullopt;
    std::optional<Edge> value = builder(rewriter.to(), *match);
    if (!value) return std::nullopt;
    const TensorType type{rewriter.to().node(value->node).dtype(), value->view.domain()};
    if (type != node.type)
      throw UserError(name, "the replacement is {} but what it replaces is {}", to_string(type),
                      to_string(node.type));
    return value;
  };
  return node_pass(std::move(name), std::move(replacement));
}

Edge uniform(Graph& to, const Scalar& value, const Shape& shape) {
  return add_uniform(to, value, shape);
}

}  // namespace luminal::graph::pattern

// A small pattern matcher, so that a pass of your own is a pattern and a few lines that build what
// takes its place. Patterns are values; they are put together like the expressions they match.
//
//   // relu(x) * relu(x) is relu(x)^2: a pass that says so with a power.
//   namespace pt = luminal::graph::pattern;
//   pt::Pattern relu = pt::op(Op::kMax, pt::any("x"), pt::constant(0.0));
//   Pass pass = pt::rewrite_pass(
//       "square_of_relu", pt::op(Op::kMul, relu.capture("r"), pt::any("r")),
//       [](Graph& to, const pt::Match& match) -> std::optional<Edge> {
//         Edge r = match.edge("r");
//         Scalar two = Scalar::of(to.node(r.node).dtype(), 2.0);
//         return to.whole(to.add(Op::kPow, {r, pt::uniform(to, two, r.view.domain())}));
//       });
//
// A pattern below the root is matched against an operand: a node seen through a view. `any` takes
// whatever view there is, as part of what it captures. `op` asks that the node is seen whole,
// unless through() allows and captures the view. `constant` asks for one value in every element,
// however it is broadcast. A name captured twice must be the same edge both times.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "luminal/graph/pass.h"

namespace luminal::graph::pattern {

/// What a pattern was found to stand for. Edges are of the graph that was matched.
class Match {
 public:
  /// The captured edge; throws UserError if nothing was captured by that name.
  const Edge& edge(std::string_view name) const;
  /// The view captured by through().
  const View& view(std::string_view name) const;
  /// The value captured by constant(name).
  const Scalar& scalar(std::string_view name) const;
  /// An edge captured inside of a node that was matched through(view_name), as the outside sees it.
  /// Nothing if the views cannot be composed, or if the view pads (then the outside sees the fill).
  std::optional<Edge> edge_through(std::string_view name, std::string_view view_name) const;
  /// The node that the root of the pattern matched. Its operands are edges of the matched graph.
  const Node& root() const { return root_; }

 private:
  friend class Matcher;
  Node root_;
  std::map<std::string, Edge, std::less<>> edges_;
  std::map<std::string, View, std::less<>> views_;
  std::map<std::string, Scalar, std::less<>> scalars_;
};

/// Asked of an edge that fits so far.
using Predicate = std::function<bool(const Graph& graph, const Edge& edge)>;

/// A pattern: a value, cheap to copy.
class Pattern {
 public:
  /// Captures the matched edge.
  Pattern capture(std::string name) const;
  /// Matches only where the predicate holds. The root of a pattern is no edge yet: use where_node.
  Pattern where(Predicate predicate) const;
  /// Matches only nodes for which this holds.
  Pattern where_node(std::function<bool(const Node& node)> predicate) const;
  /// Lets an op be seen through any view and captures it.
  Pattern through(std::string view_name) const;

 private:
  friend class Matcher;
  friend Pattern any(std::string name);
  friend Pattern op(Op op, std::vector<Pattern> operands);
  friend Pattern constant(double value);
  friend Pattern constant(std::string name);
  friend Pattern source(Op op, std::string name);

  struct Impl;
  explicit Pattern(std::shared_ptr<const Impl> impl) : impl_(std::move(impl)) {}
  std::shared_ptr<const Impl> impl_;
};

/// Any value; captured if `name` is not empty.
Pattern any(std::string name = "");
/// A node of this op with operands that match. For commutative ops in either order.
Pattern op(Op op, std::vector<Pattern> operands);
/// op(Op::kAdd, x, y)
template <typename... Patterns>
Pattern op(Op which, const Pattern& first, const Patterns&... rest) {
  return op(which, std::vector<Pattern>{first, rest...});
}
/// This number in every element, in whatever dtype; -0.0 and 0.0 differ, NaN is NaN.
Pattern constant(double value);
/// Any one number in every element; its value is captured.
Pattern constant(std::string name);
/// Any view of an input, a constant or an iota; captured if `name` is not empty.
Pattern source(Op op, std::string name = "");

/// The matches at every node of the graph, by ascending node; the first match of each node.
struct FoundMatch {
  NodeId node;  ///< where it begins
  Match match;  ///< what the pattern's parts are
};
std::vector<FoundMatch> find_matches(const Graph& graph, const Pattern& pattern);

/// The match of one node whose operands are edges of `graph`, if it matches.
std::optional<Match> match_node(const Graph& graph, const Node& node, const Pattern& pattern);

/// Builds what takes the place of a match in the new graph, of which the match's edges are. Nothing
/// means that the node shall stay.
using Builder = std::function<std::optional<Edge>(Graph& to, const Match& match)>;

/// A pass that replaces every match. Matches are looked for in the new graph, operands first, so
/// one replacement may enable the next. A replacement of another type is a UserError.
Pass rewrite_pass(std::string name, Pattern pattern, Builder builder);

/// Adds a scalar constant and gives it broadcast to `shape`: what builders often need.
Edge uniform(Graph& to, const Scalar& value, const Shape& shape);

}  // namespace luminal::graph::pattern

// Passes: functions from a graph to an equal graph, with a map that says where every node went.
// They compose into named lists, which time every step, can be looped until nothing changes, and
// can verify the graph after every pass.
//
//   PassList list("tidy");
//   list.add(common_subexpressions()).add(dead_nodes());
//   PassListResult result = fixed_point(list, 10).run(graph);
//   Edge where_it_went = *result.map[old_id.value];
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "luminal/graph/graph.h"

namespace luminal::graph {

/// Where each node of the old graph went, by its id: an edge of the new graph that has the old
/// node's value, shape and dtype. Nothing if the value is not computed any more.
using NodeMap = std::vector<std::optional<Edge>>;

/// The map that first follows `first`, then `second`. An entry is lost where the two views cannot
/// be composed (they pad with different fills).
NodeMap compose(const NodeMap& first, const NodeMap& second);

/// Every node stays what it is.
NodeMap identity_map(const Graph& graph);

/// The edge of the new graph that has the value of an edge of the old one.
std::optional<Edge> follow(const NodeMap& map, const Edge& edge);

/// What a pass gives.
struct PassResult {
  Graph graph;  ///< the new graph
  NodeMap map;  ///< from nodes of the old one
};

/// A transformation of graphs that changes no result. Its function must keep inputs, outputs (name,
/// order, value) and effects (in order).
struct Pass {
  std::string name;                             ///< in reports
  std::function<PassResult(const Graph&)> run;  ///< must be deterministic
};

/// What one step of a list did.
struct PassStep {
  std::string name;           ///< of the pass, with the lists around it
  int round = 0;              ///< 0 unless the step is in a loop
  double microseconds = 0.0;  ///< that it took
  size_t nodes_before = 0;    ///< in the graph it was given
  size_t nodes_after = 0;     ///< in the graph it gave
  bool changed = false;       ///< whether it did anything
};

/// How to run a list.
struct PassOptions {
  /// Check the graph after every pass; a broken one throws InternalError naming the pass.
  bool verify = false;
};

/// The graph after all passes, where nodes went, and what each step took.
struct PassListResult {
  Graph graph;                  ///< after all of them
  NodeMap map;                  ///< from nodes of the first graph
  std::vector<PassStep> steps;  ///< in the order they ran

  /// One line per step, and the total.
  std::string report() const;
};

/// A named sequence of passes and of other lists.
class PassList {
 public:
  explicit PassList(std::string name) : name_(std::move(name)) {}  ///< an empty list

  /// Appends a pass; returns this list.
  PassList& add(Pass pass);
  /// Appends a list, which runs as a whole; returns this list.
  PassList& add(PassList list);

  const std::string& name() const { return name_; }  ///< in reports
  size_t size() const { return items_.size(); }      ///< passes and lists in it
  /// How often the whole list runs at most.
  int max_rounds() const { return max_rounds_; }
  /// Runs them in order, as often as the list says.
  PassListResult run(const Graph& graph, const PassOptions& options = {}) const;

 private:
  friend PassList fixed_point(PassList list, int max_rounds);
  bool run_into(PassListResult& result, const PassOptions& options,
                const std::string& prefix) const;

  std::string name_;
  std::vector<std::variant<Pass, PassList>> items_;
  int max_rounds_ = 1;
};

/// The list, run again and again until it changes nothing, at most `max_rounds` times.
PassList fixed_point(PassList list, int max_rounds);

/// What every graph goes through before it is compiled: folding, identities, common
/// subexpressions and dead nodes to a fixed point, then depth-first order.
PassList default_passes();

}  // namespace luminal::graph

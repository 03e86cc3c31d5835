#include "luminal/graph/pass.h"

#include <fmt/format.h>

#include <chrono>

#include "luminal/graph/common_subexpressions.h"
#include "luminal/graph/constant_folding.h"
#include "luminal/graph/dead_nodes.h"
#include "luminal/graph/depth_first_order.h"
#include "luminal/graph/identities.h"
#include "luminal/graph/query.h"
#include "luminal/graph/verify.h"
#include "luminal/support/trace.h"

namespace luminal::graph {
namespace {

using Clock = std::chrono::steady_clock;

void verify_after(const Pass& pass, const Graph& graph) {
  const std::vector<std::string> found = problems(graph);
  if (!found.empty())
    throw InternalError(
        fmt::format("the pass '{}' broke the graph:\n  {}", pass.name, fmt::join(found, "\n  ")));
}

/// Runs one pass over the graph of `result`; true if it changed something.
bool step(const Pass& pass, PassListResult& result, const PassOptions& options,
          const std::string& name, int round) {
  support::TraceSpan span("pass", name);
  const Clock::time_point begin = Clock::now();
  PassResult after = pass.run(result.graph);
  const std::chrono::duration<double, std::micro> taken = Clock::now() - begin;
  if (after.map.size() != result.graph.size())
    throw InternalError(fmt::format("the pass '{}' maps {} nodes of {}", pass.name,
                                    after.map.size(), result.graph.size()));
  if (options.verify) verify_after(pass, after.graph);
  const bool changed = !identical(result.graph, after.graph);
  result.steps.push_back(
      {name, round, taken.count(), result.graph.size(), after.graph.size(), changed});
  if (span.is_on())
    span.note("nodes", fmt::format("{} to {}", result.graph.size(), after.graph.size()));
  result.map = compose(result.map, after.map);
  result.graph = std::move(after.graph);
  return changed;
}

}  // namespace

NodeMap identity_map(const Graph& graph) {
  NodeMap map;
  for (NodeId id : graph.ids()) map.push_back(graph.whole(id));
  return map;
}

std::optional<Edge> follow(const NodeMap& map, const Edge& edge) {
  const std::optional<Edge>& target = map.at(edge.node.value);
  if (!target) return std::nullopt;
  if (target->view == View::identity(target->view.source())) return Edge{edge.view, target->node};
  std::optional<View> view = View::compose(target->view, edge.view);
  if (!view) return std::nullopt;
  return Edge{std::move(*view), target->node};
}

NodeMap compose(const NodeMap& first, const NodeMap& second) {
  NodeMap map;
  for (const std::optional<Edge>& edge : first)
    map.push_back(edge ? follow(second, *edge) : std::nullopt);
  return map;
}

PassList& PassList::add(Pass pass) {
  items_.emplace_back(std::move(pass));
  return *this;
}

PassList& PassList::add(PassList list) {
  items_.emplace_back(std::move(list));
  return *this;
}

bool PassList::run_into(PassListResult& result, const PassOptions& options,
                        const std::string& prefix) const {
  bool ever_changed = false;
  for (int round = 0; round < max_rounds_; ++round) {
    bool changed = false;
    for (const auto& item : items_) {
      if (const auto* pass = std::get_if<Pass>(&item))
        changed |= step(*pass, result, options, prefix + pass->name, round);
      else
        changed |= std::get<PassList>(item).run_into(
            result, options, prefix + std::get<PassList>(item).name() + "/");
    }
    ever_changed |= changed;
    if (!changed) break;
  }
  return ever_changed;
}

PassListResult PassList::run(const Graph& graph, const PassOptions& options) const {
  const support::TraceSpan span("compile", "passes");
  PassListResult result{graph, identity_map(graph), {}};
  run_into(result, options, "");
  return result;
}

PassList fixed_point(PassList list, int max_rounds) {
  if (max_rounds < 1)
    throw UserError("fixed_point", "max_rounds must be at least 1, got {}", max_rounds);
  list.max_rounds_ = max_rounds;
  return list;
}

PassList default_passes() {
  PassList simplify("simplify");
  simplify.add(constant_folding()).add(identities()).add(common_subexpressions()).add(dead_nodes());
  PassList all("default");
  all.add(fixed_point(std::move(simplify), 8)).add(depth_first_order());
  return all;
}

std::string PassListResult::report() const {
  std::string text;
  double total = 0.0;
  for (const PassStep& step : steps) {
    text += fmt::format("{:<40} round {:<2} {:>10.1f} us {:>7} -> {:>7} nodes{}\n", step.name,
                        step.round, step.microseconds, step.nodes_before, step.nodes_after,
                        step.changed ? "" : "  (no change)");
    total += step.microseconds;
  }
  return text + fmt::format("{:<40} {:>19.1f} us\n", "total", total);
}

}  // namespace luminal::graph

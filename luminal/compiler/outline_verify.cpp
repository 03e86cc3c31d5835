#include <fmt/format.h>

#include <algorithm>

#include "luminal/compiler/outline.h"
#include "luminal/compiler/outline_labels.h"

namespace luminal::compiler {
namespace {

using graph::Edge;

class Checker {
 public:
  Checker(const Outline& outline, const graph::Graph& graph)
      : outline_(outline), graph_(graph), labels_(graph), owner_(graph.size(), kNobody) {}

  std::vector<std::string> run() {
    size_t number = 0;
    for (const Region& region : outline_.regions)
      for (const std::vector<NodeId>& instance : region.instances)
        claim(region, instance, number++);
    for (const Region& region : outline_.regions) check(region);
    return std::move(problems_);
  }

 private:
  static constexpr size_t kNobody = SIZE_MAX;

  template <typename... Arguments>
  void complain(const Region& region, fmt::format_string<Arguments...> format,
                Arguments&&... arguments) {
    problems_.push_back(region.name + ": " +
                        fmt::format(format, std::forward<Arguments>(arguments)...));
  }

  void claim(const Region& region, const std::vector<NodeId>& instance, size_t number) {
    for (NodeId id : instance) {
      if (owner_[id.value] != kNobody) complain(region, "%{} is in two places", id.value);
      owner_[id.value] = number;
    }
  }

  void check(const Region& region) {
    for (size_t k = 0; k < region.instances.size(); ++k) {
      if (region.instances[k].size() != region.body_size()) {
        complain(region, "instance {} has {} nodes, not {}", k, region.instances[k].size(),
                 region.body_size());
        return;
      }
      for (size_t p = 0; p < region.body_size(); ++p) check_node(region, k, p);
    }
    for (const RegionInput& input : region.inputs) check_input(region, input);
  }

  void check_node(const Region& region, size_t k, size_t p) {
    const NodeId ours = region.instances[0][p], theirs = region.instances[k][p];
    if (!labels_.alike(ours, theirs))
      return complain(region, "%{} and %{} at position {} differ", ours.value, theirs.value, p);
    if (!labels_.same_outputs(ours, theirs) && !is_carried(region, p))
      return complain(region, "%{} and %{} are not asked for alike", ours.value, theirs.value);
    const std::vector<Edge>& first = graph_.node(ours).operands;
    const std::vector<Edge>& other = graph_.node(theirs).operands;
    for (size_t o = 0; o < first.size(); ++o)
      if (!corresponds(region, first[o].node, k, other[o].node))
        complain(region, "operand {} of %{} is no counterpart of that of %{}", o, theirs.value,
                 ours.value);
  }

  static bool is_carried(const Region& region, size_t position) {
    return std::any_of(region.inputs.begin(), region.inputs.end(), [&](const RegionInput& input) {
      return input.kind == RegionInputKind::kCarried && input.from == position;
    });
  }

  /// `theirs` is in instance k what `ours` is in instance 0.
  bool corresponds(const Region& region, NodeId ours, size_t k, NodeId theirs) const {
    if (is_free(graph_.node(ours))) return labels_.history(ours) == labels_.history(theirs);
    for (const RegionInput& input : region.inputs)
      if (input.nodes[0] == ours && input.nodes[k] == theirs) return true;
    const std::vector<NodeId>& mine = region.instances[0];
    for (size_t p = 0; p < mine.size(); ++p)
      if (mine[p] == ours) return region.instances[k][p] == theirs;
    return false;
  }

  void check_input(const Region& region, const RegionInput& input) {
    if (input.nodes.size() != region.instances.size())
      return complain(region, "an input is given for {} instances of {}", input.nodes.size(),
                      region.instances.size());
    for (size_t k = 0; k < input.nodes.size(); ++k) {
      const NodeId id = input.nodes[k];
      switch (input.kind) {
        case RegionInputKind::kCarried:
          if (k > 0 && region.instances[k - 1][input.from] != id)
            complain(region, "%{} is not what instance {} hands on", id.value, k - 1);
          break;
        case RegionInputKind::kParameter:
          if (!is_data(graph_.node(id))) complain(region, "parameter %{} is computed", id.value);
          break;
        case RegionInputKind::kInvariant:
          if (id != input.nodes[0]) complain(region, "invariant %{} varies", id.value);
          break;
      }
    }
  }

  const Outline& outline_;
  const graph::Graph& graph_;
  NodeLabels labels_;
  std::vector<size_t> owner_;  // by node: the number of an instance
  std::vector<std::string> problems_;
};

}  // namespace

std::vector<std::string> problems(const Outline& outline, const graph::Graph& graph) {
  return Checker(outline, graph).run();
}

}  // namespace luminal::compiler

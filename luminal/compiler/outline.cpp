#include "luminal/compiler/outline.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <unordered_map>

#include "luminal/compiler/outline_chain.h"
#include "luminal/compiler/outline_match.h"
#include "luminal/graph/query.h"
#include "luminal/graph/repeat.h"
#include "luminal/kernel/estimate.h"

namespace luminal::compiler {
namespace {

using graph::Edge;
using graph::Node;

/// Runs are looked at node by node until so many times the graph was looked at, and at most so many
/// runs of one kind of border.
constexpr size_t kLooks = 10;
constexpr size_t kRunsPerBorder = 3;

/// Nodes at equal places of what may be instances.
struct Borders {
  std::vector<NodeId> nodes;
  int readers = 0;      // of one of them
  double elements = 0;  // of one of them
};

class Finder {
 public:
  Finder(const graph::Graph& graph, const OutlineOptions& options)
      : graph_(graph), options_(options), labels_(graph), matcher_(graph, labels_) {}

  Outline run() {
    find_declared();
    // Seen from near, the first and last of a few instances look like the others; seen from
    // further, borders are not mixed up with nodes inside.
    for (const int radius : {options_.radius, 2 * options_.radius + 2}) {
      hashes_ = labels_.neighbourhoods(radius);
      while (outline_.regions.size() < options_.most_regions) {
        std::optional<Region> best = best_region();
        if (!best) break;
        best->name = fmt::format("region{}", outline_.regions.size());
        add(std::move(*best));
      }
    }
    return std::move(outline_);
  }

 private:
  void add(Region region) {
    matcher_.accept(region);
    outline_.regions.push_back(std::move(region));
  }

  static size_t saved(const Region& region) {
    return (region.instances.size() - 1) * region.body_size();
  }

  /// What a region saves, less where it hands on more than one value: each is stored in memory.
  static double value(size_t saved, size_t carried) {
    return static_cast<double>(saved) / static_cast<double>(carried * carried);
  }
  static double value(const Region& region) {
    const auto carried = std::count_if(
        region.inputs.begin(), region.inputs.end(),
        [](const RegionInput& input) { return input.kind == RegionInputKind::kCarried; });
    return value(saved(region), static_cast<size_t>(std::max<std::ptrdiff_t>(carried, 1)));
  }

  /// Marks of the user, the borders of each repeat in order. The first is where it begins.
  std::map<std::string, std::vector<NodeId>> declared_borders() const {
    std::map<std::string, std::map<int64_t, graph::RepeatMark>> marks;
    for (const graph::NamedDefinition& definition : graph_.named())
      if (auto mark = graph::repeat_mark(definition); mark && mark->value == 0)
        marks[mark->repeat].emplace(mark->instance, std::move(*mark));
    std::map<std::string, std::vector<NodeId>> result;
    for (const auto& [name, instances] : marks) {
      std::vector<NodeId>& borders = result[name];
      for (const auto& [k, mark] : instances) {
        if (borders.empty()) borders.push_back(mark.taken.node);
        // A pass may have made an instance into nothing, or taken a mark away.
        if (mark.taken.node == borders.back() && mark.given.node > borders.back())
          borders.push_back(mark.given.node);
      }
    }
    return result;
  }

  /// Every run of alike instances in a declared repeat is a region.
  void find_declared() {
    for (auto& [name, borders] : declared_borders()) {
      if (borders.size() < 3) continue;
      const Segments segments = cut_at(graph_, labels_, borders, matcher_.taken(), graph_.size());
      std::vector<bool> used(segments.borders.size(), false);
      size_t parts = 0;
      for (const Run& run : find_runs(segments)) {
        if (run.instances == 1) break;
        const size_t end = run.first + run.period * run.instances;
        if (std::find(used.begin() + static_cast<std::ptrdiff_t>(run.first),
                      used.begin() + static_cast<std::ptrdiff_t>(end),
                      true) != used.begin() + static_cast<std::ptrdiff_t>(end))
          continue;
        std::optional<Region> region = matcher_.match(segments, run, false);
        if (!region) continue;
        region->name = parts == 0 ? name : fmt::format("{} ({})", name, parts + 1);
        region->declared = true;
        ++parts;
        for (size_t k = run.first; k < end; ++k) used[k] = true;
        add(std::move(*region));
      }
    }
  }

  /// Groups of nodes that look alike, those first that are likely to be good borders: many read
  /// them, and they are small.
  std::vector<Borders> candidates() const {
    std::vector<int> readers(graph_.size(), 0);
    for (const Node& node : graph_.nodes())
      for (size_t k = 0; k < node.operands.size(); ++k)
        if (k == 0 || node.operands[k].node != node.operands[k - 1].node)
          ++readers[node.operands[k].node.value];
    std::unordered_map<uint64_t, size_t> groups;
    std::vector<Borders> result;
    for (uint32_t id = 0; id < graph_.size(); ++id) {
      const Node& node = graph_.nodes()[id];
      if (matcher_.taken()[id] || is_data(node) || is_free(node)) continue;
      const auto [group, fresh] = groups.emplace(hashes_[id], result.size());
      if (fresh) result.push_back({{}, readers[id], 0.0});
      result[group->second].nodes.push_back(NodeId{id});
    }
    std::erase_if(result, [](const Borders& borders) { return borders.nodes.size() < 2; });
    for (Borders& borders : result) {
      borders.elements = 1.0;
      for (const graph::Expr& extent : graph_.node(borders.nodes[0]).shape())
        borders.elements *= kernel::typical_value(extent, {});
    }
    std::stable_sort(result.begin(), result.end(), [](const Borders& a, const Borders& b) {
      if (a.readers != b.readers) return a.readers > b.readers;
      return a.elements < b.elements;
    });
    return result;
  }

  bool worthwhile(const Region& region) const {
    if (region.body_size() < options_.smallest_body ||
        value(region) < static_cast<double>(options_.fewest_saved))
      return false;
    return region.body_size() >= options_.smallest_unnatural_body ||
           matcher_.has_natural_border(region);
  }

  /// Nodes that could still be in a region.
  size_t left() const {
    size_t count = 0;
    for (uint32_t id = 0; id < graph_.size(); ++id) {
      const Node& node = graph_.nodes()[id];
      count += !matcher_.taken()[id] && !is_data(node) && !is_free(node) ? 1 : 0;
    }
    return count;
  }

  /// The best region among the most promising runs.
  std::optional<Region> best_region() {
    struct Attempt {
      size_t segments;
      Run run;
      double value;
    };
    const size_t all = left();
    if (all < options_.fewest_saved) return std::nullopt;
    std::vector<Segments> segments;
    std::vector<Attempt> attempts;
    for (Borders& borders : candidates()) {
      if (segments.size() == options_.most_borders) break;
      segments.push_back(cut_at(graph_, labels_, std::move(borders.nodes), matcher_.taken(),
                                options_.most_carried));
      std::vector<Run> runs = find_runs(segments.back());
      if (runs.size() > kRunsPerBorder) runs.resize(kRunsPerBorder);
      // Nothing can be better than a run that leaves less than one more instance.
      if (!runs.empty() && 10 * runs[0].saved >= 9 * all && runs[0].carried == 1) {
        std::optional<Region> region = matcher_.match(segments.back(), runs[0], true);
        if (region && worthwhile(*region) &&
            all - region->instances.size() * region->body_size() < region->body_size())
          return region;
      }
      for (const Run& run : runs)
        attempts.push_back({segments.size() - 1, run, value(run.saved, run.carried)});
    }
    std::stable_sort(attempts.begin(), attempts.end(),
                     [](const Attempt& a, const Attempt& b) { return a.value > b.value; });
    std::optional<Region> best;
    size_t looked_at = 0;
    for (const Attempt& attempt : attempts) {
      // Instances before the first of a run may add as much again, hardly ever more.
      if (best && 2 * attempt.value < value(*best)) break;
      if (looked_at > kLooks * graph_.size()) break;
      looked_at += 2 * attempt.run.saved;
      std::optional<Region> region = matcher_.match(segments[attempt.segments], attempt.run, true);
      if (!region || !worthwhile(*region)) continue;
      if (!best || value(*region) > value(*best)) best = std::move(region);
    }
    return best;
  }

  const graph::Graph& graph_;
  const OutlineOptions& options_;
  NodeLabels labels_;
  RegionMatcher matcher_;
  std::vector<uint64_t> hashes_;
  Outline outline_;
};

std::string described(const graph::Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  std::string text = fmt::format("%{}", id.value);
  if (const auto* input = std::get_if<graph::InputAttribute>(&node.attributes))
    text += fmt::format(" \"{}\"", input->name);
  else
    text += fmt::format(" {}", graph::name(node.op));
  return text + " " + to_string(node.type);
}

std::string to_string(const RegionInput& input, const graph::Graph& graph) {
  const std::string first = described(graph, input.nodes[0]);
  switch (input.kind) {
    case RegionInputKind::kCarried:
      return fmt::format("  carried {} from {}\n", input.from, first);
    case RegionInputKind::kParameter:
      return fmt::format("  parameter {}, then {}\n", first, described(graph, input.nodes[1]));
    case RegionInputKind::kInvariant:
      return fmt::format("  invariant {}\n", first);
  }
  return "";
}

}  // namespace

Outline find_outline(const graph::Graph& graph, const OutlineOptions& options) {
  return Finder(graph, options).run();
}

std::vector<RegionPlace> region_places(const Outline& outline, size_t nodes) {
  std::vector<RegionPlace> places(nodes);
  for (uint32_t r = 0; r < outline.regions.size(); ++r) {
    const Region& region = outline.regions[r];
    for (uint32_t k = 0; k < region.instances.size(); ++k)
      for (uint32_t p = 0; p < region.instances[k].size(); ++p)
        places[region.instances[k][p].value] = {r, k, p};
  }
  return places;
}

std::string to_string(const Outline& outline, const graph::Graph& graph) {
  std::string text;
  for (const Region& region : outline.regions) {
    text += fmt::format("{}{}: {} instances of {} nodes\n", region.name,
                        region.declared ? " (declared)" : "", region.instances.size(),
                        region.body_size());
    for (const RegionInput& input : region.inputs) text += to_string(input, graph);
    for (size_t position : region.outputs)
      text += fmt::format("  gives {}: {}\n", position,
                          described(graph, region.instances[0][position]));
  }
  return text.empty() ? "nothing repeats\n" : text;
}

}  // namespace luminal::compiler

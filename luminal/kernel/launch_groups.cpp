#include "luminal/kernel/launch_groups.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "luminal/kernel/contraction.h"
#include "luminal/support/check.h"
#include "luminal/support/text.h"

namespace luminal::kernel {
namespace {

using graph::Edge;

constexpr std::string_view kApart = "apart";
/// Launches that stand farther apart in the order of a plan are no neighbours: results would have
/// to wait for long.
constexpr size_t kNear = 8;
/// Of a large program without repeats only so much is joined at once, which bounds the time.
constexpr size_t kMostJoins = 64;
/// What is computed once for many runs counts less than this.
constexpr double kSeldom = 0.5;

/// What may share a launch by the rule must be alike in kind, so that one schedule suits both.
bool has_contraction(Arena& arena, const Kernel& kernel) {
  for (const Root& root : kernel.roots)
    for (BodyId id : arena.reachable(std::span(&root.value, 1)))
      if (match_contraction(arena, id)) return true;
  return false;
}

/// How many kernels and opaque nodes stand one after the other before each kernel.
class Depths {
 public:
  Depths(const Program& program, const CutPlan& plan) : program_(program) {
    for (const PlannedKernel& kernel : plan.kernels) {  // in an order in which they can run
      size_t deepest = 0;
      for (NodeId read : kernel.reads) deepest = std::max(deepest, of(read) + 1);
      for (NodeId id : kernel.nodes) depths_[id] = deepest;
      levels_.push_back(deepest);
    }
  }
  size_t level(size_t kernel) const { return levels_[kernel]; }

 private:
  size_t of(NodeId id) {
    if (const auto found = depths_.find(id); found != depths_.end()) return found->second;
    size_t deepest = 0;
    for (const Edge& edge : program_.node(id).operands)
      deepest = std::max(deepest, of(edge.node) + 1);
    for (NodeId awaited : program_.awaited(id)) deepest = std::max(deepest, of(awaited) + 1);
    depths_[id] = deepest;
    return deepest;
  }

  const Program& program_;
  std::map<NodeId, size_t> depths_;
  std::vector<size_t> levels_;
};

/// Which kernels need which, also by way of opaque nodes.
class Needs {
 public:
  Needs(const Program& program, const CutPlan& plan) : program_(program) {
    for (const PlannedKernel& kernel : plan.kernels) {  // in an order in which they can run
      const size_t number = needed_.size();
      std::set<size_t> all;
      for (NodeId read : kernel.reads) all.merge(std::set<size_t>(of(read)));
      for (NodeId id : kernel.nodes) makers_[id] = {number};
      needed_.emplace_back(all.begin(), all.end());
    }
  }
  /// Kernels whose results a kernel waits for, without those that they wait for.
  const std::vector<size_t>& of(size_t kernel) const { return needed_[kernel]; }

 private:
  const std::set<size_t>& of(NodeId id) {
    if (const auto found = makers_.find(id); found != makers_.end()) return found->second;
    std::set<size_t> all;
    for (const Edge& edge : program_.node(id).operands) all.merge(std::set<size_t>(of(edge.node)));
    for (NodeId awaited : program_.awaited(id)) all.merge(std::set<size_t>(of(awaited)));
    return makers_[id] = std::move(all);
  }

  const Program& program_;
  std::map<NodeId, std::set<size_t>> makers_;  // kernels that a value in memory needs
  std::vector<std::vector<size_t>> needed_;
};

/// The launches of a plan as nodes of a graph, an edge from each to those that it waits for.
class LaunchGraph {
 public:
  LaunchGraph(const Needs& needs, size_t kernels, const std::vector<std::vector<size_t>>& launches)
      : edges_(launches.size()) {
    std::vector<size_t> launch_of(kernels);
    for (size_t k = 0; k < launches.size(); ++k)
      for (size_t kernel : launches[k]) launch_of[kernel] = k;
    for (size_t kernel = 0; kernel < kernels; ++kernel)
      for (size_t needed : needs.of(kernel))
        if (launch_of[needed] != launch_of[kernel])
          edges_[launch_of[kernel]].insert(launch_of[needed]);
  }

  /// Whether one waits for the other, directly or not.
  bool waits(size_t launch, size_t other) const {
    std::vector<bool> seen(edges_.size(), false);
    std::vector<size_t> pending{launch};
    while (!pending.empty()) {
      const size_t next = pending.back();
      pending.pop_back();
      for (size_t needed : edges_[next]) {
        if (needed == other) return true;
        if (!seen[needed]) pending.push_back(needed);
        seen[needed] = true;
      }
    }
    return false;
  }

 private:
  std::vector<std::set<size_t>> edges_;
};

std::vector<std::vector<size_t>> each_alone(size_t kernels) {
  std::vector<std::vector<size_t>> result;
  for (size_t k = 0; k < kernels; ++k) result.push_back({k});
  return result;
}

/// Kernels by number, in their order, launches by their first kernel.
void sort_launches(std::vector<std::vector<size_t>>& launches) {
  for (std::vector<size_t>& launch : launches) std::sort(launch.begin(), launch.end());
  std::sort(launches.begin(), launches.end());
}

/// The kernels that store nodes first, by number.
std::map<NodeId, size_t> first_nodes(const CutPlan& plan) {
  std::map<NodeId, size_t> result;
  for (size_t k = 0; k < plan.kernels.size(); ++k) result[plan.kernels[k].nodes[0]] = k;
  return result;
}

/// All launches if these are shared; kernels that nobody knows must not be named.
std::vector<std::vector<size_t>> launches_of(const CutPlan& plan, const LaunchGroups& groups) {
  const std::map<NodeId, size_t> known = first_nodes(plan);
  std::vector<bool> named(plan.kernels.size(), false);
  std::vector<std::vector<size_t>> result;
  for (const std::vector<NodeId>& group : groups) {
    result.emplace_back();
    for (NodeId id : group) {
      result.back().push_back(known.at(id));
      named[known.at(id)] = true;
    }
  }
  for (size_t k = 0; k < named.size(); ++k)
    if (!named[k]) result.push_back({k});
  sort_launches(result);
  return result;
}

LaunchGroups groups_of(const CutPlan& plan, const std::vector<std::vector<size_t>>& launches) {
  LaunchGroups groups;
  for (const std::vector<size_t>& launch : launches) {
    if (launch.size() < 2) continue;
    groups.emplace_back();
    for (size_t kernel : launch) groups.back().push_back(plan.kernels[kernel].nodes[0]);
  }
  return groups;
}

std::pair<uint32_t, double> part_of(const Program& program, const CutPlan& plan, size_t kernel) {
  const NodeId id = plan.kernels[kernel].nodes[0];
  return {program.part(id), program.repeats(id)};
}

/// What is wrong with one group by itself.
std::optional<std::string> refusal_of_members(const Program& program, const CutPlan& plan,
                                              const LaunchGraph& alone,
                                              const std::vector<size_t>& group) {
  const auto name = [&](size_t kernel) { return plan.kernels[kernel].nodes[0].value; };
  for (size_t a : group)
    for (size_t b : group) {
      if (part_of(program, plan, a) != part_of(program, plan, b))
        return fmt::format("%{} and %{} do not run equally often in one part of the program",
                           name(std::min(a, b)), name(std::max(a, b)));
      if (a != b && alone.waits(a, b))
        return fmt::format("%{} needs what %{} computes", name(a), name(b));
    }
  return std::nullopt;
}

}  // namespace

std::string to_text(const LaunchGroups& groups) {
  if (groups.empty()) return std::string(kApart);
  std::string text;
  for (const std::vector<NodeId>& group : groups) {
    if (!text.empty()) text += ' ';
    for (size_t k = 0; k < group.size(); ++k)
      text += fmt::format("{}{}", k == 0 ? "" : "+", group[k].value);
  }
  return text;
}

std::optional<LaunchGroups> parse_launch_groups(std::string_view text) {
  LaunchGroups groups;
  if (text == kApart) return groups;
  for (const std::string_view word : support::split_words(text)) {
    groups.emplace_back();
    for (const std::string_view each : support::split(word, '+')) {
      const auto number = support::parse_int64(each);
      if (!number || *number < 0 || *number > UINT32_MAX) return std::nullopt;
      groups.back().push_back(NodeId{static_cast<uint32_t>(*number)});
    }
  }
  // One text for one thing.
  if (groups.empty() || to_text(groups) != text) return std::nullopt;
  return groups;
}

std::vector<std::vector<size_t>> launches_by_rule(Arena& arena, const Program& program,
                                                  const CutPlan& plan) {
  std::vector<std::vector<size_t>> launches;
  const Depths depths(program, plan);
  std::vector<bool> contraction;
  for (const PlannedKernel& kernel : plan.kernels)
    contraction.push_back(has_contraction(arena, kernel.kernel));
  const auto common = [&](size_t a, size_t b) {
    for (NodeId read : plan.kernels[a].reads)
      if (std::binary_search(plan.kernels[b].reads.begin(), plan.kernels[b].reads.end(), read))
        return true;
    return false;
  };
  for (size_t k = 0; k < plan.kernels.size(); ++k) {
    bool placed = false;
    for (std::vector<size_t>& launch : launches) {
      const size_t first = launch.front();
      // Equal depth means that there is no path between them.
      if (depths.level(first) != depths.level(k) || contraction[first] != contraction[k]) continue;
      if (part_of(program, plan, first) != part_of(program, plan, k) || !common(first, k)) continue;
      launch.push_back(k);
      placed = true;
      break;
    }
    if (!placed) launches.push_back({k});
  }
  return launches;
}

LaunchGroups launch_groups(const CutPlan& plan) {
  std::vector<std::vector<size_t>> launches = plan.launches;
  sort_launches(launches);
  return groups_of(plan, launches);
}

std::optional<std::string> refusal(const Program& program, const CutPlan& plan,
                                   const LaunchGroups& groups) {
  const std::map<NodeId, size_t> known = first_nodes(plan);
  std::set<NodeId> named;
  for (const std::vector<NodeId>& group : groups) {
    if (group.size() < 2) return "a group of less than two kernels";
    for (NodeId id : group) {
      if (!known.contains(id)) return fmt::format("no kernel stores %{} first", id.value);
      if (!named.insert(id).second) return fmt::format("%{} is in two groups", id.value);
    }
  }
  const Needs needs(program, plan);
  const size_t kernels = plan.kernels.size();
  const LaunchGraph alone(needs, kernels, each_alone(kernels));
  const std::vector<std::vector<size_t>> launches = launches_of(plan, groups);
  for (const std::vector<size_t>& launch : launches)
    if (auto why = refusal_of_members(program, plan, alone, launch)) return why;
  const LaunchGraph together(needs, kernels, launches);
  for (size_t k = 0; k < launches.size(); ++k)
    if (launches[k].size() > 1 && together.waits(k, k))
      return fmt::format("the launch of %{} waits for others that wait for it",
                         plan.kernels[launches[k][0]].nodes[0].value);
  return std::nullopt;
}

double shared_launches(const Program& program, const CutPlan& plan, const LaunchGroups& groups) {
  const std::map<NodeId, size_t> known = first_nodes(plan);
  double saved = 0;
  for (const std::vector<NodeId>& group : groups) {
    const auto single = std::count_if(group.begin(), group.end(), [&](NodeId id) {
      return plan.kernels[known.at(id)].estimate.launches == 1;
    });
    saved += std::max(0.0, static_cast<double>(single) - 1) * program.repeats(group[0]);
  }
  return saved;
}

void set_launch_groups(const Program& program, CutPlan& plan, const LaunchGroups& groups,
                       const Machine& machine) {
  const auto saved = [&] {
    double count = 0;
    for (const std::vector<size_t>& launch : plan.launches)
      count += static_cast<double>(launch.size() - 1) *
               program.repeats(plan.kernels[launch[0]].nodes[0]);
    return count;
  };
  const double before = saved();
  plan.launches = launches_of(plan, groups);
  plan.microseconds += machine.launch_us * (before - saved());
}

std::vector<LaunchMove> launch_moves(const Program& program, const CutPlan& plan) {
  std::vector<std::vector<size_t>> launches = plan.launches;
  sort_launches(launches);
  const Needs needs(program, plan);
  const LaunchGraph graph(needs, plan.kernels.size(), launches);
  const auto gains = [&](size_t k) {
    return part_of(program, plan, launches[k][0]).second > kSeldom &&
           std::all_of(launches[k].begin(), launches[k].end(),
                       [&](size_t kernel) { return plan.kernels[kernel].estimate.launches == 1; });
  };
  std::vector<LaunchMove> moves;
  const auto add = [&](LaunchMove::Kind kind, std::vector<std::vector<size_t>> changed) {
    sort_launches(changed);
    moves.push_back({kind, groups_of(plan, changed)});
  };
  for (size_t a = 0; a < launches.size(); ++a) {
    if (!gains(a)) continue;
    // Either of two kernels leaves the other alone.
    const size_t ways = launches[a].size() == 2 ? 1 : launches[a].size();
    for (size_t k = 0; launches[a].size() > 1 && k < ways; ++k) {
      auto changed = launches;
      changed.push_back({launches[a][k]});
      changed[a].erase(changed[a].begin() + static_cast<ptrdiff_t>(k));
      add(LaunchMove::Kind::kSplit, std::move(changed));
    }
    for (size_t b = a + 1; b < std::min(launches.size(), a + 1 + kNear); ++b) {
      const bool same_part =
          part_of(program, plan, launches[a][0]) == part_of(program, plan, launches[b][0]);
      if (!gains(b) || !same_part || graph.waits(a, b) || graph.waits(b, a)) continue;
      auto changed = launches;
      changed[a].insert(changed[a].end(), launches[b].begin(), launches[b].end());
      changed.erase(changed.begin() + static_cast<ptrdiff_t>(b));
      add(LaunchMove::Kind::kJoin, std::move(changed));
    }
  }
  return moves;
}

LaunchGroups joined_groups(const Program& program, CutPlan plan, const Machine& machine) {
  for (size_t k = 0; k < kMostJoins; ++k) {
    const LaunchMove* best = nullptr;
    double most = 0;
    const std::vector<LaunchMove> moves = launch_moves(program, plan);
    for (const LaunchMove& move : moves) {
      const double saved = shared_launches(program, plan, move.groups);
      if (move.kind != LaunchMove::Kind::kJoin || saved <= most) continue;
      best = &move;
      most = saved;
    }
    if (best == nullptr) break;
    set_launch_groups(program, plan, best->groups, machine);
  }
  return launch_groups(plan);
}

}  // namespace luminal::kernel

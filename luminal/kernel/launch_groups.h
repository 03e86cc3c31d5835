// Which kernels of a plan share a launch, as data: a rule chooses at first, and a search may choose
// otherwise. Any kernels of one part that do not need each other's results may share a launch;
// whether that pays is for times to say.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "luminal/kernel/cut_search.h"

namespace luminal::kernel {

/// Kernels that share a launch, each by the first node that it stores. Those that have a launch of
/// their own are not named.
using LaunchGroups = std::vector<std::vector<NodeId>>;

/// "3+5 7+8+9"; "apart" if no launch is shared.
std::string to_text(const LaunchGroups& groups);
/// Reads what to_text wrote; nothing if the text is anything else.
std::optional<LaunchGroups> parse_launch_groups(std::string_view text);

/// The launches of the rule: kernels of equal depth that are alike and read a common tensor.
std::vector<std::vector<size_t>> launches_by_rule(Arena& arena, const Program& program,
                                                  const CutPlan& plan);

/// The groups of a plan, in its order.
LaunchGroups launch_groups(const CutPlan& plan);

/// Why the kernels of a plan cannot share launches so; nothing: they can.
std::optional<std::string> refusal(const Program& program, const CutPlan& plan,
                                   const LaunchGroups& groups);

/// Launches that a run does not need because kernels share them so, if each kernel is one.
double shared_launches(const Program& program, const CutPlan& plan, const LaunchGroups& groups);

/// Gives a plan these groups, which are not refused, and counts its launches accordingly.
void set_launch_groups(const Program& program, CutPlan& plan, const LaunchGroups& groups,
                       const Machine& machine);

/// Other groups that are one step away.
struct LaunchMove {
  enum class Kind : uint8_t { kJoin, kSplit };
  Kind kind = Kind::kJoin;
  LaunchGroups groups;
};

/// Every way to take one kernel out of a launch and every way to join two neighbours: launches that
/// may be joined, with few others between them. Kernels that take several launches each gain
/// nothing and are left out, and so are those that seldom run.
std::vector<LaunchMove> launch_moves(const Program& program, const CutPlan& plan);

/// What joining comes to: the move that saves most is done as long as there is one.
LaunchGroups joined_groups(const Program& program, CutPlan plan, const Machine& machine);

}  // namespace luminal::kernel

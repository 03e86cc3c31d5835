#include "luminal/compiler/other_launches.h"

#include <algorithm>
#include <utility>

#include "luminal/kernel/launch_groups.h"

namespace luminal::compiler {

std::vector<OtherLaunches> other_launches(const PlannedProgram& planned,
                                          const kernel::Machine& machine) {
  const kernel::Program& program = planned.searched_program();
  const kernel::CutPlan& plan = planned.searched_plan();
  const kernel::LaunchGroups own = kernel::launch_groups(plan);
  const double before = kernel::shared_launches(program, plan, own);
  std::vector<OtherLaunches> result;
  const auto add = [&](const kernel::LaunchGroups& groups, std::string how) {
    std::string choice = with_launch_groups(planned.choice(), groups);
    const auto same = [&](const OtherLaunches& other) { return other.choice == choice; };
    if (groups == own || std::any_of(result.begin(), result.end(), same)) return;
    result.push_back({std::move(choice), std::move(how),
                      kernel::shared_launches(program, plan, groups) - before});
  };
  add(kernel::joined_groups(program, plan, machine), "launches joined");
  add({}, "launches apart");
  for (const kernel::LaunchMove& move : kernel::launch_moves(program, plan))
    add(move.groups,
        move.kind == kernel::LaunchMove::Kind::kJoin ? "two launches joined" : "a launch split");
  return result;
}

}  // namespace luminal::compiler

// A search looks at so many bodies per node and no more, however long a graph is and whatever its
// nodes have in common.
#include <gtest/gtest.h>

#include <algorithm>

#include "growing.h"
#include "luminal/compiler/planned_program.h"

namespace luminal::compiler {
namespace {

/// What a search did.
struct Effort {
  double nodes, estimated, work;
};

Effort effort(const networks::IR& graph, bool rules) {
  ProgramSearch search;
  search.cut.machine = kernel::Machine::cpu(2);
  search.cut.group_launches = false;
  search.rules->join_siblings = true;
  if (!rules) search.rules.reset();
  PlannedProgram planned(graph, {}, search);
  return {static_cast<double>(planned.searched_nodes()),
          static_cast<double>(planned.plan().estimated), static_cast<double>(planned.plan().work)};
}

class Growth : public testing::TestWithParam<networks::Growing> {};

TEST_P(Growth, WorkPerNodeIsBounded) {
  // Seeds are estimated whatever it takes, and the last body may be a large one.
  constexpr double kMostEstimates = 40.0, kMostWork = 3 * 150.0 + 100.0;
  for (const bool rules : {true, false})
    for (const int length : {GetParam().lengths[0], GetParam().lengths[1]}) {
      const Effort found = effort(GetParam().make(length), rules);
      EXPECT_LE(found.estimated / found.nodes, kMostEstimates) << length << " rules " << rules;
      EXPECT_LE(found.work / found.nodes, kMostWork) << length << " rules " << rules;
    }
}

INSTANTIATE_TEST_SUITE_P(Kinds, Growth, testing::ValuesIn(networks::growing()),
                         [](const testing::TestParamInfo<networks::Growing>& kind) {
                           std::string name(kind.param.name);
                           std::replace(name.begin(), name.end(), ' ', '_');
                           return name;
                         });

}  // namespace
}  // namespace luminal::compiler

// Structures beyond the first are looked for from cuts by chance too.
#include <gtest/gtest.h>

#include "luminal/compiler/build_plan.h"
#include "luminal/compiler/kernel_set.h"
#include "luminal/compiler/search_machines.h"
#include "luminal/kernel/text.h"
#include "tests/search/made_up_search.h"

namespace luminal::compiler {
namespace {

/// Costs that nobody could guess, so that where a climb ends depends on where it began.
class MadeUpCosts : public KernelCosts {
 public:
  explicit MadeUpCosts(int salt) : salt_(salt) {}
  std::optional<double> cost(kernel::Arena& arena, const kernel::Kernel& kernel,
                             const std::vector<NodeId>& /*constants*/) const override {
    return made_up(std::to_string(salt_) + kernel::to_string(arena, kernel));
  }

 private:
  int salt_;
};

TEST(Restarts, AreAskedForByFurtherStructuresAndNotByTheFirst) {
  const Options plain;
  EXPECT_EQ(plain.restarts, 0);
  const kernel::Machine machine = kernel::Machine::cpu(2);
  const Options one = exploring(plain, machine, 7, 1);
  const Options other = exploring(plain, machine, 7, 2);
  EXPECT_GT(one.restarts, 0);
  EXPECT_NE(one.restart_seed, other.restart_seed);
  EXPECT_EQ(one.restart_seed, exploring(plain, machine, 7, 1).restart_seed);
  EXPECT_EQ(one.machine->launch_us, guessed_machine(machine, 7, 1).launch_us);
}

TEST(Restarts, LeadToOtherStructuresWhereTheStandardCutsEndBadly) {
  const graph::Graph graph = Net().ir();
  Options more = kPlain;
  more.restarts = 8;
  int others = 0;
  for (int salt = 0; salt < 12; ++salt) {
    const MadeUpCosts costs(salt);
    const PlanDraft without(graph, kPlain, nullptr, &costs);
    const PlanDraft with(graph, more, nullptr, &costs);
    others += without.structure() != with.structure() ? 1 : 0;
    // The same is drawn every time.
    EXPECT_EQ(with.structure(), PlanDraft(graph, more, nullptr, &costs).structure());
  }
  EXPECT_GT(others, 0);
}

}  // namespace
}  // namespace luminal::compiler

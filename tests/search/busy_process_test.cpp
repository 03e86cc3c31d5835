// A search while other processes use every core: whatever its times are worth, the plan is right,
// is not slower than that of the cost model by these times, and the report says what they are
// worth.
#include <gtest/gtest.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <optional>
#include <thread>
#include <vector>

#include "luminal/compiler/plan_bench.h"
#include "tests/search/made_up_search.h"

namespace luminal::compiler {
namespace {

/// Processes that compute for nothing, one for each core.
class BusyProcesses {
 public:
  BusyProcesses() {
    for (unsigned k = 0; k < std::thread::hardware_concurrency(); ++k) {
      const pid_t child = ::fork();
      if (child == 0) {
        ::prctl(PR_SET_PDEATHSIG, SIGKILL);
        for (volatile bool forever = true; forever;) {
        }
      }
      if (child > 0) children_.push_back(child);
    }
  }
  ~BusyProcesses() {
    for (const pid_t child : children_) {
      ::kill(child, SIGKILL);
      ::waitpid(child, nullptr, 0);
    }
  }
  BusyProcesses(const BusyProcesses&) = delete;
  BusyProcesses& operator=(const BusyProcesses&) = delete;
  size_t count() const { return children_.size(); }

 private:
  std::vector<pid_t> children_;
};

TEST(BusyProcess, ASearchBesideItGivesARightPlanAndSaysWhatItsTimesAreWorth) {
  const Net net;
  search::TuningDatabase database = search::TuningDatabase::in_memory();
  CompileOptions options{.mode = Mode::kSearch, .budget_seconds = 1.5};
  options.search.database = &database;
  options.search.progress = false;
  const BusyProcesses busy;
  ASSERT_GT(busy.count(), 0U);
  // How long it takes to come to the first measurement is up to the machine.
  std::optional<Executable> found;
  for (int tries = 0; tries < 8 && (!found || found->search_report()->measured == 0); ++tries) {
    *options.budget_seconds *= 2;
    found.emplace(compile(net.g, {net.y}, options));
  }
  ASSERT_GT(found->search_report()->measured, 0U);
  Executable& searched = *found;
  const SearchReport& report = *searched.search_report();
  EXPECT_LE(report.best_us, report.fast_us);
  EXPECT_EQ(to_string(report).find("times were unreliable") != std::string::npos,
            report.unreliable);
  // What was disturbed is not taken for the last word.
  const bool settled = report.finished && !report.unreliable;
  options.budget_seconds = 1e6;
  const std::atomic<bool> cancel{true};
  options.search.cancel = &cancel;
  EXPECT_EQ(compile(net.g, {net.y}, options).search_report()->recalled, settled);

  Executable oracle = compile(net.g, {net.y}, {.backend = Backend::kInterpreter});
  for (Executable* each : {&searched, &oracle}) {
    for (const auto& [name, array] : random_inputs(each->ir(), {}, 1)) each->set(name, array);
    each->run();
  }
  const std::vector<float> actual = searched.get<float>(net.y);
  const std::vector<float> expected = oracle.get<float>(net.y);
  for (size_t k = 0; k < expected.size(); ++k) EXPECT_NEAR(actual[k], expected[k], 1e-5);
}

}  // namespace
}  // namespace luminal::compiler

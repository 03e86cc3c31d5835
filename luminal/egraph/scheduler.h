// Running rules: iterations of a ruleset and schedules of rulesets, within a budget. A run that
// reaches its budget ends with a reason, not with an error.
#pragma once

#include <chrono>
#include <string>

#include "luminal/egraph/engine.h"
#include "luminal/egraph/match_sink.h"

namespace luminal::egraph {

/// What a run may use. Zero means no limit.
struct RunBudget {
  uint64_t iterations = 0;
  uint64_t rows = 0;
  double seconds = 0;
};

/// Why a run ended.
enum class StopReason { kFinished, kIterations, kRows, kTime };
std::string to_text(StopReason reason);

/// What a run did.
struct RunReport {
  bool updated = false;
  uint64_t iterations = 0;
  uint64_t matches = 0;
  uint64_t rows_visited = 0;
  double search_seconds = 0;
  double merge_seconds = 0;
  double rebuild_seconds = 0;
  StopReason stop = StopReason::kFinished;
};

/// Runs schedules on a database.
class Scheduler {
 public:
  Scheduler(Database& db, Engine& engine) : db_(db), engine_(engine) {}

  /// How many threads match rules; results do not depend on it.
  void set_threads(uint32_t threads) { threads_ = threads; }
  void set_budget(const RunBudget& budget) { budget_ = budget; }

  /// Runs a schedule. Throws ProgramError (run) if an action fails.
  RunReport run(const Schedule& schedule);
  /// Whether the facts hold now, subsumed rows included.
  bool holds(std::vector<Fact> facts);

 private:
  /// One rule with one choice of row ranges.
  struct Task {
    RuleId rule;
    std::vector<RowRange> ranges;
  };

  bool run_step(const Schedule& schedule, RunReport& report);
  bool run_ruleset(const Schedule& run, RunReport& report);
  bool iterate(const std::string& ruleset, RunReport& report);
  void collect_rules(const Ruleset& set, std::vector<const Ruleset*>& seen,
                     std::vector<RuleId>& rules) const;
  void add_tasks(RuleId rule, std::vector<Task>& tasks);
  void match(const std::vector<Task>& tasks, std::vector<MatchBuffer>& buffers);
  void match_task(const Task& task, MatchBuffer& buffer, bool may_build);
  void match_in_parallel(const std::vector<Task>& tasks, std::vector<MatchBuffer>& buffers);
  void prepare_indexes(const Task& task);
  void apply(const MatchBuffer& buffer);
  bool over_budget(RunReport& report) const;

  Database& db_;
  Engine& engine_;
  RunBudget budget_;
  uint32_t threads_ = 1;
  std::chrono::steady_clock::time_point started_;
};

}  // namespace luminal::egraph

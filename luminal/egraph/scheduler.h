// Running rules: iterations of a ruleset and schedules of rulesets, within a budget. A run that
// reaches its budget ends with a reason, not with an error.
#pragma once

#include <chrono>
#include <string>

#include "luminal/egraph/engine.h"
#include "luminal/egraph/rule_search.h"

namespace luminal::egraph {

/// What a run may use. Zero means no limit.
struct RunBudget {
  uint64_t iterations = 0;
  uint64_t rows = 0;
  double seconds = 0;
};

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
  /// A flag that ends runs and checks once it is set, or null.
  void set_cancel_flag(const std::atomic<bool>* cancelled) { cancelled_ = cancelled; }
  void set_join_method(JoinMethod method) { join_method_ = method; }

  /// Runs a schedule. Throws ProgramError (run) if an action fails.
  RunReport run(const Schedule& schedule);
  /// Whether the facts hold now, subsumed rows included. The time budget counts from here.
  QueryAnswer check(std::vector<Fact> facts);

 private:
  bool run_step(const Schedule& schedule, RunReport& report);
  bool run_ruleset(const Schedule& run, RunReport& report);
  bool iterate(const std::string& ruleset, RunReport& report);
  void collect_rules(const Ruleset& set, std::vector<const Ruleset*>& seen,
                     std::vector<RuleId>& rules) const;
  void add_tasks(RuleId rule, std::vector<SearchTask>& tasks);
  /// Whether facts hold, within what is left of the time.
  QueryAnswer ask(std::vector<Fact> facts);
  void count(const MatchBuffer& buffer, RunReport& report);
  /// Runs the actions of all matches. Returns why it ended early.
  StopReason apply(const MatchBuffer& buffer, const SearchLimit& limit);
  bool over_budget(RunReport& report) const;
  SearchOptions search_options() const;

  Database& db_;
  Engine& engine_;
  RunBudget budget_;
  uint32_t threads_ = 1;
  JoinMethod join_method_ = JoinMethod::kAutomatic;
  const std::atomic<bool>* cancelled_ = nullptr;
  std::chrono::steady_clock::time_point started_;
};

}  // namespace luminal::egraph

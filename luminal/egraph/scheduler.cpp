#include "luminal/egraph/scheduler.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <thread>

#include "luminal/egraph/desugar.h"
#include "luminal/egraph/lower.h"

namespace luminal::egraph {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

/// Below this many rows an iteration is over before a second thread has started.
constexpr uint64_t kRowsWorthThreads = 20000;
/// How many matches pass between two looks at the clock.
constexpr uint64_t kMatchesPerClock = 1024;

}  // namespace

std::string to_text(StopReason reason) {
  switch (reason) {
    case StopReason::kFinished:
      return "finished";
    case StopReason::kIterations:
      return "iteration budget used up";
    case StopReason::kRows:
      return "row budget used up";
    case StopReason::kTime:
      return "time budget used up";
  }
  return "";
}

RunReport Scheduler::run(const Schedule& schedule) {
  RunReport report;
  started_ = Clock::now();
  report.updated = run_step(schedule, report);
  return report;
}

bool Scheduler::over_budget(RunReport& report) const {
  if (report.stop != StopReason::kFinished) return true;
  if (budget_.iterations != 0 && report.iterations >= budget_.iterations) {
    report.stop = StopReason::kIterations;
  } else if (budget_.rows != 0 && db_.num_rows() >= budget_.rows) {
    report.stop = StopReason::kRows;
  } else if (budget_.seconds > 0 && seconds_since(started_) >= budget_.seconds) {
    report.stop = StopReason::kTime;
  }
  return report.stop != StopReason::kFinished;
}

bool Scheduler::run_step(const Schedule& schedule, RunReport& report) {
  const auto run_children = [&] {
    bool updated = false;
    for (const Schedule& child : schedule.children) {
      if (report.stop != StopReason::kFinished) break;
      updated |= run_step(child, report);
    }
    return updated;
  };
  bool updated = false;
  switch (schedule.kind) {
    case Schedule::Kind::kRun:
      return run_ruleset(schedule, report);
    case Schedule::Kind::kSequence:
      return run_children();
    case Schedule::Kind::kSaturate:
      while (report.stop == StopReason::kFinished && run_children()) updated = true;
      return updated;
    case Schedule::Kind::kRepeat:
      for (uint64_t i = 0; i < schedule.times && report.stop == StopReason::kFinished; ++i) {
        if (!run_children()) break;
        updated = true;
      }
      return updated;
  }
  return updated;
}

bool Scheduler::run_ruleset(const Schedule& run, RunReport& report) {
  if (db_.rulesets.count(run.ruleset) == 0)
    throw run_error(run.span, "No such ruleset: {}", run.ruleset);
  if (over_budget(report)) return false;
  if (!run.until.empty() && holds(run.until)) return false;
  return iterate(run.ruleset, report);
}

bool Scheduler::holds(std::vector<Fact> facts) {
  name_wildcards(facts);
  const TypedRule typed = typecheck(db_, facts, {}, {Place::kQuery, Place::kTop, true});
  const Query query = lower_query(db_, typed);
  const QueryPlan plan(query);
  const std::vector<RowRange> ranges(query.atoms.size());
  bool found = false;
  engine_.set_read_only(true);
  try {
    Matcher(db_, plan, engine_).run(ranges, [&](std::span<const Value>) {
      found = true;
      return false;
    });
  } catch (...) {
    engine_.set_read_only(false);
    throw;
  }
  engine_.set_read_only(false);
  return found;
}

/// Rulesets that many others contain are entered once: counting paths would take forever.
void Scheduler::collect_rules(const Ruleset& set, std::vector<const Ruleset*>& seen,
                              std::vector<RuleId>& rules) const {
  if (std::find(seen.begin(), seen.end(), &set) != seen.end()) return;
  seen.push_back(&set);
  for (const RuleId rule : set.rules)
    if (std::find(rules.begin(), rules.end(), rule) == rules.end()) rules.push_back(rule);
  for (const std::string& member : set.members) collect_rules(db_.rulesets.at(member), seen, rules);
}

/// The semi-naive variants of a rule: for each atom, matches that use a new row there, old rows
/// before it and any rows after it. Together they find each new match once.
void Scheduler::add_tasks(RuleId id, std::vector<Task>& tasks) {
  RuleState& state = db_.rules[id];
  const auto& atoms = state.rule->query.atoms;
  for (const TableAtom& atom : atoms)
    if (db_.functions[atom.function].table.num_live() == 0) return;
  const bool everything = state.rule->naive || !state.has_run;
  if (everything || atoms.empty()) {
    if (everything) tasks.push_back({id, std::vector<RowRange>(atoms.size())});
    return;
  }
  std::vector<uint32_t> first_new(atoms.size());
  for (size_t a = 0; a < atoms.size(); ++a)
    first_new[a] = db_.functions[atoms[a].function].table.first_row_since(state.last_run);
  for (size_t focus = 0; focus < atoms.size(); ++focus) {
    if (focus > 0 && first_new[focus - 1] == 0) break;  // an earlier atom has no old rows
    const Table& table = db_.functions[atoms[focus].function].table;
    if (first_new[focus] == table.end_row()) continue;
    std::vector<RowRange> ranges(atoms.size());
    for (size_t a = 0; a < focus; ++a) ranges[a].end = first_new[a];
    ranges[focus].first = first_new[focus];
    tasks.push_back({id, std::move(ranges)});
  }
}

void Scheduler::match_task(const Task& task, MatchBuffer& buffer, bool may_build) {
  const auto start = Clock::now();
  const CompiledRule& rule = *db_.rules[task.rule].rule;
  buffer.rule = task.rule;
  buffer.width = static_cast<uint32_t>(rule.query.outputs.size());
  MatchSink sink(db_, rule, buffer);
  Matcher matcher(db_, *rule.plan, engine_, may_build);
  const auto on_match = [&](std::span<const Value> slots) {
    sink.add(slots);
    const bool too_many = budget_.rows != 0 && buffer.kept > budget_.rows;
    const bool look = budget_.seconds > 0 && buffer.count % kMatchesPerClock == 0;
    if (!too_many && !(look && seconds_since(started_) >= budget_.seconds)) return true;
    buffer.complete = false;
    return false;
  };
  matcher.run(task.ranges, on_match);
  sink.finish();
  buffer.rows_visited = matcher.rows_visited();
  buffer.seconds = seconds_since(start);
}

/// Builds every column index the task could ask for: threads must not build any.
void Scheduler::prepare_indexes(const Task& task) {
  const CompiledRule& rule = *db_.rules[task.rule].rule;
  for (const TableAtom& atom : rule.query.atoms) {
    Table& table = db_.functions[atom.function].table;
    for (uint32_t c = 0; c < atom.terms.size(); ++c) {
      const Term& term = atom.terms[c];
      if (term.is_constant || rule.plan->shared[term.word]) table.index(c);
    }
  }
}

void Scheduler::match_in_parallel(const std::vector<Task>& tasks,
                                  std::vector<MatchBuffer>& buffers) {
  std::vector<size_t> shared;
  for (size_t t = 0; t < tasks.size(); ++t) {
    if (db_.rules[tasks[t].rule].rule->parallel) {
      prepare_indexes(tasks[t]);
      shared.push_back(t);
    } else {
      match_task(tasks[t], buffers[t], true);
    }
  }
  std::atomic<size_t> next{0};
  std::vector<std::exception_ptr> failures(threads_);
  const auto work = [&](uint32_t worker) {
    try {
      for (size_t i = next++; i < shared.size(); i = next++)
        match_task(tasks[shared[i]], buffers[shared[i]], false);
    } catch (...) {
      failures[worker] = std::current_exception();
    }
  };
  std::vector<std::thread> workers;
  for (uint32_t worker = 1; worker < threads_; ++worker) workers.emplace_back(work, worker);
  work(0);
  for (std::thread& worker : workers) worker.join();
  for (const std::exception_ptr& failure : failures)
    if (failure) std::rethrow_exception(failure);
}

void Scheduler::match(const std::vector<Task>& tasks, std::vector<MatchBuffer>& buffers) {
  engine_.set_read_only(true);
  try {
    if (threads_ > 1 && tasks.size() > 1 && db_.num_rows() >= kRowsWorthThreads) {
      match_in_parallel(tasks, buffers);
    } else {
      for (size_t t = 0; t < tasks.size(); ++t) match_task(tasks[t], buffers[t], true);
    }
  } catch (...) {
    engine_.set_read_only(false);
    throw;
  }
  engine_.set_read_only(false);
}

void Scheduler::apply(const MatchBuffer& buffer) {
  const Program& program = db_.rules[buffer.rule].rule->program;
  if (!db_.origins.enabled) {
    engine_.execute_all(program, buffer.values.data(), buffer.width, buffer.kept);
    return;
  }
  for (uint64_t m = 0; m < buffer.kept; ++m) {
    const Value* const match = buffer.values.data() + m * buffer.width;
    engine_.set_origin(static_cast<uint32_t>(db_.origins.matches.size()));
    db_.origins.matches.push_back({buffer.rule, {match, match + buffer.width}});
    engine_.execute(program, {match, buffer.width});
  }
  engine_.set_origin(kNone);
}

bool Scheduler::iterate(const std::string& name, RunReport& report) {
  std::vector<RuleId> rules;
  std::vector<const Ruleset*> seen;
  collect_rules(db_.rulesets.at(name), seen, rules);
  const auto start = Clock::now();
  std::vector<Task> tasks;
  for (const RuleId rule : rules) add_tasks(rule, tasks);
  std::vector<MatchBuffer> buffers(tasks.size());
  match(tasks, buffers);
  bool complete = true;
  for (const MatchBuffer& buffer : buffers) {
    RuleState& state = db_.rules[buffer.rule];
    state.matches += buffer.count;
    state.rows_visited += buffer.rows_visited;
    state.seconds += buffer.seconds;
    ++state.runs;
    report.matches += buffer.count;
    report.rows_visited += buffer.rows_visited;
    complete &= buffer.complete;
  }
  // An iteration cut short by its budget found only some matches: the rules stay due.
  for (const RuleId rule : rules) {
    if (!complete) break;
    db_.rules[rule].last_run = db_.epoch;
    db_.rules[rule].has_run = true;
  }
  Ruleset& set = db_.rulesets.at(name);
  ++set.iterations;
  ++report.iterations;
  try {
    for (MatchBuffer& buffer : buffers) {
      apply(buffer);
      buffer = MatchBuffer{};
    }
  } catch (...) {
    engine_.set_origin(kNone);
    engine_.merge();
    ++db_.epoch;
    throw;
  }
  const auto searched = Clock::now();
  const bool updated = engine_.merge();
  ++db_.epoch;
  const auto merged = Clock::now();
  engine_.rebuild();
  const double search = std::chrono::duration<double>(searched - start).count();
  const double merge = std::chrono::duration<double>(merged - searched).count();
  const double rebuild = seconds_since(merged);
  set.search_seconds += search;
  set.merge_seconds += merge;
  set.rebuild_seconds += rebuild;
  report.search_seconds += search;
  report.merge_seconds += merge;
  report.rebuild_seconds += rebuild;
  if (!complete) report.stop = budget_.rows != 0 ? StopReason::kRows : StopReason::kTime;
  return updated;
}

}  // namespace luminal::egraph

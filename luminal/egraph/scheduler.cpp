#include "luminal/egraph/scheduler.h"

#include <algorithm>

#include "luminal/egraph/desugar.h"
#include "luminal/egraph/lower.h"

namespace luminal::egraph {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

/// How many matches are applied between two looks at the clock. A primitive may take as long as it
/// likes.
uint64_t matches_per_clock(const Program& program) {
  return program.primitives.empty() ? 4096 : 64;
}

}  // namespace

RunReport Scheduler::run(const Schedule& schedule) {
  RunReport report;
  started_ = Clock::now();
  report.updated = run_step(schedule, report);
  return report;
}

SearchOptions Scheduler::search_options() const {
  SearchOptions options{threads_, budget_.rows, {}, join_method_};
  options.limit.cancelled = cancelled_;
  if (budget_.seconds > 0)
    options.limit.deadline = started_ + std::chrono::duration_cast<Clock::duration>(
                                            std::chrono::duration<double>(budget_.seconds));
  return options;
}

bool Scheduler::over_budget(RunReport& report) const {
  if (report.stop != StopReason::kFinished) return true;
  if (budget_.iterations != 0 && report.iterations >= budget_.iterations) {
    report.stop = StopReason::kIterations;
  } else if (budget_.rows != 0 && db_.num_rows() >= budget_.rows) {
    report.stop = StopReason::kRows;
  } else {
    report.stop = search_options().limit.reached();
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
  if (!run.until.empty()) {
    const QueryAnswer until = ask(run.until);
    report.rows_visited += until.rows_visited;
    report.stop = until.stop;
    if (until.found || until.stop != StopReason::kFinished) return false;
  }
  return iterate(run.ruleset, report);
}

QueryAnswer Scheduler::check(std::vector<Fact> facts) {
  started_ = Clock::now();
  return ask(std::move(facts));
}

QueryAnswer Scheduler::ask(std::vector<Fact> facts) {
  name_wildcards(facts);
  const TypedRule typed = typecheck(db_, facts, {}, {Place::kQuery, Place::kTop, true});
  return RuleSearch(db_, engine_, search_options()).ask(lower_query(db_, typed));
}

/// Rulesets that many others contain are entered once: counting paths would take forever.
void Scheduler::collect_rules(const Ruleset& set, std::vector<const Ruleset*>& seen,
                              std::vector<RuleId>& rules) const {
  if (std::find(seen.begin(), seen.end(), &set) != seen.end()) return;
  seen.push_back(&set);
  for (const RuleId rule : set.rules)
    if (std::find(rules.begin(), rules.end(), rule) == rules.end()) rules.push_back(rule);
  for (const std::string& member : set.members) {
    const auto found = db_.rulesets.find(member);  // it may be declared after the set
    if (found == db_.rulesets.end()) throw run_error({}, "No such ruleset: {}", member);
    collect_rules(found->second, seen, rules);
  }
}

/// The semi-naive variants of a rule: for each atom, matches that use a new row there, old rows
/// before it and any rows after it. Together they find each new match once.
void Scheduler::add_tasks(RuleId id, std::vector<SearchTask>& tasks) {
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

StopReason Scheduler::apply(const MatchBuffer& buffer, const SearchLimit& limit) {
  const Program& program = db_.rules[buffer.rule].rule->program;
  const uint64_t step = matches_per_clock(program);
  for (uint64_t first = 0; first < buffer.kept; first += step) {
    if (first > 0)
      if (const StopReason stop = limit.reached(); stop != StopReason::kFinished) return stop;
    const uint64_t end = std::min(buffer.kept, first + step);
    if (!db_.origins.enabled) {
      engine_.execute_all(program, buffer.values.data() + first * buffer.width, buffer.width,
                          end - first);
      continue;
    }
    for (uint64_t m = first; m < end; ++m) {
      const Value* const match = buffer.values.data() + m * buffer.width;
      engine_.set_origin(static_cast<uint32_t>(db_.origins.matches.size()));
      db_.origins.matches.push_back({buffer.rule, {match, match + buffer.width}});
      engine_.execute(program, {match, buffer.width});
    }
  }
  engine_.set_origin(kNone);
  return StopReason::kFinished;
}

void Scheduler::count(const MatchBuffer& buffer, RunReport& report) {
  RuleState& state = db_.rules[buffer.rule];
  state.matches += buffer.count;
  state.rows_visited += buffer.rows_visited;
  state.seconds += buffer.seconds;
  ++state.runs;
  report.matches += buffer.count;
  report.rows_visited += buffer.rows_visited;
}

bool Scheduler::iterate(const std::string& name, RunReport& report) {
  std::vector<RuleId> rules;
  std::vector<const Ruleset*> seen;
  collect_rules(db_.rulesets.at(name), seen, rules);
  const auto start = Clock::now();
  std::vector<SearchTask> tasks;
  for (const RuleId rule : rules) add_tasks(rule, tasks);
  const SearchOptions options = search_options();
  std::vector<MatchBuffer> buffers = RuleSearch(db_, engine_, options).run(tasks);
  StopReason stop = StopReason::kFinished;
  for (const MatchBuffer& buffer : buffers) {
    count(buffer, report);
    if (stop == StopReason::kFinished) stop = buffer.stop;
  }
  Ruleset& set = db_.rulesets.at(name);
  ++set.iterations;
  ++report.iterations;
  // An iteration cut short finds or applies only some matches: its rules stay due.
  const auto mark_as_run = [&] {
    if (stop != StopReason::kFinished) return;
    for (const RuleId rule : rules) {
      db_.rules[rule].last_run = db_.epoch;
      db_.rules[rule].has_run = true;
    }
  };
  try {
    for (MatchBuffer& buffer : buffers) {
      const StopReason cut = apply(buffer, options.limit);
      buffer = MatchBuffer{};
      if (stop == StopReason::kFinished) stop = cut;
      if (cut != StopReason::kFinished) break;
    }
  } catch (...) {
    mark_as_run();
    engine_.set_origin(kNone);
    engine_.merge();
    ++db_.epoch;
    throw;
  }
  mark_as_run();
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
  if (stop != StopReason::kFinished) report.stop = stop;
  return updated;
}

}  // namespace luminal::egraph

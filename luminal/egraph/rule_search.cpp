#include "luminal/egraph/rule_search.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <memory>
#include <thread>

#include "luminal/egraph/generic_join.h"

namespace luminal::egraph {
namespace {

using Clock = std::chrono::steady_clock;

/// Below this many rows an iteration is over before a second thread has started.
constexpr uint64_t kRowsWorthThreads = 20000;
/// How often matching by atom may look at every row of its tables before it gives up. Building the
/// trees costs about as much, so giving up late costs no more than a factor.
constexpr uint64_t kLooksPerRow = 4;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

/// While it lives, calls of function values only read.
class ReadOnly {
 public:
  explicit ReadOnly(Engine& engine) : engine_(engine) { engine_.set_read_only(true); }
  ~ReadOnly() { engine_.set_read_only(false); }
  ReadOnly(const ReadOnly&) = delete;
  ReadOnly& operator=(const ReadOnly&) = delete;

 private:
  Engine& engine_;
};

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
    case StopReason::kCancelled:
      return "interrupted";
  }
  return "";
}

uint64_t RuleSearch::allowance(const Query& query, std::span<const RowRange> ranges) const {
  uint64_t rows = 0;
  for (size_t a = 0; a < ranges.size(); ++a) {
    const uint32_t end = db_.functions[query.atoms[a].function].table.end_row();
    rows += std::min(ranges[a].end, end) - ranges[a].first;
  }
  return kLooksPerRow * rows;
}

GenericJoin RuleSearch::by_variable(const QueryPlan& plan, std::span<const RowRange> ranges) {
  return {db_, plan, engine_, ranges, options_.limit};
}

/// Runs one search into a buffer.
void RuleSearch::collect(const SearchTask& task, MatchBuffer& buffer,
                         const std::function<void(const Matcher::OnMatch&)>& search) {
  const auto start = Clock::now();
  const CompiledRule& rule = *db_.rules[task.rule].rule;
  buffer.rule = task.rule;
  buffer.width = static_cast<uint32_t>(rule.query.outputs.size());
  MatchSink sink(db_, rule, buffer);
  search([&](std::span<const Value> slots) {
    sink.add(slots);
    if (options_.max_matches == 0 || buffer.kept <= options_.max_matches) return true;
    buffer.stop = StopReason::kRows;
    return false;
  });
  sink.finish();
  buffer.seconds += seconds_since(start);
}

bool RuleSearch::match_by_atom(const SearchTask& task, MatchBuffer& buffer,
                               bool may_build_indexes) {
  const CompiledRule& rule = *db_.rules[task.rule].rule;
  if (!tries_atoms_first(rule.query)) return false;
  Matcher matcher(db_, *rule.plan, engine_, may_build_indexes, options_.limit);
  if (options_.method == JoinMethod::kAutomatic)
    matcher.set_allowance(allowance(rule.query, task.ranges));
  collect(task, buffer, [&](const auto& on_match) { matcher.run(task.ranges, on_match); });
  buffer.rows_visited += matcher.rows_visited();
  if (buffer.stop == StopReason::kFinished) buffer.stop = matcher.stop();
  if (buffer.stop == StopReason::kFinished && matcher.gave_up()) {
    buffer.clear();
    return false;
  }
  const bool either_way = options_.method != JoinMethod::kAutomatic;
  if (buffer.kept > 1 && (either_way || rule.plan->cyclic())) buffer.sort();
  return true;
}

void RuleSearch::match_by_variable(const SearchTask& task, MatchBuffer& buffer, GenericJoin& join) {
  collect(task, buffer, [&](const auto& on_match) { join.run(on_match); });
  buffer.rows_visited += join.rows_visited();
  if (buffer.stop == StopReason::kFinished) buffer.stop = join.stop();
  buffer.sort();
}

void RuleSearch::run_serially(const std::vector<SearchTask>& tasks,
                              std::vector<MatchBuffer>& buffers) {
  for (size_t t = 0; t < tasks.size(); ++t) {
    if (match_by_atom(tasks[t], buffers[t], true)) continue;
    const CompiledRule& rule = *db_.rules[tasks[t].rule].rule;
    GenericJoin join = by_variable(*rule.plan, tasks[t].ranges);
    match_by_variable(tasks[t], buffers[t], join);
  }
}

/// Builds every column index the task could ask for: threads must not build any.
void RuleSearch::prepare_indexes(const SearchTask& task) {
  const CompiledRule& rule = *db_.rules[task.rule].rule;
  for (const TableAtom& atom : rule.query.atoms) {
    Table& table = db_.functions[atom.function].table;
    for (uint32_t c = 0; c < atom.terms.size(); ++c) {
      const Term& term = atom.terms[c];
      if (term.is_constant || rule.plan->shared[term.word]) table.index(c);
    }
  }
}

void RuleSearch::for_each_on_threads(size_t count, const std::function<void(size_t)>& work) {
  const auto threads = static_cast<uint32_t>(std::min<size_t>(options_.threads, count));
  std::atomic<size_t> next{0};
  std::vector<std::exception_ptr> failures(std::max(threads, 1u));
  const auto serve = [&](uint32_t worker) {
    try {
      for (size_t i = next++; i < count; i = next++) work(i);
    } catch (...) {
      failures[worker] = std::current_exception();
    }
  };
  std::vector<std::thread> workers;
  for (uint32_t worker = 1; worker < threads; ++worker) workers.emplace_back(serve, worker);
  serve(0);
  for (std::thread& worker : workers) worker.join();
  for (const std::exception_ptr& failure : failures)
    if (failure) std::rethrow_exception(failure);
}

/// Two rounds: by atom, and by variable for the tasks that gave up, since only between rounds may
/// trees be built.
void RuleSearch::run_in_parallel(const std::vector<SearchTask>& tasks,
                                 std::vector<MatchBuffer>& buffers) {
  std::vector<SearchTask> alone;
  std::vector<MatchBuffer> results;
  std::vector<size_t> shared;
  for (size_t t = 0; t < tasks.size(); ++t) {
    const CompiledRule& rule = *db_.rules[tasks[t].rule].rule;
    if (rule.parallel) {
      prepare_indexes(tasks[t]);
      shared.push_back(t);
      continue;
    }
    alone.assign(1, tasks[t]);
    results.assign(1, MatchBuffer{});
    run_serially(alone, results);
    buffers[t] = std::move(results[0]);
  }
  std::vector<uint8_t> done(shared.size());
  for_each_on_threads(shared.size(), [&](size_t i) {
    done[i] = match_by_atom(tasks[shared[i]], buffers[shared[i]], false) ? 1 : 0;
  });
  std::vector<size_t> left;
  std::vector<GenericJoin> joins;
  for (size_t i = 0; i < shared.size(); ++i) {
    if (done[i] != 0) continue;
    const SearchTask& task = tasks[shared[i]];
    left.push_back(shared[i]);
    joins.push_back(by_variable(*db_.rules[task.rule].rule->plan, task.ranges));
  }
  if (left.empty()) return;
  for_each_on_threads(left.size(), [&](size_t i) {
    match_by_variable(tasks[left[i]], buffers[left[i]], joins[i]);
  });
}

std::vector<MatchBuffer> RuleSearch::run(const std::vector<SearchTask>& tasks) {
  std::vector<MatchBuffer> buffers(tasks.size());
  const ReadOnly guard(engine_);
  if (options_.threads > 1 && tasks.size() > 1 && db_.num_rows() >= kRowsWorthThreads) {
    run_in_parallel(tasks, buffers);
  } else {
    run_serially(tasks, buffers);
  }
  return buffers;
}

QueryAnswer RuleSearch::ask(const Query& query) {
  const QueryPlan plan(query);
  const std::vector<RowRange> ranges(query.atoms.size());
  const ReadOnly guard(engine_);
  QueryAnswer answer;
  const auto on_match = [&](std::span<const Value>) {
    answer.found = true;
    return false;
  };
  if (tries_atoms_first(query)) {
    Matcher matcher(db_, plan, engine_, true, options_.limit);
    if (options_.method == JoinMethod::kAutomatic) matcher.set_allowance(allowance(query, ranges));
    matcher.run(ranges, on_match);
    answer.stop = matcher.stop();
    answer.rows_visited = matcher.rows_visited();
    if (answer.found || answer.stop != StopReason::kFinished || !matcher.gave_up()) return answer;
  }
  GenericJoin join = by_variable(plan, ranges);
  join.run(on_match);
  answer.stop = join.stop();
  answer.rows_visited += join.rows_visited();
  return answer;
}

}  // namespace luminal::egraph

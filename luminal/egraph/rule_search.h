// The search of an iteration: all matches of many rules on a frozen database, on one thread or
// several, with the same matches in the same order. Each query is first matched atom by atom; a
// cyclic one that looks at more rows than its tables hold is matched variable by variable instead.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "luminal/egraph/engine.h"
#include "luminal/egraph/match_sink.h"

namespace luminal::egraph {

class GenericJoin;

/// How queries are matched. Results do not depend on it; tests compare the two.
enum class JoinMethod : uint8_t { kAutomatic, kByAtom, kByVariable };

/// How a search is done, and when it ends early.
struct SearchOptions {
  uint32_t threads = 1;
  /// Matches of one rule that end the search; 0 for no limit.
  uint64_t max_matches = 0;
  SearchLimit limit;
  JoinMethod method = JoinMethod::kAutomatic;
};

/// One rule with one choice of row ranges.
struct SearchTask {
  RuleId rule;
  std::vector<RowRange> ranges;
};

/// Whether a query has a match, if the search was not ended early.
struct QueryAnswer {
  bool found = false;
  StopReason stop = StopReason::kFinished;
  uint64_t rows_visited = 0;
};

/// Searches on one database.
class RuleSearch {
 public:
  RuleSearch(Database& db, Engine& engine, const SearchOptions& options)
      : db_(db), engine_(engine), options_(options) {}

  /// The matches of each task, in its buffer.
  std::vector<MatchBuffer> run(const std::vector<SearchTask>& tasks);
  /// Whether a query has a match among all rows.
  QueryAnswer ask(const Query& query);

 private:
  void run_serially(const std::vector<SearchTask>& tasks, std::vector<MatchBuffer>& buffers);
  void run_in_parallel(const std::vector<SearchTask>& tasks, std::vector<MatchBuffer>& buffers);
  /// Calls `work` with 0, …, count-1 from all threads.
  void for_each_on_threads(size_t count, const std::function<void(size_t)>& work);
  /// False if the query must be matched by variable.
  bool match_by_atom(const SearchTask& task, MatchBuffer& buffer, bool may_build_indexes);
  void match_by_variable(const SearchTask& task, MatchBuffer& buffer, GenericJoin& join);
  void collect(const SearchTask& task, MatchBuffer& buffer,
               const std::function<void(const Matcher::OnMatch&)>& search);
  GenericJoin by_variable(const QueryPlan& plan, std::span<const RowRange> ranges);
  void prepare_indexes(const SearchTask& task);
  uint64_t allowance(const Query& query, std::span<const RowRange> ranges) const;
  bool tries_atoms_first(const Query& query) const {
    return options_.method != JoinMethod::kByVariable || query.atoms.empty();
  }

  Database& db_;
  Engine& engine_;
  SearchOptions options_;
};

}  // namespace luminal::egraph

// The e-graph: programs in, answers out. It runs egglog text and the same commands built from C++
// (see builder.h), and gives access to extraction, reports and the database behind it.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "luminal/egraph/ast.h"
#include "luminal/egraph/database.h"
#include "luminal/egraph/engine.h"
#include "luminal/egraph/extract.h"
#include "luminal/egraph/scheduler.h"
#include "luminal/egraph/span.h"

namespace luminal::egraph {

/// How an e-graph behaves; the defaults are those of the language.
struct EGraphOptions {
  /// Threads that match rules. Results do not depend on it.
  uint32_t threads = 1;
  /// Print `(extraction-costs N)` in place of extracted terms.
  bool print_costs = false;
  /// Remember which match produced each row, so that explain.h can say why a fact exists.
  bool record_origins = false;
  /// Names of globals must start with `$` and no others may; a warning is enough where this is off.
  bool strict_names = false;
  /// Limit of each run command; a program cannot tell that it was reached, the report can.
  RunBudget budget = {};
};

/// An e-graph that speaks egglog.
class EGraph {
 public:
  explicit EGraph(EGraphOptions options = {});
  EGraph(const EGraph&) = delete;
  EGraph& operator=(const EGraph&) = delete;

  /// Runs a program and returns what it prints. Throws ProgramError at the first failing command;
  /// what ran before it keeps its effect, and what it printed is in `output_before_error`.
  std::string run_program(std::string_view text, std::string_view file_name = "program");
  /// Runs commands that were parsed or built.
  std::string run_commands(const std::vector<Command>& commands);
  /// Output of the commands before the one that threw.
  const std::string& output_before_error() const { return output_; }

  /// What a program should do otherwise, though it ran; empties the list.
  std::vector<std::string> take_warnings() { return std::exchange(warnings_, {}); }

  /// Runs a schedule and says what it did.
  RunReport run(const Schedule& schedule);
  /// Evaluates an expression of the top level, inserting its terms.
  Value evaluate(const Expr& expr, SortId* sort = nullptr);
  /// Whether facts hold. Throws ProgramError (stopped) if the budget ends before that is known.
  bool check(const std::vector<Fact>& facts);

  /// Extraction state of the present database, shared by calls until something changes.
  Extractor& extractor();

  Database& database() { return db_; }
  const Database& database() const { return db_; }
  Engine& engine() { return engine_; }
  /// Adds rules and declarations, as their commands would.
  RuleId add_rule(RuleDecl rule);
  SourceMap& sources() { return sources_; }
  /// Report of the last run command.
  const RunReport& last_report() const { return last_report_; }
  /// Why the first run that reached its budget ended; kFinished if none did.
  StopReason budget_reached() const { return budget_reached_; }
  void set_budget(const RunBudget& budget) { scheduler_.set_budget(budget); }
  void set_threads(uint32_t threads) { scheduler_.set_threads(threads); }
  /// A flag that another thread or a signal handler sets to end runs and checks; null for none.
  void set_cancel_flag(const std::atomic<bool>* cancelled) {
    scheduler_.set_cancel_flag(cancelled);
  }
  /// How queries are matched, for comparisons: results do not depend on it.
  void set_join_method(JoinMethod method) { scheduler_.set_join_method(method); }

  /// Saves the whole state; pop brings it back. Throws if there is nothing to pop.
  void push();
  void pop();

 private:
  void execute(Command command);
  void execute_core(Command command);
  void execute_action(const Action& action);
  void execute_fail(const Span& span, const FailCommand& fail);
  void execute_extract(const Span& span, const ExtractCommand& extract);
  void execute_print_size(const Span& span, const PrintSizeCommand& print);
  void execute_print_function(const Span& span, const PrintFunctionCommand& print);
  void execute_print_stats(const Span& span, const PrintStatsCommand& print);
  void execute_include(const Span& span, const IncludeCommand& include);
  void execute_input(const Span& span, const InputCommand& input);
  void execute_output(const Span& span, const OutputCommand& output);
  /// Evaluates and extracts, or throws.
  std::string extracted_text(const Span& span, const Expr& expr);
  FunctionId require_function(const Span& span, const std::string& name) const;
  /// Refuses a name that should or should not start with `$`, or warns of the first one.
  void complain_of_prefix(const Span& span, const std::string& name, bool global);

  EGraphOptions options_;
  SourceMap sources_;
  Database db_;
  Engine engine_;
  Scheduler scheduler_;
  std::vector<Database> saved_;
  std::vector<std::string> open_files_;
  std::string output_;
  std::vector<std::string> warnings_;
  bool warned_of_prefix_ = false;
  RunReport last_report_;
  StopReason budget_reached_ = StopReason::kFinished;
  std::unique_ptr<Extractor> extractor_;
  Epoch extractor_epoch_ = 0;
};

}  // namespace luminal::egraph

// One case of a suite, compiled: the plan that the cost model chooses and, where it is asked for,
// the one that a search finds, both with the same data. What was found is compared with the oracle,
// or with plain kernels where the oracle would take hours.
#pragma once

#include <optional>
#include <string>

#include "benchmarks/suite.h"

namespace luminal::benchmarks {

/// How the plans of a case are made.
struct PlanOptions {
  std::optional<double> search_seconds = {};  ///< nothing: no search
  bool check = true;                          ///< compare what was found with the oracle
};

/// See above.
class CasePlans {
 public:
  CasePlans(const Case& each, const PlanOptions& options);

  /// One run of the plan that is reported: the searched one, if there was a search.
  void run() { ours().run(); }
  /// One run of the plan of the cost model.
  void run_fast() { fast_->run(); }
  /// Shows the steps of one run.
  void trace() { ours().run({.trace = true}); }

  /// Whether the search found another plan than that of the cost model.
  bool is_other() const { return is_other_; }
  /// What the search did; empty if there was none.
  std::string search_text() const;
  /// What the results were compared with; empty if they were not.
  const std::string& checked_by() const { return checked_by_; }
  /// How results of the plan that was found are wrong; empty if all are right.
  const std::string& fault() const { return fault_; }

  /// The least that has to move: inputs and outputs once.
  double bytes() const { return bytes_; }
  double compile_seconds() const { return compile_seconds_; }
  /// Whether the search was ended by SIGINT.
  bool is_interrupted() const { return searched_ && searched_->search_report()->interrupted; }
  double search_seconds() const { return search_seconds_; }
  double check_seconds() const { return check_seconds_; }

 private:
  Executable& ours() { return searched_ ? *searched_ : *fast_; }
  void set_data();
  void search(double seconds);
  void check(double work);

  Network network_;
  std::optional<Executable> fast_;
  std::optional<Executable> searched_;
  std::string checked_by_;
  std::string fault_;
  bool is_other_ = false;
  double bytes_ = 0;
  double compile_seconds_ = 0;
  double search_seconds_ = 0;
  double check_seconds_ = 0;
};

}  // namespace luminal::benchmarks

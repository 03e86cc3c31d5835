// The numbers of a plan for one set of dims: extents and sizes of buffers, arguments of launches.
// Expressions are compiled once; new dims cost one evaluation of each.
#pragma once

#include <optional>
#include <vector>

#include "luminal/graph/index_walker.h"
#include "luminal/plan/plan.h"
#include "luminal/symbolic/evaluate.h"

namespace luminal::plan {

/// The numbers of a launch.
struct LaunchValues {
  std::vector<int64_t> scalars;
  int64_t items = 0;
  int64_t scratch_bytes = 0;
  int64_t work = 0;          ///< with that of the launches beside it
  int64_t thread_bytes = 0;  ///< what each thread needs: scratch, and buffers of its own after it
  std::vector<LaunchValues> first = {};   ///< of LaunchStep::first
  std::vector<LaunchValues> beside = {};  ///< of LaunchStep::beside; no items if nothing has to run
  bool operator==(const LaunchValues&) const = default;
};

/// Where a thread's own buffer is in its memory.
struct ThreadBuffer {
  size_t buffer = 0;
  int64_t offset = 0;
};

/// Expressions over the dims, evaluated together.
class ExprTable {
 public:
  /// Adds an expression; gives its position.
  size_t add(const Expr& expr);
  /// After the last add().
  void compile(const std::vector<Expr>& dims);
  void evaluate(const std::vector<int64_t>& dims) { compiled_->run(dims, values_); }
  int64_t operator[](size_t position) const { return values_[position]; }

 private:
  std::vector<Expr> exprs_;
  std::vector<int64_t> values_;
  std::optional<symbolic::CompiledExpr> compiled_;
};

/// See above.
class PlanValues {
 public:
  explicit PlanValues(const Plan& plan);

  /// Computes everything for these dims, in the plan's order. Throws UserError if an extent of the
  /// graph is negative.
  void bind(const graph::DimBindings& dims);

  const graph::Extents& extents(size_t buffer) const { return extents_[buffer]; }
  int64_t bytes(size_t buffer) const { return bytes_[buffer]; }
  /// Of steps, and of prepare steps after them. Nothing has to run where the results are empty.
  const std::optional<LaunchValues>& launch(size_t step) const { return launches_[step]; }
  /// The buffers of each thread's own that a launch has, one behind the other.
  void find_thread_buffers(const LaunchStep& launch, const LaunchValues& values,
                           std::vector<ThreadBuffer>& found) const;

 private:
  void add_extent_checks(const graph::Graph& graph);
  static LaunchValues evaluate(const LaunchStep& launch, ExprTable& table,
                               const std::vector<int64_t>& dims);
  std::optional<LaunchValues> evaluate_all(const LaunchStep& step, std::vector<ExprTable>& tables,
                                           const std::vector<int64_t>& dims) const;
  bool writes_nothing(const LaunchStep& launch) const;

  const Plan& plan_;
  ExprTable sizes_;
  std::vector<std::vector<size_t>> extent_positions_;
  std::vector<size_t> byte_positions_;
  std::vector<std::vector<ExprTable>> launch_tables_;  // of every step, one per entry it runs
  std::vector<graph::Shape> checked_shapes_;
  std::vector<std::vector<size_t>> checked_positions_;
  std::vector<graph::Extents> extents_;
  std::vector<int64_t> bytes_;
  std::vector<std::optional<LaunchValues>> launches_;
};

/// The entry that a launch runs.
const runtime::EntryInfo& entry_of(const Plan& plan, const LaunchStep& launch);

}  // namespace luminal::plan

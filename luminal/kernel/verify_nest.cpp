#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <set>

#include "luminal/kernel/verify.h"

namespace luminal::kernel {
namespace {

/// What is known of an accumulator at one point of the nest.
enum class Phase : uint8_t { kUnknown, kReset, kStepped, kFinished };

class NestChecker {
 public:
  NestChecker(const Arena& arena, const Nest& nest)
      : arena_(arena), nest_(nest), stores_(nest.kernel.roots.size(), 0) {}

  std::vector<std::string> check() {
    Known known;
    known.phases.assign(nest_.accumulators.size(), Phase::kUnknown);
    block(nest_.body, {}, known);
    for (size_t k = 0; k < stores_.size(); ++k)
      if (stores_[k] != 1) report("root {} is stored {} times", k, stores_[k]);
    return std::move(problems_);
  }

 private:
  struct Known {
    std::vector<Phase> phases;
    std::set<BodyId> lets;
    std::set<size_t> rows;
  };

  template <typename... Args>
  void report(fmt::format_string<Args...> format, Args&&... args) {
    problems_.push_back(fmt::format(format, std::forward<Args>(args)...));
  }

  void block(const std::vector<Statement>& statements, const AxisSet& scope, Known& known) {
    const std::set<BodyId> outer_lets = known.lets;
    for (const Statement& statement : statements) check(statement, scope, known);
    known.lets = outer_lets;
  }

  void check(const Statement& statement, const AxisSet& scope, Known& known) {
    switch (statement.kind) {
      case StatementKind::kLoop:
        return check_loop(statement, scope, known);
      case StatementKind::kUnless:
        return check_unless(statement, scope, known);
      case StatementKind::kReset:
        known.phases[statement.accumulator] = Phase::kReset;
        return;
      case StatementKind::kAccumulate:
      case StatementKind::kOnlineStep:
        return check_step(statement, scope, known);
      case StatementKind::kFinish:
        if (known.phases[statement.accumulator] == Phase::kUnknown)
          report("accumulator {} is finished but was not begun", statement.accumulator);
        known.phases[statement.accumulator] = Phase::kFinished;
        return;
      case StatementKind::kKeep:
        check_value(statement.value, scope, known);
        known.rows.insert(statement.buffer);
        return;
      case StatementKind::kLet:
        check_value(statement.value, scope, known);
        known.lets.insert(statement.value);
        return;
      case StatementKind::kStore:
        ++stores_[statement.root];
        if (statement.value != nest_.kernel.roots[statement.root].value)
          report("root {} stores another value", statement.root);
        if (!is_subset(make_axis_set(nest_.kernel.axes), scope))
          report("root {} is stored outside of its loops", statement.root);
        return check_value(statement.value, scope, known);
    }
  }

  void check_loop(const Statement& statement, const AxisSet& scope, Known& known) {
    const AxisSet axes = make_axis_set(statement.axes);
    if (axes.size() != statement.axes.size() || intersects(axes, scope))
      report("an axis of {} loops is looped over twice", statement.axes.size());
    for (const Expr& axis : statement.axes)
      if (is_bound_axis(axis) != (statement.role == LoopRole::kReduction))
        report("axis {} has the wrong kind of loop", axis);
    // What is computed inside is known inside only; steps of accumulators around remain.
    Known inside = known;
    block(statement.body, union_of(scope, axes), inside);
    known.rows = inside.rows;
    for (size_t k = 0; k < known.phases.size(); ++k)
      if (known.phases[k] == Phase::kReset && inside.phases[k] == Phase::kStepped)
        known.phases[k] = Phase::kStepped;
      else if (known.phases[k] != inside.phases[k])
        known.phases[k] = Phase::kUnknown;
  }

  void check_unless(const Statement& statement, const AxisSet& scope, Known& known) {
    check_value(statement.value, scope, known);
    Known otherwise = known;
    block(statement.body, scope, otherwise);
    for (const auto& [accumulator, value] : statement.shortcuts) {
      check_value(value, scope, known);
      if (!nest_.accumulators[accumulator].vector_axes.empty())
        report("accumulator {} of many values takes one", accumulator);
      if (otherwise.phases[accumulator] != Phase::kFinished)
        report("accumulator {} has a value or has none", accumulator);
    }
    for (const auto& [accumulator, value] : statement.shortcuts)
      known.phases[accumulator] = Phase::kFinished;
  }

  void check_step(const Statement& statement, const AxisSet& scope, Known& known) {
    const Accumulator& accumulator = nest_.accumulators[statement.accumulator];
    Phase& phase = known.phases[statement.accumulator];
    if (phase != Phase::kReset && phase != Phase::kStepped)
      report("accumulator {} is added to but was not reset", statement.accumulator);
    if (!is_subset(make_axis_set(accumulator.vector_axes), scope))
      report("accumulator {} is added to outside of its loops", statement.accumulator);
    if (statement.rescale_by && known.phases[*statement.rescale_by] != Phase::kStepped)
      report("accumulator {} is rescaled before its maximum grows", statement.accumulator);
    check_value(statement.value, scope, known);
    phase = Phase::kStepped;
    if (statement.kind == StatementKind::kOnlineStep) online_.insert(statement.accumulator);
  }

  void check_value(BodyId value, const AxisSet& scope, const Known& known) {
    std::set<BodyId> seen;
    visit(value, scope, known, seen);
  }

  void visit(BodyId id, const AxisSet& scope, const Known& known, std::set<BodyId>& seen) {
    if (known.lets.contains(id) || !seen.insert(id).second) return;
    for (size_t k = 0; k < nest_.buffers.size(); ++k)
      if (nest_.buffers[k].read == id) {
        if (!known.rows.contains(k)) report("row {} is read before it is kept", k);
        return;
      }
    const BodyNode& node = arena_[id];
    if (!is_subset(node.free, scope)) {
      report("%{} is needed outside of the loops it depends on", id.value);
      return;
    }
    if (node.kind == BodyKind::kReduce) return check_reduction(id, known);
    for (BodyId child : node.children) visit(child, scope, known, seen);
    for (BodyId index : node.index_values) visit(index, scope, known, seen);
  }

  void check_reduction(BodyId id, const Known& known) {
    for (size_t k = 0; k < nest_.accumulators.size(); ++k) {
      if (nest_.accumulators[k].reduction != id) continue;
      if (known.phases[k] == Phase::kFinished) return;
      if (known.phases[k] == Phase::kStepped && online_.contains(k)) return;
    }
    report("reduction %{} is read before it is computed", id.value);
  }

  const Arena& arena_;
  const Nest& nest_;
  std::vector<int> stores_;
  std::set<size_t> online_;
  std::vector<std::string> problems_;
};

}  // namespace

std::vector<std::string> problems(const Arena& arena, const Nest& nest) {
  return NestChecker(arena, nest).check();
}

}  // namespace luminal::kernel

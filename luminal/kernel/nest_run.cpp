#include <cmath>
#include <limits>

#include "luminal/kernel/nest.h"
#include "luminal/support/check.h"

namespace luminal::kernel {
namespace {

constexpr double kMinusInfinity = -std::numeric_limits<double>::infinity();

/// An accumulator while the nest runs.
struct State {
  std::vector<Number> values;
  bool valid = false;    // was reset in this iteration of the loops around
  bool running = false;  // an online maximum that still grows
  bool stepped = false;
  double factor = 1.0;  // by which sums relative to this maximum are rescaled
};

class Runner {
 public:
  Runner(const Arena& arena, const Nest& nest, const graph::DimValues& dims, Tensors& tensors)
      : nest_(nest),
        evaluator_(arena, tensors, dims),
        results_(empty_results(arena, nest.kernel, dims)),
        states_(nest.accumulators.size()),
        buffers_(nest.buffers.size()) {
    for (const RowBuffer& buffer : nest.buffers) evaluator_.elsewhere.insert(buffer.read);
    evaluator_.known = [this](BodyId id) { return known(id); };
  }

  Tensors run() {
    run(nest_.body);
    return std::move(results_);
  }

 private:
  void run(const std::vector<Statement>& block) {
    for (const Statement& statement : block) run(statement);
    for (const Statement& statement : block) {
      if (statement.kind != StatementKind::kLet) continue;
      lets_.erase(statement.value);
      evaluator_.elsewhere.erase(statement.value);
    }
  }

  void run(const Statement& statement) {
    switch (statement.kind) {
      case StatementKind::kLoop:
        for_each_position(evaluator_, statement.axes, [&] {
          forget(statement.body);
          run(statement.body);
        });
        return;
      case StatementKind::kUnless:
        return unless(statement);
      case StatementKind::kReset:
        return reset(statement);
      case StatementKind::kAccumulate:
        return accumulate(statement);
      case StatementKind::kOnlineStep:
        return online_step(statement);
      case StatementKind::kFinish:
        return finish(statement);
      case StatementKind::kKeep: {
        const RowBuffer& buffer = nest_.buffers[statement.buffer];
        const Number value = evaluator_.evaluate(statement.value);
        buffers_[statement.buffer][evaluator_.evaluate(buffer.written_axis)] = value;
        return;
      }
      case StatementKind::kLet: {
        const Number value = evaluator_.evaluate(statement.value);
        lets_[statement.value] = value;
        evaluator_.elsewhere.insert(statement.value);
        return;
      }
      case StatementKind::kStore: {
        const Root& root = nest_.kernel.roots[statement.root];
        store_root(evaluator_, root, evaluator_.evaluate(statement.value),
                   results_.at(root.tensor));
        return;
      }
    }
  }

  void unless(const Statement& statement) {
    if (evaluator_.evaluate(statement.value).integer == 0) return run(statement.body);
    for (const auto& [accumulator, value] : statement.shortcuts) {
      const Number number =
          Evaluator::rounded(nest_.accumulators[accumulator].dtype, evaluator_.evaluate(value));
      states_[accumulator] = {};
      states_[accumulator].values = {number};
      states_[accumulator].valid = true;
      evaluator_.reductions_changed();
    }
  }

  /// What a loop computes inside is not known when its next iteration begins.
  void forget(const std::vector<Statement>& block) {
    for (const Statement& statement : block) {
      if (statement.kind == StatementKind::kLoop) forget(statement.body);
      if (statement.kind == StatementKind::kReset) states_[statement.accumulator].valid = false;
    }
  }

  size_t element(const Accumulator& accumulator) {
    int64_t position = 0;
    for (const Expr& axis : accumulator.vector_axes)
      position = position * evaluator_.extent(axis.axis_extent()) + evaluator_.evaluate(axis);
    return static_cast<size_t>(position);
  }

  void reset(const Statement& statement) {
    const Accumulator& accumulator = nest_.accumulators[statement.accumulator];
    int64_t size = 1;
    for (const Expr& axis : accumulator.vector_axes) size *= evaluator_.extent(axis.axis_extent());
    State state;
    state.values.assign(static_cast<size_t>(size),
                        Evaluator::identity(accumulator.op, accumulator.dtype));
    state.valid = true;
    states_[statement.accumulator] = std::move(state);
    evaluator_.reductions_changed();
  }

  void accumulate(const Statement& statement) {
    const Accumulator& accumulator = nest_.accumulators[statement.accumulator];
    const Number value = evaluator_.evaluate(statement.value);
    Number& total = states_[statement.accumulator].values[element(accumulator)];
    if (statement.rescale_by) total.real *= states_[*statement.rescale_by].factor;
    total = Evaluator::combine(accumulator.op, accumulator.dtype, total, value);
    evaluator_.reductions_changed();
  }

  void online_step(const Statement& statement) {
    const Accumulator& accumulator = nest_.accumulators[statement.accumulator];
    State& state = states_[statement.accumulator];
    const Number value = evaluator_.evaluate(statement.value);
    const double before = state.values[0].real;
    state.values[0] = Evaluator::combine(accumulator.op, accumulator.dtype, state.values[0], value);
    const double change = before - safe(state.values[0].real);
    state.factor = accumulator.exponential == Op::kExp ? std::exp(change) : std::exp2(change);
    state.running = true;
    state.stepped = true;
    evaluator_.reductions_changed();
  }

  void finish(const Statement& statement) {
    const Accumulator& accumulator = nest_.accumulators[statement.accumulator];
    State& state = states_[statement.accumulator];
    if (statement.rescale_by) {
      const State& max = states_[*statement.rescale_by];
      if (max.stepped && max.values[0].real == kMinusInfinity)
        for (Number& value : state.values) value.real = std::numeric_limits<double>::quiet_NaN();
    }
    for (Number& value : state.values) value = Evaluator::rounded(accumulator.dtype, value);
    state.running = false;
    evaluator_.reductions_changed();
  }

  /// exp(-inf - m) shall be 0 as long as m is -inf too.
  static double safe(double max) { return max == kMinusInfinity ? 0.0 : max; }

  std::optional<Number> known(BodyId id) {
    if (const auto let = lets_.find(id); let != lets_.end()) return let->second;
    for (size_t k = 0; k < nest_.buffers.size(); ++k)
      if (nest_.buffers[k].read == id) return from_buffer(k);
    for (size_t k = 0; k < states_.size(); ++k) {
      if (nest_.accumulators[k].reduction != id || !states_[k].valid) continue;
      Number value = states_[k].values[element(nest_.accumulators[k])];
      if (states_[k].running) value.real = safe(value.real);
      return value;
    }
    throw InternalError("a reduction is read where it was not computed");
  }

  std::optional<Number> from_buffer(size_t k) {
    const auto found = buffers_[k].find(evaluator_.evaluate(nest_.buffers[k].read_axis));
    LUMINAL_CHECK(found != buffers_[k].end(), "a row is read before it is kept");
    return found->second;
  }

  const Nest& nest_;
  Evaluator evaluator_;
  Tensors results_;
  std::vector<State> states_;
  std::vector<std::map<int64_t, Number>> buffers_;
  std::map<BodyId, Number> lets_;
};

}  // namespace

void run_nest(const Arena& arena, const Nest& nest, const graph::DimValues& dims,
              Tensors& tensors) {
  Tensors results = Runner(arena, nest, dims, tensors).run();
  for (auto& [tensor, value] : results) tensors.insert_or_assign(tensor, std::move(value));
}

}  // namespace luminal::kernel

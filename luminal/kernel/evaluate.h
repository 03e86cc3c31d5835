// Computes bodies one element at a time, in the plainest way: the reference for everything that is
// made of bodies. Arithmetic is the interpreter's, rounded at every node, so a body derived without
// merging reductions equals the oracle bit for bit.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <unordered_map>
#include <vector>

#include "luminal/graph/array.h"
#include "luminal/graph/element_source.h"
#include "luminal/graph/program.h"
#include "luminal/kernel/body.h"
#include "luminal/symbolic/evaluate.h"

namespace luminal::kernel {

/// A value of a body: the field that fits the dtype.
struct Number {
  double real = 0.0;    ///< of floats
  int64_t integer = 0;  ///< of integers and bool
};

/// What is in memory, by node.
using Tensors = std::map<NodeId, graph::Array>;

/// Evaluates bodies of one arena with these dims and tensors, which it refers to.
class Evaluator {
 public:
  Evaluator(const Arena& arena, const Tensors& tensors, const graph::DimValues& dims);

  /// The value of an axis from now on.
  void set_axis(const Expr& axis, int64_t value) { axes_[axis.axis_id()] = {value, ++clock_}; }
  /// An expression of the dims alone (an extent).
  int64_t extent(const Expr& expr) const;
  /// An expression at the current position.
  int64_t evaluate(const Expr& expr);
  /// A body at the current position. Reductions run their loops unless `reductions` knows them.
  Number evaluate(BodyId id);
  /// The scalar arithmetic of one elementwise node on operand values.
  Number apply(const BodyNode& node, std::span<const Number> operands);
  /// One step of a reduction, in the accumulator's wide format.
  static Number combine(Op op, DType dtype, Number a, Number b);
  static Number identity(Op op, DType dtype);  ///< what a reduction starts with
  /// Rounds or wraps to the dtype.
  static Number rounded(DType dtype, Number value);

  /// What is done instead of rounding to the dtype, if set: every value is computed in f64 then,
  /// and this says what becomes of it (nothing, or what rounding may cost). `partial` values are
  /// reductions on their way.
  std::function<Number(BodyId id, Number value, bool partial)> rounding;
  /// Values of reductions that somebody else computed; asked before running a loop. Whoever
  /// changes one says so.
  std::function<std::optional<Number>(BodyId)> known;
  /// Values that are no reductions and are kept elsewhere all the same (row buffers).
  std::set<BodyId> elsewhere;
  void reductions_changed() { reductions_clock_ = ++clock_; }  ///< `known` gives other values
  /// How often a value outside of its tensor was asked for so far. In a graph that may run nobody
  /// looks at such values.
  int64_t loads_outside() const { return loads_outside_; }

 private:
  struct Compiled {
    std::optional<symbolic::CompiledExpr> program;
    std::vector<Expr> slots;
    int64_t constant = 0;
  };
  const Compiled& compiled(const Expr& expr);
  /// When the value of a node was last different, for all we know.
  int64_t last_change(const BodyNode& node) const;
  Number compute(BodyId id);
  Number load(const BodyNode& node);
  Number reduce(BodyId id);
  /// An elementwise node before rounding.
  Number exact(const BodyNode& node, std::span<const Number> operands, bool wide);

  const Arena& arena_;
  const Tensors& tensors_;
  symbolic::Values names_;
  struct AxisValue {
    int64_t value = 0;
    int64_t set_at = 0;
  };
  std::unordered_map<int64_t, AxisValue> axes_;
  int64_t clock_ = 0;
  int64_t loads_outside_ = 0;
  int64_t reductions_clock_ = 0;
  // A body is a DAG: each value is kept until an axis it uses is set again.
  struct Kept {
    Number value;
    int64_t changed_at = -1;
  };
  std::vector<Kept> kept_;
  std::unordered_map<Expr, Compiled> compiled_;
  std::vector<graph::Block> operands_;
  graph::Block result_;
};

/// Runs a kernel at every point of its output and stores the results in `tensors`.
void run_kernel(const Arena& arena, const Kernel& kernel, const graph::DimValues& dims,
                Tensors& tensors);

/// Zeros for every tensor the kernel stores.
Tensors empty_results(const Arena& arena, const Kernel& kernel, const graph::DimValues& dims);
/// Stores a root's value where it belongs at the current position.
void store_root(Evaluator& evaluator, const Root& root, Number value, graph::Array& result);

/// Calls `visit` for every position of the axes, the last one fastest, with the axes set.
void for_each_position(Evaluator& evaluator, std::span<const Expr> axes,
                       const std::function<void()>& visit);

/// The row-major position of an index in these extents; nothing if it lies outside.
std::optional<int64_t> position_in(const graph::Extents& extents, std::span<const int64_t> index);

/// Writes one element.
void store(graph::Array& array, int64_t position, Number value);

}  // namespace luminal::kernel

#include "luminal/kernel/nest_spread.h"

#include <algorithm>
#include <cmath>

namespace luminal::kernel {
namespace {

using Block = std::vector<Statement>;

/// Shorter rows are over soon, or written out.
constexpr int64_t kFewestElements = 768;
/// Values that the guess is the mean of.
constexpr int64_t kGuesses = 8;
/// How much of q may be subtracted: an eighth of it has three bits less.
constexpr double kMost = 0.875;

/// A pass whose only statement adds to one sum: reset, loop, finish.
struct Pass {
  size_t accumulator;
  Expr axis;
  BodyId value;
};

class Finder {
 public:
  Finder(Arena& arena, Nest& nest) : arena_(arena), nest_(nest) {}

  void rewrite(Block& block) {
    for (Statement& statement : block)
      if (statement.kind == StatementKind::kLoop && statement.role == LoopRole::kRow)
        rewrite_row(statement.body);
  }

 private:
  static constexpr size_t kStatements = 3;  // of a pass

  void rewrite_row(Block& block) {
    rewrite(block);
    for (size_t k = 0; k + 2 * kStatements <= block.size(); ++k) {
      const std::optional<Pass> sum = pass_at(block, k);
      const std::optional<Pass> spread = pass_at(block, k + kStatements);
      if (!sum || !spread || !is_around_mean(*sum, *spread)) continue;
      const auto first = block.begin() + static_cast<std::ptrdiff_t>(k);
      const auto last = first + static_cast<std::ptrdiff_t>(2 * kStatements);
      Block quick = in_one_pass(*sum, *spread, Block(first, last));
      if (quick.empty()) return;
      const auto at = block.erase(first, last);
      block.insert(at, std::make_move_iterator(quick.begin()),
                   std::make_move_iterator(quick.end()));
      return;
    }
  }

  std::optional<Pass> pass_at(const Block& block, size_t k) const {
    const Statement& loop = block[k + 1];
    if (block[k].kind != StatementKind::kReset || loop.kind != StatementKind::kLoop ||
        block[k + 2].kind != StatementKind::kFinish || loop.role != LoopRole::kReduction ||
        loop.online || loop.axes.size() != 1 || loop.body.size() != 1 ||
        loop.body[0].kind != StatementKind::kAccumulate || loop.body[0].rescale_by)
      return std::nullopt;
    const size_t number = loop.body[0].accumulator;
    const Accumulator& accumulator = nest_.accumulators[number];
    const auto extent = loop.axes[0].axis_extent().constant_value();
    const DType dtype = accumulator.dtype;
    if (block[k].accumulator != number || block[k + 2].accumulator != number ||
        accumulator.op != Op::kSum || !accumulator.vector_axes.empty() ||
        (dtype != DType::kF32 && dtype != DType::kF64) || !extent || *extent < kFewestElements ||
        arena_[loop.body[0].value].dtype != dtype)
      return std::nullopt;
    return Pass{number, loop.axes[0], loop.body[0].value};
  }

  /// Whether a pass adds up squares of what the other adds up, less its mean.
  bool is_around_mean(const Pass& sum, const Pass& spread) {
    if (sum.axis.axis_extent() != spread.axis.axis_extent()) return false;
    const BodyNode square = arena_[spread.value];
    if (square.kind != BodyKind::kOp || square.op != Op::kMul ||
        square.children[0] != square.children[1])
      return false;
    const BodyNode around = arena_[square.children[0]];
    if (around.kind != BodyKind::kOp || around.op != Op::kAdd) return false;
    const symbolic::Binding binding{sum.axis, spread.axis};
    const BodyId value =
        sum.axis == spread.axis ? sum.value : arena_.substitute(sum.value, std::span(&binding, 1));
    const auto extent = static_cast<double>(*sum.axis.axis_extent().constant_value());
    for (const size_t k : {0U, 1U})
      if (around.children[k] == value) {
        // Rounded as 1 / n is, or something would be missing: n times the square of the difference.
        const double rounding = arena_[spread.value].dtype == DType::kF32 ? 0x1p-22 : 0x1p-50;
        const double factor = factor_of(around.children[1 - k], sum.accumulator);
        return std::abs(factor * extent + 1) <= rounding;
      }
    return false;
  }

  /// What the sum is multiplied by in a value; 0: it is something else.
  double factor_of(BodyId id, size_t accumulator) const {
    const BodyNode& node = arena_[id];
    if (id == nest_.accumulators[accumulator].reduction) return 1;
    if (node.kind != BodyKind::kOp) return 0;
    const auto number = [&](size_t k) {
      const BodyNode& child = arena_[node.children[k]];
      return child.kind == BodyKind::kConstant ? child.constant.as_double() : 0.0;
    };
    if (node.op == Op::kMul && number(0) != 0)
      return number(0) * factor_of(node.children[1], accumulator);
    if (node.op == Op::kMul && number(1) != 0)
      return number(1) * factor_of(node.children[0], accumulator);
    if (node.op == Op::kDiv && number(1) != 0)
      return factor_of(node.children[0], accumulator) / number(1);
    return 0;
  }

  /// The passes as they were run where the guess is bad. Nothing if the sums are no reductions.
  Block in_one_pass(const Pass& sum, const Pass& spread, Block passes) {
    const DType dtype = nest_.accumulators[sum.accumulator].dtype;
    const int64_t extent = *sum.axis.axis_extent().constant_value();
    const auto number = [&](double value) { return arena_.constant(Scalar::of(dtype, value)); };
    const auto op = [&](Op of, BodyId a, BodyId b) { return arena_.op(of, dtype, {a, b}); };
    const BodyId less = op(Op::kMul, number(-1), guess_of(sum, op, number));
    const BodyId change = op(Op::kAdd, sum.value, less);
    const BodyId square = op(Op::kMul, change, change);
    const BodyId of_t = arena_.reduce(Op::kSum, {sum.axis}, change);
    const BodyId of_q = arena_.reduce(Op::kSum, {sum.axis}, square);
    if (arena_[of_t].kind != BodyKind::kReduce || arena_[of_q].kind != BodyKind::kReduce) return {};
    const size_t t = add(of_t, dtype);
    const size_t q = add(of_q, dtype);
    Statement pass{.kind = StatementKind::kLoop};
    pass.role = LoopRole::kReduction;
    pass.axes = {sum.axis};
    pass.body = {on(StatementKind::kAccumulate, t, change),
                 on(StatementKind::kAccumulate, q, square)};
    const auto n = static_cast<double>(extent);
    Statement unless{.kind = StatementKind::kUnless};
    // False where either is no number, or where both are 0 (all values are one) or infinite.
    unless.value = arena_.op(Op::kLessThan, DType::kBool,
                             {op(Op::kMul, of_t, of_t), op(Op::kMul, of_q, number(kMost * n))});
    unless.shortcuts = {
        {sum.accumulator, op(Op::kAdd, of_t, op(Op::kMul, less, number(-n)))},
        {spread.accumulator,
         op(Op::kAdd, of_q, op(Op::kMul, op(Op::kMul, of_t, of_t), number(-1 / n)))}};
    unless.body = std::move(passes);
    Block result = {on(StatementKind::kReset, t), on(StatementKind::kReset, q)};
    result.push_back(std::move(pass));
    result.push_back(on(StatementKind::kFinish, t));
    result.push_back(on(StatementKind::kFinish, q));
    result.push_back(std::move(unless));
    return result;
  }

  /// The mean of some values from all over the row.
  template <typename Binary, typename Number>
  BodyId guess_of(const Pass& sum, const Binary& op, const Number& number) {
    const int64_t extent = *sum.axis.axis_extent().constant_value();
    std::vector<BodyId> values;
    for (int64_t k = 0; k < kGuesses; ++k) {
      const symbolic::Binding binding{sum.axis, Expr((2 * k + 1) * extent / (2 * kGuesses))};
      values.push_back(arena_.substitute(sum.value, std::span(&binding, 1)));
    }
    for (size_t count = values.size(); count > 1; count /= 2)
      for (size_t k = 0; k < count / 2; ++k)
        values[k] = op(Op::kAdd, values[2 * k], values[2 * k + 1]);
    return op(Op::kMul, values[0], number(1.0 / static_cast<double>(kGuesses)));
  }

  size_t add(BodyId reduction, DType dtype) {
    nest_.accumulators.push_back({reduction, Op::kSum, dtype, {}});
    return nest_.accumulators.size() - 1;
  }

  static Statement on(StatementKind kind, size_t accumulator, BodyId value = {}) {
    Statement statement{.kind = kind};
    statement.accumulator = accumulator;
    statement.value = value;
    return statement;
  }

  Arena& arena_;
  Nest& nest_;
};

}  // namespace

void find_spreads(Arena& arena, Nest& nest) { Finder(arena, nest).rewrite(nest.body); }

}  // namespace luminal::kernel

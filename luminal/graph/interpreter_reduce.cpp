#include "luminal/graph/interpreter_reduce.h"

#include <algorithm>

#include "luminal/graph/interpreter_elementwise.h"
#include "luminal/support/check.h"

namespace luminal::graph {
namespace {

template <typename Number>
Number* numbers_of(Block& block) {
  if constexpr (std::is_same_v<Number, double>) {
    return block.floats.data();
  } else {
    return block.integers.data();
  }
}

/// Collects results and stores them a block at a time.
template <typename Number>
class ResultWriter {
 public:
  explicit ResultWriter(Array& array) : array_(array) {}
  void push(Number number) {
    numbers_of<Number>(block_)[count_++] = number;
    if (count_ == kBlockSize) flush();
  }
  void flush() {
    store(array_, position_, count_, block_);
    position_ += count_;
    count_ = 0;
  }

 private:
  Array& array_;
  Block block_;
  int64_t position_ = 0;
  int64_t count_ = 0;
};

template <typename Number, typename Combine>
void reduce_with(ElementSource& source, const Reduced& reduced, Array& result, Number start,
                 Combine combine) {
  ResultWriter<Number> writer(result);
  if (reduced.count == 0) {
    for (int64_t i = 0; i < result.size(); ++i) writer.push(start);
    writer.flush();
    return;
  }
  Block block;
  const Number* numbers = numbers_of<Number>(block);
  const int64_t total = result.size() * (reduced.running ? 1 : reduced.count);
  Number sum = start;
  int64_t missing = reduced.count;  // until the current result is complete
  for (int64_t begin = 0; begin < total; begin += kBlockSize) {
    const int64_t count = std::min(kBlockSize, total - begin);
    source.read(begin, count, block);
    for (int64_t i = 0; i < count;) {
      const int64_t end = i + std::min(missing, count - i);
      missing -= end - i;
      for (; i < end; ++i) {
        sum = combine(sum, numbers[i]);
        if (reduced.running) writer.push(sum);
      }
      if (missing > 0) continue;
      if (!reduced.running) writer.push(sum);
      sum = start;
      missing = reduced.count;
    }
  }
  writer.flush();
}

/// A view of elements that are reduced up to position k each, without the axis of the positions;
/// nothing if the elements depend on it otherwise.
std::optional<RunningView> without_axis(const View& view, int k, const Condition& order) {
  const Expr removed = view.axis(k);
  Shape domain = view.domain();
  domain.erase(domain.begin() + k);
  std::vector<symbolic::Binding> renumbered;
  for (int i = k + 1; i < view.rank(); ++i) {
    const Expr axis = view.axis(i);
    if (axis.is_axis()) renumbered.push_back({axis, Expr::axis(i - 1, axis.axis_extent())});
  }
  std::vector<Expr> index;
  for (const Expr& expr : view.index()) {
    if (expr.depends_on(removed)) return std::nullopt;
    index.push_back(symbolic::substitute(expr, renumbered));
  }
  std::vector<Condition> conditions;
  for (const Condition& each : view.conditions()) {
    if (each == order) continue;
    if (each.value.depends_on(removed)) return std::nullopt;
    conditions.push_back({symbolic::substitute(each.value, renumbered), each.extent});
  }
  return RunningView{View(view.source(), domain, index, conditions, view.fill()), k};
}

}  // namespace

std::optional<RunningView> running_view(const View& view, Op op, int axes) {
  const int last = view.rank() - 1;
  if (axes != 1 || last < 1) return std::nullopt;
  const auto condition =
      std::find_if(view.conditions().begin(), view.conditions().end(),
                   [&](const Condition& each) { return each.value.depends_on(view.axis(last)); });
  if (condition == view.conditions().end()) return std::nullopt;
  const DType dtype = view.fill().dtype();
  const Scalar start =
      op == Op::kReduceMax ? Scalar::lowest(dtype) : Scalar::of(dtype, op == Op::kProd ? 1 : 0);
  for (int k = 0; k < last; ++k) {
    const Expr extent = view.domain()[static_cast<size_t>(k)];
    const Expr axis = view.axis(k);
    if (extent != view.domain().back() || condition->extent != extent ||
        condition->value != axis - view.axis(last) || view.fill() != start)
      continue;
    return without_axis(view, k, *condition);
  }
  return std::nullopt;
}

void reduce(Op op, ElementSource& source, const Reduced& reduced, Array& result) {
  using F = double;
  using I = int64_t;
  const Scalar lowest = Scalar::lowest(source.dtype());
  if (is_float(source.dtype())) {
    switch (op) {
      case Op::kSum:
        return reduce_with<F>(source, reduced, result, 0.0, [](F a, F b) { return a + b; });
      case Op::kProd:
        return reduce_with<F>(source, reduced, result, 1.0, [](F a, F b) { return a * b; });
      case Op::kReduceMax:
        return reduce_with<F>(source, reduced, result, lowest.as_double(),
                              [](F a, F b) { return maximum(a, b); });
      default:
        break;
    }
  } else {
    switch (op) {
      case Op::kSum:
        return reduce_with<I>(source, reduced, result, 0, wrapping_add);
      case Op::kProd:
        return reduce_with<I>(source, reduced, result, 1, wrapping_mul);
      case Op::kReduceMax:
        return reduce_with<I>(source, reduced, result, lowest.as_int64(),
                              [](I a, I b) { return maximum(a, b); });
      default:
        break;
    }
  }
  throw InternalError(fmt::format("{} is no reduction", name(op)));
}

}  // namespace luminal::graph

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
void reduce_with(ElementSource& source, int64_t reduced, Array& result, Number start,
                 Combine combine) {
  ResultWriter<Number> writer(result);
  if (reduced == 0) {
    for (int64_t i = 0; i < result.size(); ++i) writer.push(start);
    writer.flush();
    return;
  }
  Block block;
  const Number* numbers = numbers_of<Number>(block);
  const int64_t total = result.size() * reduced;
  Number sum = start;
  int64_t missing = reduced;  // until the current result is complete
  for (int64_t begin = 0; begin < total; begin += kBlockSize) {
    const int64_t count = std::min(kBlockSize, total - begin);
    source.read(begin, count, block);
    for (int64_t i = 0; i < count;) {
      const int64_t end = i + std::min(missing, count - i);
      missing -= end - i;
      for (; i < end; ++i) sum = combine(sum, numbers[i]);
      if (missing > 0) continue;
      writer.push(sum);
      sum = start;
      missing = reduced;
    }
  }
  writer.flush();
}

}  // namespace

void reduce(Op op, ElementSource& source, int64_t reduced, Array& result) {
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

#include "luminal/graph/interpreter_indexing.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "luminal/graph/interpreter_elementwise.h"
#include "luminal/support/check.h"

namespace luminal::graph {
namespace {

/// "[1, 2]": a row-major position in a shape, as coordinates.
std::string coordinates(int64_t position, Extents extents) {
  for (size_t k = extents.size(); k-- > 0;) {
    const int64_t extent = extents[k];
    extents[k] = position % extent;
    position /= extent;
  }
  return to_string(extents);
}

template <typename Number>
std::vector<Number>& numbers_of(Block& block) {
  if constexpr (std::is_same_v<Number, double>) {
    return block.floats;
  } else {
    return block.integers;
  }
}

/// Calls `consume(begin, count)` after reading each block of several sources.
template <typename Consume>
void for_each_block(int64_t size, Consume consume) {
  for (int64_t begin = 0; begin < size; begin += kBlockSize)
    consume(begin, std::min(kBlockSize, size - begin));
}

template <typename Number>
Number combine(ScatterMode mode, Number old, Number update) {
  switch (mode) {
    case ScatterMode::kSet:
      return update;
    case ScatterMode::kAdd:
      if constexpr (std::is_same_v<Number, double>)
        return old + update;
      else
        return wrapping_add(old, update);
    case ScatterMode::kMul:
      if constexpr (std::is_same_v<Number, double>)
        return old * update;
      else
        return wrapping_mul(old, update);
    case ScatterMode::kMax:
      return maximum(old, update);
    case ScatterMode::kMin:
      return minimum(old, update);
  }
  throw InternalError(fmt::format("scatter mode {}", static_cast<int>(mode)));
}

/// The mode is known here, so that the loop over updates does not ask for it.
template <typename Number, ScatterMode kMode>
void scatter_numbers(const ScatterOperands& operands, int64_t first_row, int64_t end_row,
                     std::byte* target) {
  // Some rows at a time, whose numbers stay in the cache.
  constexpr int64_t kManyNumbers = 1 << 15;
  const int64_t row_size = operands.extents.back();
  const int64_t per_row = operands.updates_per_row;
  const int64_t rows_at_once = std::max<int64_t>(1, kManyNumbers / std::max<int64_t>(1, row_size));
  Extents index_extents = operands.extents;
  index_extents.back() = per_row;
  Block index_block;
  Block block;
  std::vector<Number> numbers(
      static_cast<size_t>(std::min(rows_at_once, end_row - first_row) * row_size));
  for (int64_t first = first_row; first < end_row; first += rows_at_once) {
    const int64_t rows = std::min(rows_at_once, end_row - first);
    for_each_block(rows * row_size, [&](int64_t begin, int64_t count) {
      operands.base.read(first * row_size + begin, count, block);
      std::copy_n(numbers_of<Number>(block).data(), count, numbers.data() + begin);
    });
    Number* row = numbers.data();
    int64_t left = per_row;  // updates of this row
    for_each_block(rows * per_row, [&](int64_t begin, int64_t count) {
      operands.index.read(first * per_row + begin, count, index_block);
      operands.updates.read(first * per_row + begin, count, block);
      for (int64_t i = 0; i < count; ++i) {
        const int64_t chosen = index_block.integers[static_cast<size_t>(i)];
        if (chosen < 0 || chosen >= row_size)
          throw UserError("scatter",
                          "index {} at position {} is out of range: it must be 0 <= index "
                          "< {}",
                          chosen, coordinates(first * per_row + begin + i, index_extents),
                          row_size);
        row[chosen] =
            combine(kMode, row[chosen], numbers_of<Number>(block)[static_cast<size_t>(i)]);
        if (--left > 0) continue;
        left = per_row;
        row += row_size;
      }
    });
    store(operands.dtype, target, first * row_size,
          std::span<const Number>(numbers.data(), static_cast<size_t>(rows * row_size)));
  }
}

template <typename Number>
void scatter_numbers(const ScatterOperands& operands, int64_t first_row, int64_t end_row,
                     std::byte* target) {
  const auto with_mode = [&]<ScatterMode kMode>(std::integral_constant<ScatterMode, kMode>) {
    scatter_numbers<Number, kMode>(operands, first_row, end_row, target);
  };
  switch (operands.mode) {
    case ScatterMode::kSet:
      return with_mode(std::integral_constant<ScatterMode, ScatterMode::kSet>());
    case ScatterMode::kAdd:
      return with_mode(std::integral_constant<ScatterMode, ScatterMode::kAdd>());
    case ScatterMode::kMul:
      return with_mode(std::integral_constant<ScatterMode, ScatterMode::kMul>());
    case ScatterMode::kMax:
      return with_mode(std::integral_constant<ScatterMode, ScatterMode::kMax>());
    case ScatterMode::kMin:
      return with_mode(std::integral_constant<ScatterMode, ScatterMode::kMin>());
  }
}

/// A strict order in which NaN stands above everything.
bool sorts_before(double a, double b) {
  if (std::isnan(a)) return false;
  return std::isnan(b) || a < b;
}
bool sorts_before(int64_t a, int64_t b) { return a < b; }

template <typename Number>
void argsort_numbers(ElementSource& values, bool descending, Array& result) {
  const int64_t length = result.extents().back();
  const int64_t rows = length == 0 ? 0 : result.size() / length;
  std::vector<Number> row(static_cast<size_t>(length));
  std::vector<int64_t> order(static_cast<size_t>(length));
  std::byte* target = result.mutable_bytes().data();
  Block block;
  for (int64_t r = 0; r < rows; ++r) {
    for_each_block(length, [&](int64_t begin, int64_t count) {
      values.read(r * length + begin, count, block);
      std::copy_n(numbers_of<Number>(block).data(), count, row.data() + begin);
    });
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) {
      const Number left = row[static_cast<size_t>(a)];
      const Number right = row[static_cast<size_t>(b)];
      return descending ? sorts_before(right, left) : sorts_before(left, right);
    });
    store(result.dtype(), target, r * length, std::span<const int64_t>(order));
  }
}

[[noreturn]] void fail_gather(int64_t chosen, int64_t position, const Extents& extents,
                              int64_t bound) {
  throw UserError("gather",
                  "index {} at position {} is out of range: it must be 0 <= index "
                  "< {}",
                  chosen, coordinates(position, extents), bound);
}

}  // namespace

void check_positions(ElementSource& index, int64_t bound, const Extents& extents) {
  Block block;
  for_each_block(element_count(extents), [&](int64_t begin, int64_t count) {
    index.read(begin, count, block);
    for (int64_t i = 0; i < count; ++i) {
      const int64_t chosen = block.integers[static_cast<size_t>(i)];
      if (chosen < 0 || chosen >= bound) fail_gather(chosen, begin + i, extents, bound);
    }
  });
}

void gather(ElementSource& index, const ArraySource& data, Array& result) {
  const int64_t bound = data.walker().domain().back();
  const int width = bits(result.dtype());
  Array fill(result.dtype(), {1});
  fill.set(0, data.fill());
  std::byte* target = result.mutable_bytes().data();
  Block block;
  for_each_block(result.size(), [&](int64_t begin, int64_t count) {
    index.read(begin, count, block);
    for (int64_t i = begin; i < begin + count; ++i) {
      const int64_t chosen = block.integers[static_cast<size_t>(i - begin)];
      if (chosen < 0 || chosen >= bound) fail_gather(chosen, i, result.extents(), bound);
      const std::optional<int64_t> position = data.walker().at(i * bound + chosen);
      const Array& source = position ? data.array() : fill;
      copy_bits(width, source.bytes().data(), {position.value_or(0), 1, 1}, target, i);
    }
  });
}

void scatter_rows(const ScatterOperands& operands, int64_t first_row, int64_t end_row,
                  std::byte* target) {
  if (is_float(operands.dtype)) {
    scatter_numbers<double>(operands, first_row, end_row, target);
  } else {
    scatter_numbers<int64_t>(operands, first_row, end_row, target);
  }
}

void argsort(ElementSource& values, bool descending, Array& result) {
  if (is_float(values.dtype())) {
    argsort_numbers<double>(values, descending, result);
  } else {
    argsort_numbers<int64_t>(values, descending, result);
  }
}

}  // namespace luminal::graph

#include "luminal/graph/element_source.h"

#include <algorithm>

#include "luminal/graph/interpreter_elementwise.h"

namespace luminal::graph {

ArraySource::ArraySource(Array array, const View& view, const DimBindings& dims,
                         std::string operation)
    : ElementSource(array.dtype()),
      array_(std::move(array)),
      walker_(view, dims, std::move(operation)),
      fill_(view.fill().cast(array_.dtype())) {}

void ArraySource::read(int64_t begin, int64_t count, Block& block) {
  walker_.walk(begin, count, runs_);
  const std::byte* data = array_.bytes().data();
  int64_t at = 0;
  for (const IndexRun& run : runs_) {
    if (is_float(dtype())) {
      double* numbers = block.floats.data() + at;
      if (run.filled) {
        std::fill_n(numbers, run.elements.count, fill_.as_double());
      } else {
        load(dtype(), data, run.elements, numbers);
      }
    } else {
      int64_t* numbers = block.integers.data() + at;
      if (run.filled) {
        std::fill_n(numbers, run.elements.count, fill_.as_int64());
      } else {
        load(dtype(), data, run.elements, numbers);
      }
    }
    at += run.elements.count;
  }
}

ComputedSource::ComputedSource(Op op, DType dtype,
                               std::vector<std::unique_ptr<ElementSource>> operands)
    : ElementSource(dtype), op_(op), operands_(std::move(operands)), blocks_(operands_.size()) {}

void ComputedSource::read_unrounded(int64_t begin, int64_t count, Block& block) {
  for (size_t i = 0; i < operands_.size(); ++i) operands_[i]->read(begin, count, blocks_[i]);
  // Select's condition is bool; what it chooses from says the dtype it works in.
  const DType operand_dtype = operands_.back()->dtype();
  compute_elementwise(op_, operand_dtype, dtype(), blocks_, count, block);
}

void ComputedSource::read(int64_t begin, int64_t count, Block& block) {
  read_unrounded(begin, count, block);
  if (is_float(dtype())) {
    round_floats(dtype(), {block.floats.data(), static_cast<size_t>(count)});
  } else {
    wrap_integers(dtype(), {block.integers.data(), static_cast<size_t>(count)});
  }
}

void store(Array& array, int64_t position, int64_t count, const Block& block) {
  std::byte* data = array.mutable_bytes().data();
  const auto size = static_cast<size_t>(count);
  if (is_float(array.dtype())) {
    store(array.dtype(), data, position, std::span<const double>(block.floats.data(), size));
  } else {
    store(array.dtype(), data, position, std::span<const int64_t>(block.integers.data(), size));
  }
}

Array materialize(const Array& array, const View& view, const DimBindings& dims,
                  const std::string& operation) {
  if (view.is_identity()) return array;
  const IndexWalker walker(view, dims, operation);
  Array result(array.dtype(), walker.domain());
  Array fill(array.dtype(), {1});
  fill.set(0, view.fill());
  std::byte* target = result.mutable_bytes().data();
  const int width = bits(array.dtype());
  std::vector<IndexRun> runs;
  for (int64_t begin = 0; begin < walker.size(); begin += kBlockSize) {
    walker.walk(begin, std::min(kBlockSize, walker.size() - begin), runs);
    int64_t at = begin;
    for (const IndexRun& run : runs) {
      const Array& source = run.filled ? fill : array;
      copy_bits(width, source.bytes().data(), run.elements, target, at);
      at += run.elements.count;
    }
  }
  return result;
}

}  // namespace luminal::graph

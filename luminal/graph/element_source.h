// Where the interpreter's numbers come from. An ElementSource gives any stretch of a tensor's
// elements, in row-major order, as numbers: from an array seen through a view, or computed on the
// way by an elementwise op. Whoever consumes one works block by block and needs no whole array.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "luminal/graph/array.h"
#include "luminal/graph/index_walker.h"
#include "luminal/graph/ops.h"

namespace luminal::graph {

/// How many elements are computed at a time: a few blocks fit the first-level cache.
inline constexpr int64_t kBlockSize = 1024;

/// The numbers of one block, in the vector that fits the dtype: floats or integers and bool.
struct Block {
  std::vector<double> floats = std::vector<double>(kBlockSize);  ///< used if the dtype is a float
  std::vector<int64_t> integers = std::vector<int64_t>(kBlockSize);  ///< used if it is not
};

/// See above.
class ElementSource {
 public:
  explicit ElementSource(DType dtype) : dtype_(dtype) {}  ///< elements have this dtype
  virtual ~ElementSource() = default;

  DType dtype() const { return dtype_; }  ///< of the elements
  /// Elements begin .. begin + count - 1, with count <= kBlockSize. They are values of dtype().
  virtual void read(int64_t begin, int64_t count, Block& block) = 0;

 private:
  DType dtype_;
};

/// An array seen through a view.
class ArraySource : public ElementSource {
 public:
  ArraySource(Array array, const View& view, const DimBindings& dims, std::string operation);

  void read(int64_t begin, int64_t count, Block& block) override;
  const IndexWalker& walker() const { return walker_; }  ///< gives positions from the view
  const Array& array() const { return array_; }          ///< that is read
  const Scalar& fill() const { return fill_; }           ///< outside of the view's conditions

 private:
  Array array_;
  IndexWalker walker_;
  Scalar fill_;
  std::vector<IndexRun> runs_;
};

/// An elementwise op of other sources.
class ComputedSource : public ElementSource {
 public:
  ComputedSource(Op op, DType dtype, std::vector<std::unique_ptr<ElementSource>> operands);

  void read(int64_t begin, int64_t count, Block& block) override;
  /// The same before the last rounding or wrap, which storing does.
  void read_unrounded(int64_t begin, int64_t count, Block& block);

 private:
  Op op_;
  std::vector<std::unique_ptr<ElementSource>> operands_;
  std::vector<Block> blocks_;
};

/// Stores a block's numbers from `position` on.
void store(Array& array, int64_t position, int64_t count, const Block& block);

/// All elements a view of an array reads, bit for bit. Shares the array's bytes where the view is
/// the identity.
Array materialize(const Array& array, const View& view, const DimBindings& dims,
                  const std::string& operation);

}  // namespace luminal::graph

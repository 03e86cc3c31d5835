// What the emitter of nests must know before it writes: which tensors and dims a nest uses, where
// its scratch lies, how loads move along an axis, and which loops are spread over lanes.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "luminal/codegen/llvm/nest_kernel.h"

namespace luminal::codegen {

/// The row-major position of an index in a tensor of this shape.
symbolic::Expr position_of(std::span<const symbolic::Expr> index, const graph::Shape& shape);

/// position = rest + stride * axis, where neither depends on the axis.
struct Stride {
  symbolic::Expr stride;
  symbolic::Expr rest;
};
/// The stride along an axis; nothing if the position is not linear in it.
std::optional<Stride> stride_along(const symbolic::Expr& position, const symbolic::Expr& axis);

/// Elements of a block whose sums are kept in scratch: some pages of the nearest cache.
inline constexpr int64_t kInterchangedBlock = 2048;

/// One item of a transposing loop: elements of the last axis, and of the one that loads run along.
inline constexpr int64_t kTransposedColumns = 16;
inline constexpr int64_t kTransposedRows = 4096;

/// How a value is kept in scratch: narrow floats as f32.
graph::DType stored_dtype(graph::DType dtype);

bool is_independent(kernel::LoopRole role);
bool has_inner_loops(const kernel::Statement& loop);

/// See above.
class NestPlan {
 public:
  NestPlan(const kernel::Arena& arena, const kernel::Nest& nest, const CpuTarget& target,
           const NestKernelOptions& options);

  const std::vector<kernel::NodeId>& inputs() const { return inputs_; }
  const std::vector<kernel::NodeId>& outputs() const { return outputs_; }
  const std::vector<std::string>& dims() const { return dims_; }
  int lanes() const { return lanes_; }
  int unroll() const { return lanes_ == 1 ? 1 : options_.unroll; }

  /// Byte offsets into the scratch.
  const symbolic::Expr& row_offset(size_t buffer) const { return row_offsets_[buffer]; }
  const symbolic::Expr& accumulator_offset(size_t accumulator) const {
    return accumulator_offsets_[accumulator];
  }
  /// Where the sums of an interchanged loop lie.
  const symbolic::Expr& interchanged_offset() const { return interchanged_offset_; }
  const symbolic::Expr& scratch_bytes() const { return scratch_bytes_; }

  /// Whether the last axis of a loop is spread over the lanes, if none is around it.
  bool is_vectorised(const kernel::Statement& loop) const;

  /// Whether a vectorised loop holds one plain reduction that is better run row by row, with a sum
  /// per lane of the whole block in scratch: memory is then read in long runs.
  bool is_interchanged(const kernel::Statement& loop) const;

  /// Loads of the parallel loop that run along another of its axes than the last one, and that
  /// axis: squares of them are transposed in registers.
  struct Transposition {
    size_t axis;  ///< which of the loop's axes
    std::vector<kernel::BodyId> loads;
  };
  const std::optional<Transposition>& transposition() const { return transposition_; }

  /// The loop whose iterations are dealt out: the last of the body, if they are independent.
  const kernel::Statement* parallel_loop() const;
  /// Elements of its last axis in one item, if that axis is vectorised; else nothing.
  std::optional<int64_t> block() const;
  symbolic::Expr items() const;

  /// Everything the code depends on, as text.
  std::string key() const;

 private:
  void collect(const std::vector<kernel::Statement>& block);
  void note(const symbolic::Expr& expr);
  void place_scratch();
  int choose_lanes() const;
  /// Loads inside of a loop that move by one element along an axis.
  int contiguous_loads(const kernel::Statement& loop, const symbolic::Expr& axis) const;
  void values_in(const std::vector<kernel::Statement>& block,
                 std::vector<kernel::BodyId>& values) const;
  int score_of_inner_loops(const kernel::Statement& loop) const;
  int64_t number_of(kernel::BodyId id) const;
  std::optional<Transposition> find_transposition() const;
  void write(const std::vector<kernel::Statement>& block, std::string& text) const;

  const kernel::Arena& arena_;
  const kernel::Nest& nest_;
  NestKernelOptions options_;
  CpuTarget target_;
  std::vector<kernel::BodyId> bodies_;  // all that are used, operands first
  std::vector<kernel::NodeId> inputs_;
  std::vector<kernel::NodeId> outputs_;
  std::vector<std::string> dims_;
  int lanes_ = 1;
  std::vector<symbolic::Expr> row_offsets_;
  std::vector<symbolic::Expr> accumulator_offsets_;
  symbolic::Expr interchanged_offset_;
  std::optional<Transposition> transposition_;
  symbolic::Expr scratch_bytes_;
};

}  // namespace luminal::codegen

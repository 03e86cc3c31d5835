// What the emitter of nests must know before it writes: which tensors and dims a nest uses, where
// its scratch lies, how loads move along an axis, and which loops are spread over lanes.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "luminal/codegen/llvm/nest_flatten.h"
#include "luminal/codegen/llvm/nest_kernel.h"
#include "luminal/codegen/llvm/nest_split.h"

namespace luminal::codegen {

/// When stores go past the caches.
enum class Streaming : uint8_t { kNever, kAlways, kBySize };

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
  /// Vectors per turn of an innermost loop.
  int unroll() const { return lanes_ == 1 ? 1 : unroll_; }
  /// Whether the chains of instructions of a vector's registers are staggered
  /// (instruction_order.h).
  bool staggers_chains() const { return staggers_chains_; }
  Streaming streaming() const { return streaming_; }
  /// The bytes of the largest result.
  const symbolic::Expr& result_bytes() const { return result_bytes_; }

  /// Byte offsets into the scratch.
  const symbolic::Expr& row_offset(size_t buffer) const { return row_offsets_[buffer]; }
  const symbolic::Expr& accumulator_offset(size_t accumulator) const {
    return accumulator_offsets_[accumulator];
  }
  /// Where the sums of an interchanged loop lie.
  const symbolic::Expr& interchanged_offset(size_t accumulator) const {
    return interchanged_offsets_[accumulator];
  }
  const symbolic::Expr& scratch_bytes() const { return scratch_bytes_; }

  /// Whether the last axis of a loop is spread over the lanes, if none is around it.
  bool is_vectorised(const kernel::Statement& loop) const;

  /// Whether what a loop computes takes many instructions.
  bool is_costly(const kernel::Statement& loop) const;
  bool is_costly(kernel::BodyId value) const;
  /// The same of what differs from lane to lane.
  bool is_costly_along(const kernel::Statement& loop) const;

  /// Whether a vectorised loop holds plain passes that are better run row by row, each for a whole
  /// block of lanes, with their sums and the rows that are kept in scratch: memory is then read in
  /// long runs.
  bool is_interchanged(const kernel::Statement& loop) const;

  /// Whether the rows of the parallel loop are so short that its lanes are rows: steps of the loops
  /// inside are written one after the other, and what is read or stored along the rows is
  /// transposed in registers (nest_short_rows.cpp).
  bool has_rows_in_lanes() const { return rows_in_lanes_; }
  /// Whether a value of the parallel loop lies along its rows: the axis inside of which it runs
  /// along, if any, and its stride along the lanes.
  struct AlongRow {
    symbolic::Expr axis;
    symbolic::Expr rest;  ///< the position without that axis
    symbolic::Expr stride;
  };
  std::optional<AlongRow> along_row(const symbolic::Expr& position) const;
  /// Whether the lanes of all loops inside of the parallel loop, which is over rows, lie along a
  /// row that memory runs along too, of elements that are as wide as what is computed.
  bool runs_along_wide_rows() const;
  /// Whether all loops over a row of the parallel loop are written out, vector by vector: what is
  /// kept of the row stays in registers.
  bool has_rows_written_out() const { return rows_written_out_; }

  /// Loads of the parallel loop that run along another of its axes than the last one, and that
  /// axis: squares of them are transposed in registers.
  struct Transposition {
    size_t axis;        ///< which of the loop's axes
    int side;           ///< elements along it in one square
    int run;            ///< elements along it that are read at once: a line of the narrowest load
    bool rows_in_loop;  ///< the body is written once for all rows of a square
    /// The axis is short and its elements lie one after the other for all positions of the last
    /// one: what is read are whole vectors of that, all rows of which are picked out. `side` and
    /// `run` are then its extent.
    bool in_turn;
    std::vector<kernel::BodyId> loads;
  };
  const std::optional<Transposition>& transposition() const { return transposition_; }
  /// Whether there are no borders.
  bool squares_are_whole() const;
  /// Rows of one block, which wait, transposed, in the second cache before they are stored: what is
  /// read are then long runs, and what is stored long pieces of rows.
  struct WaitingRows {
    int64_t most = 0;  ///< in a block; 0: none wait
    int64_t unit = 1;  ///< what their number is a multiple of
  };
  const WaitingRows& waiting_rows() const { return waiting_rows_; }
  /// Bytes from one of these rows to the next, of what is read by a load.
  int64_t waiting_row_bytes(kernel::BodyId load) const;
  /// Where the block of a load of the transposition lies in the scratch.
  const symbolic::Expr& waiting_offset(size_t load) const { return waiting_offsets_[load]; }
  /// Whether blocks of columns are wide, and many of their rows are added up at a time
  /// (nest_columns.cpp).
  bool has_small_column_sums() const;
  /// Rows of which the loops of several run as one (nest_pipeline.cpp).
  struct Pipeline {
    bool computes_much = false;           ///< for each element
    std::vector<size_t> loops = {};       ///< places in the row's body: a stage each
    std::vector<int64_t> kept_rows = {};  ///< by buffer: rows that are there at a time
  };
  const std::optional<Pipeline>& pipeline() const { return pipeline_; }
  /// Rows of an item where there are several axes of rows: stages run within an item.
  static constexpr int64_t kRowsOfPipeline = 32;
  /// How many rows of a buffer there are at a time.
  int64_t kept_rows(size_t buffer) const { return pipeline_ ? pipeline_->kept_rows[buffer] : 1; }
  /// A sum waits for itself; so many times the copies keep the units busy.
  static constexpr int kChains = 2;
  /// Whether sums of floats in so many vectors are put aside from time to time.
  bool adds_in_blocks(int64_t extent, int64_t vectors) const;
  /// Whether squares at the borders are masked; else they are gathered.
  bool masks_squares() const;

  /// Which axis of the parallel loop is spread over the lanes because the last one is short:
  /// results of all positions of the last one are then stored in turn.
  const std::optional<size_t>& zipped() const { return zipped_; }

  /// Vectors of a row that are written out where tests of their positions are then known.
  static constexpr int64_t kMostVectors = 8;
  /// Whether that is done for a loop along the lanes with short reductions inside, whose steps are
  /// then written out too.
  bool writes_out_windows(const kernel::Statement& loop) const;

  /// The loop whose iterations are dealt out: the last of the body, if they are independent.
  const kernel::Statement* parallel_loop() const;
  /// How many positions of each of its axes are in one item.
  const std::vector<symbolic::Expr>& blocks() const { return blocks_; }
  symbolic::Expr items() const;

  /// Everything the code depends on, as text.
  std::string key() const;

 private:
  void collect(const std::vector<kernel::Statement>& block);
  void note(const symbolic::Expr& expr);
  void place_scratch();
  bool has_room_for_chains() const;
  void choose_lanes();
  void choose_streaming();
  void choose_blocks();
  bool are_rows_short(int64_t most) const;
  bool fits_rows_in_lanes() const;
  bool fits_rows_written_out() const;
  uint64_t longest_row() const;
  symbolic::Expr columns_of_block(const kernel::Statement& loop) const;

  bool holds_passes(const kernel::Statement& loop) const;
  symbolic::Expr work_inside(const kernel::Statement& loop) const;
  /// Loads inside of a loop that move by one element along an axis.
  int contiguous_loads_in(const kernel::Statement& loop, const symbolic::Expr& axis) const;
  void values_in(const std::vector<kernel::Statement>& block,
                 std::vector<kernel::BodyId>& values) const;
  int score_of_inner_loops(const kernel::Statement& loop) const;
  bool has_short_strides(const kernel::Statement& loop, const symbolic::Expr& axis) const;
  int64_t number_of(kernel::BodyId id) const;
  bool has_sums_in_scratch() const;
  std::optional<Transposition> find_transposition() const;
  bool lies_in_turn(const Transposition& found) const;
  std::optional<size_t> find_zipped() const;
  bool is_zipped_by(const symbolic::Expr& axis) const;
  bool has_wide_shuffles() const;
  bool tests_positions(const std::vector<kernel::Statement>& block,
                       const symbolic::Expr& axis) const;
  void choose_transposed_blocks();
  void choose_waiting_rows();
  std::optional<Pipeline> find_pipeline() const;
  bool is_whole_row(const kernel::Statement& loop) const;
  int64_t bytes_at_a_time(const kernel::Statement& row, size_t stages) const;
  bool waits_well(const kernel::Statement& row, Pipeline& pipeline) const;
  void write(const std::vector<kernel::Statement>& block, std::string& text) const;

  const kernel::Arena& arena_;
  const kernel::Nest& nest_;
  NestKernelOptions options_;
  CpuTarget target_;
  std::vector<kernel::BodyId> bodies_;  // all that are used, operands first
  std::vector<kernel::NodeId> inputs_;
  std::vector<kernel::NodeId> outputs_;
  std::vector<std::string> dims_;
  std::map<std::string, symbolic::Interval> ranges_;  // of these
  int lanes_ = 1;
  int unroll_ = 1;
  bool staggers_chains_ = false;
  bool rows_in_lanes_ = false;
  bool rows_written_out_ = false;
  Streaming streaming_ = Streaming::kNever;
  symbolic::Expr result_bytes_;
  std::vector<symbolic::Expr> blocks_;
  std::vector<symbolic::Expr> row_offsets_;
  std::vector<symbolic::Expr> accumulator_offsets_;
  std::vector<symbolic::Expr> interchanged_offsets_;
  std::optional<Transposition> transposition_;
  WaitingRows waiting_rows_;
  std::vector<symbolic::Expr> waiting_offsets_;
  std::optional<Pipeline> pipeline_;
  std::optional<size_t> zipped_;
  symbolic::Expr scratch_bytes_;
};

}  // namespace luminal::codegen

// Writes the IR of a nest: statements become loops and carried values, bodies become vector code.
// One axis at a time is spread over the lanes; values that do not depend on it stay scalars and are
// broadcast where they meet vectors.
#pragma once

#include <functional>
#include <map>
#include <vector>

#include "luminal/codegen/llvm/body_values.h"
#include "luminal/codegen/llvm/few_digits.h"
#include "luminal/codegen/llvm/nest_plan.h"
#include "luminal/codegen/llvm/plain_maxima.h"

namespace luminal::codegen {

/// See above; used once.
class NestEmitter final : private BodyValues {
 public:
  NestEmitter(VectorBuilder& builder, const kernel::Arena& arena, const kernel::Nest& nest,
              const NestKernelOptions& options);

  /// Adds the entry "nest" to the module.
  void emit();

 private:
  /// An accumulator while code is written.
  struct Sum {
    llvm::Value* value = nullptr;    // in registers; null: in scratch
    bool running = false;            // an online maximum that still grows
    llvm::Value* factor = nullptr;   // rescaling of sums relative to it
    llvm::Value* stepped = nullptr;  // whether its loop has iterations
  };
  using Block = std::vector<kernel::Statement>;

  /// Positions of an axis.
  struct Range {
    llvm::Value* begin = nullptr;
    llvm::Value* end = nullptr;
  };

  // nest_emitter.cpp: statements and loops
  void emit_version(bool streaming);
  void emit_items();
  void emit_item(const kernel::Statement& loop, llvm::ArrayRef<Range> ranges, size_t depth);
  void emit_block(const Block& block);
  bool has_new_costly_work(const kernel::Statement& loop) const;
  void emit_statement(const kernel::Statement& statement);
  void emit_loop(const kernel::Statement& loop, size_t depth);
  void emit_body(const kernel::Statement& loop);
  std::vector<size_t> carried_sums(const kernel::Statement& loop) const;
  void keep(const kernel::Statement& statement);
  void store(const kernel::Statement& statement);

  // nest_lanes.cpp: loops over lanes
  /// A loop along the lanes: the sums that go from turn to turn, and how many vectors a turn takes.
  struct LaneLoop {
    const kernel::Statement& loop;
    symbolic::Expr axis;
    size_t copies = 1;                      // vectors of a whole turn
    bool pairs = false;                     // lines of bf16 are taken apart (nest_pairs.cpp)
    bool bits = false;                      // or their maxima found as they are (nest_maxima.cpp)
    std::vector<size_t> carried = {};       // accumulators
    std::vector<llvm::Value*> before = {};  // what these are before the loop
  };
  LaneLoop lane_loop(const kernel::Statement& loop) const;
  Carried lane_turn(const LaneLoop& lane, llvm::Value* first, llvm::ArrayRef<llvm::Value*> now,
                    size_t count, llvm::Value* mask);
  void compute_in_one_block(const kernel::Statement& loop);
  void emit_lanes(const kernel::Statement& loop, const Range& range);
  Carried emit_written_out(LaneLoop& lane);
  Carried emit_lane_loops(const LaneLoop& lane, const Range& range, llvm::Value* aligned);
  void close_sums(const LaneLoop& lane, const Carried& state);
  bool is_written_out(const kernel::Statement& loop, const Range& range) const;
  Carried whole_turns(const Range& range, int64_t step, const Carried& initial,
                      llvm::ArrayRef<size_t> in_blocks,
                      llvm::function_ref<Carried(llvm::Value*, llvm::ArrayRef<llvm::Value*>)> turn);
  Carried masked_turns(const Range& head, const Range& tail, const Carried& initial,
                       llvm::function_ref<Carried(llvm::Value* first, llvm::Value* mask,
                                                  llvm::ArrayRef<llvm::Value*>)>
                           turn);
  llvm::Value* first_aligned(const kernel::Statement& loop, const Range& range);
  bool is_aligned(const kernel::Statement& store) const;
  void for_each_vector(const symbolic::Expr& axis, const Range& range,
                       llvm::function_ref<void()> body);

  // nest_pairs.cpp: lanes in another order
  bool takes_pairs(const kernel::Statement& loop) const;
  bool touches_rows(const kernel::Statement& loop) const;
  bool has_whole_lines_only(const kernel::Statement& loop) const;
  bool is_free_of_order(const kernel::Statement& loop) const;
  bool is_stored_in_pairs(const kernel::Statement& store, const symbolic::Expr& axis) const;
  bool is_taken_in_pairs(kernel::BodyId id, const symbolic::Expr& axis) const;

  // nest_maxima.cpp: maxima of lines of bf16 as they are
  bool finds_maxima_of_bits(const LaneLoop& lane) const;
  llvm::Value* lowest_bits();
  llvm::Value* larger_bits(llvm::Value* left, llvm::Value* right);
  void accumulate_bits(const kernel::Statement& statement);
  llvm::Value* from_bits(llvm::Value* maxima);

  // nest_windows.cpp: short windows and short last axes
  void emit_window(const kernel::Statement& loop, size_t depth);
  std::vector<symbolic::Expr> tests_of_step(const kernel::Statement& loop, size_t depth) const;
  void emit_zipped(const kernel::Statement& loop, const Range& range);
  void store_zipped(const std::map<size_t, llvm::SmallVector<llvm::Value*, 16>>& rows,
                    llvm::Value* left);

  // nest_transposed.cpp: squares
  void emit_transposed(const kernel::Statement& loop, const Range& rows, const Range& columns);
  std::vector<size_t> roots_in_line(const kernel::Statement& loop,
                                    const symbolic::Expr& axis) const;
  /// Runs of a load that lies across, one for each lane.
  struct Tile {
    llvm::Type* element;  // its bits
    int bytes;
    llvm::Value* mask;  // of a run of one square; null: all of it
    llvm::Value* left;  // elements from the first one on, of rows that lie in turn; null: enough
    std::function<llvm::Value*(llvm::Value* lane)> place;
  };
  void emit_tile(const kernel::Statement& loop, const Range& rows, const Range& columns,
                 bool whole);
  Tile tile_of(kernel::BodyId id, const kernel::Statement& loop, const Range& rows,
               const Range& columns, bool whole);
  void ask_to_write(const kernel::Statement& loop, llvm::Value* row);
  llvm::SmallVector<llvm::Value*, 16> transposed(const Tile& tile, llvm::Value* first);
  llvm::SmallVector<llvm::Value*, 16> picked_out(const Tile& tile);
  void emit_square(const kernel::Statement& loop, llvm::ArrayRef<Tile> tiles, llvm::Value* first,
                   const Range& rows, const Range& columns, bool whole);

  // nest_waiting_rows.cpp: squares of large results
  llvm::Value* emit_waiting_rows(const kernel::Statement& loop, const Range& rows,
                                 const Range& columns);
  /// What was transposed of a load: rows of one block.
  struct WaitingLoad {
    kernel::BodyId load;
    llvm::Value* memory;
    int bytes;  // of an element
    int64_t row_bytes;
    llvm::Value* pitch;           // bytes between rows of the operand
    llvm::Value* next = nullptr;  // where the operand of the next block begins
  };
  std::vector<WaitingLoad> waiting_loads(const kernel::Statement& loop);
  void fill_block(const WaitingLoad& waiting, const kernel::Statement& loop, const Range& rows,
                  const Range& columns);
  void store_block(llvm::ArrayRef<WaitingLoad> waiting, const kernel::Statement& loop,
                   const Range& rows, const Range& columns);
  llvm::Value* next_place(const WaitingLoad& waiting, const kernel::Statement& loop,
                          llvm::Value* row, llvm::Value* column, llvm::Value* in_next_item);
  void ask_for(const WaitingLoad& waiting, llvm::Value* vector);
  llvm::Value* place_of(const WaitingLoad& waiting);
  llvm::Value* place_in(const WaitingLoad& waiting, llvm::Value* row, llvm::Value* column);

  // nest_pipeline.cpp: rows that follow each other closely
  /// A loop of a row, what comes before it, and where sums and values of the row wait after it.
  struct Stage {
    const kernel::Statement& row;
    size_t first;  // of its statements
    size_t loop;   // the last of them
    std::vector<std::pair<size_t, llvm::Value*>> sums = {};
    std::vector<std::pair<kernel::BodyId, llvm::Value*>> values = {};
  };
  /// A stage while the loop of all of them is written.
  struct StageCode {
    const Stage& stage;
    LaneLoop lane;
    llvm::Value* row;
    std::vector<Sum> sums;
    std::vector<std::map<kernel::BodyId, llvm::Value*>> known;
    size_t first_carried = 0;
    std::map<kernel::BodyId, llvm::Value*> loaded = {};  // for the vector that is being written
  };
  std::vector<Stage> stages_of(const kernel::Statement& row);
  void emit_pipeline(const kernel::Statement& row, const Range& range);
  void begin_stage(llvm::ArrayRef<Stage> stages, size_t number, llvm::Value* row);
  void end_stage(const Stage& stage);
  void enter(const StageCode& code);
  void load_ahead(llvm::MutableArrayRef<StageCode> code, llvm::Value* position);
  void ask_ahead(llvm::Value* position);
  void emit_stages(std::vector<StageCode>& code);
  llvm::Value* kept_row(size_t buffer);

  // nest_short_rows.cpp: rows that are written out, or that lie in lanes
  void emit_written_out_row(const kernel::Statement& loop);
  std::optional<int64_t> place_in_row(const symbolic::Expr& axis) const;
  llvm::Value* load_along_row(graph::DType dtype, llvm::Value* base, kernel::NodeId tensor,
                              const symbolic::Expr& position);
  std::vector<llvm::Value*> load_square(graph::DType dtype, llvm::Value* base,
                                        const NestPlan::AlongRow& along);
  bool store_along_row(const kernel::Statement& statement, llvm::Value* value);
  void store_square(const kernel::Root& root, const NestPlan::AlongRow& along,
                    llvm::ArrayRef<llvm::Value*> columns);
  llvm::SmallVector<llvm::Value*, 16> in_lines(llvm::ArrayRef<llvm::Value*> joined, int width,
                                               int count);
  /// Rows of a turn whose lanes are rows.
  struct ShortRows {
    struct Read {
      kernel::NodeId tensor;
      symbolic::Expr rest;
      std::vector<llvm::Value*> columns;
    };
    std::vector<Read> reads;
    std::map<size_t, std::vector<llvm::Value*>> stores;  // by root
    /// What is kept of a row, by buffer and place in the row.
    std::map<std::pair<size_t, int64_t>, llvm::Value*> kept;
  };

  // nest_columns.cpp: passes over a block of lanes, row by row
  void emit_interchanged(const kernel::Statement& loop, const Range& range);
  void pass_of_columns(const kernel::Statement& pass, int rows_at_once,
                       llvm::function_ref<void(llvm::Value* first, int count)> rows);
  void reduce_columns(const kernel::Statement& pass);
  void store_columns(const kernel::Statement& pass);
  void for_each_of_columns(llvm::function_ref<void()> body);
  void ask_for_next_block(llvm::Value* row);
  llvm::Value* column();
  llvm::Value* column_sum(size_t number);
  llvm::Value* position_in_row(const symbolic::Expr& row);
  /// The block of lanes whose passes are being written.
  struct Columns {
    const kernel::Statement* loop;
    symbolic::Expr axis;
    Range range;
    const kernel::Statement* first = nullptr;   // the pass that waits for memory
    const kernel::Statement* asking = nullptr;  // the one that asks for the next block meanwhile
    std::vector<size_t> started = {};           // sums that lie in scratch
    std::vector<kernel::BodyId> values = {};    // of a lane, that later passes use
  };

  // nest_sums.cpp: accumulators
  void reset(size_t number);
  void accumulate(const kernel::Statement& statement);
  llvm::Value* combined(size_t number, llvm::Value* left, llvm::Value* right);
  bool adds_by_products(const kernel::Statement& statement) const;
  void online_step(const kernel::Statement& statement);
  void finish(const kernel::Statement& statement);
  void unless(const kernel::Statement& statement);
  void for_each_element(size_t accumulator,
                        llvm::function_ref<llvm::Value*(llvm::Value* value)> change);

  // nest_values.cpp: what statements compute
  llvm::Value* load(kernel::BodyId id) override;
  llvm::Value* held(kernel::BodyId id) override;
  llvm::Value* symbol(const symbolic::Expr& expr) override;
  MathAccuracy accuracy_of(kernel::BodyId id) const override;
  bool is_compared(kernel::BodyId id) const override { return compared_.contains(id); }
  bool is_bounded(kernel::BodyId id) const override { return !summed_products_.contains(id); }
  llvm::Value* where(const kernel::BodyNode& node) override;
  bool is_assumed(const symbolic::Expr& test) const;
  llvm::Value* read_sum(size_t number);
  llvm::Value* read_row(size_t buffer);
  llvm::Value* in_range(std::span<const symbolic::Expr> index, const graph::Shape& shape);
  llvm::Value* index_at_first_lane(const symbolic::Expr& expr);
  llvm::Value* sum_position(const kernel::Accumulator& accumulator);
  void note_row_load(kernel::NodeId tensor, const symbolic::Expr& position);
  bool is_known_throughout_row(const symbolic::Expr& position) const;
  void prefetch_next_row(llvm::Value* lane, size_t copy, const symbolic::Expr& extent);

  bool depends_on_lanes(kernel::BodyId id) const;
  bool depends_on_lanes(const symbolic::Expr& expr) const;

  const kernel::Nest& nest_;
  NestKernelOptions options_;
  NestPlan plan_;
  std::set<kernel::BodyId> few_digits_;
  std::set<kernel::BodyId> plain_maxima_;
  std::set<kernel::BodyId> compared_;
  std::set<kernel::BodyId> summed_products_;

  EntryArguments entry_;
  llvm::Value* one_ = nullptr;  // that the backend does not know; null: none is needed so far
  std::vector<Sum> sums_;
  std::optional<symbolic::Expr> lane_axis_;
  bool lanes_reduce_ = false;            // that axis is reduced
  bool at_first_lane_ = false;           // index expressions mean the first lane
  bool in_pairs_ = false;                // lines of bf16 are in the order of load_pairs
  bool in_bits_ = false;                 // maxima are found of lines as they are
  llvm::Value* mask_ = nullptr;          // lanes inside of the loop; null: all
  bool begins_with_line_ = false;        // vectors begin with a line of a result, even or not
  bool in_windows_ = false;              // loops within the lanes are written out
  std::vector<symbolic::Expr> assumed_;  // tests that hold where we are
  /// What is stored by root, as bits, while positions of a short last axis are worked on.
  std::optional<std::map<size_t, llvm::SmallVector<llvm::Value*, 16>>> zipped_;
  std::optional<symbolic::Expr> row_axis_;  // of the row loop around
  std::vector<symbolic::Expr> open_axes_;   // of all loops around
  size_t axes_of_row_ = 0;                  // how many of these are there throughout the row
  bool streaming_ = false;                  // stores of this version go past the caches
  std::vector<size_t> aligned_roots_;       // whose whole vectors are aligned here
  int inner_loops_ = 0;                     // vector loops written for this row so far
  int loops_of_row_ = 0;                    // that it has
  int asking_loop_ = 0;  // the one that asks for the next row; 0: all after the first
  /// What the first loop over a row loads, one row further on.
  struct RowLoad {
    kernel::NodeId tensor;
    symbolic::Expr next;  // position
    symbolic::Expr axis;  // that runs along the lanes
  };
  std::vector<RowLoad> row_loads_;
  std::optional<Columns> columns_;
  std::vector<Range> next_ranges_;  // of the item after this one, where its lines are asked for
  std::optional<ShortRows> short_rows_;  // of the row, or of the lanes, that is being written
};

}  // namespace luminal::codegen

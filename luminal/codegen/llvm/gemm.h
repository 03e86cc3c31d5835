// The shape of generated matrix products. A stays where it is and is broadcast row by row; B comes
// in panels of nr columns ([N/nr][K/g][nr], g elements of k side by side where the processor has
// dot instructions), packed once for constants, per call for others, or read in place. One register
// tile of mr x nr sums runs over k; what is done to the sums follows while they are near. Sizes are
// expressions over the dims, so one kernel serves all shapes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "luminal/codegen/llvm/cpu_target.h"
#include "luminal/graph/dtype.h"
#include "luminal/symbolic/expr.h"

namespace luminal::codegen {

/// Tiles of matrix registers below each other whose sums one call finds: as many as the nearest
/// cache holds well.
inline constexpr int kMatrixTilesAtOnce = 4;

/// How products are formed.
enum class GemmMode {
  kFma,      ///< multiply and add in the accumulator's type
  kDotBf16,  ///< pairs of bf16 into f32 (denormals count as zero)
  kDotI8,    ///< groups of four i8 into i32, exact
  kAmxBf16,  ///< as kDotBf16, by matrix registers with 32 steps of k in a row
  kAmxI8,    ///< as kDotI8, by matrix registers with 64
};

/// Whether products are formed by matrix registers.
constexpr bool has_matrix_registers(GemmMode mode) {
  return mode == GemmMode::kAmxBf16 || mode == GemmMode::kAmxI8;
}

/// Where B comes from.
enum class GemmB {
  kPrepacked,   ///< panels made by a launch before
  kPackedHere,  ///< each thread packs the panels it uses
  kInPlace,     ///< K x N rows are read as they lie (not for dot modes)
};

/// Where A comes from. What tiles cannot read is copied in any case.
enum class GemmA {
  kInPlace,    ///< read as it lies
  kRows,       ///< copied, by a launch before, if k does not run along memory
  kPacked,     ///< copied into panels of mr rows: k running down for fma, if rows fill panels;
               ///< one matrix register after the other for these, zeros where k ends within one
  kRowsAhead,  ///< as kRows, those of the next tile being asked for meanwhile
};

/// Panels of four-bit digits: eight steps of k in a word, and what is the same in a block of k
/// before them. What the weights are decides, not the schedule.
struct GemmBlocks {
  int size = 0;                             ///< steps of k in a block; 0: panels hold elements
  int zero = 0;                             ///< what is taken off each digit
  std::optional<graph::DType> scale = {};   ///< what blocks are multiplied by; none: 1
  std::optional<graph::DType> offset = {};  ///< what is added then; none: 0
  bool operator==(const GemmBlocks&) const = default;
};

/// A kernel: dtypes and the choices of a schedule.
struct GemmSpec {
  graph::DType a = graph::DType::kF32;            ///< elements of A in memory
  graph::DType b = graph::DType::kF32;            ///< what B's values are
  graph::DType accumulator = graph::DType::kF32;  ///< f32, f64, i32 or i64
  graph::DType panel = graph::DType::kF32;        ///< elements of a panel, if not for dot modes
  GemmMode mode = GemmMode::kFma;
  GemmA a_source = GemmA::kInPlace;
  GemmB b_source = GemmB::kPackedHere;
  bool b_columns = false;   ///< packing reads along k and turns squares in registers
  int mr = 8;               ///< rows of the register tile
  int nr = 32;              ///< its columns: a multiple of the lanes
  int k_unroll = 1;         ///< steps of k with sums of their own: for few rows
  int row_block = 0;        ///< rows of one work item; 0: all
  bool rows_outer = false;  ///< items: all panels of a block of rows, then the next block
  int kc = 0;               ///< k of one pass; 0: all. Needs a row_block
  int split = 1;            ///< parts of k, each summed on its own and added up afterwards
  int row_tail = 0;         ///< another tile for at most so many rows; 0: none
  int column_tail = 0;      ///< another tile for at most so many columns; 0: none
  bool whole_rows = false;  ///< rows that are left are `row_tail`, always
  int ahead = 0;            ///< lines of what comes next that a tile asks for in a step of k (of
                            ///< panels packed ahead: its share, up to so many at once); with
                            ///< matrix registers: how many steps later what it asks for is used
  GemmBlocks blocks = {};   ///< with tiles of fma or bf16 dots

  bool has_matrix_registers() const { return codegen::has_matrix_registers(mode); }
  /// Lines that a tile is told to ask for in a step of k, of the matrix or of rows.
  int lines_ahead() const {
    if (has_matrix_registers()) return 0;
    return a_source == GemmA::kRowsAhead ? 1 : ahead;
  }
};

/// Facts about a spec on a target.
class GemmLayout {
 public:
  GemmLayout(const GemmSpec& spec, const CpuTarget& target);

  /// Elements of k in one unit (a block of four-bit weights is one), bytes of a unit, lanes of a
  /// vector of sums.
  int group() const { return group_; }
  int unit_bytes() const { return unit_bytes_; }
  int sum_bytes() const { return graph::bits(spec_.accumulator) / 8; }
  int lanes() const { return lanes_; }
  int vectors() const { return spec_.nr / lanes_; }
  /// Bytes between units of a panel.
  int64_t row_bytes() const { return int64_t{spec_.nr} * unit_bytes_; }
  symbolic::Expr panels(const symbolic::Expr& n) const { return ceil_div(n, spec_.nr); }
  symbolic::Expr row_blocks(const symbolic::Expr& m) const {
    return spec_.row_block == 0 ? symbolic::Expr(1) : ceil_div(m, spec_.row_block);
  }
  /// Bytes of the header of a panel (sums that correct signs) and of all of it. Packing may write
  /// whole squares, so panels have room for them.
  int64_t header_bytes() const { return spec_.mode == GemmMode::kDotI8 ? spec_.nr * 4 : 0; }
  symbolic::Expr panel_bytes(const symbolic::Expr& k) const;
  /// Steps of k in a part, whole units and lines of memory; all of k if it is not split. The last
  /// parts may have fewer, or none.
  symbolic::Expr part_steps(const symbolic::Expr& k) const;

 private:
  GemmSpec spec_;
  int group_ = 1;
  int unit_bytes_ = 4;
  int lanes_ = 1;
};

/// Parts of k with fewer steps than this are not worth their while.
inline constexpr int64_t kLeastPart = 64;

/// What a product is like, for choosing a spec.
struct GemmProblem {
  graph::DType a = graph::DType::kF32;
  graph::DType b = graph::DType::kF32;
  graph::DType accumulator = graph::DType::kF32;
  int64_t batch = 1;
  int64_t m = 1;
  int64_t n = 1;
  int64_t k = 1;
  bool m_known = true;  ///< else the sizes are guesses
  bool n_known = true;
  bool b_readable = false;  ///< rows of K x N lie in memory as sums are
  bool b_columns = false;   ///< memory runs along k
  bool b_constant = false;  ///< may be packed ahead
  bool exact_bf16 = false;  ///< no dot instruction for bf16: denormals count
  bool ordered = false;     ///< sums of floats are taken one after the other
  bool a_panels = false;    ///< A is of one row and one k axis, so that it can be packed
  bool b_one_k = true;      ///< k is one axis of B, so that parts of it can be packed
  bool b_plain = false;     ///< a matrix that lies in memory, whichever way
  bool k_fills = true;      ///< k is a multiple of what a row of a matrix register holds
  bool a_aligned = false;   ///< rows of A begin at the same place of a page
  bool streams = false;     ///< the result is so large that whole tiles store past the caches
  int threads = 1;
  int products = 1;
};

/// A spec with matrix registers instead of dot instructions.
GemmSpec with_matrix_registers(GemmSpec spec);
/// The same with what is good for them: they are fed from the second cache at best.
GemmSpec fed_matrix_registers(GemmSpec spec, const GemmProblem& problem);
/// How many rows a tile over blocks of four-bit weights has at most.
int most_rows_of_blocks(const CpuTarget& target);
/// The same spec, of blocks, with another number of rows.
GemmSpec with_rows_of_blocks(GemmSpec spec, const GemmProblem& problem, int mr);
/// The spec of a product with four-bit weights that are packed ahead.
GemmSpec choose_blocks(const GemmProblem& problem, const GemmBlocks& blocks,
                       const CpuTarget& target);
/// The same spec with another tile: what is left over, and the steps of k that have sums of their
/// own, follow from it and from the problem.
GemmSpec with_tile(GemmSpec spec, const GemmProblem& problem, const CpuTarget& target, int mr,
                   int vectors);
/// Whether the sums of a tile, a row of B and a broadcast fit the registers.
bool tile_fits(int sums, int vectors, const CpuTarget& target);
/// Elements of panels, if not for dot modes. Few rows: what is read of B is all that counts, so it
/// stays narrow.
graph::DType gemm_panel(const GemmSpec& spec, const GemmProblem& problem);
/// A good spec without measuring.
GemmSpec choose_gemm(const GemmProblem& problem, const CpuTarget& target);
/// Specs worth measuring, the chosen one first.
std::vector<GemmSpec> gemm_candidates(const GemmProblem& problem, const CpuTarget& target);
/// How products of these dtypes are formed on a target.
GemmMode gemm_mode(graph::DType a, graph::DType b, graph::DType accumulator, bool exact_bf16,
                   const CpuTarget& target);
/// One line for people and for cache keys.
std::string to_string(const GemmSpec& spec);
/// What the panels of a spec depend on, likewise: those of equal text and one matrix are equal.
std::string panels_text(const GemmSpec& spec);

}  // namespace luminal::codegen

#include <algorithm>
#include <limits>

#include "luminal/codegen/llvm/gemm.h"
#include "luminal/runtime/cpu/thread_team.h"

namespace luminal::codegen {
namespace {

using graph::DType;
using runtime::CpuFeature;
using symbolic::Expr;

struct Tile {
  int mr;
  int vectors;
};

GemmSpec base_spec(const GemmProblem& problem, const CpuTarget& target) {
  GemmSpec spec;
  spec.a = problem.a;
  spec.b = problem.b;
  spec.accumulator = problem.accumulator;
  spec.panel = problem.accumulator;
  spec.b_columns = problem.b_columns;
  spec.mode = gemm_mode(problem.a, problem.b, problem.accumulator, problem.exact_bf16, target);
  return spec;
}

/// How B should come. Reading it in place saves packing for few rows; constants are packed ahead.
GemmB source_of(const GemmProblem& problem, const GemmSpec& spec) {
  if (problem.b_constant) return GemmB::kPrepacked;
  const bool readable = spec.mode == GemmMode::kFma && problem.b_readable;
  return readable && problem.m < 256 ? GemmB::kInPlace : GemmB::kPackedHere;
}

/// The columns of a tile for what is left over: whole vectors, or a half at the end. No processor
/// takes longer for a half, and those that put large vectors together from two halves take half as
/// long.
int64_t tail_columns(int64_t rest, int lanes, DType dtype) {
  constexpr int kLeastBits = 128;
  const int64_t unit = std::max(lanes / 2, std::min(lanes, kLeastBits / graph::bits(dtype)));
  return (rest + unit - 1) / unit * unit;
}

/// Whether tiles read all of a large A again for every panel of a plain matrix that they pack.
bool reads_rows_again(const GemmProblem& problem, const GemmSpec& spec) {
  constexpr int64_t kNear = 512 << 10;
  const int64_t bytes = problem.batch * problem.m * problem.k * graph::bits(problem.a) / 8;
  return problem.b_plain && source_of(problem, spec) == GemmB::kPackedHere && bytes >= kNear;
}

/// Vector products that a tile needs for the whole matrix, with what starting and storing costs.
/// Half vectors count as whole ones, which they are as slow as on some processors.
double cost_of(const Tile& tile, const GemmProblem& problem, int lanes) {
  constexpr double kPerTile = 30;
  constexpr double kPerSum = 3;
  const auto tile_cost = [&](int64_t rows, int64_t vectors) {
    const auto sums = static_cast<double>(rows * vectors);
    return std::max(sums, 8.0) * static_cast<double>(problem.k) + kPerTile + kPerSum * sums;
  };
  const int64_t rows = problem.m / tile.mr;
  const int64_t row_tail = problem.m % tile.mr;
  const int64_t all_vectors = (problem.n + lanes - 1) / lanes;
  const int64_t panels = all_vectors / tile.vectors;
  const int64_t column_tail = all_vectors % tile.vectors;
  double cost = static_cast<double>(rows * panels) * tile_cost(tile.mr, tile.vectors);
  if (row_tail > 0) cost += static_cast<double>(panels) * tile_cost(row_tail, tile.vectors);
  if (column_tail > 0)
    cost += static_cast<double>(rows + (row_tail > 0 ? 1 : 0)) * tile_cost(tile.mr, column_tail);
  return cost;
}

/// What comes from further away, in the same unit: A once for every panel, a panel that the first
/// cache does not hold once for every tile, and lines of a large result, which are read before they
/// are written unless whole tiles store them past the caches.
double cost_of_lines(const Tile& tile, const GemmProblem& problem, int lanes) {
  constexpr double kPerLineOfA = 0.5;
  constexpr double kPerLineOfPanel = 0.1;
  constexpr double kFirstCacheLines = 512;
  constexpr double kPerLineOfResult = 3;
  constexpr double kLineBits = 512;
  const int64_t nr = int64_t{tile.vectors} * lanes;
  const auto lines = [](int64_t elements, DType dtype) {
    return static_cast<double>(elements) * graph::bits(dtype) / kLineBits;
  };
  const int64_t whole_panels = (problem.n + nr - 1) / nr;
  const auto panels = static_cast<double>(whole_panels);
  const int64_t whole_row_tiles = (problem.m + tile.mr - 1) / tile.mr;
  const auto row_tiles = static_cast<double>(whole_row_tiles);
  double cost = panels * lines(problem.m * problem.k, problem.a) * kPerLineOfA;
  if (const double panel = lines(nr * problem.k, problem.a); panel > kFirstCacheLines)
    cost += row_tiles * panels * panel * kPerLineOfPanel;
  if (problem.streams && (problem.m % tile.mr != 0 || problem.n % nr != 0))
    cost += lines(problem.m * problem.n, problem.accumulator) * kPerLineOfResult;
  return cost;
}

void set_tile(GemmSpec& spec, const GemmProblem& problem, int lanes, const CpuTarget& target,
              const Tile& tile) {
  spec.mr = tile.mr;
  if (problem.m_known)
    spec.mr = static_cast<int>(std::min<int64_t>(tile.mr, std::max<int64_t>(1, problem.m)));
  spec.nr = tile.vectors * lanes;
  // Fewer than eight sums wait for each other; more steps of k at once keep the units busy.
  const int sums = spec.mr * tile.vectors;
  spec.k_unroll = 1;
  while (spec.k_unroll < 8 && sums * spec.k_unroll < 8 &&
         tile_fits(sums * spec.k_unroll * 2, tile.vectors, target))
    spec.k_unroll *= 2;
  if (problem.m_known) {
    spec.row_tail = static_cast<int>(problem.m % spec.mr);
    spec.whole_rows = true;
  } else {
    spec.row_tail = spec.mr > 4 ? spec.mr / 2 : 0;
  }
  spec.column_tail = tile.vectors / 2 * lanes;
  if (problem.n_known)
    spec.column_tail =
        static_cast<int>(tail_columns(problem.n % spec.nr, lanes, problem.accumulator));
  if (spec.column_tail == spec.nr) spec.column_tail = 0;
}

/// Rows per item: a panel's rows are cut only where panels alone would leave threads idle.
void set_row_block(GemmSpec& spec, const GemmProblem& problem) {
  const int64_t panels = problem.batch * ((problem.n + spec.nr - 1) / spec.nr);
  // Dealing out costs too: a few microseconds of work are cut in few pieces.
  constexpr double kSmall = 1 << 21;
  const double work =
      static_cast<double>(problem.m * problem.n) * static_cast<double>(problem.k * problem.batch);
  const int64_t wanted = (work < kSmall ? 2 : 8) * int64_t{problem.threads};
  if (problem.threads == 1 || panels >= wanted || problem.m <= spec.mr) return;
  const int64_t tiles = (problem.m + spec.mr - 1) / spec.mr;
  int64_t blocks = std::min(tiles, (wanted + panels - 1) / panels);
  // Read in place, each thread has rows of its own if all get as many.
  if (spec.b_source == GemmB::kInPlace && problem.m % (problem.threads * spec.mr) == 0)
    blocks = problem.threads;
  spec.row_block = static_cast<int>((tiles + blocks - 1) / blocks) * spec.mr;
}

/// A panel of very long k falls out of the second cache: several passes, then. Half of a cache of a
/// megabyte is not too much for a panel: passes keep sums in memory and end with a copy.
void set_passes(GemmSpec& spec, const GemmProblem& problem, const GemmLayout& layout) {
  constexpr int64_t kMostPanelBytes = 512 << 10;
  constexpr int64_t kFewRowsBytes = 128 << 10;
  constexpr int kRowsOfPasses = 240;
  // A panel that few tiles use shares the cache with what they ask for ahead.
  const bool few = spec.b_source == GemmB::kPrepacked && problem.m_known && problem.m > spec.mr;
  const int64_t most = few && problem.m < 4 * spec.mr ? kFewRowsBytes : kMostPanelBytes;
  const int64_t units = (problem.k + layout.group() - 1) / layout.group();
  if (units * layout.row_bytes() <= most || (problem.m < 4 * spec.mr && !few) ||
      spec.mode == GemmMode::kDotI8)
    return;
  const int64_t passes = (units * layout.row_bytes() + most - 1) / most;
  spec.kc = static_cast<int>((units + passes - 1) / passes) * layout.group();
  if (spec.row_block == 0 || spec.row_block > kRowsOfPasses)
    spec.row_block = std::max(spec.mr, kRowsOfPasses / spec.mr * spec.mr);
}

/// Few panels, of which the last may be narrow, make unequal shares. With rows of their own threads
/// get equal ones, but each of them packs all panels.
void set_rows_outer(GemmSpec& spec, const GemmProblem& problem, const GemmLayout& layout) {
  constexpr int64_t kPack = 4;  // rows that are multiplied by a vector while it is packed
  constexpr double kClearly = 1.03;
  if (spec.b_source != GemmB::kPackedHere || spec.row_block == 0 || spec.kc > 0 ||
      problem.batch > 1)
    return;
  const auto ceil = [](int64_t a, int64_t b) { return (a + b - 1) / b; };
  const int64_t tiles = ceil(problem.m, spec.mr);
  const int64_t block = spec.row_block / spec.mr;
  const int64_t blocks = ceil(tiles, block);
  const int64_t vectors = ceil(problem.n, layout.lanes());
  const auto longest_by_panels = [&] {
    int64_t longest = 0;
    for (int thread = 0; thread < problem.threads; ++thread) {
      const auto [begin, end] =
          runtime::static_range(ceil(problem.n, spec.nr) * blocks, thread, problem.threads);
      int64_t share = 0;
      for (int64_t item = begin; item < end; ++item) {
        const int64_t panel = item / blocks;
        const int64_t wide =
            std::min<int64_t>(layout.vectors(), vectors - panel * layout.vectors());
        const int64_t rows = std::min(block, tiles - item % blocks * block) * spec.mr;
        share += wide * (rows + (item == begin || item % blocks == 0 ? kPack : 0));
      }
      longest = std::max(longest, share);
    }
    return longest;
  };
  const int64_t own_rows = ceil(tiles, problem.threads) * spec.mr;
  const int64_t by_rows = vectors * (own_rows + kPack);
  if (static_cast<double>(by_rows) * kClearly > static_cast<double>(longest_by_panels())) return;
  spec.rows_outer = true;
  spec.row_block = static_cast<int>(own_rows);
}

/// Few tiles leave threads idle, or some with one more than others: parts of a long k are more
/// items. And a long matrix that is read in place without passes falls out of the second cache, as
/// does a long panel before its few tiles have used it. Both have to make up for the launch that
/// adds up the parts.
void set_split(GemmSpec& spec, const GemmProblem& problem, const GemmLayout& layout) {
  constexpr double kLaunch = 10000;  // cycles
  constexpr double kSumsPerCycle = 4;
  constexpr double kClearly = 1.15;
  constexpr double kFarAway = 1.3;
  constexpr int64_t kSecondCache = 512 << 10;
  constexpr int64_t kLeastUnits = 256;
  constexpr int kMostParts = 32;
  const bool packs_windows = spec.b_source == GemmB::kPackedHere && !problem.b_one_k;
  if (problem.threads == 1 || (problem.ordered && graph::is_float(problem.accumulator)) ||
      packs_windows)
    return;
  const auto ceil = [](int64_t a, int64_t b) { return (a + b - 1) / b; };
  const int64_t rows =
      spec.row_block > 0 ? std::min<int64_t>(spec.row_block, problem.m) : problem.m;
  const int64_t items =
      problem.batch * ceil(problem.n, spec.nr) * ceil(problem.m, std::max<int64_t>(1, rows));
  const int64_t units = ceil(problem.k, layout.group());
  const auto step =
      static_cast<double>(ceil(rows, spec.mr) * std::max<int64_t>(8, spec.mr * layout.vectors()));
  const bool once = items == 1 && rows <= spec.mr;
  const bool few = spec.b_source == GemmB::kPackedHere && !problem.b_columns &&
                   problem.m > spec.mr && problem.m <= int64_t{8} * spec.mr &&
                   units * layout.row_bytes() > kSecondCache;
  const bool used_again = few || (spec.b_source == GemmB::kInPlace && !once);
  // What a panel is made of wants the cache too.
  const int64_t near = few ? kSecondCache / 2 : kSecondCache;
  const auto cycles = [&](int64_t split) {
    const auto turns = static_cast<double>(ceil(items * split, problem.threads));
    const int64_t part = ceil(units, split);
    double products = turns * step * static_cast<double>(part);
    if (used_again && part * layout.row_bytes() > near) products *= kFarAway;
    if (split == 1) return products;
    const auto sums = static_cast<double>(split * problem.batch * problem.m * problem.n);
    return products + kLaunch + 2 * sums / kSumsPerCycle / problem.threads;
  };
  double best = cycles(1) / kClearly;
  for (int split = 2; split <= kMostParts && units / split >= kLeastUnits; split *= 2)
    if (cycles(split) < best) {
      best = cycles(split);
      spec.split = split;
    }
}

/// Few rows use up a panel before memory has the next one ready, so tiles ask for it.
void set_ahead(GemmSpec& spec, const GemmProblem& problem, const GemmLayout& layout) {
  constexpr int64_t kInCache = int64_t{1} << 20;
  constexpr int64_t kLine = 64;
  const int64_t bytes = std::max(1, graph::bits(problem.b) / 8);
  const bool packed_ahead = spec.b_source == GemmB::kPrepacked;
  // Many rows use a panel for so long that the next one can be waited for, but matrices of a batch
  // come from memory.
  const bool many = problem.m >= 512 && (problem.batch == 1 || spec.b_source != GemmB::kPackedHere);
  if ((!packed_ahead && !problem.b_plain) || many ||
      problem.batch * problem.n * problem.k * bytes < kInCache)
    return;
  if (spec.row_block > 0 && spec.row_block < problem.m) return;
  if (packed_ahead) {
    // Very few rows are one stream that the processor sees coming.
    constexpr int64_t kFewRows = 8;
    const int64_t row_tiles = (problem.m + spec.mr - 1) / spec.mr;
    const int64_t row_lines = std::max<int64_t>(1, layout.row_bytes() / kLine);
    if (problem.m >= kFewRows && problem.m_known)
      spec.ahead = static_cast<int>(std::min<int64_t>(4, (row_lines + row_tiles - 1) / row_tiles));
    return;
  }
  if (problem.b_columns && (spec.kc > 0 || spec.split > 1)) return;
  const int64_t lines = spec.nr * layout.group() * bytes / kLine;
  const int64_t tiles = (problem.m + spec.mr - 1) / spec.mr;
  spec.ahead = lines > tiles ? 2 : 1;
}

/// Rows that no near cache keeps until the next panel needs them come from far away again.
void set_rows_ahead(GemmSpec& spec, const GemmProblem& problem) {
  constexpr int64_t kFar = int64_t{8} << 20;
  const int64_t bytes = problem.m * problem.k * graph::bits(problem.a) / 8;
  if (spec.ahead == 0 && spec.kc == 0 && bytes >= kFar && problem.m >= 4 * spec.mr &&
      problem.n > 2 * spec.nr)
    spec.a_source = GemmA::kRowsAhead;
}

/// Few rows times a matrix whose long rows each thread packs: of narrow panels the second cache
/// holds what is packed, where it comes from and where the next one comes from.
bool packs_long_rows(const GemmProblem& problem, const GemmSpec& spec, int lanes) {
  constexpr int64_t kMostRows = 16;
  constexpr int64_t kMostBytes = 256 << 10;
  return spec.mode == GemmMode::kFma && !problem.b_constant && problem.b_columns &&
         problem.m_known && problem.m > 4 && problem.m <= kMostRows && problem.n > lanes &&
         2 * int64_t{lanes} * problem.k * graph::bits(problem.accumulator) / 8 > kMostBytes;
}

}  // namespace

bool tile_fits(int sums, int vectors, const CpuTarget& target) {
  // Without fma a product needs a register of its own.
  return sums + vectors + (target.has_fma() ? 1 : 2) <= target.vector_registers();
}

GemmSpec with_tile(GemmSpec spec, const GemmProblem& problem, const CpuTarget& target, int mr,
                   int vectors) {
  set_tile(spec, problem, GemmLayout(spec, target).lanes(), target, {mr, vectors});
  return spec;
}

DType gemm_panel(const GemmSpec& spec, const GemmProblem& problem) {
  if (spec.b_source != GemmB::kPrepacked || problem.m > 8 ||
      graph::bits(spec.b) >= graph::bits(spec.accumulator) || graph::is_bool(spec.b))
    return spec.accumulator;
  if (graph::bits(spec.b) == 4) return graph::is_unsigned(spec.b) ? DType::kU8 : DType::kI8;
  return spec.b;
}

GemmMode gemm_mode(DType a, DType b, DType accumulator, bool exact_bf16, const CpuTarget& target) {
  if (a == DType::kBF16 && b == DType::kBF16 && accumulator == DType::kF32 && !exact_bf16 &&
      target.has(CpuFeature::kAvx512bf16))
    return GemmMode::kDotBf16;
  if (a == DType::kI8 && b == DType::kI8 && accumulator == DType::kI32 &&
      target.has(CpuFeature::kAvx512vnni))
    return GemmMode::kDotI8;
  return GemmMode::kFma;
}

GemmLayout::GemmLayout(const GemmSpec& spec, const CpuTarget& target) : spec_(spec) {
  if (spec.mode == GemmMode::kDotBf16 || spec.mode == GemmMode::kAmxBf16) group_ = 2;
  if (spec.mode == GemmMode::kDotI8 || spec.mode == GemmMode::kAmxI8) group_ = 4;
  unit_bytes_ = spec.mode == GemmMode::kFma ? graph::bits(spec.panel) / 8 : 4;
  lanes_ = target.lanes(graph::bits(spec.accumulator));
  if (spec.blocks.size == 0) return;
  group_ = spec.blocks.size;
  unit_bytes_ = spec.blocks.size / 2;
  for (const auto& each : {spec.blocks.scale, spec.blocks.offset})
    if (each) unit_bytes_ += graph::bits(*each) / 8;
}

Expr GemmLayout::panel_bytes(const Expr& k) const {
  Expr units = ceil_div(k, group_);
  if (spec_.blocks.size == 0) units = ceil_div(units, lanes_) * lanes_;
  return ceil_div(header_bytes() + units * row_bytes(), 64) * 64;
}

Expr GemmLayout::part_steps(const Expr& k) const {
  if (spec_.split == 1) return k;
  const int64_t unit = spec_.has_matrix_registers() ? 64 : 16;
  return ceil_div(ceil_div(k, spec_.split), unit) * unit;
}

GemmSpec with_matrix_registers(GemmSpec spec) {
  spec.mode = spec.mode == GemmMode::kDotBf16 ? GemmMode::kAmxBf16 : GemmMode::kAmxI8;
  spec.row_block = spec.row_block == 0 ? 0 : (spec.row_block + 31) / 32 * 32;
  spec.kc = (spec.kc + 63) / 64 * 64;
  spec.mr = 32;
  spec.nr = 32;
  spec.k_unroll = 1;
  spec.row_tail = spec.column_tail = 0;
  spec.whole_rows = false;
  if (spec.a_source == GemmA::kRowsAhead) spec.a_source = GemmA::kRows;
  if (spec.kc > 0 && spec.row_block == 0) spec.row_block = 256;
  return spec;
}

GemmSpec fed_matrix_registers(GemmSpec spec, const GemmProblem& problem) {
  // Four products of registers take 64 cycles and four kilobytes, of which the second cache gives
  // about half in that time. The processor does not look far enough ahead to have them in time,
  // above all when it runs two threads. Of a few steps, most would be asked for in vain.
  constexpr int64_t kManySteps = 256;
  spec = with_matrix_registers(spec);
  spec.ahead = problem.k >= kManySteps ? 1 : 0;
  // Rows that begin at the same place of a page fight for places in caches: a copy has the rows of
  // a register in a row.
  constexpr int64_t kOften = 256;
  if (problem.a_panels && problem.a_aligned && problem.n >= kOften) spec.a_source = GemmA::kPacked;
  // All panels meet some rows that stay in the second cache, each thread its own. The panels are
  // packed before, or every block of rows would pack them again.
  constexpr int64_t kNearBytes = 1 << 20;
  constexpr int64_t kFewestRows = 64;
  constexpr int64_t kMostRows = 256;
  const int64_t row_bytes = std::max<int64_t>(1, problem.k * graph::bits(problem.a) / 8);
  const int64_t own = (problem.m + problem.threads - 1) / problem.threads;
  if (spec.split > 1 || spec.kc > 0 || problem.batch > 1 || own < kFewestRows) return spec;
  const int64_t near = std::clamp(kNearBytes / row_bytes, kFewestRows, kMostRows);
  spec.row_block = static_cast<int>((std::min(own, near) + spec.mr - 1) / spec.mr) * spec.mr;
  spec.rows_outer = true;
  spec.b_source = GemmB::kPrepacked;
  return spec;
}

namespace {

constexpr std::string_view kModes[] = {"fma", "dot-bf16", "dot-i8", "amx-bf16", "amx-i8"};

std::string to_string(const GemmBlocks& blocks) {
  const auto name = [](const std::optional<DType>& dtype) {
    return dtype ? graph::name(*dtype) : "none";
  };
  return fmt::format("blocks of {} digits from {} scale {} offset {}", blocks.size, -blocks.zero,
                     name(blocks.scale), name(blocks.offset));
}

}  // namespace

std::string panels_text(const GemmSpec& spec) {
  const std::string text =
      fmt::format("panels of {}{} as {} for {} {} width {}", spec.b, spec.b_columns ? "^T" : "",
                  spec.panel, spec.accumulator, kModes[static_cast<int>(spec.mode)], spec.nr);
  return spec.blocks.size == 0 ? text : fmt::format("{} {}", text, to_string(spec.blocks));
}

std::string to_string(const GemmSpec& spec) {
  // A copy of rows shows in what is stored before.
  constexpr std::string_view kRows[] = {"", "", " a packed", " a ahead"};
  constexpr std::string_view kSources[] = {"prepacked", "packed", "in-place"};
  const std::string text = fmt::format(
      "gemm {} x {}{} in {} {}{} b {} as {} tile {}x{} tails {}x{}{} unroll {} rows {}{} kc {} "
      "ahead {}",
      spec.a, spec.b, spec.b_columns ? "^T" : "", spec.accumulator,
      kModes[static_cast<int>(spec.mode)], kRows[static_cast<int>(spec.a_source)],
      kSources[static_cast<int>(spec.b_source)], spec.panel, spec.mr, spec.nr, spec.row_tail,
      spec.column_tail, spec.whole_rows ? " exactly" : "", spec.k_unroll, spec.row_block,
      spec.rows_outer ? " first" : "", spec.kc, spec.ahead);
  if (spec.split > 1) return fmt::format("{} split {}", text, spec.split);
  return spec.blocks.size == 0 ? text : fmt::format("{} {}", text, to_string(spec.blocks));
}

int most_rows_of_blocks(const CpuTarget& target) {
  // Sums of a block and of all blocks before, two vectors of digits, and what they come from.
  return std::max(1, (target.vector_registers() - 6) / 4);
}

GemmSpec with_rows_of_blocks(GemmSpec spec, const GemmProblem& problem, int mr) {
  spec.mr = mr;
  spec.whole_rows = problem.m_known;
  // Where rows are not known there may well be one.
  spec.row_tail = problem.m_known ? static_cast<int>(problem.m % spec.mr) : spec.mr > 1 ? 1 : 0;
  return spec;
}

GemmSpec choose_blocks(const GemmProblem& problem, const GemmBlocks& blocks,
                       const CpuTarget& target) {
  GemmSpec spec = base_spec(problem, target);
  spec.blocks = blocks;
  spec.mode = gemm_mode(problem.a, DType::kBF16, problem.accumulator, problem.exact_bf16, target);
  spec.b_source = GemmB::kPrepacked;
  spec.b_columns = false;
  spec.nr = 2 * target.lanes(graph::bits(problem.accumulator));
  const int64_t most = most_rows_of_blocks(target);
  const int64_t tiles = (problem.m + most - 1) / most;
  spec = with_rows_of_blocks(
      spec, problem, static_cast<int>(problem.m_known ? (problem.m + tiles - 1) / tiles : most));
  set_row_block(spec, problem);
  return spec;
}

std::vector<GemmSpec> gemm_candidates(const GemmProblem& problem, const CpuTarget& target) {
  constexpr Tile kWide[] = {{8, 2},  {6, 4}, {4, 4},  {12, 2}, {7, 2}, {10, 2},
                            {14, 2}, {9, 2}, {11, 2}, {13, 2}, {5, 4}, {16, 1}};
  constexpr Tile kNarrow[] = {{6, 2}, {4, 2}, {5, 2}, {3, 3}, {8, 1}};
  const auto tiles = target.vector_registers() == 32 ? std::span<const Tile>(kWide)
                                                     : std::span<const Tile>(kNarrow);
  GemmSpec base = base_spec(problem, target);
  const int lanes = GemmLayout(base, target).lanes();
  const bool reads_again = reads_rows_again(problem, base);
  std::vector<std::pair<double, Tile>> ranked;
  for (const Tile& tile : tiles) {
    if (!tile_fits(tile.mr * tile.vectors, tile.vectors, target)) continue;
    // One product per broadcast is too few for bf16.
    if (tile.vectors == 1 && problem.n > lanes) continue;
    // Weights that are packed ahead lie one way, however many rows there are.
    if (tile.vectors != 2 && problem.b_constant && problem.n > lanes) continue;
    // Many rows at one place of their pages fight for one set of the first cache.
    if (tile.mr > 8 && (problem.a_aligned || !problem.m_known)) continue;
    double cost = cost_of(tile, problem, lanes);
    // Tiles of about eight rows measure best where nothing else decides, and so do those of fewer
    // and wider rows where A is read again for every panel.
    if (reads_again) cost += cost_of_lines(tile, problem, lanes);
    const bool enough = reads_again && 2 * tile.mr * tile.vectors >= target.vector_registers();
    if (tile.mr > 8 || (tile.mr < 8 && !enough)) cost *= tile.mr > 8 ? 1.015 : 1.01;
    ranked.emplace_back(cost, tile);
  }
  std::stable_sort(ranked.begin(), ranked.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  // One or two rows: a wide panel is one long stream with enough sums in flight.
  if (problem.m <= 4 && target.vector_registers() == 32 && problem.n > 2 * lanes &&
      !problem.b_constant)
    ranked.insert(ranked.begin(), {0, {static_cast<int>(std::max<int64_t>(1, problem.m)), 4}});
  if (packs_long_rows(problem, base, lanes) && target.vector_registers() == 32) {
    const int64_t row_tiles = (problem.m + 7) / 8;
    ranked.insert(ranked.begin(),
                  {0, {static_cast<int>((problem.m + row_tiles - 1) / row_tiles), 1}});
  }
  std::vector<GemmSpec> result;
  for (const auto& [cost, tile] : ranked) {
    GemmSpec spec = base;
    set_tile(spec, problem, lanes, target, tile);
    spec.b_source = source_of(problem, spec);
    set_row_block(spec, problem);
    // Nothing is packed, so threads may have rows of their own: next to each other in a row of the
    // result they would write to the same lines.
    spec.rows_outer = spec.b_source == GemmB::kInPlace && spec.row_block > 0;
    if (spec.b_source != GemmB::kInPlace) set_passes(spec, problem, GemmLayout(spec, target));
    set_rows_outer(spec, problem, GemmLayout(spec, target));
    set_split(spec, problem, GemmLayout(spec, target));
    set_ahead(spec, problem, GemmLayout(spec, target));
    set_rows_ahead(spec, problem);
    if (std::none_of(result.begin(), result.end(),
                     [&](const GemmSpec& other) { return to_string(other) == to_string(spec); }))
      result.push_back(spec);
  }
  return result;
}

GemmSpec choose_gemm(const GemmProblem& problem, const CpuTarget& target) {
  return gemm_candidates(problem, target).front();
}

}  // namespace luminal::codegen

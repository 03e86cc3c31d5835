#include "luminal/codegen/llvm/contraction_schedule.h"

#include <algorithm>

#include "luminal/codegen/llvm/contraction_choices.h"
#include "luminal/codegen/llvm/launch_list.h"
#include "luminal/codegen/llvm/nest_plan.h"

namespace luminal::codegen {
namespace {

using graph::DType;
using kernel::Arena;
using kernel::BodyId;
using kernel::BodyKind;
using kernel::BodyNode;
using symbolic::Expr;

class Scheduler {
 public:
  Scheduler(const Arena& arena, const ContractionPlan& plan, const CpuTarget& target,
            const CpuKernelOptions& options, const ContractionKernelOptions& more)
      : arena_(arena), plan_(plan), target_(target), options_(options), more_(more) {
    if (options.schedule) {
      more_.always = true;
      more_.never_gemv = !asks_for(kGemvFamily);
      more_.never_blocks = !asks_for(kGemmBlocksFamily);
    }
  }

  Recognised<ContractionSchedule> run() {
    if (!same_types()) return Refusal{"its products are of different types"};
    if (has_sums_in_matrix()) return Refusal{"its matrix is a sum itself"};
    const bool four_bit = choose_four_bit();
    if (!four_bit) schedule_.gemv = choose_gemv();
    if (!four_bit && !schedule_.gemv) {
      if (asks_for(kGemmBlocksFamily)) return Refusal{"its weights are not blocks of four bits"};
      if (asks_for(kGemvFamily)) return Refusal{"it has too many rows to stream the matrix"};
      if (!is_worth_it()) return Refusal{"its products are too small for tiles"};
      choose();
      schedule_.chunk = chunk();
    }
    if (options_.schedule) apply_schedule(*options_.schedule, target_, schedule_);
    return std::move(schedule_);
  }

 private:
  bool asks_for(std::string_view family) const {
    return options_.schedule && options_.schedule->family() == family;
  }

  /// Products of one kernel share tiles.
  bool same_types() {
    const Product& first = plan_.products[0];
    return std::all_of(plan_.products.begin(), plan_.products.end(), [&](const Product& each) {
      return each.a.dtype == first.a.dtype && each.b.dtype == first.b.dtype &&
             accumulator_of(each.dtype) == accumulator_of(first.dtype);
    });
  }

  /// The matrix is read where it lies or packed element by element; only the other operand is
  /// computed by launches of its own.
  bool has_sums_in_matrix() const {
    return std::any_of(plan_.products.begin(), plan_.products.end(), [&](const Product& each) {
      const std::vector<BodyId> reached = arena_.reachable(std::span(&each.b.value, 1));
      return std::any_of(reached.begin(), reached.end(),
                         [&](BodyId id) { return arena_[id].kind == BodyKind::kReduce; });
    });
  }

  /// Schedules are for something, even if there may be nothing.
  int64_t typical(const Expr& extent) const {
    return std::max<int64_t>(1, typical_extent(extent, options_));
  }

  /// Products that the kernel forms one like the other.
  int64_t batch_count() const {
    int64_t count = 1;
    for (const std::vector<Expr>* batch : {&plan_.batch, &plan_.row_batch})
      for (const Expr& axis : *batch) count *= typical(axis.axis_extent());
    return count;
  }

  /// Few rows of a matrix that must be packed first are faster as loops. One that is read as it
  /// lies is not, however small it is: there may be thousands of them.
  bool is_worth_it() const {
    if (more_.always) return true;
    const int64_t m = typical(plan_.m.extent);
    const int64_t n = typical(plan_.n.extent);
    const int64_t k = typical(plan_.products[0].k.extent);
    if (n < 4 || k < 2) return false;
    if (is_constant() || all_readable()) return m * n * k >= 64;
    return has_few_columns() || (m >= 3 && m * n * k >= 1024);
  }

  bool all_readable() const {
    return std::all_of(plan_.products.begin(), plan_.products.end(), [&](const Product& each) {
      return is_readable(each, accumulator_of(each.dtype));
    });
  }

  /// Few columns of a long k that lie side by side: tiles share them among threads by parts of k.
  bool has_few_columns() const {
    constexpr int64_t kFewColumns = 64;
    constexpr int64_t kLongK = 4096;
    const Product& first = plan_.products[0];
    const bool readable = is_readable(first, accumulator_of(first.dtype));
    const bool side_by_side = first.b.place && first.b.place->outer_stride.is_constant(1);
    return options_.reassociate && options_.threads > 1 &&
           typical(plan_.n.extent) <= kFewColumns * options_.threads &&
           typical(first.k.extent) >= kLongK &&
           (readable || (side_by_side && typical(plan_.m.extent) > 2));
  }

  bool is_constant() const {
    return std::all_of(plan_.products.begin(), plan_.products.end(), [&](const Product& each) {
      return codegen::is_constant(arena_, each.b.value, options_);
    });
  }

  /// Whether memory runs along k in B rather than along the columns.
  bool runs_along_k(const Product& product) const {
    if (!product.b.flat_k) return false;
    int balance = 0;
    const Expr& column =
        product.b.flat_outer || plan_.n.axes.empty() ? plan_.n.flat : plan_.n.axes.back();
    for (const BodyId id : arena_.reachable(std::span(&product.b.value, 1))) {
      const BodyNode& node = arena_[id];
      if (node.kind != BodyKind::kLoad) continue;
      const Expr position = position_of(node.exprs, arena_.tensor(node.tensor).shape);
      const auto along_k = stride_along(position, product.k.flat);
      const auto along_n = stride_along(position, column);
      if (along_k && along_k->stride.is_constant(1)) ++balance;
      if (along_n && along_n->stride.is_constant(1)) --balance;
    }
    return balance > 0;
  }

  /// Few rows of a matrix that cannot be packed ahead: it is read once, where it lies.
  std::optional<GemvSpec> choose_gemv() {
    const auto rows = plan_.m.extent.constant_value();
    if (more_.spec || more_.never_gemv || !rows || *rows > kMostGemvRows || *rows < 1)
      return std::nullopt;
    const Product& first = plan_.products[0];
    GemvSpec spec;
    spec.rows = static_cast<int>(*rows);
    spec.accumulator = accumulator_of(first.dtype);
    if (is_direct()) {
      spec.along_k = false;
      spec.direct = true;
      spec.block = 1024;
      set_operands(spec, first);
      return spec;
    }
    spec.along_k = runs_along_k(first);
    bool plain = true;
    for (const Product& each : plan_.products) {
      const bool fits = spec.along_k ? each.b.flat_k : each.b.flat_outer;
      if (!fits || runs_along_k(each) != spec.along_k) return std::nullopt;
      plain = plain && each.b.place && each.b.place->k_stride.is_constant(1) && each.a.place;
    }
    if (!more_.always && !prefers_gemv(spec)) return std::nullopt;
    const GemmMode mode =
        gemm_mode(first.a.dtype, first.b.dtype, spec.accumulator, !options_.reassociate, target_);
    if (plain && spec.along_k) spec.mode = mode;
    set_streams(spec, first);
    set_operands(spec, first);
    return spec;
  }

  /// What operands have to be like.
  void set_operands(const GemvSpec& spec, const Product& first) {
    GemmSpec operands;
    operands.a = spec.mode == GemmMode::kFma ? spec.accumulator : first.a.dtype;
    operands.mode = spec.mode;
    operands.accumulator = spec.accumulator;
    schedule_.specs.assign(plan_.products.size(), operands);
  }

  /// Few short windows per row: packing them would cost more than using them.
  bool is_direct() const {
    const auto rows = plan_.m.extent.constant_value();
    return rows && *rows <= kMostDirectRows &&
           std::all_of(plan_.products.begin(), plan_.products.end(), [&](const Product& each) {
             const auto steps = each.k.extent.constant_value();
             const bool windows = !each.b.flat_outer || !each.b.flat_k;
             return windows && steps && *steps <= kMostDirectSteps;
           });
  }

  bool prefers_gemv(const GemvSpec& spec) const {
    const int64_t n = typical(plan_.n.extent);
    const int64_t k = typical(plan_.products[0].k.extent);
    if (n < 8 || k < 8 || n * k < 2048) return false;
    const bool plain = plan_.products[0].b.place.has_value();
    // Constants are packed ahead, unless that would make them much larger.
    if (is_constant()) return !plain && spec.rows <= 2;
    // Packing pays off for a few more rows.
    constexpr int kMostRowsAlongK = 6;
    if (spec.along_k) return spec.rows <= kMostRowsAlongK;
    // Sums of few columns stay in registers all the way.
    const int lanes = target_.lanes(graph::bits(spec.accumulator));
    if (has_few_columns() || (all_readable() && n <= 4 * int64_t{lanes})) return false;
    return spec.rows <= 2 || !tiles_read_well(spec.rows);
  }

  /// Whether tiles should read a matrix as it lies: in the cache, and, if there are more rows to
  /// use it for, beyond it, unless rows of the matrix begin within lines, which panels then share.
  bool tiles_read_well(int rows) const {
    constexpr int64_t kNear = int64_t{1} << 19;
    constexpr int64_t kFar = int64_t{1} << 21;
    constexpr int64_t kLine = 64;
    const ProductOperand& matrix = plan_.products[0].b;
    const int64_t size = typical(plan_.n.extent) * typical(plan_.products[0].k.extent);
    if (size < kNear || (rows >= 5 && size < kFar)) return true;
    const auto pitch = matrix.place ? matrix.place->k_stride.constant_value() : std::nullopt;
    return rows >= 6 && pitch && *pitch * graph::bits(matrix.dtype) / 8 % kLine == 0;
  }

  void set_streams(GemvSpec& spec, const Product& product) const {
    const int64_t registers = target_.vector_registers() / 2;
    const int lanes = target_.lanes(graph::bits(spec.accumulator));
    const int most_streams = std::max(1, most_gemv_registers(target_) / spec.rows);
    if (spec.along_k) {
      // Narrow elements are one stream with many in flight; wide ones like several, and so do more
      // rows, which are read again for each.
      const int bits = graph::bits(product.b.dtype);
      const int one_stream = bits >= 32 ? 0 : bits == 16 ? 2 : 3;
      spec.streams = spec.rows <= one_stream ? 1 : spec.rows <= 6 ? 4 : 3;
      if (bits < 16 && spec.rows == 4) spec.streams = 2;
      spec.streams = std::min(spec.streams, most_streams);
      spec.unroll = 4;
      while (spec.unroll > 1 && int64_t{spec.unroll} * spec.streams * spec.rows > registers)
        spec.unroll /= 2;
      spec.block = 32;
      return;
    }
    // Each sum is loaded and stored once for all streams.
    constexpr int kMostFactors = 24;
    spec.streams = std::clamp(kMostFactors / spec.rows, 1, static_cast<int>(registers) / 2);
    spec.streams = std::min(spec.streams, most_streams);
    spec.unroll = 1;
    // Memory likes long runs of a row; sums of a block stay in the second cache. Threads have
    // equally many blocks.
    constexpr int64_t kMostSums = 32768;
    const auto ceil = [](int64_t a, int64_t b) { return (a + b - 1) / b; };
    const int64_t pieces = batch_count() >= options_.threads ? 1 : std::max(1, options_.threads);
    const int64_t unit = 4 * int64_t{lanes};
    const int64_t wanted = ceil(typical(plan_.n.extent), pieces);
    const int64_t blocks = ceil(wanted, std::max(unit, kMostSums / spec.rows));
    spec.block = ceil(ceil(wanted, blocks), unit) * unit;
  }

  bool is_readable(const Product& product, DType accumulator) const {
    return product.b.place && product.b.dtype == accumulator &&
           product.b.place->outer_stride.is_constant(1);
  }

  /// Rows or columns lie one after the other, so that the next panel is where it is looked for.
  bool is_dense(const ProductOperand::Place& place, const Expr& k) const {
    if (place.outer_stride.is_constant(1)) return true;
    return place.k_stride.is_constant(1) && place.outer_stride == k;
  }

  /// Four-bit weights that are packed ahead stay four bits, however many rows there are.
  bool choose_four_bit() {
    const std::optional<GemmBlocks> blocks = blocks_of(plan_.products[0]);
    if (more_.spec || more_.never_blocks || !options_.reassociate || options_.round_each ||
        !blocks || !is_constant())
      return false;
    for (const Product& each : plan_.products)
      if (blocks_of(each) != blocks) return false;
    GemmProblem& problem = schedule_.problem;
    problem = problem_of_sizes();
    if (problem.accumulator != DType::kF32) return false;
    problem.a = plan_.products[0].a.dtype;
    GemmSpec spec = choose_blocks(problem, *blocks, target_);
    if (spec.mode == GemmMode::kFma) spec.a = spec.accumulator;
    schedule_.specs.assign(plan_.products.size(), spec);
    schedule_.chunk = chunk();
    return true;
  }

  std::optional<GemmBlocks> blocks_of(const Product& product) const {
    if (!product.four_bit) return std::nullopt;
    const FourBitWeights& weights = *product.four_bit;
    const auto dtype_of = [&](const std::optional<BodyId>& id) {
      return id ? std::optional(arena_[*id].dtype) : std::nullopt;
    };
    return GemmBlocks{static_cast<int>(weights.block), static_cast<int>(weights.zero),
                      dtype_of(weights.scale), dtype_of(weights.offset)};
  }

  /// What a problem has from its sizes alone.
  GemmProblem problem_of_sizes() const {
    GemmProblem problem;
    problem.accumulator = accumulator_of(plan_.products[0].dtype);
    problem.exact_bf16 = problem.ordered = !options_.reassociate;
    problem.batch = batch_count();
    problem.m = typical(plan_.m.extent);
    problem.n = typical(plan_.n.extent);
    problem.k = typical(plan_.products[0].k.extent);
    problem.m_known = plan_.m.extent.is_constant();
    problem.n_known = plan_.n.extent.is_constant();
    problem.threads = options_.threads;
    problem.products = static_cast<int>(plan_.products.size());
    return problem;
  }

  void choose() {
    const Product& first = plan_.products[0];
    GemmProblem& problem = schedule_.problem;
    problem = problem_of_sizes();
    const GemmMode mode =
        gemm_mode(first.a.dtype, first.b.dtype, problem.accumulator, problem.exact_bf16, target_);
    problem.a = mode == GemmMode::kFma ? problem.accumulator : first.a.dtype;
    problem.b = first.b.dtype;
    problem.b_constant = is_constant();
    problem.b_readable = all_readable();
    problem.b_plain =
        std::all_of(plan_.products.begin(), plan_.products.end(), [&](const Product& each) {
          return each.b.place && is_dense(*each.b.place, each.k.extent);
        });
    problem.b_columns = runs_along_k(first);
    problem.b_one_k = std::all_of(plan_.products.begin(), plan_.products.end(),
                                  [](const Product& each) { return each.b.flat_k; });
    if (first.a.place) {
      const auto stride = first.a.place->outer_stride.constant_value();
      problem.a_aligned = !stride || *stride * graph::bits(problem.a) / 8 % 4096 == 0;
    }
    const int64_t stored = graph::bits(arena_.tensor(plan_.roots[0].tensor).dtype) / 8;
    problem.streams = options_.streaming_bytes > 0 && plan_.roots.size() == 1 &&
                      problem.batch * problem.m * problem.n * stored > options_.streaming_bytes / 2;
    problem.a_panels =
        problem.m_known && plan_.m.flat.is_axis() &&
        std::all_of(plan_.products.begin(), plan_.products.end(), [](const Product& each) {
          return each.a.flat_outer && each.a.flat_k && each.k.flat.is_axis();
        });
    GemmSpec spec = more_.spec ? *more_.spec : choose_gemm(problem, target_);
    if (!more_.spec && mode == GemmMode::kFma && spec.a_source == GemmA::kInPlace)
      spec.a_source = source_of_rows(problem);
    spec.a = problem.a;
    spec.b = problem.b;
    spec.accumulator = problem.accumulator;
    spec.mode = mode;
    schedule_.modes = {mode};
    problem.k_fills = fill_matrix_registers(mode);
    if ((more_.matrix_registers || target_has_matrices(mode)) && mode != GemmMode::kFma &&
        (problem.k_fills || can_fill_matrix_registers())) {
      const GemmSpec other =
          more_.spec ? with_matrix_registers(spec) : fed_matrix_registers(spec, problem);
      schedule_.modes.push_back(other.mode);
      if (more_.matrix_registers || problem.m >= 16) spec = other;
      if (spec.has_matrix_registers() && !problem.k_fills) spec.a_source = GemmA::kPacked;
    }
    spec.panel = gemm_panel(spec, problem);
    if (spec.b_source == GemmB::kInPlace && (!problem.b_readable || mode != GemmMode::kFma))
      spec.b_source = GemmB::kPackedHere;
    for (const Product& product : plan_.products) {
      spec.b_columns = runs_along_k(product);
      schedule_.specs.push_back(spec);
    }
  }

  /// Elements of A that lie far apart are worth a copy if they are read often.
  GemmA source_of_rows(const GemmProblem& problem) const {
    constexpr int64_t kOften = 64;
    const bool apart =
        std::any_of(plan_.products.begin(), plan_.products.end(), [&](const Product& each) {
          return each.a.place && each.a.dtype == problem.a &&
                 !each.a.place->k_stride.is_constant(1);
        });
    return apart && problem.n >= kOften ? GemmA::kRows : GemmA::kInPlace;
  }

  /// Whether the processor has matrix registers for what dots of a mode would do.
  bool target_has_matrices(GemmMode mode) const {
    const bool bits = mode == GemmMode::kDotBf16 && target_.has(runtime::CpuFeature::kAmxBf16);
    const bool bytes = mode == GemmMode::kDotI8 && target_.has(runtime::CpuFeature::kAmxInt8);
    return bits || bytes;
  }
  /// Whether rows can be copied with zeros where k ends within a register.
  bool can_fill_matrix_registers() const {
    return schedule_.problem.a_panels &&
           std::all_of(plan_.products.begin(), plan_.products.end(),
                       [](const Product& each) { return each.k.extent.is_constant(); });
  }
  /// Whether every step of k fills the registers, so that rows need no zeros behind them.
  bool fill_matrix_registers(GemmMode mode) const {
    return std::all_of(plan_.products.begin(), plan_.products.end(), [&](const Product& each) {
      return divisible_by(each.k.extent, mode == GemmMode::kDotBf16 ? 32 : 64);
    });
  }

  /// Few panels that threads cannot share evenly are taken item by item; panels that a thread packs
  /// for itself stay together.
  int64_t chunk() const {
    const GemmSpec& spec = schedule_.specs[0];
    const int64_t panels =
        batch_count() * ((typical(plan_.n.extent) + spec.nr - 1) / spec.nr) * spec.split;
    const int64_t tiles = (typical(plan_.m.extent) + spec.mr - 1) / spec.mr;
    const bool own_rows = spec.rows_outer && spec.row_block > 0 &&
                          tiles * spec.mr == spec.row_block * options_.threads;
    const bool uneven = !own_rows && (panels % options_.threads != 0 || spec.column_tail > 0);
    const bool few = panels < 16 * int64_t{options_.threads};
    return uneven && few && spec.b_source != GemmB::kPackedHere ? 1 : 0;
  }

  const Arena& arena_;
  const ContractionPlan& plan_;
  const CpuTarget& target_;
  const CpuKernelOptions& options_;
  ContractionKernelOptions more_;
  ContractionSchedule schedule_;
};

}  // namespace

Recognised<ContractionSchedule> schedule_contraction(const Arena& arena,
                                                     const ContractionPlan& plan,
                                                     const CpuTarget& target,
                                                     const CpuKernelOptions& options,
                                                     const ContractionKernelOptions& more) {
  return Scheduler(arena, plan, target, options, more).run();
}

}  // namespace luminal::codegen

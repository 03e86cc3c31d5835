#include "luminal/codegen/llvm/winograd_kernel.h"

#include <algorithm>
#include <array>

#include "luminal/codegen/llvm/convolution_kernel.h"
#include "luminal/codegen/llvm/nest_plan.h"
#include "luminal/codegen/llvm/schedule_reader.h"
#include "luminal/codegen/llvm/schedule_values.h"
#include "luminal/codegen/llvm/window_builder.h"
#include "luminal/codegen/llvm/winograd_emitter.h"
#include "luminal/codegen/llvm/winograd_filter.h"
#include "luminal/kernel/canonical.h"

namespace luminal::codegen {
namespace {

using graph::DType;
using kernel::NodeId;
using symbolic::Expr;

/// What transforming a vector of windows and of sums takes, in products of vectors, and bytes of
/// the filter that are read meanwhile.
constexpr int64_t kTransformCost = 60;
constexpr int64_t kFilterBytes = 16;
/// And of one that other threads have just written.
constexpr double kNewFilterBytes = 4;
/// What transforming one window of a filter takes that is read as a whole, and step by step.
constexpr double kWholeFilterCost = 12;
constexpr double kFilterCost = 40;
/// Flops of the transformations of one window, of the sums of one square, and of one filter window:
/// what they take at least, by Lavin and Gray.
constexpr double kWindowFlops = 32;
constexpr double kSquareFlops = 24;
constexpr double kFilterFlops = 28;
/// Transformed windows of one item: they stay in the second cache.
constexpr int64_t kMostSquareBytes = int64_t{640} << 10;
constexpr int64_t kMostSquares = 256;
int64_t ceil_ratio(int64_t a, int64_t b) { return (a + b - 1) / b; }

class WinogradBuilder : WindowBuilder<WinogradCode> {
 public:
  WinogradBuilder(kernel::Arena& arena, const kernel::Kernel& kernel, const ConvolutionPlan& plan,
                  const CpuTarget& target, const CpuKernelOptions& options)
      : WindowBuilder(arena, kernel, target, options) {
    code_->plan = plan;
    chunk_ = 1;
  }

  Recognised<CpuKernel> build(bool always) {
    if (!is_possible()) return Refusal{why_};
    const double cost = choose_blocks();
    if (options_.schedule) read_schedule(*options_.schedule);
    const bool ahead = is_constant(arena_, product().a.value, options_);
    if (!always && cost + (ahead ? 0 : filter_cost()) > products_one_by_one())
      return Refusal{"transforming would take longer than the products it saves"};
    store_filter(ahead);
    add_launch(schedule(), &emit_winograd);
    list_.kernel().vector_products =
        (cost + (ahead ? 0 : filter_cost())) * std::max(1, options_.threads);
    count_flops(ahead);
    return std::move(list_.kernel());
  }

  std::optional<ScheduleSpace> space() {
    if (!is_possible()) return std::nullopt;
    choose_blocks();
    ScheduleSpace space;
    space.start = schedule();
    SpaceBuilder builder(space);
    builder.add_up_to("rows", {1, 2, 3, 4, 6, 7, 8, 12, 14, 16, 28}, most_rows());
    builder.add_up_to("parts", {1, 2, 3, 4, 6, 8}, tiles());
    builder.add("chunk", {0, 1, 2, 4});
    builder.add_threads(options_.threads);
    space.refusal = [code = code_, target = target_](const Schedule& asked) {
      const GemmSpec tile = tile_of(*code, asked.at("rows"), target);
      return parts_refusal(asked.at("parts"), ceil_ratio(code->filter_rows(), tile.mr));
    };
    return space;
  }

 private:
  int64_t tiles() const { return ceil_ratio(code_->filter_rows(), code_->spec.mr); }
  int64_t most_rows() const {
    return std::max<int64_t>(code_->rows, 4 * kMostSquares / code_->across());
  }
  static std::optional<std::string> parts_refusal(int64_t parts, int64_t tiles) {
    if (parts == ceil_ratio(tiles, ceil_ratio(tiles, parts))) return std::nullopt;
    return fmt::format("{} tiles of filter rows make no {} parts", tiles, parts);
  }

  Schedule schedule() const {
    return Schedule(
        std::string(kWinogradFamily),
        {{"rows", code_->rows}, {"parts", code_->parts}, {"chunk", chunk_}, {"threads", threads_}});
  }
  void read_schedule(const Schedule& asked) {
    ScheduleReader reader(asked);
    set_rows(reader.number("rows", 1, most_rows()));
    const int64_t parts = reader.number("parts", 1, tiles());
    chunk_ = reader.number("chunk", 0, 1 << 20);
    threads_ = reader.small("threads", 0, 1024);
    reader.finish();
    if (const auto why = parts_refusal(parts, tiles())) throw schedule_error(asked, "{}", *why);
    code_->parts = parts;
  }

  static bool has_window(const ImageAxis& axis) {
    return axis.has_window() && axis.stride == 1 && axis.dilation == 1 &&
           axis.steps() == kWindowSide;
  }

  bool refuse(const char* why) {
    why_ = why;
    return false;
  }

  bool is_possible() {
    const Product& each = product();
    if (!options_.reassociate || options_.round_each)
      return refuse("sums may not be taken in another order");
    if (!target_.has_fma()) return refuse("the processor does not multiply and add at once");
    if (each.a.dtype != DType::kF32 || each.b.dtype != DType::kF32 || each.dtype != DType::kF32)
      return refuse("its elements are not f32");
    if (reads_half_bytes()) return refuse("its pixels are two to a byte");
    if (!plan().planes.empty() || !has_window(plan().y) || !has_window(plan().x))
      return refuse("its windows are not 3x3 at steps of one");
    const kernel::AxisSet& free = arena_[each.a.value].free;
    const bool grouped =
        std::any_of(plan().outer.begin(), plan().outer.end(),
                    [&](const Expr& axis) { return kernel::contains(free, axis); });
    const AxisGroup& m = plan().base.m;
    if (grouped || !m.flat.is_axis() || !(each.a.flat_outer || m.axes.size() < 2))
      return refuse("its filters are in groups, or there is but one");
    for (const Expr& axis : each.k.axes)
      if (axis != plan().y.window && axis != plan().x.window) code_->channels.push_back(axis);
    code_->image = plan().value;
    return true;
  }

  /// The tile for the squares of so many rows.
  static GemmSpec tile_of(const WinogradCode& code, int64_t rows, const CpuTarget& target) {
    GemmProblem problem;
    problem.m = code.filter_rows();
    problem.n = rows * code.across();
    problem.k = code.channel_count();
    problem.b_readable = true;
    problem.a_aligned = problem.k * 4 % 4096 == 0;
    GemmSpec spec = choose_gemm(problem, target);
    spec.b_source = GemmB::kInPlace;
    spec.k_unroll = 1;
    spec.row_block = spec.kc = spec.ahead = 0;
    spec.mode = GemmMode::kFma;
    return spec;
  }

  void set_rows(int64_t rows) {
    code_->rows = rows;
    code_->spec = tile_of(*code_, rows, target_);
    code_->lanes = GemmLayout(code_->spec, target_).lanes();
  }

  /// Products that all steps of all windows would take.
  double defined_products() const {
    const auto pixels = static_cast<double>(typical_planes() * plan().height * plan().width);
    return pixels * static_cast<double>(kWindowSide * kWindowSide * code_->channel_count()) *
           static_cast<double>(code_->filter_rows());
  }

  /// Vectors of them, in threads that share evenly, each with all of the filter.
  double products_one_by_one() const {
    return defined_products() / (code_->lanes * std::max(1, options_.threads)) +
           first_reading(kWindowSide * kWindowSide * code_->channel_count() * code_->filter_rows());
  }

  /// What the algorithm computes: squares that reach beyond the image count, but nothing that a
  /// schedule does twice.
  void count_flops(bool ahead) {
    const auto squares = static_cast<double>(typical_planes() * code_->down() * code_->across());
    const auto channels = static_cast<double>(code_->channel_count());
    const auto filters = static_cast<double>(code_->filter_rows());
    CpuKernel& kernel = list_.kernel();
    kernel.defined_flops = 2 * defined_products();
    kernel.own_flops = squares * (2 * kSquarePlaces * channels * filters + kWindowFlops * channels +
                                  kSquareFlops * filters);
    if (!ahead) kernel.own_flops += kFilterFlops * channels * filters;
  }

  /// What reading so many elements takes for the first time after other threads have written them.
  double first_reading(int64_t elements) const {
    const bool is_new = options_.threads > 1 && !is_constant(arena_, product().a.value, options_);
    return is_new ? static_cast<double>(elements * 4) / kNewFilterBytes : 0;
  }

  /// What a filter takes that is transformed in every run.
  double filter_cost() const {
    const bool whole = has_whole_windows(arena_, *code_, code_->lanes);
    return static_cast<double>(code_->channel_count() * code_->filter_rows()) *
           (whole ? kWholeFilterCost : kFilterCost) / std::max(1, options_.threads);
  }

  /// The time of the longest thread, in the same unit.
  double cost(int64_t all_rows) const {
    const int64_t items = ceil_ratio(all_rows, code_->rows) * code_->parts;
    const int64_t channels = code_->channel_count();
    const int64_t filters = std::min(code_->part_rows(), code_->filter_rows());
    const int64_t vectors = ceil_ratio(code_->rows * code_->across(), code_->lanes);
    const int64_t products = vectors * kSquarePlaces * channels * filters;
    const int64_t at_once = code_->squares_at_once();
    const int64_t squares = code_->rows * ceil_ratio(code_->across(), at_once) * at_once;
    const int64_t transforms = squares * (channels + filters) * kTransformCost / code_->lanes;
    const int64_t filter = kSquarePlaces * channels * filters * 4 / kFilterBytes;
    const int64_t turns = ceil_ratio(items, std::max(1, options_.threads));
    // In one turn a thread needs one part of the filter.
    return static_cast<double>(turns * (products + transforms + filter)) +
           first_reading(std::min(turns, code_->parts) * kSquarePlaces * channels * filters);
  }

  /// Tries all numbers of rows that stay near, and parts of the filter.
  double choose_blocks() {
    const int64_t all_rows = typical_planes() * code_->down();
    double best = -1;
    std::array<int64_t, 2> chosen = {1, 1};
    for (int64_t rows = 1; rows <= all_rows; ++rows) {
      set_rows(rows);
      const int64_t bytes = kSquarePlaces * code_->channel_count() * code_->pitch() * 4;
      if (rows > 1 && (rows * code_->across() > kMostSquares || bytes > kMostSquareBytes)) break;
      for (code_->parts = 1; code_->parts <= std::min<int64_t>(tiles(), 4); ++code_->parts) {
        const double now = cost(all_rows);
        if (best >= 0 && now >= best) continue;
        best = now;
        chosen = {code_->rows, code_->parts};
      }
    }
    set_rows(chosen[0]);
    code_->parts = ceil_ratio(tiles(), ceil_ratio(tiles(), chosen[1]));
    // Neighbouring rows of squares read the same lines: each thread has a run of them.
    const int64_t items = ceil_ratio(all_rows, code_->rows) * code_->parts;
    if (items % std::max(1, options_.threads) == 0) chunk_ = 0;
    return best;
  }

  /// The windows of the filter as they are: a kernel that names what is transformed.
  kernel::Kernel windows_of_filter() {
    std::vector<Expr> axes = {plan().base.m.flat};
    axes.insert(axes.end(), code_->channels.begin(), code_->channels.end());
    axes.insert(axes.end(), {plan().y.window, plan().x.window});
    kernel::Kernel windows;
    graph::Shape shape;
    std::vector<symbolic::Binding> bindings;
    for (const Expr& axis : axes) {
      shape.push_back(axis.axis_extent());
      windows.axes.push_back(
          Expr::axis(static_cast<int64_t>(windows.axes.size()), axis.axis_extent()));
      bindings.push_back({axis, windows.axes.back()});
    }
    const NodeId tensor = private_tensor(arena_, {DType::kF32, shape});
    windows.roots.push_back({tensor, arena_.substitute(product().a.value, bindings), windows.axes});
    return windows;
  }

  /// The filter at all places, by a launch that need not run again for the same filter.
  void store_filter(bool ahead) {
    const int64_t rows = code_->filter_rows();
    const int64_t channels = code_->channel_count();
    code_->filter = private_tensor(arena_, {DType::kF32, {kSquarePlaces, rows, channels}});
    list_.reserve(code_->filter);
    const kernel::Kernel windows = windows_of_filter();
    const kernel::CanonicalKernel canonical = kernel::canonicalize(arena_, windows);
    auto own = std::make_shared<WinogradCode>(*code_);
    own->arena = &arena_;
    CpuLaunch launch;
    runtime::EntryInfo entry{"filter", {}, static_cast<int>(canonical.dims.size()), 0};
    for (const NodeId tensor : canonical.tensors) {
      if (tensor == windows.roots[0].tensor) continue;
      own->tensors.push_back(tensor);
      entry.buffers.push_back(runtime::BufferUse::kRead);
    }
    own->tensors.push_back(code_->filter);
    entry.buffers.push_back(runtime::BufferUse::kWrite);
    for (const NodeId tensor : own->tensors) launch.buffers.push_back(list_.place(tensor));
    launch.source.label = fmt::format("filter of {}x{} windows for squares", rows, channels);
    launch.source.key = fmt::format("{}\n{}", launch.source.label, canonical.text);
    for (const Expr& dim : canonical.dims) {
      own->dims.push_back(dim.name());
      launch.scalars.push_back(dim);
      launch.source.key += fmt::format("dim {} to {}\n", dim.bounds().lo, dim.bounds().hi);
    }
    launch.source.entries = {std::move(entry)};
    launch.source.emit = [own](llvm::Module& module, const CpuTarget& target) {
      emit_winograd_filter(module, target, *own);
    };
    launch.items = rows;
    launch.work = kSquarePlaces * rows * channels;
    launch.prepare = ahead;
    list_.kernel().launches.push_back(std::move(launch));
  }

  const char* why_ = "";  // of what was refused
};

}  // namespace

Recognised<CpuKernel> winograd_kernel(kernel::Arena& arena, const kernel::Kernel& kernel,
                                      const ConvolutionPlan& plan, const CpuTarget& target,
                                      const CpuKernelOptions& options, bool always) {
  return WinogradBuilder(arena, kernel, plan, target, options).build(always);
}

std::optional<ScheduleSpace> winograd_space(kernel::Arena& arena, const kernel::Kernel& kernel,
                                            const ConvolutionPlan& plan, const CpuTarget& target,
                                            const CpuKernelOptions& options) {
  return WinogradBuilder(arena, kernel, plan, target, options).space();
}

}  // namespace luminal::codegen

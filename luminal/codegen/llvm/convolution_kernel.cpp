#include "luminal/codegen/llvm/convolution_kernel.h"

#include <algorithm>
#include <memory>

#include "luminal/codegen/llvm/convolution_choices.h"
#include "luminal/codegen/llvm/convolution_emitter.h"
#include "luminal/codegen/llvm/launch_list.h"
#include "luminal/codegen/llvm/nest_plan.h"
#include "luminal/codegen/llvm/winograd_kernel.h"
#include "luminal/kernel/canonical.h"
#include "luminal/kernel/contraction.h"

namespace luminal::codegen {
namespace {

using graph::DType;
using graph::Op;
using kernel::BodyId;
using kernel::NodeId;
using symbolic::Expr;

/// Pixels of one item: few enough for their sums to stay near, enough to use the filter often.
constexpr int64_t kPixelsOfItem = 448;
constexpr int64_t kMostPixelsOfRow = 1024;
/// Products of an item that is worth handing out, and filters that do not stay in a near cache.
constexpr int64_t kProductsOfItem = 150000;
constexpr int64_t kLargeFilter = int64_t{512} << 10;
constexpr int64_t kFewSteps = 16;
constexpr int64_t kManyRows = 8;

/// What sums of this dtype are added up in.
DType accumulator_of(DType dtype) {
  if (graph::is_float(dtype)) return dtype == DType::kF64 ? DType::kF64 : DType::kF32;
  return graph::bits(dtype) > 32 ? DType::kI64 : DType::kI32;
}

class ConvolutionBuilder {
 public:
  ConvolutionBuilder(kernel::Arena& arena, const kernel::Kernel& kernel, const CpuTarget& target,
                     const CpuKernelOptions& options, const ConvolutionKernelOptions& more)
      : arena_(arena),
        kernel_(kernel),
        target_(target),
        options_(options),
        more_(more),
        list_(arena, target, options),
        code_(std::make_shared<ConvolutionCode>()) {}

  std::optional<CpuKernel> build() {
    std::optional<ConvolutionPlan> plan = plan_convolution(arena_, kernel_, options_);
    if (!plan) return std::nullopt;
    if (more_.squares || !more_.always)
      if (auto squares = winograd_kernel(arena_, kernel_, *plan, target_, options_, more_.squares))
        return squares;
    if (options_.schedule && options_.schedule->family() != kConvolutionFamily) return std::nullopt;
    code_->plan = std::move(*plan);
    if (!more_.always && !is_worth_it()) return std::nullopt;
    choose_tile();
    read_schedule();
    place_filter();
    lay_out_image(arena_, code_->plan, code_->spec.accumulator, lanes());
    store_image();
    if (!options_.schedule) choose_blocks();
    add_launch();
    return std::move(list_.kernel());
  }

  std::vector<ScheduleSpace> spaces() {
    std::optional<ConvolutionPlan> plan = plan_convolution(arena_, kernel_, options_);
    if (!plan) return {};
    std::vector<ScheduleSpace> result;
    if (auto squares = winograd_space(arena_, kernel_, *plan, target_, options_))
      result.push_back(std::move(*squares));
    code_->plan = std::move(*plan);
    choose_tile();
    lay_out_image(arena_, code_->plan, code_->spec.accumulator, lanes());
    choose_blocks();
    result.push_back(convolution_space(choices(), sizes(), target_, options_));
    return result;
  }

 private:
  ConvolutionPlan& plan() { return code_->plan; }
  Product& product() { return plan().base.products[0]; }
  int64_t filter_rows() { return *plan().base.m.extent.constant_value(); }
  int64_t steps() {
    int64_t result = 1;
    for (const Expr& axis : product().k.axes) result *= *axis.axis_extent().constant_value();
    return result;
  }
  int lanes() { return GemmLayout(code_->spec, target_).lanes(); }

  ConvolutionSizes sizes() { return {filter_rows(), plan().height, plan().width, lanes()}; }
  ConvolutionChoices choices() const {
    return {code_->spec.mr, code_->spec.nr, code_->blocks, chunk_, threads_};
  }

  /// Takes the choices of the schedule that is asked for, if there is one.
  void read_schedule() {
    if (!options_.schedule) return;
    const ConvolutionChoices asked = read_convolution(*options_.schedule, sizes(), target_);
    set_tile(choose_gemm(problem_, target_), asked.mr, asked.nr / lanes());
    code_->blocks = asked.blocks;
    chunk_ = asked.chunk;
    threads_ = asked.threads;
  }

  /// Many filter rows of narrow elements are better off as products of windows, which have
  /// instructions for them.
  bool is_worth_it() {
    const Product& each = product();
    const GemmMode mode = gemm_mode(each.a.dtype, each.b.dtype, accumulator_of(each.dtype),
                                    !options_.reassociate, target_);
    if (mode != GemmMode::kFma && filter_rows() >= 32) return false;
    // Few steps are over before laying out an image pays.
    if (steps() < kFewSteps && filter_rows() >= kManyRows) return false;
    return plan().height * plan().width >= 8;
  }

  void choose_tile() {
    problem_.accumulator = accumulator_of(product().dtype);
    problem_.a = problem_.b = problem_.accumulator;
    problem_.exact_bf16 = true;
    problem_.m = filter_rows();
    problem_.n = kPixelsOfItem;
    problem_.n_known = false;
    problem_.k = steps();
    problem_.b_readable = true;
    const GemmSpec spec = choose_gemm(problem_, target_);
    set_tile(spec, spec.mr, GemmLayout(spec, target_).vectors());
  }

  void set_tile(const GemmSpec& base, int mr, int vectors) {
    GemmSpec& spec = code_->spec;
    spec = with_tile(base, problem_, target_, mr, vectors);
    spec.b_source = GemmB::kInPlace;
    spec.k_unroll = 1;
    spec.row_block = spec.kc = spec.ahead = 0;
    spec.mode = GemmMode::kFma;
  }

  BodyId in_sum_type(BodyId value) {
    const DType dtype = code_->spec.accumulator;
    return arena_[value].dtype == dtype ? value : arena_.op(Op::kCast, dtype, {value});
  }

  /// Reads the filter where it lies, or from a copy.
  void place_filter() {
    const ProductOperand& a = product().a;
    const bool flat = a.flat_outer || plan().base.m.axes.size() < 2;
    if (flat && a.dtype == code_->spec.accumulator && try_filter(a.value)) return;
    std::vector<Expr> axes, read, written;
    graph::Shape shape;
    const auto add = [&](const Expr& axis) {
      axes.push_back(axis);
      read.push_back(axis);
      written.push_back(axis);
      shape.push_back(axis.axis_extent());
    };
    for (const Expr& axis : plan().outer)
      if (kernel::contains(arena_[a.value].free, axis)) add(axis);
    const AxisGroup& m = plan().base.m;
    if (flat && m.flat.is_axis()) add(m.flat);
    if (!flat) {
      Expr position = 0;
      for (const Expr& axis : m.axes) {
        axes.push_back(axis);
        position = position * axis.axis_extent() + axis;
      }
      read.push_back(m.flat);
      written.push_back(position);
      shape.push_back(m.extent);
    }
    for (const Expr& axis : product().k.axes) add(axis);
    const NodeId tensor = private_tensor(arena_, {code_->spec.accumulator, shape});
    const BodyId copy = arena_.load(tensor, read);
    list_.add_stored(axes, in_sum_type(a.value), tensor, written);
    LUMINAL_CHECK(try_filter(copy), "a filter that was laid out cannot be read");
  }

  bool try_filter(BodyId value) {
    const auto load = kernel::strided_load(arena_, value);
    if (!load || arena_[value].kind != kernel::BodyKind::kLoad) return false;
    const kernel::BodyNode& node = arena_[value];
    const graph::Shape& shape = arena_.tensor(node.tensor).shape;
    for (size_t d = 0; d < shape.size(); ++d)
      if (!stays_in_range(node.exprs[d], shape[d])) return false;
    FilterPlace place{load->tensor, load->offset, 0, {}};
    const Expr& m = plan().base.m.flat;
    const auto row = load->stride(m).constant_value();
    if (!row) return false;
    place.row = *row;
    for (const Expr& axis : product().k.axes) {
      const auto step = load->stride(axis).constant_value();
      if (!step) return false;
      place.steps.push_back(*step);
    }
    for (const kernel::AxisStride& each : load->strides) {
      const std::vector<Expr>& outer = plan().outer;
      if (std::find(outer.begin(), outer.end(), each.axis) != outer.end())
        place.position += each.axis * each.stride;
    }
    code_->filter = std::move(place);
    return true;
  }

  void store_image() {
    // The last vectors of the last plane read on.
    const int64_t slack =
        64 + int64_t{code_->spec.nr} * GemmLayout(code_->spec, target_).unit_bytes();
    list_.add_stored(plan().image_axes, in_sum_type(plan().value), plan().image, plan().image_store,
                     slack);
  }

  void choose_blocks() {
    ConvolutionBlocks& blocks = code_->blocks;
    const GemmSpec& spec = code_->spec;
    int64_t planes = 1;
    for (const Expr& axis : plan().outer)
      planes *= std::max<int64_t>(1, typical_extent(axis.axis_extent(), options_));
    const int64_t tiles = (filter_rows() + spec.mr - 1) / spec.mr;
    const int64_t wanted = 4 * int64_t{std::max(1, options_.threads)};
    blocks.columns = plan().width;
    if (plan().width > kMostPixelsOfRow) blocks.columns = kPixelsOfItem;
    blocks.rows = std::clamp<int64_t>(kPixelsOfItem / plan().pitch, 1, plan().height);
    if (options_.threads > 1)
      while (blocks.rows > 1 && planes * tiles * code_->row_blocks() < wanted)
        blocks.rows = (blocks.rows + 1) / 2;
    // Equal shares.
    blocks.rows = (plan().height + code_->row_blocks() - 1) / code_->row_blocks();
    const int64_t products = spec.mr * code_->pixels() * steps();
    const int64_t items = planes * code_->row_blocks() * code_->column_blocks();
    blocks.tiles = std::clamp<int64_t>((kProductsOfItem + products - 1) / products, 1, tiles);
    while (blocks.tiles > 1 && items * code_->filter_blocks() < wanted) --blocks.tiles;
    blocks.filter_outer =
        filter_rows() * steps() * GemmLayout(spec, target_).unit_bytes() > kLargeFilter &&
        items > 1;
  }

  void add_launch() {
    ConvolutionCode& code = *code_;
    list_.kernel().schedule = schedule_of(choices());
    MainLaunch main = list_.main_launch(kernel_, "conv", to_string(code));
    code.arena = &arena_;
    code.round_each = options_.round_each;
    code.tensors = std::move(main.tensors);
    code.dims = std::move(main.dims);
    CpuLaunch& launch = main.launch;
    launch.source.emit = [shared = code_](llvm::Module& module, const CpuTarget& target) {
      emit_convolution(module, target, *shared);
    };
    launch.items = code.items();
    launch.scratch_bytes = code.scratch_bytes();
    launch.chunk = chunk_;
    launch.threads = threads_;
    list_.kernel().launches.push_back(std::move(launch));
  }

  kernel::Arena& arena_;
  const kernel::Kernel& kernel_;
  const CpuTarget& target_;
  const CpuKernelOptions& options_;
  const ConvolutionKernelOptions& more_;
  LaunchList list_;
  std::shared_ptr<ConvolutionCode> code_;
  GemmProblem problem_;
  int64_t chunk_ = 1;
  int threads_ = 0;
};

}  // namespace

std::optional<CpuKernel> convolution_kernel(kernel::Arena& arena, const kernel::Kernel& kernel,
                                            const CpuTarget& target,
                                            const CpuKernelOptions& options,
                                            const ConvolutionKernelOptions& more) {
  return ConvolutionBuilder(arena, kernel, target, options, more).build();
}

std::vector<ScheduleSpace> convolution_spaces(kernel::Arena& arena, const kernel::Kernel& kernel,
                                              const CpuTarget& target,
                                              const CpuKernelOptions& options) {
  return ConvolutionBuilder(arena, kernel, target, options, {.always = true}).spaces();
}

}  // namespace luminal::codegen

#include "luminal/codegen/llvm/convolution_kernel.h"

#include <algorithm>

#include "luminal/codegen/llvm/convolution_choices.h"
#include "luminal/codegen/llvm/convolution_cost.h"
#include "luminal/codegen/llvm/convolution_emitter.h"
#include "luminal/codegen/llvm/depthwise_kernel.h"
#include "luminal/codegen/llvm/nest_plan.h"
#include "luminal/codegen/llvm/window_builder.h"
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
/// Filters along the lanes are chosen for costs below this part.
constexpr double kClearlyLess = 0.97;
/// Ids of the panels of a filter and of what is in them: above those of images.
constexpr int64_t kFirstPanelAxis = 900;

class ConvolutionBuilder : WindowBuilder<ConvolutionCode> {
 public:
  ConvolutionBuilder(kernel::Arena& arena, const kernel::Kernel& kernel, const CpuTarget& target,
                     const CpuKernelOptions& options, const ConvolutionKernelOptions& more)
      : WindowBuilder(arena, kernel, target, options), more_(more) {
    chunk_ = 1;
  }

  Recognised<CpuKernel> build() {
    Recognised<ConvolutionPlan> plan = plan_convolution(arena_, kernel_, options_);
    if (!plan) return plan.refusal();
    if (more_.squares || !more_.always) {
      auto squares = winograd_kernel(arena_, kernel_, *plan, target_, options_, more_.squares);
      if (squares) return squares;
      list_.kernel().refused.push_back({std::string(kWinogradFamily), squares.why()});
    }
    if (more_.depthwise || !more_.always) {
      if (auto direct = depthwise_kernel(arena_, kernel_, *plan, target_, options_))
        return std::move(*direct);
      list_.kernel().refused.push_back(
          {std::string(kDepthwiseFamily), "its planes have not one short filter each"});
    }
    if (options_.schedule && options_.schedule->family() != kConvolutionFamily)
      return Refusal{list_.kernel().refused.back().why};
    code_->plan = std::move(*plan);
    if (!more_.always && !is_worth_it())
      return Refusal{"products of windows, or loops, are better for one so small or so narrow"};
    choose_tile();
    read_schedule();
    place_filter();
    lay_out_image(arena_, code_->plan, code_->spec.accumulator, code_->blocks.along, lanes());
    if (!options_.schedule) choose_blocks();
    store_image();
    add_launch(schedule_of(choices()), &emit_convolution);
    list_.kernel().vector_products = code_->blocks.along == ConvolutionLanes::kFilters
                                         ? filter_tile().cost
                                         : cost_of_pixels(cost_problem());
    return std::move(list_.kernel());
  }

  std::vector<ScheduleSpace> spaces() {
    Recognised<ConvolutionPlan> plan = plan_convolution(arena_, kernel_, options_);
    if (!plan) return {};
    std::vector<ScheduleSpace> result;
    if (auto squares = winograd_space(arena_, kernel_, *plan, target_, options_))
      result.push_back(std::move(*squares));
    if (auto direct = depthwise_space(arena_, kernel_, *plan, target_, options_))
      result.push_back(std::move(*direct));
    code_->plan = std::move(*plan);
    choose_tile();
    const ConvolutionLanes chosen = code_->blocks.along;
    const auto first = static_cast<int64_t>(result.size());
    for (const ConvolutionLanes along : {ConvolutionLanes::kPixels, ConvolutionLanes::kFilters}) {
      if (along == ConvolutionLanes::kFilters && filter_rows() < 2) continue;
      set_lanes(along);
      // As laying out an image sets it: a space begins with what is built.
      if (along == ConvolutionLanes::kPixels)
        code_->plan.pitch = pixel_pitch(arena_, code_->plan, lanes());
      choose_blocks();
      ScheduleSpace space = convolution_space(choices(), sizes(), target_, options_);
      result.insert(along == chosen ? result.begin() + first : result.end(), std::move(space));
    }
    return result;
  }

 private:
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
    set_tile(choose_gemm(problem_, target_), asked.mr, asked.nr / lanes(), asked.blocks.along);
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
    set_lanes(ConvolutionLanes::kPixels);
    if (filter_rows() < 2 || options_.schedule) return;
    const ConvolutionProblem sizes = cost_problem();
    const bool is_less =
        choose_filter_tile(sizes, target_).cost < kClearlyLess * cost_of_pixels(sizes);
    set_lanes(
        more_.along.value_or(is_less ? ConvolutionLanes::kFilters : ConvolutionLanes::kPixels));
  }

  /// Takes the best tile with pixels or with filters along the lanes.
  void set_lanes(ConvolutionLanes along) {
    code_->blocks.along = along;
    const GemmSpec spec = choose_gemm(problem_, target_);
    if (along == ConvolutionLanes::kPixels)
      set_tile(spec, spec.mr, GemmLayout(spec, target_).vectors(), along);
    else
      set_tile(spec, filter_tile().pixels, filter_tile().vectors, along);
  }

  ConvolutionProblem cost_problem() {
    ConvolutionProblem sizes;
    sizes.filters = filter_rows();
    sizes.height = plan().height;
    sizes.width = plan().width;
    sizes.steps = steps();
    sizes.planes = typical_planes();
    sizes.stride = plan().x.stride;
    sizes.lanes = lanes();
    sizes.threads = options_.threads;
    sizes.pitch = pixel_pitch(arena_, plan(), sizes.lanes);
    sizes.filter_constant = is_constant(arena_, product().a.value, options_);
    sizes.loads_bind = target_.products_at_once() > 1;
    return sizes;
  }
  FilterTile filter_tile() { return choose_filter_tile(cost_problem(), target_); }

  void set_tile(const GemmSpec& base, int mr, int vectors, ConvolutionLanes along) {
    GemmSpec& spec = code_->spec;
    spec = with_tile(base, problem_, target_, mr, vectors);
    if (along == ConvolutionLanes::kFilters) {
      spec.mr = mr;
      spec.row_tail = static_cast<int>(plan().width % mr);
      spec.column_tail = 0;
    }
    spec.b_source = GemmB::kInPlace;
    spec.k_unroll = 1;
    spec.row_block = spec.kc = spec.ahead = 0;
    spec.mode = GemmMode::kFma;
  }

  BodyId in_sum_type(BodyId value) { return as_dtype(value, code_->spec.accumulator); }

  /// Reads the filter where it lies, or from a copy.
  void place_filter() {
    const ProductOperand& a = product().a;
    const bool flat = a.flat_outer || plan().base.m.axes.size() < 2;
    if (code_->blocks.along == ConvolutionLanes::kFilters) {
      store_panels(flat ? a.value : flat_copy(flat));
      return;
    }
    if (flat && a.dtype == code_->spec.accumulator && try_filter(a.value)) return;
    LUMINAL_CHECK(try_filter(flat_copy(flat)), "a filter that was laid out cannot be read");
  }

  /// Stores the filter in panels: filters of a vector, or of a few, are neighbours at every step.
  void store_panels(BodyId value) {
    const int64_t rows = filter_rows();
    const int64_t nr = code_->spec.nr;
    const Expr panel = Expr::axis(kFirstPanelAxis, (rows + nr - 1) / nr);
    const Expr lane = Expr::axis(kFirstPanelAxis + 1, nr);
    const symbolic::Binding row{plan().base.m.flat, panel * nr + lane};
    BodyId stored = in_sum_type(arena_.substitute(value, std::span(&row, 1)));
    if (rows % nr != 0) {
      const BodyId zero = arena_.constant(graph::Scalar::of(code_->spec.accumulator, 0.0));
      stored = arena_.where({less(panel * nr + lane, rows)}, stored, zero);
    }
    std::vector<Expr> axes;
    FilterPlace place;
    for (const Expr& axis : plan().outer)
      if (kernel::contains(arena_[value].free, axis)) axes.push_back(axis);
    const size_t outer = axes.size();
    axes.push_back(panel);
    axes.insert(axes.end(), product().k.axes.begin(), product().k.axes.end());
    axes.push_back(lane);
    graph::Shape shape;
    for (const Expr& axis : axes) shape.push_back(axis.is_axis() ? axis.axis_extent() : Expr(1));
    place.tensor = private_tensor(arena_, {code_->spec.accumulator, shape});
    int64_t apart = nr;
    for (size_t k = product().k.axes.size(); k-- > 0;) {
      place.steps.insert(place.steps.begin(), apart);
      apart *= *product().k.axes[k].axis_extent().constant_value();
    }
    place.row = apart / nr;
    Expr along = apart * ((rows + nr - 1) / nr);
    for (size_t k = outer; k-- > 0;) {
      place.position += axes[k] * along;
      along = along * axes[k].axis_extent();
    }
    std::vector<Expr> loops;
    std::copy_if(axes.begin(), axes.end(), std::back_inserter(loops),
                 [](const Expr& axis) { return axis.is_axis(); });
    list_.add_stored(loops, stored, place.tensor, axes);
    code_->filter = std::move(place);
  }

  /// A copy of the filter over flat rows.
  BodyId flat_copy(bool flat) {
    const ProductOperand& a = product().a;
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
    return copy;
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
    // The last vectors of the last plane read on, and so do the last tiles.
    const int64_t more = code_->blocks.along == ConvolutionLanes::kPixels
                             ? code_->spec.nr
                             : code_->spec.mr * plan().pixel_step;
    const int64_t slack = 64 + more * GemmLayout(code_->spec, target_).unit_bytes();
    // Threads that have rows of their own lay these out.
    const bool own_rows = code_->blocks.along == ConvolutionLanes::kFilters && chunk_ == 0 &&
                          !code_->blocks.filter_outer;
    list_.add_stored(plan().image_axes, in_sum_type(plan().value), plan().image, plan().image_store,
                     {.slack = slack, .keep_order = own_rows});
  }

  void choose_blocks() {
    ConvolutionBlocks& blocks = code_->blocks;
    const GemmSpec& spec = code_->spec;
    const int64_t planes = typical_planes();
    if (blocks.along == ConvolutionLanes::kFilters) {
      blocks = choose_filter_blocks(cost_problem(), {spec.mr, spec.nr / lanes(), 0});
      blocks.filter_outer = filter_is_large() && planes * code_->row_blocks() > 1;
      if (planes == 1) keep_shares_near();
      return;
    }
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
    blocks.filter_outer = filter_is_large() && items > 1;
  }

  /// Where panels of filters, or rows of pixels, can be dealt out evenly, each thread has its own
  /// and finds in its cache what it used before: with panels that is all of the image, with rows
  /// all of the filter. Filters are read in a row, so that they are seen coming; lines of the image
  /// come from whichever thread has laid them out, and count for more.
  void keep_shares_near() {
    constexpr int64_t kPerImageElement = 8;
    const int64_t threads = std::max(1, options_.threads);
    ConvolutionBlocks& blocks = code_->blocks;
    if (threads == 1) return;
    const bool own_rows = kPerImageElement * image_elements() > filter_rows() * steps() &&
                          blocks.columns == plan().width &&
                          plan().height % (blocks.rows * threads) == 0;
    if (!own_rows && code_->filter_blocks() % threads != 0) return;
    blocks.filter_outer = !own_rows;
    chunk_ = 0;
  }

  /// About as many as one plane of the result reads.
  int64_t image_elements() {
    const ImageAxis& y = plan().y;
    const ImageAxis& x = plan().x;
    const int64_t channels = steps() / (y.steps() * x.steps());
    return channels * y.size() * y.stride * x.size() * x.stride;
  }

  bool filter_is_large() {
    return filter_rows() * steps() * GemmLayout(code_->spec, target_).unit_bytes() > kLargeFilter;
  }

  const ConvolutionKernelOptions& more_;
  GemmProblem problem_;
};

}  // namespace

Recognised<CpuKernel> convolution_kernel(kernel::Arena& arena, const kernel::Kernel& kernel,
                                         const CpuTarget& target, const CpuKernelOptions& options,
                                         const ConvolutionKernelOptions& more) {
  return ConvolutionBuilder(arena, kernel, target, options, more).build();
}

std::vector<ScheduleSpace> convolution_spaces(kernel::Arena& arena, const kernel::Kernel& kernel,
                                              const CpuTarget& target,
                                              const CpuKernelOptions& options) {
  return ConvolutionBuilder(arena, kernel, target, options, {.always = true}).spaces();
}

}  // namespace luminal::codegen

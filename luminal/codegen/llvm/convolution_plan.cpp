#include "luminal/codegen/llvm/convolution_plan.h"

#include <algorithm>
#include <numeric>

#include "luminal/codegen/llvm/launch_list.h"
#include "luminal/codegen/llvm/nest_plan.h"

namespace luminal::codegen {
namespace {

using kernel::Arena;
using kernel::BodyId;
using kernel::BodyKind;
using kernel::BodyNode;
using symbolic::Binding;
using symbolic::Expr;

/// Ids of axes that images have: above those of kernels and plans, below those of reductions.
constexpr int64_t kFirstImageAxis = 600;

/// The flat axis of a group as an expression of the single ones.
std::vector<Binding> single_axes(const AxisGroup& group) {
  if (group.axes.size() < 2) return {};
  Expr position = 0;
  for (const Expr& axis : group.axes) position = position * axis.axis_extent() + axis;
  return {{group.flat, position}};
}

int64_t extent_of(const Expr& axis) {
  return axis.is_axis() ? axis.axis_extent().constant_value().value_or(0) : 1;
}

/// Finds the windows.
class Planner {
 public:
  Planner(Arena& arena, const kernel::Kernel& kernel, const CpuKernelOptions& options)
      : arena_(arena), kernel_(kernel), options_(options) {}

  Recognised<ConvolutionPlan> plan() {
    Recognised<ContractionPlan> base = plan_contraction(arena_, kernel_, options_);
    if (!base) return base.refusal();
    if (base->products.size() != 1) return Refusal{"it holds several products"};
    if (!base->early.empty()) return Refusal{"it holds a smaller reduction beside the product"};
    plan_.base = std::move(*base);
    use_single_axes();
    if (!sizes_are_known()) return Refusal{"sizes of its image are not known before it runs"};
    if (has_sums()) return Refusal{"its image is a sum itself"};
    plan_.y = image_axis(plan_.y.position);
    plan_.x = image_axis(plan_.x.position);
    for (const Expr& axis : plan_.outer)
      if (const ImageAxis each = image_axis(axis); each.has_window()) plan_.planes.push_back(each);
    const bool windows = plan_.y.has_window() || plan_.x.has_window() || !plan_.planes.empty();
    if (!windows) return Refusal{"no operand is read in windows"};
    if (!image_is_free()) return Refusal{"its image is another one for every filter"};
    return std::move(plan_);
  }

 private:
  Product& product() { return plan_.base.products[0]; }

  void use_single_axes() {
    ContractionPlan& base = plan_.base;
    const std::vector<Binding> columns = single_axes(base.n);
    const std::vector<Binding> steps = single_axes(product().k);
    for (kernel::Root& root : base.roots) {
      root.value = arena_.substitute(root.value, columns);
      for (Expr& expr : root.store) expr = symbolic::substitute(expr, columns);
    }
    plan_.value = arena_.substitute(arena_.substitute(product().b.value, columns), steps);
    product().a.value = arena_.substitute(product().a.value, steps);
    product().a.place.reset();
    for (const std::vector<Expr>* axes : {&base.batch, &base.row_batch})
      plan_.outer.insert(plan_.outer.end(), axes->begin(), axes->end());
    std::vector<Expr> columns_left = base.n.axes;
    const auto take = [&](ImageAxis& axis, int64_t& extent) {
      if (columns_left.empty()) return;
      axis.position = columns_left.back();
      extent = extent_of(axis.position);
      columns_left.pop_back();
    };
    take(plan_.x, plan_.width);
    take(plan_.y, plan_.height);
    plan_.outer.insert(plan_.outer.end(), columns_left.begin(), columns_left.end());
  }

  bool sizes_are_known() {
    const std::vector<Expr>& k = product().k.axes;
    return plan_.x.position.is_axis() && plan_.width > 0 && plan_.height > 0 &&
           plan_.base.m.extent.is_constant() && !k.empty() &&
           std::all_of(k.begin(), k.end(), [](const Expr& axis) { return extent_of(axis) > 0; });
  }

  bool has_sums() const {
    const std::vector<BodyId> reached = arena_.reachable(std::span(&plan_.value, 1));
    return std::any_of(reached.begin(), reached.end(),
                       [&](BodyId id) { return arena_[id].kind == BodyKind::kReduce; });
  }

  /// The image along an output axis; a window is found where an index moves along both.
  ImageAxis image_axis(const Expr& position) {
    ImageAxis result;
    result.position = result.place = position;
    if (!position.is_axis() || extent_of(position) == 0) return result;
    for (const Expr& window : product().k.axes) {
      if (!kernel::contains(arena_[plan_.value].free, window)) continue;
      ImageAxis each = result;
      each.window = window;
      if (find_steps(each) && put_in_place(each)) return each;
    }
    return result;
  }

  bool find_steps(ImageAxis& axis) const {
    for (const BodyId id : arena_.reachable(std::span(&plan_.value, 1))) {
      const BodyNode& node = arena_[id];
      if (node.kind != BodyKind::kLoad) continue;
      for (const Expr& expr : node.exprs) {
        const auto stride = stride_along(expr, axis.position);
        const auto dilation = stride_along(expr, axis.window);
        if (!stride || !dilation) continue;
        const auto s = stride->stride.constant_value();
        const auto d = dilation->stride.constant_value();
        if (!s || !d || *s < 1 || *d < 1) continue;
        const int64_t common = std::gcd(*s, *d);
        axis.stride = *s / common;
        axis.dilation = *d / common;
        return true;
      }
    }
    return false;
  }

  /// Writes the image over one axis instead of two, if that is all it depends on.
  bool put_in_place(ImageAxis& axis) {
    if (axis.stride > 1 && axis.dilation > 1) return false;
    const int64_t reach =
        axis.stride * (extent_of(axis.position) - 1) + axis.dilation * (axis.steps() - 1) + 1;
    axis.place = Expr::axis(next_axis_, reach);
    const Binding binding = axis.stride == 1
                                ? Binding{axis.position, axis.place - axis.dilation * axis.window}
                                : Binding{axis.window, axis.place - axis.stride * axis.position};
    const BodyId value = arena_.substitute(plan_.value, std::span(&binding, 1));
    const kernel::AxisSet& free = arena_[value].free;
    if (kernel::contains(free, axis.window) || kernel::contains(free, axis.position)) return false;
    plan_.value = value;
    ++next_axis_;
    return true;
  }

  /// Whether what is left depends on nothing but what the image is laid out over.
  bool image_is_free() {
    const auto allowed = [&](const Expr& axis) {
      if (axis == plan_.y.place || axis == plan_.x.place) return true;
      for (const ImageAxis& plane : plan_.planes)
        if (axis == plane.place) return true;
      const std::vector<Expr>& k = product().k.axes;
      return std::find(k.begin(), k.end(), axis) != k.end() ||
             std::find(plan_.outer.begin(), plan_.outer.end(), axis) != plan_.outer.end();
    };
    const kernel::AxisSet& free = arena_[plan_.value].free;
    return std::all_of(free.begin(), free.end(), allowed);
  }

  Arena& arena_;
  const kernel::Kernel& kernel_;
  const CpuKernelOptions& options_;
  int64_t next_axis_ = kFirstImageAxis;
  ConvolutionPlan plan_;
};

/// Places the axes of an image from the innermost outwards.
class Layout {
 public:
  Layout(Arena& arena, ConvolutionPlan& plan, ConvolutionLanes along, int lanes)
      : arena_(arena), plan_(plan), apart_(along == ConvolutionLanes::kPixels), lanes_(lanes) {}

  void choose_pitch() {
    const int64_t least = plan_.x.size() - shared();
    const int64_t whole = (least + lanes_ - 1) / lanes_ * lanes_;
    plan_.pitch = plan_.height > 1 && vectors(whole) <= vectors(least) ? whole : least;
  }

  void run(graph::DType dtype) {
    if (apart_)
      add_numbered_rows();
    else
      add_plain_rows(graph::bits(dtype) / 8);
    for (const ImageAxis& plane : plan_.planes) add(plane, size_of(plane), size_of(plane));
    for (const Phase& phase : phases_) add_phase(phase);
    add_steps();
    add_outer();
    std::reverse(plan_.image_axes.begin(), plan_.image_axes.end());
    std::reverse(plan_.image_store.begin(), plan_.image_store.end());
    std::reverse(shape_.begin(), shape_.end());
    plan_.value = arena_.substitute(plan_.value, bindings_);
    plan_.image = private_tensor(arena_, {dtype, shape_});
  }

 private:
  /// An axis whose steps are apart by a stride.
  struct Phase {
    Expr axis;
    const ImageAxis* of;
    int64_t along;  ///< elements between neighbours of one phase
  };

  /// Elements along an axis, per phase if phases are apart.
  int64_t size_of(const ImageAxis& axis) const {
    return apart_ || !axis.has_window() ? axis.size() : extent_of(axis.place);
  }

  void add_numbered_rows() {
    choose_pitch();
    add(plan_.x, std::min(plan_.pitch, plan_.x.size()), plan_.pitch);
    // What lies past the end of a row is the beginning of the next one: the last row has one too.
    const int64_t rows = plan_.y.size() + (plan_.pitch < plan_.x.size() ? 1 : 0);
    add(plan_.y, rows, rows);
    plan_.row_step = plan_.pitch;
  }

  /// A tile reads few rows of pixels of all channels: these are neighbours.
  void add_plain_rows(int64_t bytes) {
    constexpr int64_t kConflict = 512;
    constexpr int64_t kLine = 64;
    const int64_t written = size_of(plan_.x);
    // Rows of channels should not fight for few sets of the nearest cache.
    const bool fight = written * bytes % kConflict == 0;
    plan_.pitch = written + (fight ? kLine / bytes : 0);
    plan_.pixel_step = plan_.x.stride;
    add(plan_.x, written, plan_.pitch);
    add_channels();
    const int64_t rows = size_of(plan_.y);
    plan_.row_step = plan_.y.stride * elements_;
    add(plan_.y, rows, rows);
  }

  int64_t vectors(int64_t pitch) const {
    return ((plan_.height - 1) * pitch + plan_.width + lanes_ - 1) / lanes_;
  }

  /// How many elements at the end of a row are those at the beginning of the next: padding.
  int64_t shared() {
    if (!plan_.x.has_window() || plan_.x.stride > 1 || plan_.height == 1) return 0;
    const auto at = [&](int64_t place) {
      const Binding binding{plan_.x.place, place};
      return arena_.substitute(plan_.value, std::span(&binding, 1));
    };
    for (int64_t count = plan_.x.size() - plan_.width; count > 0; --count) {
      bool same = true;
      for (int64_t k = 0; k < count && same; ++k) {
        const BodyId first = at(k);
        same = arena_[first].kind == BodyKind::kConstant && first == at(plan_.x.size() - count + k);
      }
      if (same) return count;
    }
    return 0;
  }

  /// One more dim around those there are; `written` of its elements are.
  Expr add_dim(int64_t written, int64_t extent) {
    const Expr axis = Expr::axis(next_axis_++, written);
    if (axis.is_axis()) plan_.image_axes.push_back(axis);
    plan_.image_store.push_back(axis);
    shape_.push_back(extent);
    elements_ *= extent;
    return axis;
  }

  void add(const ImageAxis& axis, int64_t written, int64_t extent) {
    const int64_t along = elements_;
    Expr place = add_dim(written, extent);
    if (axis.has_window()) {
      offsets_.push_back({axis.window, {}});
      phases_.push_back({axis.window, &axis, along});
      if (has_phases(axis)) place = place * axis.stride + Expr::axis(phase_id(axis), axis.stride);
    }
    if (axis.place.is_axis()) bindings_.push_back({axis.place, place});
    if (is_plane(axis))
      plan_.image_position += axis.position * (apart_ ? along : along * axis.stride);
  }

  bool has_phases(const ImageAxis& axis) const { return apart_ && axis.stride > 1; }
  bool is_plane(const ImageAxis& axis) const { return &axis != &plan_.x && &axis != &plan_.y; }
  static int64_t phase_id(const ImageAxis& axis) {
    return kFirstImageAxis + 200 + axis.place.axis_id() - kFirstImageAxis;
  }

  /// The phases of a stride, and with them where the steps of the window are.
  void add_phase(const Phase& phase) {
    const ImageAxis& axis = *phase.of;
    const int64_t apart = elements_;
    if (has_phases(axis)) {
      const Expr number = Expr::axis(phase_id(axis), axis.stride);
      plan_.image_axes.push_back(number);
      plan_.image_store.push_back(number);
      shape_.push_back(axis.stride);
      elements_ *= axis.stride;
    }
    for (WindowSteps& steps : offsets_)
      if (steps.axis == phase.axis)
        for (int64_t k = 0; k < axis.steps(); ++k) {
          const int64_t at = axis.dilation * k;
          steps.image.push_back(apart_ ? at % axis.stride * apart + at / axis.stride * phase.along
                                       : at * phase.along);
        }
  }

  /// Summed axes without a window have a dim of their own, if they have none yet.
  void add_channels() {
    const std::vector<Expr>& axes = plan_.base.products[0].k.axes;
    for (size_t k = axes.size(); k-- > 0;) {
      const Expr& axis = axes[k];
      if (is_window(axis) || find_steps(axis) != offsets_.end()) continue;
      WindowSteps steps{axis, {}};
      const bool used = kernel::contains(arena_[plan_.value].free, axis);
      const int64_t along = used ? elements_ : 0;
      for (int64_t step = 0; step < extent_of(axis); ++step) steps.image.push_back(step * along);
      if (used) bindings_.push_back({axis, add_dim(extent_of(axis), extent_of(axis))});
      offsets_.push_back(std::move(steps));
    }
  }

  bool is_window(const Expr& axis) const {
    const auto has = [&](const ImageAxis& each) {
      return each.has_window() && each.window == axis;
    };
    return has(plan_.x) || has(plan_.y) ||
           std::any_of(plan_.planes.begin(), plan_.planes.end(), has);
  }

  std::vector<WindowSteps>::iterator find_steps(const Expr& axis) {
    return std::find_if(offsets_.begin(), offsets_.end(),
                        [&](const WindowSteps& each) { return each.axis == axis; });
  }

  /// All summed axes in their order.
  void add_steps() {
    add_channels();
    for (const Expr& axis : plan_.base.products[0].k.axes) plan_.steps.push_back(*find_steps(axis));
  }

  void add_outer() {
    Expr along = elements_;
    for (size_t k = plan_.outer.size(); k-- > 0;) {
      const Expr& axis = plan_.outer[k];
      if (!kernel::contains(arena_[plan_.value].free, axis)) continue;
      plan_.image_axes.push_back(axis);
      plan_.image_store.push_back(axis);
      shape_.push_back(axis.axis_extent());
      plan_.image_position += axis * along;
      along = along * axis.axis_extent();
    }
  }

  Arena& arena_;
  ConvolutionPlan& plan_;
  bool apart_;  // the phases of a stride
  int lanes_;
  int64_t next_axis_ = kFirstImageAxis + 100;
  int64_t elements_ = 1;
  graph::Shape shape_;
  std::vector<WindowSteps> offsets_;
  std::vector<Phase> phases_;
  std::vector<Binding> bindings_;
};

}  // namespace

int64_t ImageAxis::steps() const { return extent_of(window); }

int64_t ImageAxis::size() const { return extent_of(position) + dilation * (steps() - 1) / stride; }

Recognised<ConvolutionPlan> plan_convolution(Arena& arena, const kernel::Kernel& kernel,
                                             const CpuKernelOptions& options) {
  return Planner(arena, kernel, options).plan();
}

int64_t pixel_pitch(Arena& arena, const ConvolutionPlan& plan, int lanes) {
  ConvolutionPlan copy = plan;
  Layout(arena, copy, ConvolutionLanes::kPixels, lanes).choose_pitch();
  return copy.pitch;
}

void lay_out_image(Arena& arena, ConvolutionPlan& plan, graph::DType dtype, ConvolutionLanes along,
                   int lanes) {
  Layout(arena, plan, along, lanes).run(dtype);
}

}  // namespace luminal::codegen

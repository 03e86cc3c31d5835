#include "luminal/codegen/llvm/contraction_kernel.h"

#include <algorithm>
#include <map>
#include <memory>

#include "luminal/codegen/llvm/contraction_choices.h"
#include "luminal/codegen/llvm/contraction_schedule.h"
#include "luminal/codegen/llvm/gemm_amx.h"
#include "luminal/codegen/llvm/gemm_emitter.h"
#include "luminal/codegen/llvm/gemm_panels.h"
#include "luminal/codegen/llvm/gemv_emitter.h"
#include "luminal/codegen/llvm/launch_list.h"
#include "luminal/codegen/llvm/nest_plan.h"
#include "luminal/kernel/canonical.h"

namespace luminal::codegen {
namespace {

using graph::DType;
using graph::Op;
using kernel::Arena;
using kernel::BodyId;
using kernel::BodyKind;
using kernel::NodeId;
using symbolic::Expr;

/// Axes of panels of rows while they are written; no kernel has so many of its own.
constexpr int64_t kTileAxis = kernel::kFirstBoundAxis - 256;
constexpr int64_t kRowAxis = kTileAxis + 1;
constexpr int64_t kStepAxis = kTileAxis + 2;
constexpr int64_t kWithinAxis = kTileAxis + 3;

class ContractionBuilder {
 public:
  ContractionBuilder(Arena& arena, const kernel::Kernel& kernel, const CpuTarget& target,
                     const CpuKernelOptions& options, const ContractionKernelOptions& more)
      : arena_(arena),
        kernel_(kernel),
        target_(target),
        options_(options),
        more_(more),
        launches_(arena, target, options),
        result_(launches_.kernel()) {}

  Recognised<CpuKernel> build() {
    Recognised<ContractionPlan> plan = plan_contraction(arena_, kernel_, options_);
    if (!plan) return plan.refusal();
    plan_ = std::move(*plan);
    Recognised<ContractionSchedule> schedule =
        schedule_contraction(arena_, plan_, target_, options_, more_);
    if (!schedule) return schedule.refusal();
    specs_ = schedule->specs;
    gemv_ = schedule->gemv;
    chunk_ = schedule->chunk;
    threads_ = schedule->threads;
    result_.schedule = schedule_of(*schedule);
    for (const EarlyReduction& each : plan_.early) add_early(each);
    for (Product& product : plan_.products) make_readable(product.a);
    add_products();
    return std::move(result_);
  }

 private:
  /// Whether the tile can broadcast an operand from where it lies.
  bool can_broadcast(const ProductOperand& a) const {
    const GemmSpec& spec = specs_[0];
    if (!a.place || a.dtype != spec.a) return false;
    if (a.place->k_stride.is_constant(1)) return true;
    if (spec.blocks.size > 0) return false;
    if (gemv_) return !gemv_->along_k;
    return spec.mode == GemmMode::kFma && spec.a_source == GemmA::kInPlace;  // dots need neighbours
  }

  /// Where the elements of panels of rows lie: as many rows as a tile has, k running down.
  struct RowPanels {
    std::vector<Expr> at;  // batch axes, panel, and what is within
    graph::Shape shape;
    size_t batches = 0;                       // axes before the panel
    std::vector<symbolic::Binding> elements;  // which element lies there
    std::vector<Expr> inside;                 // whether there is one; empty: always
    Expr steps;                               // of k that a row has room for
  };

  RowPanels panels_of_rows(const ProductOperand& a, const AxisGroup& k) const {
    const int64_t mr = specs_[0].mr;
    const Expr tiles = ceil_div(plan_.m.extent, mr);
    const Expr tile = Expr::axis(kTileAxis, tiles);
    const Expr row = Expr::axis(kRowAxis, mr);
    RowPanels panels;
    for (const std::vector<Expr>* batch : {&plan_.batch, &plan_.row_batch})
      for (const Expr& axis : *batch)
        if (kernel::contains(arena_[a.value].free, axis)) {
          panels.at.push_back(axis);
          panels.shape.push_back(axis.axis_extent());
        }
    panels.batches = panels.at.size();
    panels.at.insert(panels.at.end(), {tile, k.flat, row});
    panels.shape.insert(panels.shape.end(), {tiles, k.extent, mr});
    panels.elements.push_back({plan_.m.flat, tile * mr + row});
    if (!divisible_by(plan_.m.extent, mr))
      panels.inside.push_back(less(tile * mr + row, plan_.m.extent));
    panels.steps = k.extent;
    return panels;
  }

  /// The same for matrix registers: their rows one after the other.
  void turn_into_registers(RowPanels& panels, const AxisGroup& k) const {
    const int64_t width = int64_t{kAmxRowBytes} * 8 / graph::bits(specs_[0].a);
    const Expr steps = ceil_div(k.extent, width);
    const Expr step = Expr::axis(kStepAxis, steps);
    const Expr within = Expr::axis(kWithinAxis, width);
    const Expr row = panels.at.back();
    panels.at.resize(panels.at.size() - 2);
    panels.at.insert(panels.at.end(), {step, row, within});
    panels.shape.resize(panels.shape.size() - 2);
    panels.shape.insert(panels.shape.end(), {steps, specs_[0].mr, width});
    panels.elements.push_back({k.flat, step * width + within});
    if (!divisible_by(k.extent, width))
      panels.inside.push_back(less(step * width + within, k.extent));
    panels.steps = steps * width;
  }

  /// Stores an operand in panels, with zeros where there are no rows or k ends within a register.
  void pack_rows(ProductOperand& a, const AxisGroup& k) {
    const DType dtype = specs_[0].a;
    RowPanels panels = panels_of_rows(a, k);
    if (specs_[0].has_matrix_registers()) turn_into_registers(panels, k);
    BodyId value = arena_.substitute(a.value, panels.elements);
    if (a.dtype != dtype) value = arena_.op(Op::kCast, dtype, {value});
    if (!panels.inside.empty())
      value = arena_.where(panels.inside, value, arena_.constant(graph::Scalar::of(dtype, 0)));
    const NodeId tensor = private_tensor(arena_, {dtype, panels.shape});
    std::vector<Expr> axes = panels.at;
    std::erase_if(axes, [](const Expr& axis) { return !axis.is_axis(); });
    launches_.add_stored(axes, value, tensor, panels.at);
    a.value = arena_.load(tensor, panels.at);
    a.dtype = dtype;
    std::vector<Expr> begin = panels.at;
    begin.resize(panels.batches);
    begin.resize(panels.at.size(), 0);
    a.place = {tensor, position_of(begin, panels.shape), panels.steps, specs_[0].mr};
  }

  void make_readable(ProductOperand& a) {
    const bool packed = !gemv_ && specs_[0].a_source == GemmA::kPacked;
    if (!packed && can_broadcast(a)) return;
    const auto known = copies_.find(a.value);
    if (known != copies_.end()) {
      a = known->second;
      return;
    }
    const BodyId original = a.value;
    const Product* product = nullptr;
    for (const Product& each : plan_.products)
      if (&each.a == &a) product = &each;
    if (packed) {
      pack_rows(a, product->k);
      copies_.emplace(original, a);
      return;
    }
    std::vector<Expr> axes;
    graph::Shape shape;
    std::vector<Expr> read;
    std::vector<Expr> written;
    for (const std::vector<Expr>* batch : {&plan_.batch, &plan_.row_batch})
      for (const Expr& axis : *batch) {
        if (!kernel::contains(arena_[a.value].free, axis)) continue;
        axes.push_back(axis);
        shape.push_back(axis.axis_extent());
        read.push_back(axis);
        written.push_back(axis);
      }
    const auto add = [&](const AxisGroup& group, bool flat) {
      shape.push_back(group.extent);
      read.push_back(group.flat);
      if (flat) {
        if (group.flat.is_axis()) axes.push_back(group.flat);
        written.push_back(group.flat);
        return;
      }
      Expr position = 0;
      for (const Expr& axis : group.axes) {
        axes.push_back(axis);
        position = position * axis.axis_extent() + axis;
      }
      written.push_back(position);
    };
    add(plan_.m, a.flat_outer);
    add(product->k, a.flat_k);
    const DType dtype = specs_[0].a;
    BodyId value = a.value;
    if (a.dtype != dtype) value = arena_.op(Op::kCast, dtype, {value});
    const NodeId tensor = private_tensor(arena_, {dtype, shape});
    launches_.add_stored(axes, value, tensor, written);
    a.value = arena_.load(tensor, read);
    a.dtype = dtype;
    a.flat_outer = a.flat_k = true;
    a.place = place_of(arena_, a.value, plan_.m.flat, product->k.flat);
    LUMINAL_CHECK(a.place.has_value(), "a copied operand cannot be read");
    copies_.emplace(original, a);
  }

  void add_early(const EarlyReduction& each) {
    const kernel::AxisSet free = arena_[each.reduction].free;
    const std::vector<Expr> axes(free.begin(), free.end());
    launches_.add_stored(axes, each.reduction, each.tensor, axes);
  }

  void add_products() {
    auto code = std::make_shared<GemmCode>();
    code->arena = &arena_;
    code->plan = plan_;
    code->specs = specs_;
    code->round_each = options_.round_each;
    // Operands want the caches too.
    code->streaming = !gemv_ && !specs_[0].has_matrix_registers() &&
                      code->stores_lines(options_.streaming_bytes / 2);
    const kernel::CanonicalKernel canonical = kernel::canonicalize(arena_, kernel_);
    code->tensors = canonical.tensors;
    const std::vector<NodeId> stored = launches_.stored();
    code->tensors.insert(code->tensors.end(), stored.begin(), stored.end());
    std::string key = canonical.text;
    std::vector<Expr> scalars;
    for (const Expr& dim : canonical.dims) {
      code->dims.push_back(dim.name());
      scalars.push_back(dim);
      key += fmt::format("dim {} to {}\n", dim.bounds().lo, dim.bounds().hi);
    }
    for (size_t i = 0; i < plan_.products.size(); ++i)
      key += fmt::format("{} batch {} {} rows {} of {} columns {} a {} b {} {}\n",
                         to_string(specs_[i]), plan_.batch.size(), plan_.row_batch.size(),
                         plan_.m.axes.size(), plan_.products[i].k.axes.size(), plan_.n.axes.size(),
                         stored.size(), plan_.products[i].b.flat_outer, plan_.products[i].b.flat_k);
    key += fmt::format("round {} streaming {}\n", options_.round_each, code->streaming);
    if (gemv_) key += to_string(*gemv_);
    std::vector<LaunchBuffer> buffers;
    for (const NodeId tensor : code->tensors) buffers.push_back(launches_.place(tensor));
    if (gemv_) return add_gemv(code, key, std::move(buffers), scalars);
    const Common common{code, key, std::move(buffers), scalars};
    std::vector<LaunchBuffer> panels;
    if (specs_[0].b_source == GemmB::kPrepacked)
      for (size_t i = 0; i < plan_.products.size(); ++i) panels.push_back(add_pack(i, *code));
    if (specs_[0].split == 1) {
      add_gemm(common, common.code->tensors, panels, {});
      return;
    }
    std::vector<LaunchBuffer> parts;
    for (size_t i = 0; i < plan_.products.size(); ++i)
      parts.push_back(temporary(code->part_bytes(target_) * specs_[0].split));
    add_gemm(common, operands(), panels, parts);
    add_join(common, parts);
  }

  /// What the launches of tiles have in common.
  struct Common {
    std::shared_ptr<GemmCode> code;
    std::string key;
    std::vector<LaunchBuffer> buffers;  // of the code's tensors
    std::vector<Expr> scalars;
  };

  LaunchBuffer temporary(const Expr& bytes) {
    result_.temporaries.push_back(bytes);
    return {LaunchBuffer::Kind::kTemporary, {}, result_.temporaries.size() - 1};
  }

  /// The tensors that some values read.
  std::vector<NodeId> read_by(std::span<const BodyId> values) const {
    std::vector<NodeId> tensors;
    for (const BodyId id : arena_.reachable(values))
      if (arena_[id].kind == BodyKind::kLoad) tensors.push_back(arena_[id].tensor);
    return tensors;
  }
  std::vector<NodeId> operands() const {
    std::vector<BodyId> values;
    for (const Product& each : plan_.products)
      values.insert(values.end(), {each.a.value, each.b.value});
    return read_by(values);
  }

  /// A launch with pointers to some of the tensors only, as it may not wait for others, and its
  /// code.
  std::pair<CpuLaunch, std::shared_ptr<GemmCode>> begin_launch(
      const std::string& entry, const Common& common, const std::vector<NodeId>& tensors) const {
    auto own = std::make_shared<GemmCode>(*common.code);
    own->tensors.clear();
    CpuLaunch launch;
    launch.source.entries = {{entry, {}, static_cast<int>(common.scalars.size()), 0}};
    launch.source.key = fmt::format("{} of\n{}", entry, common.key);
    launch.scalars = common.scalars;
    for (size_t i = 0; i < common.code->tensors.size(); ++i) {
      const NodeId tensor = common.code->tensors[i];
      if (std::find(tensors.begin(), tensors.end(), tensor) == tensors.end()) continue;
      own->tensors.push_back(tensor);
      add_buffer(launch, common.buffers[i], use_of(tensor));
    }
    return {std::move(launch), std::move(own)};
  }

  static void add_buffer(CpuLaunch& launch, const LaunchBuffer& buffer, runtime::BufferUse use) {
    launch.buffers.push_back(buffer);
    launch.source.entries[0].buffers.push_back(use);
  }

  runtime::BufferUse use_of(NodeId tensor) const {
    const bool written =
        std::any_of(kernel_.roots.begin(), kernel_.roots.end(),
                    [&](const kernel::Root& root) { return root.tensor == tensor; });
    return written ? runtime::BufferUse::kWrite : runtime::BufferUse::kRead;
  }

  /// The matrix of a product, stored element by element: a kernel that names what is packed.
  kernel::Kernel matrix_of(const Product& product) {
    std::vector<Expr> axes = plan_.batch;
    const auto add = [&](const AxisGroup& group, bool flat) {
      if (!flat)
        axes.insert(axes.end(), group.axes.begin(), group.axes.end());
      else if (group.flat.is_axis())
        axes.push_back(group.flat);
    };
    add(plan_.n, product.b.flat_outer);
    add(product.k, product.b.flat_k);
    kernel::Kernel matrix;
    graph::Shape shape;
    std::vector<symbolic::Binding> bindings;
    for (const Expr& axis : axes) {
      shape.push_back(axis.axis_extent());
      matrix.axes.push_back(
          Expr::axis(static_cast<int64_t>(matrix.axes.size()), axis.axis_extent()));
      bindings.push_back({axis, matrix.axes.back()});
    }
    const NodeId tensor = private_tensor(arena_, {product.b.dtype, shape});
    matrix.roots.push_back({tensor, arena_.substitute(product.b.value, bindings), matrix.axes});
    return matrix;
  }

  /// What the panels of a product hold follows from its matrix and from how they are laid out, not
  /// from the rows or from what is done to the sums: products of one matrix share the code, and in
  /// a plan the panels. Dims of the rows must not be asked for, or panels that are kept would be
  /// made again whenever those change.
  LaunchBuffer add_pack(size_t product, const GemmCode& code) {
    auto own = std::make_shared<GemmCode>(code);
    own->tensors.clear();
    own->dims.clear();
    const Product& each = plan_.products[product];
    const kernel::Kernel matrix = matrix_of(each);
    const kernel::CanonicalKernel canonical = kernel::canonicalize(arena_, matrix);
    CpuLaunch launch;
    runtime::EntryInfo entry{"pack", {}, static_cast<int>(canonical.dims.size()), 0};
    for (const NodeId tensor : canonical.tensors) {
      if (tensor == matrix.roots[0].tensor) continue;
      own->tensors.push_back(tensor);
      launch.buffers.push_back(launches_.place(tensor));
      entry.buffers.push_back(runtime::BufferUse::kRead);
    }
    const LaunchBuffer panels = temporary(code.packed_bytes(product, target_));
    launch.buffers.push_back(panels);
    entry.buffers.push_back(runtime::BufferUse::kWrite);
    launch.source.label = "pack for " + to_string(specs_[product]);
    launch.source.key =
        fmt::format("pack {} of {}, {} batch {} columns {} {} terms {} {} round {}\n{}",
                    each.b.dtype, panels_text(specs_[product]), panels_text(specs_[0]),
                    plan_.batch.size(), plan_.n.axes.size(), each.b.flat_outer, each.k.axes.size(),
                    each.b.flat_k, options_.round_each, canonical.text);
    for (const Expr& dim : canonical.dims) {
      own->dims.push_back(dim.name());
      launch.scalars.push_back(dim);
      launch.source.key += fmt::format("dim {} to {}\n", dim.bounds().lo, dim.bounds().hi);
    }
    launch.source.entries = {std::move(entry)};
    launch.source.emit = [own, product](llvm::Module& module, const CpuTarget& target) {
      emit_gemm_pack(module, target, *own, product);
    };
    launch.items = code.pack_items(target_);
    launch.prepare = is_constant(arena_, each.b.value, options_);
    result_.launches.push_back(std::move(launch));
    return panels;
  }

  void add_gemm(const Common& common, const std::vector<NodeId>& tensors,
                const std::vector<LaunchBuffer>& panels, const std::vector<LaunchBuffer>& parts) {
    auto [launch, own] = begin_launch("gemm", common, tensors);
    for (const LaunchBuffer& panel : panels) add_buffer(launch, panel, runtime::BufferUse::kRead);
    for (const LaunchBuffer& part : parts) add_buffer(launch, part, runtime::BufferUse::kWrite);
    launch.source.label = to_string(specs_[0]);
    launch.source.emit = [own = own](llvm::Module& module, const CpuTarget& target) {
      emit_gemm(module, target, *own);
    };
    launch.items = own->items(target_);
    launch.scratch_bytes = own->scratch_bytes(target_);
    launch.chunk = chunk_;
    launch.threads = threads_;
    result_.launches.push_back(std::move(launch));
  }

  /// Adds up the sums of parts, and does what is done to sums.
  void add_join(const Common& common, const std::vector<LaunchBuffer>& parts) {
    std::vector<BodyId> values;
    for (const kernel::Root& root : plan_.roots) values.push_back(root.value);
    std::vector<NodeId> tensors = read_by(values);
    for (const kernel::Root& root : plan_.roots) tensors.push_back(root.tensor);
    auto [launch, own] = begin_launch("join", common, tensors);
    for (const LaunchBuffer& part : parts) add_buffer(launch, part, runtime::BufferUse::kRead);
    launch.source.label = "join for " + to_string(specs_[0]);
    launch.source.emit = [own = own](llvm::Module& module, const CpuTarget& target) {
      emit_gemm_join(module, target, *own);
    };
    launch.items = own->join_items(target_);
    launch.threads = threads_;
    result_.launches.push_back(std::move(launch));
  }

  void add_gemv(const std::shared_ptr<GemmCode>& code, const std::string& key,
                std::vector<LaunchBuffer> buffers, const std::vector<Expr>& scalars) {
    CpuLaunch launch;
    runtime::EntryInfo entry{"gemv", {}, static_cast<int>(scalars.size()), 0};
    for (const NodeId tensor : code->tensors) entry.buffers.push_back(use_of(tensor));
    launch.buffers = std::move(buffers);
    launch.source.label = to_string(*gemv_);
    launch.source.key = "gemv of\n" + key;
    launch.source.entries = {std::move(entry)};
    launch.source.emit = [code, spec = *gemv_](llvm::Module& module, const CpuTarget& target) {
      emit_gemv(module, target, *code, spec);
    };
    launch.scalars = scalars;
    launch.items = gemv_items(plan_, *gemv_);
    launch.scratch_bytes = gemv_scratch_bytes(plan_, *gemv_);
    launch.chunk = chunk_;
    launch.threads = threads_;
    result_.launches.push_back(std::move(launch));
  }

  Arena& arena_;
  const kernel::Kernel& kernel_;
  const CpuTarget& target_;
  const CpuKernelOptions& options_;
  const ContractionKernelOptions& more_;
  ContractionPlan plan_;
  std::vector<GemmSpec> specs_;
  std::optional<GemvSpec> gemv_;
  int64_t chunk_ = 0;
  int threads_ = 0;
  std::map<BodyId, ProductOperand> copies_;
  LaunchList launches_;
  CpuKernel& result_;  // what the launches are added to
};

}  // namespace

Recognised<CpuKernel> contraction_kernel(Arena& arena, const kernel::Kernel& kernel,
                                         const CpuTarget& target, const CpuKernelOptions& options,
                                         const ContractionKernelOptions& more) {
  return ContractionBuilder(arena, kernel, target, options, more).build();
}

}  // namespace luminal::codegen

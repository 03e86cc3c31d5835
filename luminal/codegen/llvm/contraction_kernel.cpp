#include "luminal/codegen/llvm/contraction_kernel.h"

#include <algorithm>
#include <map>
#include <memory>

#include "luminal/codegen/llvm/contraction_choices.h"
#include "luminal/codegen/llvm/contraction_schedule.h"
#include "luminal/codegen/llvm/gemm_emitter.h"
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
    // Elements far apart are worth a copy if they are read often.
    return spec.mode == GemmMode::kFma &&
           typical_extent(plan_.n.extent, options_) < 64;  // dots need neighbours
  }

  void make_readable(ProductOperand& a) {
    if (can_broadcast(a)) return;
    const auto known = copies_.find(a.value);
    if (known != copies_.end()) {
      a = known->second;
      return;
    }
    const BodyId original = a.value;
    const Product* product = nullptr;
    for (const Product& each : plan_.products)
      if (&each.a == &a) product = &each;
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
    code->streaming = !gemv_ && !has_matrix_registers(specs_[0].mode) &&
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
    std::vector<LaunchBuffer> panels;
    if (specs_[0].b_source == GemmB::kPrepacked)
      for (size_t i = 0; i < plan_.products.size(); ++i)
        panels.push_back(add_pack(i, code, key, buffers, scalars));
    add_gemm(code, key, std::move(buffers), panels, scalars);
  }

  static bool has_matrix_registers(GemmMode mode) {
    return mode == GemmMode::kAmxBf16 || mode == GemmMode::kAmxI8;
  }

  runtime::BufferUse use_of(NodeId tensor) const {
    const bool written =
        std::any_of(kernel_.roots.begin(), kernel_.roots.end(),
                    [&](const kernel::Root& root) { return root.tensor == tensor; });
    return written ? runtime::BufferUse::kWrite : runtime::BufferUse::kRead;
  }

  LaunchBuffer add_pack(size_t product, const std::shared_ptr<GemmCode>& code,
                        const std::string& key, const std::vector<LaunchBuffer>& buffers,
                        const std::vector<Expr>& scalars) {
    // Only what B is made of: a launch ahead may not wait for other tensors.
    auto own = std::make_shared<GemmCode>(*code);
    own->tensors.clear();
    CpuLaunch launch;
    runtime::EntryInfo entry{"pack", {}, static_cast<int>(scalars.size()), 0};
    const BodyId value = plan_.products[product].b.value;
    const std::vector<BodyId> reached = arena_.reachable(std::span(&value, 1));
    for (size_t i = 0; i < code->tensors.size(); ++i) {
      const bool used = std::any_of(reached.begin(), reached.end(), [&](BodyId id) {
        return arena_[id].kind == BodyKind::kLoad && arena_[id].tensor == code->tensors[i];
      });
      if (!used) continue;
      own->tensors.push_back(code->tensors[i]);
      launch.buffers.push_back(buffers[i]);
      entry.buffers.push_back(runtime::BufferUse::kRead);
    }
    const LaunchBuffer panels{LaunchBuffer::Kind::kTemporary, {}, result_.temporaries.size()};
    result_.temporaries.push_back(code->packed_bytes(product, target_));
    launch.buffers.push_back(panels);
    entry.buffers.push_back(runtime::BufferUse::kWrite);
    launch.source.label = "pack for " + to_string(specs_[product]);
    launch.source.key = fmt::format("pack {} of\n{}", product, key);
    launch.source.entries = {std::move(entry)};
    launch.source.emit = [own, product](llvm::Module& module, const CpuTarget& target) {
      emit_gemm_pack(module, target, *own, product);
    };
    launch.scalars = scalars;
    launch.items = code->pack_items(target_);
    launch.prepare = is_constant(arena_, value, options_);
    result_.launches.push_back(std::move(launch));
    return panels;
  }

  void add_gemm(const std::shared_ptr<GemmCode>& code, const std::string& key,
                std::vector<LaunchBuffer> buffers, const std::vector<LaunchBuffer>& panels,
                const std::vector<Expr>& scalars) {
    CpuLaunch launch;
    runtime::EntryInfo entry{"gemm", {}, static_cast<int>(scalars.size()), 0};
    for (const NodeId tensor : code->tensors) entry.buffers.push_back(use_of(tensor));
    for (const LaunchBuffer& panel : panels) {
      buffers.push_back(panel);
      entry.buffers.push_back(runtime::BufferUse::kRead);
    }
    launch.buffers = std::move(buffers);
    launch.source.label = to_string(specs_[0]);
    launch.source.key = "gemm of\n" + key;
    launch.source.entries = {std::move(entry)};
    launch.source.emit = [code](llvm::Module& module, const CpuTarget& target) {
      emit_gemm(module, target, *code);
    };
    launch.scalars = scalars;
    launch.items = code->items(target_);
    launch.scratch_bytes = code->scratch_bytes(target_);
    launch.chunk = chunk_;
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

#include "luminal/codegen/llvm/contraction_kernel.h"

#include <algorithm>
#include <map>
#include <memory>

#include "luminal/codegen/llvm/gemm_emitter.h"
#include "luminal/codegen/llvm/gemv_emitter.h"
#include "luminal/codegen/llvm/nest_plan.h"
#include "luminal/kernel/canonical.h"

namespace luminal::codegen {
namespace {

using graph::DType;
using graph::Op;
using kernel::Arena;
using kernel::BodyId;
using kernel::BodyKind;
using kernel::BodyNode;
using kernel::NodeId;
using symbolic::Expr;

/// What sums of this dtype are added up in.
DType accumulator_of(DType dtype) {
  if (graph::is_float(dtype)) return dtype == DType::kF64 ? DType::kF64 : DType::kF32;
  return graph::bits(dtype) > 32 ? DType::kI64 : DType::kI32;
}

class ContractionBuilder {
 public:
  ContractionBuilder(Arena& arena, const kernel::Kernel& kernel, const CpuTarget& target,
                     const CpuKernelOptions& options, const ContractionKernelOptions& more)
      : arena_(arena), kernel_(kernel), target_(target), options_(options), more_(more) {}

  std::optional<CpuKernel> build() {
    std::optional<ContractionPlan> plan = plan_contraction(arena_, kernel_, options_);
    if (!plan) return std::nullopt;
    plan_ = std::move(*plan);
    if (!same_types() || has_sums_in_matrix()) return std::nullopt;
    gemv_ = choose_gemv();
    if (!gemv_ && !is_worth_it()) return std::nullopt;
    if (!gemv_) choose();
    for (const EarlyReduction& each : plan_.early) add_early(each);
    for (Product& product : plan_.products) make_readable(product.a);
    add_products();
    return std::move(result_);
  }

 private:
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

  /// Few rows of a matrix that must be packed first are faster as loops.
  bool is_worth_it() const {
    if (more_.always) return true;
    const int64_t m = typical(plan_.m.extent);
    const int64_t n = typical(plan_.n.extent);
    const int64_t k = typical(plan_.products[0].k.extent);
    if (n < 4 || k < 2) return false;
    return is_constant() ? m * n * k >= 256 : m >= 3 && m * n * k >= 1024;
  }

  bool is_constant(BodyId value) const {
    const std::vector<BodyId> reached = arena_.reachable(std::span(&value, 1));
    return std::all_of(reached.begin(), reached.end(), [&](BodyId id) {
      const BodyNode& node = arena_[id];
      return node.kind != BodyKind::kLoad ||
             std::find(options_.constants.begin(), options_.constants.end(), node.tensor) !=
                 options_.constants.end();
    });
  }
  bool is_constant() const {
    return std::all_of(plan_.products.begin(), plan_.products.end(),
                       [&](const Product& each) { return is_constant(each.b.value); });
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
    specs_.assign(plan_.products.size(), operands);
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
    // In the cache, tiles over rows as they lie are better.
    return spec.along_k || spec.rows <= 2 || n * k >= int64_t{1} << 19;
  }

  void set_streams(GemvSpec& spec, const Product& product) const {
    const int64_t registers = target_.vector_registers() / 2;
    const int lanes = target_.lanes(graph::bits(spec.accumulator));
    if (spec.along_k) {
      // Narrow elements are one stream with many in flight; wide ones like several.
      spec.streams = graph::bits(product.b.dtype) < 32 ? 1 : spec.rows <= 4 ? 4 : 2;
      spec.unroll = 4;
      while (spec.unroll > 1 && int64_t{spec.unroll} * spec.streams * spec.rows > registers)
        spec.unroll /= 2;
      spec.block = 32;
      return;
    }
    spec.streams = std::max(1, static_cast<int>(registers) / 2 / spec.rows);
    spec.unroll = 1;
    const int64_t pieces = 2 * int64_t{std::max(1, options_.threads)};
    const int64_t unit = 4 * int64_t{lanes};
    const int64_t wanted = (typical(plan_.n.extent) + pieces - 1) / pieces;
    spec.block = std::clamp((wanted + unit - 1) / unit * unit, unit, int64_t{2048});
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

  void choose() {
    const Product& first = plan_.products[0];
    GemmProblem problem;
    problem.accumulator = accumulator_of(first.dtype);
    problem.exact_bf16 = !options_.reassociate;
    const GemmMode mode =
        gemm_mode(first.a.dtype, first.b.dtype, problem.accumulator, problem.exact_bf16, target_);
    problem.a = mode == GemmMode::kFma ? problem.accumulator : first.a.dtype;
    problem.b = first.b.dtype;
    for (const std::vector<Expr>* batch : {&plan_.batch, &plan_.row_batch})
      for (const Expr& axis : *batch) problem.batch *= typical(axis.axis_extent());
    problem.m = typical(plan_.m.extent);
    problem.n = typical(plan_.n.extent);
    problem.k = typical(first.k.extent);
    problem.m_known = plan_.m.extent.is_constant();
    problem.n_known = plan_.n.extent.is_constant();
    problem.b_constant = is_constant();
    problem.b_readable =
        std::all_of(plan_.products.begin(), plan_.products.end(),
                    [&](const Product& each) { return is_readable(each, problem.accumulator); });
    problem.b_plain =
        std::all_of(plan_.products.begin(), plan_.products.end(), [&](const Product& each) {
          return each.b.place && is_dense(*each.b.place, each.k.extent);
        });
    problem.b_columns = runs_along_k(first);
    if (first.a.place) {
      const auto stride = first.a.place->outer_stride.constant_value();
      problem.a_aligned = !stride || *stride * graph::bits(problem.a) / 8 % 4096 == 0;
    }
    problem.threads = options_.threads;
    problem.products = static_cast<int>(plan_.products.size());
    GemmSpec spec = more_.spec ? *more_.spec : choose_gemm(problem, target_);
    spec.a = problem.a;
    spec.b = problem.b;
    spec.accumulator = problem.accumulator;
    spec.mode = mode;
    if (more_.matrix_registers || has_matrix_registers(mode, problem))
      if (fill_matrix_registers(mode)) spec = with_matrix_registers(spec);
    spec.panel = panel_dtype(spec, problem);
    if (spec.b_source == GemmB::kInPlace && (!problem.b_readable || mode != GemmMode::kFma))
      spec.b_source = GemmB::kPackedHere;
    for (const Product& product : plan_.products) {
      spec.b_columns = runs_along_k(product);
      specs_.push_back(spec);
    }
  }

  bool has_matrix_registers(GemmMode mode, const GemmProblem& problem) const {
    const bool bits = mode == GemmMode::kDotBf16 && target_.has(runtime::CpuFeature::kAmxBf16);
    const bool bytes = mode == GemmMode::kDotI8 && target_.has(runtime::CpuFeature::kAmxInt8);
    return (bits || bytes) && problem.m >= 16;
  }
  /// Whether every step of k fills the registers: what lies past the end of k is not zero.
  bool fill_matrix_registers(GemmMode mode) const {
    if (mode == GemmMode::kFma) return false;
    return std::all_of(plan_.products.begin(), plan_.products.end(), [&](const Product& each) {
      return divisible_by(each.k.extent, mode == GemmMode::kDotBf16 ? 32 : 64);
    });
  }

  /// Few rows: what is read of B is all that counts, so it stays narrow.
  static DType panel_dtype(const GemmSpec& spec, const GemmProblem& problem) {
    if (spec.b_source != GemmB::kPrepacked || problem.m > 8 ||
        graph::bits(spec.b) >= graph::bits(spec.accumulator) || graph::is_bool(spec.b))
      return spec.accumulator;
    if (graph::bits(spec.b) == 4) return graph::is_unsigned(spec.b) ? DType::kU8 : DType::kI8;
    return spec.b;
  }

  /// Whether the tile can broadcast an operand from where it lies.
  bool can_broadcast(const ProductOperand& a) const {
    const GemmSpec& spec = specs_[0];
    if (!a.place || a.dtype != spec.a) return false;
    if (a.place->k_stride.is_constant(1)) return true;
    if (gemv_) return !gemv_->along_k;
    // Elements far apart are worth a copy if they are read often.
    return spec.mode == GemmMode::kFma && typical(plan_.n.extent) < 64;  // dots need neighbours
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
    add_launches(axes, value, tensor, written);
    a.value = arena_.load(tensor, read);
    a.dtype = dtype;
    a.flat_outer = a.flat_k = true;
    a.place = place_of(arena_, a.value, plan_.m.flat, product->k.flat);
    LUMINAL_CHECK(a.place.has_value(), "a copied operand cannot be read");
    copies_.emplace(original, a);
  }

  void add_early(const EarlyReduction& each) {
    const kernel::AxisSet free = arena_[each.reduction].free;
    add_launches(std::vector<Expr>(free.begin(), free.end()), each.reduction, each.tensor,
                 std::vector<Expr>(free.begin(), free.end()));
  }

  /// Launches that store a value at all positions of some axes in a temporary.
  void add_launches(const std::vector<Expr>& axes, BodyId value, NodeId tensor,
                    std::vector<Expr> store) {
    kernel::Kernel copy;
    std::vector<symbolic::Binding> bindings;
    for (const Expr& axis : axes) {
      copy.axes.push_back(Expr::axis(static_cast<int64_t>(copy.axes.size()), axis.axis_extent()));
      bindings.push_back({axis, copy.axes.back()});
    }
    for (Expr& expr : store) expr = symbolic::substitute(expr, bindings);
    copy.roots.push_back({tensor, arena_.substitute(value, bindings), std::move(store)});
    const graph::TensorType& type = arena_.tensor(tensor);
    Expr elements = 1;
    for (const Expr& extent : type.shape) elements = elements * extent;
    temporary_of_[tensor] = result_.temporaries.size();
    result_.temporaries.push_back(elements * (graph::bits(type.dtype) / 8) + 64);
    CpuKernel part = cpu_kernel(arena_, copy, target_, options_);
    const size_t before = result_.temporaries.size();
    for (const Expr& bytes : part.temporaries) result_.temporaries.push_back(bytes);
    for (CpuLaunch& launch : part.launches) {
      for (LaunchBuffer& buffer : launch.buffers) {
        if (buffer.kind == LaunchBuffer::Kind::kTemporary)
          buffer.temporary += before;
        else
          buffer = place(buffer.tensor);
      }
      launch.prepare = is_constant(value);
      result_.launches.push_back(std::move(launch));
    }
  }

  LaunchBuffer place(NodeId tensor) const {
    const auto found = temporary_of_.find(tensor);
    if (found == temporary_of_.end()) return {LaunchBuffer::Kind::kTensor, tensor, 0};
    return {LaunchBuffer::Kind::kTemporary, {}, found->second};
  }

  void add_products() {
    auto code = std::make_shared<GemmCode>();
    code->arena = &arena_;
    code->plan = plan_;
    code->specs = specs_;
    code->round_each = options_.round_each;
    const kernel::CanonicalKernel canonical = kernel::canonicalize(arena_, kernel_);
    code->tensors = canonical.tensors;
    for (const auto& [tensor, temporary] : temporary_of_) code->tensors.push_back(tensor);
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
                         temporary_of_.size(), plan_.products[i].b.flat_outer,
                         plan_.products[i].b.flat_k);
    key += fmt::format("round {}\n", options_.round_each);
    if (gemv_) key += to_string(*gemv_);
    std::vector<LaunchBuffer> buffers;
    for (const NodeId tensor : code->tensors) buffers.push_back(place(tensor));
    if (gemv_) return add_gemv(code, key, std::move(buffers), scalars);
    std::vector<LaunchBuffer> panels;
    if (specs_[0].b_source == GemmB::kPrepacked)
      for (size_t i = 0; i < plan_.products.size(); ++i)
        panels.push_back(add_pack(i, code, key, buffers, scalars));
    add_gemm(code, key, std::move(buffers), panels, scalars);
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
    launch.prepare = is_constant(value);
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
    launch.chunk = chunk();
    result_.launches.push_back(std::move(launch));
    result_.schedule = to_string(specs_[0]);
  }

  /// Few panels that threads cannot share evenly are taken item by item; panels that a thread packs
  /// for itself stay together.
  int64_t chunk() const {
    const GemmSpec& spec = specs_[0];
    int64_t panels = (typical(plan_.n.extent) + spec.nr - 1) / spec.nr;
    for (const std::vector<Expr>* batch : {&plan_.batch, &plan_.row_batch})
      for (const Expr& axis : *batch) panels *= typical(axis.axis_extent());
    const bool uneven = panels % options_.threads != 0 || spec.column_tail > 0;
    const bool few = panels < 16 * int64_t{options_.threads};
    return uneven && few && spec.b_source != GemmB::kPackedHere ? 1 : 0;
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
    result_.schedule = launch.source.label;
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
  std::map<BodyId, ProductOperand> copies_;
  std::map<NodeId, size_t> temporary_of_;
  CpuKernel result_;
};

}  // namespace

std::optional<CpuKernel> contraction_kernel(Arena& arena, const kernel::Kernel& kernel,
                                            const CpuTarget& target,
                                            const CpuKernelOptions& options,
                                            const ContractionKernelOptions& more) {
  return ContractionBuilder(arena, kernel, target, options, more).build();
}

}  // namespace luminal::codegen

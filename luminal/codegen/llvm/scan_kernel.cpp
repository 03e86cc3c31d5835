#include "luminal/codegen/llvm/scan_kernel.h"

#include <algorithm>
#include <memory>

#include "luminal/codegen/llvm/contraction_plan.h"
#include "luminal/codegen/llvm/nest_flatten.h"
#include "luminal/codegen/llvm/nest_launches.h"
#include "luminal/codegen/llvm/nest_split.h"
#include "luminal/codegen/llvm/scan_emitter.h"
#include "luminal/codegen/llvm/schedule_reader.h"
#include "luminal/kernel/canonical.h"
#include "luminal/kernel/reads.h"

namespace luminal::codegen {
namespace {

using kernel::Arena;
using kernel::NodeId;
using symbolic::Expr;

/// Elements of a part of a row: a part is read again while it is in the cache of its thread.
constexpr int64_t kPart = 16384;
/// Columns whose totals are kept at a time, where there are enough for all threads.
constexpr int64_t kMostColumns = 1024;
constexpr int64_t kFewestColumns = 128;
/// Of each thread, so that a disturbed one does not keep the others waiting.
constexpr int64_t kTurns = 12;

class ScanBuilder {
 public:
  ScanBuilder(Arena& arena, const kernel::Kernel& kernel, const CpuTarget& target,
              const CpuKernelOptions& options)
      : arena_(arena),
        target_(target),
        options_(options),
        flat_(flattened(arena, kernel)),
        code_(std::make_shared<ScanCode>()) {}

  Recognised<CpuKernel> build() {
    auto plan = match_scan(arena_, flat_.kernel);
    if (!plan) return plan.refusal();
    code_->arena = &arena_;
    code_->plan = std::move(*plan);
    code_->roots = flat_.kernel.roots;
    code_->round_each = options_.round_each;
    choose_lanes();
    choose_parts();
    code_->streaming = may_stream();
    describe();
    if (options_.schedule && *options_.schedule != result_.schedule)
      throw schedule_error(*options_.schedule, "a scan has one schedule here, {}",
                           result_.schedule.to_string());
    if (code_->part > 0) add_totals();
    add_scan();
    return std::move(result_);
  }

 private:
  ScanPlan& plan() { return code_->plan; }

  /// The stride of the first result along an axis is 1.
  bool is_dense(const Expr& axis) const {
    const kernel::Root& root = code_->roots[0];
    const Expr position = position_of(root.store, arena_.tensor(root.tensor).shape);
    const auto stride = stride_along(position, axis);
    return stride && stride->stride.is_constant(1);
  }

  void choose_lanes() {
    const int bits = std::max(32, graph::bits(plan().dtype));
    code_->lanes = target_.lanes(bits);
    if (is_dense(plan().axis)) {
      // Lanes are added as a tree.
      const bool exact = !graph::is_float(plan().dtype) || plan().op == graph::Op::kReduceMax;
      if (!exact && !options_.reassociate) code_->lanes = 1;
      return;
    }
    std::vector<Expr>& outer = plan().outer;
    const auto dense =
        std::find_if(outer.begin(), outer.end(), [&](const Expr& axis) { return is_dense(axis); });
    if (dense == outer.end()) {
      code_->lanes = 1;
      return;
    }
    std::rotate(dense, dense + 1, outer.end());
    code_->across = true;
  }

  int64_t typical_rows() const {
    int64_t rows = 1;
    const size_t count = code_->plan.outer.size() - (code_->across ? 1 : 0);
    for (size_t k = 0; k < count; ++k)
      rows *= std::max<int64_t>(1, typical_extent(code_->plan.outer[k].axis_extent(), options_));
    return rows;
  }

  void choose_parts() {
    if (code_->across) {
      // As wide as threads allow: every step reads and writes a piece of a row, and the next one
      // lies in another page.
      const int64_t columns = typical_extent(plan().outer.back().axis_extent(), options_);
      const int64_t threads = std::max(1, options_.threads);
      const int64_t pieces = (threads + typical_rows() - 1) / typical_rows();
      const int64_t width = (columns + pieces - 1) / pieces;
      const int64_t whole = (width + code_->lanes - 1) / code_->lanes * code_->lanes;
      code_->block = std::clamp(whole, kFewestColumns, kMostColumns);
      return;
    }
    const int64_t length = typical_extent(plan().axis.axis_extent(), options_);
    // Parts change sums, threads must not: a single row is cut for any number of them.
    if (!plan().backward && code_->lanes > 1 && length >= 4 * kPart && typical_rows() < 4)
      code_->part = kPart;
  }

  /// Whether all whole vectors of a result that does not fit the caches are aligned.
  bool may_stream() const {
    if (code_->roots.size() != 1 || options_.streaming_bytes == 0 || code_->lanes == 1)
      return false;
    const kernel::Root& root = code_->roots[0];
    const graph::TensorType& type = arena_.tensor(root.tensor);
    Expr bytes = graph::bits(type.dtype) / 8;
    for (const Expr& extent : type.shape) bytes = bytes * extent;
    const auto size = bytes.constant_value();
    if (!size || *size < options_.streaming_bytes) return false;
    const Expr& lane = code_->across ? code_->plan.outer.back() : code_->plan.axis;
    const auto stride = stride_along(position_of(root.store, type.shape), lane);
    return stride && stride->stride.is_constant(1) && divisible_by(stride->rest, code_->lanes);
  }

  /// Names and the order of arguments.
  void describe() {
    const kernel::CanonicalKernel canonical = kernel::canonicalize(arena_, flat_.kernel);
    code_->tensors = canonical.tensors;
    key_ = canonical.text;
    for (const NodeId tensor : code_->tensors) key_ += is_alias(tensor) ? "in range\n" : "any\n";
    for (const Expr& dim : canonical.dims) {
      code_->dims.push_back(dim.name());
      scalars_.push_back(dim);
      key_ += fmt::format("dim {} to {}\n", dim.bounds().lo, dim.bounds().hi);
    }
    key_ += fmt::format("{} round {}", to_string(*code_), options_.round_each);
    result_.schedule =
        Schedule(std::string(kScanFamily), {{"block", code_->block},
                                            {"lanes", code_->lanes},
                                            {"part", code_->part},
                                            {"streaming", code_->streaming ? 2 : 0}});
  }

  LaunchBuffer buffer_of(NodeId tensor) const {
    const auto original = flat_.originals.find(tensor);
    return {LaunchBuffer::Kind::kTensor,
            original == flat_.originals.end() ? tensor : original->second, 0};
  }

  CpuLaunch new_launch(const char* name) const {
    CpuLaunch launch;
    runtime::EntryInfo entry{name, {}, static_cast<int>(scalars_.size()), 0};
    for (const NodeId tensor : code_->tensors) {
      const bool written =
          std::any_of(code_->roots.begin(), code_->roots.end(),
                      [&](const kernel::Root& root) { return root.tensor == tensor; });
      launch.buffers.push_back(buffer_of(tensor));
      entry.buffers.push_back(written ? runtime::BufferUse::kWrite : runtime::BufferUse::kRead);
    }
    launch.source.label = to_string(*code_);
    launch.source.key = fmt::format("{} of\n{}", name, key_);
    launch.source.entries = {std::move(entry)};
    launch.scalars = scalars_;
    launch.items = code_->items();
    launch.chunk = chunk_of(launch.items, kTurns, options_.threads);
    return launch;
  }

  void add_totals() {
    CpuLaunch launch = new_launch("totals");
    // Results are not written here.
    std::vector<runtime::BufferUse>& uses = launch.source.entries[0].buffers;
    uses.assign(uses.size(), runtime::BufferUse::kRead);
    launch.buffers.push_back({LaunchBuffer::Kind::kTemporary, {}, 0});
    uses.push_back(runtime::BufferUse::kWrite);
    result_.temporaries.push_back(code_->items() * (graph::bits(code_->carried()) / 8));
    launch.source.emit = [code = code_](llvm::Module& module, const CpuTarget& target) {
      emit_scan_totals(module, target, *code);
    };
    result_.launches.push_back(std::move(launch));
  }

  void add_scan() {
    CpuLaunch launch = new_launch("scan");
    if (code_->part > 0) {
      launch.buffers.push_back({LaunchBuffer::Kind::kTemporary, {}, 0});
      launch.source.entries[0].buffers.push_back(runtime::BufferUse::kRead);
    }
    launch.scratch_bytes = code_->scratch_bytes();
    launch.source.emit = [code = code_](llvm::Module& module, const CpuTarget& target) {
      emit_scan(module, target, *code);
    };
    result_.launches.push_back(std::move(launch));
  }

  Arena& arena_;
  const CpuTarget& target_;
  const CpuKernelOptions& options_;
  FlatKernel flat_;
  std::shared_ptr<ScanCode> code_;
  std::string key_;
  std::vector<Expr> scalars_;
  CpuKernel result_;
};

/// Results that are packed two to a byte are left to another kernel.
bool has_packed_results(const Arena& arena, const kernel::Kernel& kernel) {
  return std::any_of(kernel.roots.begin(), kernel.roots.end(), [&](const kernel::Root& root) {
    return graph::bits(arena.tensor(root.tensor).dtype) < 8;
  });
}

}  // namespace

Recognised<CpuKernel> scan_kernel(Arena& arena, const kernel::Kernel& kernel,
                                  const CpuTarget& target, const CpuKernelOptions& options) {
  if (has_packed_results(arena, kernel)) return Refusal{"results are packed two to a byte"};
  if (auto plan = match_scan(arena, kernel); !plan) return plan.refusal();
  return ScanBuilder(arena, kernel, target, options).build();
}

std::optional<KernelWork> scan_work(Arena& arena, const kernel::Kernel& kernel,
                                    const kernel::Machine& machine,
                                    const kernel::EstimateOptions& options) {
  if (has_packed_results(arena, kernel) || !match_scan(arena, kernel)) return std::nullopt;
  const auto bytes_of = [&](NodeId tensor) {
    return kernel::bytes_of(arena, tensor,
                            [&](const Expr& size) { return kernel::typical_value(size, options); });
  };
  std::vector<NodeId> tensors;
  for (const kernel::Root& root : kernel.roots) tensors.push_back(root.tensor);
  for (const kernel::BodyId id : kernel::bodies_of(arena, kernel))
    if (arena[id].kind == kernel::BodyKind::kLoad) tensors.push_back(arena[id].tensor);
  std::sort(tensors.begin(), tensors.end());
  tensors.erase(std::unique(tensors.begin(), tensors.end()), tensors.end());
  double bytes = 0;
  for (const NodeId tensor : tensors) bytes += bytes_of(tensor);
  double elements = 0;  // each is added once
  for (const kernel::Root& root : kernel.roots)
    elements += bytes_of(root.tensor) * 8 / graph::bits(arena.tensor(root.tensor).dtype);
  return KernelWork{machine.launch_us + 1e6 * bytes / machine.memory_bytes, bytes, elements};
}

std::optional<double> scan_cost(Arena& arena, const kernel::Kernel& kernel,
                                const kernel::Machine& machine,
                                const kernel::EstimateOptions& options) {
  const auto work = scan_work(arena, kernel, machine, options);
  return work ? std::optional(work->microseconds) : std::nullopt;
}

}  // namespace luminal::codegen

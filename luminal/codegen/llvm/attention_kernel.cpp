#include "luminal/codegen/llvm/attention_kernel.h"

#include <algorithm>

#include "luminal/codegen/llvm/attention_choices.h"
#include "luminal/kernel/canonical.h"
#include "luminal/kernel/estimate.h"

namespace luminal::codegen {
namespace {

using graph::DType;
using kernel::BodyId;
using kernel::NodeId;
using symbolic::Expr;

/// Values are turned once for all queries of a block, results are read and stored once for all keys
/// of one: large blocks, but some for every thread.
AttentionSchedule with_matrix_registers(AttentionSchedule schedule, double queries, double rows,
                                        int threads) {
  constexpr double kQueries = 512;
  constexpr double kItemsOfThread = 4;
  schedule.matrices = true;
  schedule.key_block = 256;
  double wanted = std::clamp(queries, 1.0, kQueries);
  while (wanted > schedule.tile_columns && rows * queries / wanted < kItemsOfThread * threads)
    wanted /= 2;
  schedule.query_block =
      static_cast<int>(rounded_up(static_cast<int64_t>(wanted), schedule.tile_columns));
  return schedule;
}

/// How many queries meet how many keys at a time.
void set_blocks(AttentionSchedule& schedule, const CpuTarget& target, double queries, bool masks) {
  constexpr double kManyQueries = 1024;
  // Masks leave out less of larger blocks.
  double wanted = masks ? 64 : 96;
  if (target.vector_registers() == 32 && target.products_at_once() > 1) {
    // Scores of f32 that come from the second cache are waited for: those of one panel of queries
    // nearly stay in the first, and results are rescaled less often for more keys. Dots of bf16
    // read keys and values so quickly that more queries should share them.
    const bool many = schedule.dot_bf16 && (!masks || queries >= kManyQueries);
    wanted = many ? 128 : schedule.tile_columns;
    if (!schedule.dot_bf16 && !masks) schedule.key_block = 512;
  }
  schedule.query_block = static_cast<int>(std::max<int64_t>(
      schedule.tile_columns,
      rounded_up(static_cast<int64_t>(std::min(queries, wanted)), schedule.tile_columns)));
}

AttentionSchedule choose_schedule(const kernel::Arena& arena, const AttentionPlan& plan,
                                  const CpuTarget& target, DType result, double queries) {
  AttentionSchedule schedule;
  schedule.lanes = target.lanes(32);
  schedule.tile_columns = 2 * schedule.lanes;
  schedule.tile_rows = target.vector_registers() == 32 ? 8 : 4;
  // Queries are rounded to bf16 only where the graph does so too, weights where results are.
  schedule.dot_bf16 = is_bf16(arena, plan.keys.value) && is_bf16(arena, plan.values.value) &&
                      is_bf16(arena, plan.queries) && result == DType::kBF16 &&
                      target.has(runtime::CpuFeature::kAvx512bf16);
  schedule.query_group = queries < 2 ? 1 : queries < 3 ? 2 : 4;  // divides the lanes
  set_blocks(schedule, target, queries, !plan.conditions.empty());
  return schedule;
}

std::string facts_of(const AttentionCode& code) {
  const AttentionSchedule& schedule = code.schedule;
  return fmt::format("attention {} {} {} {} {} {} {} dot {} {} pack {} {} round {}", schedule.lanes,
                     schedule.query_block, schedule.query_group, schedule.key_block,
                     schedule.key_run, schedule.tile_rows, schedule.tile_columns, schedule.dot_bf16,
                     schedule.matrices, schedule.pack_keys, schedule.pack_values, code.round_each);
}

/// Whether there are rows enough to keep all threads busy without dividing their keys.
bool has_many_rows(const AttentionCode& code, const CpuKernelOptions& options) {
  const auto rows = code.row_count().constant_value();
  return rows && (options.threads == 1 || *rows >= int64_t{4} * options.threads);
}

/// Makes launches of one attention.
class Launcher {
 public:
  Launcher(kernel::Arena& arena, std::shared_ptr<AttentionCode> code) : code_(std::move(code)) {
    const kernel::CanonicalKernel canonical =
        kernel::canonicalize(arena, code_->kernel, facts_of(*code_));
    code_->tensors = canonical.tensors;
    key_ = canonical.text;
    for (const Expr& dim : canonical.dims) {
      code_->dims.push_back(dim.name());
      scalars_.push_back(dim);
      key_ += fmt::format("dim {} to {}\n", dim.bounds().lo, dim.bounds().hi);
    }
    result_.schedule = schedule_of(code_->schedule);
  }

  CpuKernel blocks() {
    CpuLaunch launch = launch_of("attention", emit_attention);
    launch.items = code_->items();
    launch.scratch_bytes = code_->scratch().end;
    result_.launches.push_back(std::move(launch));
    return std::move(result_);
  }

  CpuKernel whole_runs() {
    CpuLaunch attend = launch_of("attend", emit_attention_runs);
    attend.items = code_->row_count();
    attend.scratch_bytes = code_->run_scratch();
    result_.launches.push_back(std::move(attend));
    return std::move(result_);
  }

  CpuKernel runs() {
    result_.temporaries.push_back(code_->row_count() * code_->key_runs() * code_->queries() *
                                  code_->partial_bytes());
    CpuLaunch attend = launch_of("attend", emit_attention_runs);
    attend.items = code_->row_count() * code_->key_runs();
    attend.scratch_bytes = code_->run_scratch();
    add_partial(attend, runtime::BufferUse::kWrite);
    CpuLaunch merge = launch_of("merge", emit_attention_merge);
    merge.items = code_->row_count();
    add_partial(merge, runtime::BufferUse::kRead);
    result_.launches.push_back(std::move(attend));
    result_.launches.push_back(std::move(merge));
    return std::move(result_);
  }

 private:
  using Emit = void (*)(llvm::Module&, const CpuTarget&, const AttentionCode&);
  CpuLaunch launch_of(const std::string& name, Emit emit) {
    CpuLaunch launch;
    runtime::EntryInfo entry{name, {}, static_cast<int>(scalars_.size()), 0};
    for (const NodeId tensor : code_->tensors) {
      launch.buffers.push_back({LaunchBuffer::Kind::kTensor, tensor, 0});
      const bool partial = name == "attend" && code_->schedule.key_run != 0;
      entry.buffers.push_back(tensor == code_->kernel.roots[0].tensor && !partial
                                  ? runtime::BufferUse::kWrite
                                  : runtime::BufferUse::kRead);
    }
    launch.scalars = scalars_;
    if (name != "merge") {
      launch.chunk = code_->schedule.chunk;
      launch.threads = code_->schedule.threads;
    }
    launch.source.label = name;
    launch.source.key = name + " " + key_;
    launch.source.entries = {std::move(entry)};
    launch.source.emit = [code = code_, emit](llvm::Module& module, const CpuTarget& target) {
      emit(module, target, *code);
    };
    return launch;
  }
  static void add_partial(CpuLaunch& launch, runtime::BufferUse use) {
    launch.buffers.push_back({LaunchBuffer::Kind::kTemporary, {}, 0});
    launch.source.entries[0].buffers.push_back(use);
  }

  std::shared_ptr<AttentionCode> code_;
  std::vector<Expr> scalars_;
  std::string key_;
  CpuKernel result_;
};

}  // namespace

int64_t AttentionCode::padded_depth() const { return rounded_up(depth(), schedule.tile_columns); }

int64_t AttentionCode::padded_inner() const { return rounded_up(inner(), 2 * schedule.lanes); }

Expr AttentionCode::queries() const {
  return plan.query.is_axis() ? plan.query.axis_extent() : Expr(1);
}

Expr AttentionCode::row_count() const {
  Expr result = 1;
  for (const Expr& axis : plan.rows) result = result * axis.axis_extent();
  return result;
}

bool AttentionCode::suits_few_queries() const {
  constexpr int64_t kMost = 1024;
  const auto suits = [](const AttentionOperand& operand, const Expr& axis) {
    return operand.pieces.empty() || operand.runs_along(axis);
  };
  return inner() <= kMost && depth() <= kMost && suits(plan.keys, plan.inner) &&
         suits(plan.values, plan.depth);
}

bool AttentionCode::has_rows_of_queries() const {
  const std::vector<BodyId> below = arena->reachable(std::span(&plan.queries, 1));
  return plan.query.is_axis() && std::all_of(below.begin(), below.end(), [&](BodyId id) {
           const kernel::BodyNode& node = (*arena)[id];
           if (node.kind != kernel::BodyKind::kLoad || !kernel::contains(node.free, plan.inner))
             return true;
           const auto load = kernel::strided_load(*arena, id);
           return load && load->stride(plan.inner).is_constant(1);
         });
}

void AttentionCode::choose_packing() {
  const kernel::PlainOperand* keys = plan.keys.plain();
  // What is bf16 may be so by a cast of what lies in memory.
  schedule.pack_keys = keys == nullptr ||
                       keys->stored != (schedule.dot_bf16 ? DType::kBF16 : DType::kF32) ||
                       (schedule.dot_bf16 && !plan.keys.runs_along(plan.inner)) ||
                       (schedule.matrices && padded_inner() != inner());
  const kernel::PlainOperand* values = plan.values.plain();
  schedule.pack_values = values == nullptr || values->stored != DType::kF32 || schedule.matrices ||
                         !plan.values.runs_along(plan.depth) || padded_depth() != depth();
}

AttentionCode::Scratch AttentionCode::scratch() const {
  const int64_t queries = schedule.query_block;
  const int64_t keys = schedule.key_block;
  // Tiles may write whole rows beyond the end.
  const int64_t room = schedule.tile_rows;
  Scratch at{};
  const auto after = [](int64_t begin, int64_t bytes) { return rounded_up(begin + bytes, 64); };
  at.queries = 0;
  at.keys = after(at.queries,
                  queries * (schedule.matrices ? padded_inner() * 2 : rounded_up(inner(), 2) * 4));
  at.scores = after(at.keys, schedule.pack_keys ? keys * padded_inner() * 4 : 0);
  at.weights = after(at.scores, queries * (keys + room) * 4);
  at.values = after(at.weights, schedule.dot_bf16 ? queries * keys * 2 : 0);
  at.results = after(at.values, schedule.pack_values ? keys * padded_depth() * 4 : 0);
  at.turned = after(at.results, (queries + room) * padded_depth() * 4);
  at.maxima = after(at.turned, schedule.matrices ? schedule.lanes * padded_depth() * 4 : 0);
  at.totals = after(at.maxima, queries * 4);
  at.factors = after(at.totals, queries * 4);
  at.largest = after(at.factors, queries * 4);
  at.end = after(at.largest, queries * 4);
  return at;
}

Recognised<std::shared_ptr<AttentionCode>> chosen_attention(kernel::Arena& arena,
                                                            const kernel::Kernel& kernel,
                                                            const CpuTarget& target,
                                                            const CpuKernelOptions& options) {
  // With this many queries lanes along them are busy enough.
  constexpr double kManyQueries = 12;
  if (!options.reassociate) return Refusal{"sums may not be taken in another order"};
  if (options.round_each) return Refusal{"every value is to be rounded"};
  const auto plan = match_attention(arena, kernel);
  if (!plan) return plan.refusal();
  auto code = std::make_shared<AttentionCode>();
  code->arena = &arena;
  code->kernel = kernel;
  code->plan = *plan;
  const kernel::EstimateOptions sizes{.dims = options.dims, .typical_dim = options.typical_dim};
  const double queries = kernel::typical_value(code->queries(), sizes);
  AttentionSchedule& schedule = code->schedule;
  schedule =
      choose_schedule(arena, *plan, target, arena.tensor(kernel.roots[0].tensor).dtype, queries);
  schedule.runs = queries < kManyQueries && code->suits_few_queries();
  if (schedule.dot_bf16 && !schedule.runs && target.has(runtime::CpuFeature::kAmxBf16))
    schedule = with_matrix_registers(
        schedule, queries, kernel::typical_value(code->row_count(), sizes), options.threads);
  if (has_many_rows(*code, options)) schedule.key_run = 0;
  // Blocks differ in length where masks exclude keys. Runs of keys hardly do, and what an item of
  // them asks for beyond its end is its thread's next one.
  schedule.chunk = schedule.runs ? 0 : 1;
  code->choose_packing();
  return code;
}

Recognised<CpuKernel> attention_kernel(kernel::Arena& arena, const kernel::Kernel& kernel,
                                       const CpuTarget& target, const CpuKernelOptions& options) {
  const auto chosen = chosen_attention(arena, kernel, target, options);
  if (!chosen) return chosen.refusal();
  std::shared_ptr<AttentionCode> code = *chosen;
  if (options.schedule) apply_schedule(*options.schedule, target, *code);
  const AttentionSchedule schedule = code->schedule;
  Launcher launcher(arena, std::move(code));
  if (!schedule.runs) return launcher.blocks();
  return schedule.key_run == 0 ? launcher.whole_runs() : launcher.runs();
}

}  // namespace luminal::codegen

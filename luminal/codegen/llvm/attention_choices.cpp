#include "luminal/codegen/llvm/attention_choices.h"

#include "luminal/codegen/llvm/gemm.h"
#include "luminal/codegen/llvm/schedule_reader.h"
#include "luminal/codegen/llvm/schedule_values.h"
#include "luminal/kernel/estimate.h"

namespace luminal::codegen {
namespace {

using Reason = std::optional<std::string>;

constexpr int kMostQueries = 1024;
constexpr int kMostKeys = 1 << 16;
constexpr int kKeyUnit = 8;
constexpr int kKeysOfMatrices = 32;

/// Why blocks of these sizes cannot be.
Reason blocks_refusal(int query_block, int key_block, int tile_rows, const AttentionSchedule& tile,
                      const CpuTarget& target) {
  const int vectors = tile.tile_columns / tile.lanes;
  if (query_block % tile.tile_columns != 0)
    return fmt::format("query_block is no multiple of the {} columns of a tile", tile.tile_columns);
  if (key_block % kKeyUnit != 0) return fmt::format("key_block is no multiple of {}", kKeyUnit);
  if (tile.tile_columns % tile_rows != 0)
    return fmt::format("tile_rows does not divide the {} columns of a tile", tile.tile_columns);
  if (!tile_fits(tile_rows * vectors, vectors, target))
    return fmt::format("the sums do not fit the {} registers", target.vector_registers());
  return std::nullopt;
}

void apply_blocks(const Schedule& schedule, const CpuTarget& target, ScheduleReader& reader,
                  AttentionSchedule& chosen) {
  chosen.query_block = reader.small("query_block", 1, kMostQueries);
  chosen.key_block = reader.small("key_block", kKeyUnit, kMostKeys);
  chosen.tile_rows = reader.small("tile_rows", 1, kMostQueries);
  if (const Reason why =
          blocks_refusal(chosen.query_block, chosen.key_block, chosen.tile_rows, chosen, target))
    throw schedule_error(schedule, "{}", *why);
}

/// Why blocks of these sizes cannot be met by matrix registers.
Reason matrices_refusal(int query_block, int key_block, const AttentionSchedule& tile) {
  if (query_block % tile.tile_columns != 0)
    return fmt::format("query_block is no multiple of the {} columns of a tile", tile.tile_columns);
  if (key_block % kKeysOfMatrices != 0)
    return fmt::format("key_block is no multiple of {}", kKeysOfMatrices);
  return std::nullopt;
}

void apply_matrices(const Schedule& schedule, ScheduleReader& reader, AttentionSchedule& chosen) {
  chosen.query_block = reader.small("query_block", 1, kMostQueries);
  chosen.key_block = reader.small("key_block", kKeysOfMatrices, kMostKeys);
  if (!chosen.dot_bf16)
    throw schedule_error(schedule,
                         "queries, keys, values and results are not all bf16, or the "
                         "processor does not multiply pairs of them");
  if (const Reason why = matrices_refusal(chosen.query_block, chosen.key_block, chosen))
    throw schedule_error(schedule, "{}", *why);
}

void apply_runs(const Schedule& schedule, ScheduleReader& reader, const AttentionCode& code,
                AttentionSchedule& chosen) {
  chosen.key_run = reader.small("key_run", 0, kMostKeys);
  chosen.query_group = reader.small("query_group", 1, chosen.lanes);
  if (chosen.lanes % chosen.query_group != 0)
    throw schedule_error(schedule, "query_group does not divide the {} lanes", chosen.lanes);
  if (!code.suits_few_queries())
    throw schedule_error(schedule, "keys or values do not lie in rows of at most 1024");
}

ScheduleSpace blocks_space(AttentionSchedule chosen, const CpuTarget& target, double queries,
                           double keys, const CpuKernelOptions& options) {
  chosen.runs = false;
  chosen.matrices = false;
  chosen.chunk = 1;
  ScheduleSpace space;
  space.start = schedule_of(chosen);
  SpaceBuilder builder(space);
  std::vector<int64_t> blocks;
  for (int64_t count = 1; count <= 8; ++count) blocks.push_back(count * chosen.tile_columns);
  const auto padded = static_cast<int64_t>(queries) + chosen.tile_columns - 1;
  builder.add_up_to("query_block", blocks, padded);
  builder.add_up_to("key_block", {64, 128, 256, 384, 512, 1024},
                    std::max<int64_t>(64, static_cast<int64_t>(2 * keys)));
  builder.add("tile_rows", {2, 4, 8});
  builder.add("chunk", {0, 1, 2, 4});
  builder.add_threads(options.threads);
  space.refusal = [chosen, target](const Schedule& schedule) {
    return blocks_refusal(static_cast<int>(schedule.at("query_block")),
                          static_cast<int>(schedule.at("key_block")),
                          static_cast<int>(schedule.at("tile_rows")), chosen, target);
  };
  return space;
}

ScheduleSpace matrices_space(const AttentionSchedule& chosen, double queries, double keys,
                             const CpuKernelOptions& options) {
  ScheduleSpace space;
  space.start = schedule_of(chosen);
  SpaceBuilder builder(space);
  const auto padded = static_cast<int64_t>(queries) + chosen.tile_columns - 1;
  builder.add_up_to("query_block", {32, 64, 128, 192, 256, 384, 512, 1024}, padded);
  builder.add_up_to("key_block", {64, 128, 256, 512, 1024},
                    std::max<int64_t>(64, static_cast<int64_t>(2 * keys)));
  builder.add("chunk", {0, 1, 2, 4});
  builder.add_threads(options.threads);
  space.refusal = [chosen](const Schedule& schedule) {
    return matrices_refusal(static_cast<int>(schedule.at("query_block")),
                            static_cast<int>(schedule.at("key_block")), chosen);
  };
  return space;
}

ScheduleSpace runs_space(AttentionSchedule chosen, double keys, const CpuKernelOptions& options) {
  chosen.runs = true;
  chosen.chunk = 0;
  ScheduleSpace space;
  space.start = schedule_of(chosen);
  SpaceBuilder builder(space);
  builder.add_up_to("key_run", {0, 128, 256, 512, 1024, 2048, 4096}, static_cast<int64_t>(keys));
  builder.add("query_group", {1, 2, 4});
  builder.add("chunk", {0, 1, 2, 4});
  builder.add_threads(options.threads);
  return space;
}

}  // namespace

Schedule schedule_of(const AttentionSchedule& chosen) {
  if (chosen.runs)
    return Schedule(std::string(kAttentionRunsFamily), {{"key_run", chosen.key_run},
                                                        {"query_group", chosen.query_group},
                                                        {"chunk", chosen.chunk},
                                                        {"threads", chosen.threads}});
  if (chosen.matrices)
    return Schedule(std::string(kAttentionMatricesFamily), {{"query_block", chosen.query_block},
                                                            {"key_block", chosen.key_block},
                                                            {"chunk", chosen.chunk},
                                                            {"threads", chosen.threads}});
  return Schedule(std::string(kAttentionFamily), {{"query_block", chosen.query_block},
                                                  {"key_block", chosen.key_block},
                                                  {"tile_rows", chosen.tile_rows},
                                                  {"chunk", chosen.chunk},
                                                  {"threads", chosen.threads}});
}

void apply_schedule(const Schedule& schedule, const CpuTarget& target, AttentionCode& code) {
  AttentionSchedule& chosen = code.schedule;
  ScheduleReader reader(schedule);
  chosen.runs = schedule.family() == kAttentionRunsFamily;
  chosen.matrices = schedule.family() == kAttentionMatricesFamily;
  if (chosen.runs)
    apply_runs(schedule, reader, code, chosen);
  else if (chosen.matrices)
    apply_matrices(schedule, reader, chosen);
  else
    apply_blocks(schedule, target, reader, chosen);
  chosen.chunk = reader.number("chunk", 0, 1 << 20);
  chosen.threads = reader.small("threads", 0, 1024);
  reader.finish();
  code.choose_packing();
}

std::vector<ScheduleSpace> attention_spaces(kernel::Arena& arena, const kernel::Kernel& kernel,
                                            const CpuTarget& target,
                                            const CpuKernelOptions& options) {
  // With more queries than that runs of keys read the keys too often.
  constexpr double kMostForRuns = 64;
  const auto chosen = chosen_attention(arena, kernel, target, options);
  if (!chosen) return {};
  const std::shared_ptr<AttentionCode>& code = *chosen;
  const kernel::EstimateOptions sizes{.dims = options.dims, .typical_dim = options.typical_dim};
  const double queries = kernel::typical_value(code->queries(), sizes);
  const double keys = kernel::typical_value(code->plan.key.axis_extent(), sizes);
  std::vector<ScheduleSpace> spaces;
  if (code->schedule.matrices)
    spaces.push_back(matrices_space(code->schedule, queries, keys, options));
  spaces.push_back(blocks_space(code->schedule, target, queries, keys, options));
  if (queries <= kMostForRuns && code->suits_few_queries()) {
    spaces.push_back(runs_space(code->schedule, keys, options));
    if (code->schedule.runs) std::swap(spaces.front(), spaces.back());
  }
  return spaces;
}

}  // namespace luminal::codegen

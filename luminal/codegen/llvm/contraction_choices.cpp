#include "luminal/codegen/llvm/contraction_choices.h"

#include <algorithm>

#include "luminal/codegen/llvm/schedule_reader.h"
#include "luminal/codegen/llvm/schedule_values.h"

namespace luminal::codegen {
namespace {

using Reason = std::optional<std::string>;

constexpr int kMostRows = 64;
constexpr int kMostColumns = 512;
constexpr int kMostUnroll = 16;
constexpr int kMostAhead = 4;
constexpr int kMostParts = 1024;
constexpr int kMostStreams = 32;
/// What a near cache holds beside a panel.
constexpr int64_t kNearBytes = int64_t{1} << 20;

/// What the choices of a tile are.
struct GemmChoices {
  GemmMode mode;
  GemmA a;
  GemmB b;
  int mr, nr, unroll, row_tiles;
  bool rows_outer;
  int kc, split, ahead;
};

GemmChoices read_gemm(ScheduleReader& reader) {
  constexpr int kMost = 1 << 20;
  return {static_cast<GemmMode>(reader.small("mode", 0, 4)),
          static_cast<GemmA>(reader.small("a", 0, 3)),
          static_cast<GemmB>(reader.small("b", 0, 2)),
          reader.small("mr", 1, kMostRows),
          reader.small("nr", 1, kMostColumns),
          reader.small("unroll", 1, kMostUnroll),
          reader.small("row_tiles", 0, kMost),
          reader.flag("outer"),
          reader.small("kc", 0, kMost),
          reader.small("split", 1, kMostParts),
          reader.small("ahead", 0, kMostAhead)};
}

/// Why a tile cannot be on a target.
Reason tile_refusal(const GemmChoices& each, const GemmProblem& problem, const GemmLayout& layout,
                    const CpuTarget& target) {
  if (has_matrix_registers(each.mode)) {
    if (each.mr != 32 || each.nr != 32) return "matrix registers hold tiles of 32x32";
    if (each.unroll != 1) return "matrix registers take unroll=1";
    if (each.a == GemmA::kRowsAhead) return "matrix registers ask for rows and the matrix alike";
    return std::nullopt;
  }
  if (each.nr % layout.lanes() != 0)
    return fmt::format("nr is no multiple of the {} lanes", layout.lanes());
  const int vectors = each.nr / layout.lanes();
  if (!tile_fits(each.mr * vectors * each.unroll, vectors, target))
    return fmt::format("the sums do not fit the {} registers", target.vector_registers());
  if (problem.m_known && each.mr > std::max<int64_t>(1, problem.m))
    return fmt::format("there are only {} rows", problem.m);
  return std::nullopt;
}

/// Why the next panel cannot be asked for. (Matrix registers ask for what this one has next.)
Reason ahead_refusal(const GemmChoices& each, const GemmProblem& problem) {
  if (each.ahead == 0 || each.b == GemmB::kPrepacked || has_matrix_registers(each.mode))
    return std::nullopt;
  if (!problem.b_plain)
    return "only a plain matrix or one that is packed ahead can be asked for early";
  if (problem.b_columns && (each.kc > 0 || each.split > 1))
    return "a matrix that runs along k cannot be asked for early in passes or parts";
  return std::nullopt;
}

Reason rows_refusal(const GemmChoices& each, const GemmProblem& problem) {
  if (each.a == GemmA::kRowsAhead && each.ahead > 0)
    return "either rows or the matrix are asked for early";
  if (has_matrix_registers(each.mode)) {
    if (each.a == GemmA::kPacked && !problem.a_panels) return "rows are not one axis";
    if (each.a != GemmA::kPacked && !problem.k_fills)
      return "k ends within a matrix register: rows take a=packed";
    return std::nullopt;
  }
  if (each.a != GemmA::kPacked) return std::nullopt;
  if (each.mode != GemmMode::kFma) return "dots take neighbours along k";
  if (!problem.a_panels || problem.m % each.mr != 0)
    return fmt::format("rows do not fill panels of {}", each.mr);
  return std::nullopt;
}

Reason split_refusal(const GemmChoices& each, const GemmProblem& problem) {
  if (each.split == 1) return std::nullopt;
  if (problem.ordered && graph::is_float(problem.accumulator))
    return "sums may not be taken in another order";
  if (each.b == GemmB::kPackedHere && !problem.b_one_k)
    return "windows are packed for all of k, or ahead";
  return std::nullopt;
}

Reason gemm_refusal(const GemmChoices& each, const ContractionSchedule& chosen,
                    const CpuTarget& target) {
  const GemmProblem& problem = chosen.problem;
  if (std::find(chosen.modes.begin(), chosen.modes.end(), each.mode) == chosen.modes.end())
    return fmt::format("products of these dtypes are not formed by {} here",
                       choice_text("mode", static_cast<int64_t>(each.mode)));
  GemmSpec spec = chosen.specs[0];
  spec.mode = each.mode;
  const GemmLayout layout(spec, target);
  if (Reason why = tile_refusal(each, problem, layout, target)) return why;
  if (each.b == GemmB::kInPlace && (!problem.b_readable || each.mode != GemmMode::kFma))
    return "the matrix cannot be read in place";
  if (each.kc > 0 && each.row_tiles == 0) return "several passes over k need row_tiles";
  if (each.kc > 0 && each.mode == GemmMode::kDotI8) return "dots of i8 take all of k in one pass";
  const int unit = has_matrix_registers(each.mode) ? 64 : layout.group();
  if (each.kc % unit != 0) return fmt::format("kc is no multiple of {}", unit);
  if (Reason why = ahead_refusal(each, problem)) return why;
  if (Reason why = rows_refusal(each, problem)) return why;
  return split_refusal(each, problem);
}

void apply_gemm(const Schedule& schedule, const CpuTarget& target, ContractionSchedule& chosen) {
  ScheduleReader reader(schedule);
  const GemmChoices each = read_gemm(reader);
  chosen.chunk = reader.number("chunk", 0, 1 << 20);
  chosen.threads = reader.small("threads", 0, 1024);
  reader.finish();
  if (const Reason why = gemm_refusal(each, chosen, target))
    throw schedule_error(schedule, "{}", *why);
  GemmSpec spec = chosen.specs[0];
  spec.mode = chosen.modes.front();
  const int lanes = GemmLayout(spec, target).lanes();
  spec = with_tile(spec, chosen.problem, target, each.mr, std::max(1, each.nr / lanes));
  spec.k_unroll = each.unroll;
  spec.a_source = each.a;
  spec.b_source = each.b;
  spec.rows_outer = each.rows_outer;
  spec.row_block = each.row_tiles * each.mr;
  spec.kc = each.kc;
  spec.split = each.split;
  spec.ahead = each.ahead;
  if (has_matrix_registers(each.mode)) spec = with_matrix_registers(spec);
  spec.panel = gemm_panel(spec, chosen.problem);
  for (GemmSpec& own : chosen.specs) {
    spec.b_columns = own.b_columns;
    own = spec;
  }
}

Reason blocks_refusal(int64_t mr, const GemmProblem& problem, const CpuTarget& target) {
  if (mr > most_rows_of_blocks(target))
    return fmt::format("the sums do not fit the {} registers", target.vector_registers());
  if (problem.m_known && mr > std::max<int64_t>(1, problem.m))
    return fmt::format("there are only {} rows", problem.m);
  return std::nullopt;
}

void apply_blocks(const Schedule& schedule, const CpuTarget& target, ContractionSchedule& chosen) {
  ScheduleReader reader(schedule);
  const int mr = reader.small("mr", 1, kMostRows);
  const int row_tiles = reader.small("row_tiles", 0, 1 << 20);
  chosen.chunk = reader.number("chunk", 0, 1 << 20);
  chosen.threads = reader.small("threads", 0, 1024);
  reader.finish();
  if (const Reason why = blocks_refusal(mr, chosen.problem, target))
    throw schedule_error(schedule, "{}", *why);
  for (GemmSpec& spec : chosen.specs) {
    spec = with_rows_of_blocks(spec, chosen.problem, mr);
    spec.row_block = row_tiles * mr;
  }
}

/// Why a way of streaming cannot be on a target.
Reason gemv_refusal(int streams, int unroll, int64_t block, const GemvSpec& spec,
                    const CpuTarget& target) {
  constexpr int64_t kWholeLines = 16;
  if (block % kWholeLines != 0) return fmt::format("block is no multiple of {}", kWholeLines);
  if (spec.direct || !spec.along_k) {
    if (unroll != spec.unroll) return fmt::format("there is nothing to unroll but {}", spec.unroll);
    if (spec.direct && streams != spec.streams) return "all steps are written out";
  }
  const int sums = streams * spec.rows * (spec.along_k ? unroll : 1);
  if (!spec.direct && sums > most_gemv_registers(target))
    return fmt::format("what is at work at once does not fit the {} registers",
                       target.vector_registers());
  return std::nullopt;
}

void apply_gemv(const Schedule& schedule, const CpuTarget& target, ContractionSchedule& chosen) {
  ScheduleReader reader(schedule);
  GemvSpec& spec = *chosen.gemv;
  const int streams = reader.small("streams", 1, kMostStreams);
  const int unroll = reader.small("unroll", 1, kMostUnroll);
  const int64_t block = reader.number("block", 1, 1 << 20);
  chosen.chunk = reader.number("chunk", 0, 1 << 20);
  chosen.threads = reader.small("threads", 0, 1024);
  reader.finish();
  if (const Reason why = gemv_refusal(streams, unroll, block, spec, target))
    throw schedule_error(schedule, "{}", *why);
  spec.streams = streams;
  spec.unroll = unroll;
  spec.block = block;
}

ScheduleSpace gemm_space(const ContractionSchedule& chosen, const CpuTarget& target,
                         const CpuKernelOptions& options) {
  const GemmProblem& problem = chosen.problem;
  const GemmLayout layout(chosen.specs[0], target);
  ScheduleSpace space;
  space.start = schedule_of(chosen);
  SpaceBuilder builder(space);
  const int64_t most_rows = problem.m_known ? std::max<int64_t>(1, problem.m) : kMostRows;
  builder.add_up_to("mr", {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 16, 24}, most_rows);
  std::vector<int64_t> widths;
  for (const int64_t vectors : {1, 2, 3, 4, 6}) widths.push_back(vectors * layout.lanes());
  builder.add("nr", widths);
  builder.add("b",
              {static_cast<int64_t>(GemmB::kPrepacked), static_cast<int64_t>(GemmB::kPackedHere),
               static_cast<int64_t>(GemmB::kInPlace)});
  std::vector<int64_t> rows;
  for (const GemmA source : {GemmA::kInPlace, GemmA::kRows, GemmA::kPacked})
    rows.push_back(static_cast<int64_t>(source));
  // Rows that a near cache holds need not be asked for.
  if (problem.m * problem.k * graph::bits(problem.a) / 8 >= kNearBytes)
    rows.push_back(static_cast<int64_t>(GemmA::kRowsAhead));
  builder.add("a", rows);
  builder.add_up_to("row_tiles", {0, 1, 2, 4, 8, 16, 32, 64}, problem.m);
  builder.add("outer", {0, 1});
  builder.add_up_to("kc", {0, 128, 256, 512, 1024, 2048}, problem.k - 1);
  builder.add_up_to("split", {1, 2, 4, 8, 16, 32}, std::max<int64_t>(1, problem.k / kLeastPart));
  builder.add("unroll", {1, 2, 4});
  const bool has_matrices =
      std::any_of(chosen.modes.begin(), chosen.modes.end(), has_matrix_registers);
  if (problem.b_plain || problem.b_constant || has_matrices) builder.add("ahead", {0, 1, 2});
  builder.add("chunk", {0, 1, 2, 4, 16});
  builder.add_threads(options.threads);
  std::vector<int64_t> modes;
  for (const GemmMode mode : chosen.modes) modes.push_back(static_cast<int64_t>(mode));
  builder.add("mode", modes);
  space.refusal = [chosen, target](const Schedule& schedule) {
    ScheduleReader reader(schedule);
    return gemm_refusal(read_gemm(reader), chosen, target);
  };
  return space;
}

ScheduleSpace blocks_space(const ContractionSchedule& chosen, const CpuTarget& target,
                           const CpuKernelOptions& options) {
  ScheduleSpace space;
  space.start = schedule_of(chosen);
  SpaceBuilder builder(space);
  builder.add_up_to("mr", {1, 2, 3, 4, 5, 6}, most_rows_of_blocks(target));
  builder.add_up_to("row_tiles", {0, 1, 2, 4, 8, 16}, chosen.problem.m);
  builder.add("chunk", {0, 1, 2, 4, 16});
  builder.add_threads(options.threads);
  space.refusal = [problem = chosen.problem, target](const Schedule& schedule) {
    return blocks_refusal(schedule.at("mr"), problem, target);
  };
  return space;
}

ScheduleSpace gemv_space(const ContractionSchedule& chosen, const CpuTarget& target,
                         const CpuKernelOptions& options) {
  const GemvSpec& spec = *chosen.gemv;
  ScheduleSpace space;
  space.start = schedule_of(chosen);
  SpaceBuilder builder(space);
  if (!spec.direct) builder.add("streams", {1, 2, 3, 4, 6, 8, 12, 16});
  if (spec.along_k) builder.add("unroll", {1, 2, 4, 8});
  if (spec.along_k)
    builder.add("block", {16, 32, 64, 128, 256});
  else
    builder.add("block", {64, 128, 256, 512, 1024, 2048, 4096, 8192});
  builder.add("chunk", {0, 1, 2, 4, 16});
  builder.add_threads(options.threads);
  space.refusal = [spec, target](const Schedule& schedule) {
    return gemv_refusal(static_cast<int>(schedule.at("streams")),
                        static_cast<int>(schedule.at("unroll")), schedule.at("block"), spec,
                        target);
  };
  return space;
}

}  // namespace

Schedule schedule_of(const ContractionSchedule& chosen) {
  if (chosen.gemv)
    return Schedule(std::string(kGemvFamily), {{"streams", chosen.gemv->streams},
                                               {"unroll", chosen.gemv->unroll},
                                               {"block", chosen.gemv->block},
                                               {"chunk", chosen.chunk},
                                               {"threads", chosen.threads}});
  const GemmSpec& spec = chosen.specs[0];
  if (spec.blocks.size > 0)
    return Schedule(std::string(kGemmBlocksFamily), {{"mr", spec.mr},
                                                     {"row_tiles", spec.row_block / spec.mr},
                                                     {"chunk", chosen.chunk},
                                                     {"threads", chosen.threads}});
  return Schedule(std::string(kGemmFamily), {{"mode", static_cast<int64_t>(spec.mode)},
                                             {"a", static_cast<int64_t>(spec.a_source)},
                                             {"b", static_cast<int64_t>(spec.b_source)},
                                             {"mr", spec.mr},
                                             {"nr", spec.nr},
                                             {"unroll", spec.k_unroll},
                                             {"row_tiles", spec.row_block / spec.mr},
                                             {"outer", spec.rows_outer ? 1 : 0},
                                             {"kc", spec.kc},
                                             {"split", spec.split},
                                             {"ahead", spec.ahead},
                                             {"chunk", chosen.chunk},
                                             {"threads", chosen.threads}});
}

void apply_schedule(const Schedule& schedule, const CpuTarget& target,
                    ContractionSchedule& chosen) {
  if (chosen.gemv)
    apply_gemv(schedule, target, chosen);
  else if (chosen.specs[0].blocks.size > 0)
    apply_blocks(schedule, target, chosen);
  else
    apply_gemm(schedule, target, chosen);
}

std::vector<ScheduleSpace> contraction_spaces(kernel::Arena& arena, const kernel::Kernel& kernel,
                                              const CpuTarget& target,
                                              const CpuKernelOptions& options) {
  CpuKernelOptions free = options;
  free.schedule.reset();
  const Recognised<ContractionPlan> plan = plan_contraction(arena, kernel, free);
  if (!plan) return {};
  std::vector<ScheduleSpace> spaces;
  const auto chosen = [&](const ContractionKernelOptions& more) {
    return schedule_contraction(arena, *plan, target, free, more);
  };
  if (const auto tiles = chosen({.always = true, .never_gemv = true, .never_blocks = true}))
    spaces.push_back(gemm_space(*tiles, target, options));
  if (const auto digits = chosen({.always = true}); digits && digits->specs[0].blocks.size > 0)
    spaces.push_back(blocks_space(*digits, target, options));
  const auto streamed = chosen({.always = true, .never_blocks = true});
  if (streamed && streamed->gemv) spaces.push_back(gemv_space(*streamed, target, options));
  return spaces;
}

}  // namespace luminal::codegen

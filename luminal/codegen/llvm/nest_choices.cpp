#include "luminal/codegen/llvm/nest_choices.h"

#include "luminal/codegen/llvm/nest_launches.h"
#include "luminal/codegen/llvm/nest_split.h"
#include "luminal/codegen/llvm/schedule_reader.h"
#include "luminal/codegen/llvm/schedule_values.h"

namespace luminal::codegen {
namespace {

/// When results go past the caches; the words of the choice "streaming".
enum StreamingChoice : int64_t { kNever, kLarge, kAlways };

int64_t streaming_bytes(int64_t choice, const CpuKernelOptions& options) {
  return choice == kNever ? 0 : choice == kAlways ? 1 : options.streaming_bytes;
}

int64_t power_of_two(ScheduleReader& reader, const Schedule& schedule, const std::string& name,
                     int64_t least, int64_t most) {
  const int64_t value = reader.number(name, least, most);
  if ((value & (value - 1)) != 0)
    throw schedule_error(schedule, "{} is {}, which is no power of two", name, value);
  return value;
}

NestChoices read(const Schedule& schedule, const CpuTarget& target,
                 const CpuKernelOptions& options) {
  constexpr int64_t kMostElements = int64_t{1} << 30;
  NestChoices choices = default_nest_choices(options);
  ScheduleReader reader(schedule);
  choices.code.lanes =
      static_cast<int>(power_of_two(reader, schedule, "lanes", 0, target.vector_bytes()));
  choices.code.unroll = static_cast<int>(power_of_two(reader, schedule, "unroll", 1, 16));
  choices.code.block = reader.number("block", 1, kMostElements);
  choices.code.prefetch_rows = reader.flag("prefetch");
  choices.code.transposed_columns = power_of_two(reader, schedule, "columns", 16, 4096);
  choices.code.transposed_rows = power_of_two(reader, schedule, "rows", 64, 1 << 20);
  choices.streaming = reader.number("streaming", kNever, kAlways);
  choices.code.streaming_bytes = streaming_bytes(choices.streaming, options);
  choices.loops.online = reader.flag("online");
  choices.loops.keep_rows = reader.flag("keep");
  choices.loops.interchange = reader.flag("interchange");
  choices.part = reader.number("part", 0, kMostElements);
  choices.turns = reader.number("turns", 0, 1024);
  choices.threads = reader.small("threads", 0, 1024);
  reader.finish();
  if (!options.reassociate && (choices.loops.online || choices.part > 0))
    throw schedule_error(schedule, "sums may not be taken in another order");
  if (options.streaming_bytes == 0 && choices.streaming != kNever)
    throw schedule_error(schedule, "results need not be aligned as streaming needs it");
  if (choices.part > 0 && choices.part < kLeastReductionPart)
    throw schedule_error(schedule, "part is {}, and may be 0 or at least {}", choices.part,
                         kLeastReductionPart);
  return choices;
}

}  // namespace

NestChoices default_nest_choices(const CpuKernelOptions& options) {
  NestChoices choices;
  choices.loops = options.nest;
  choices.loops.spreads = options.reassociate && !options.round_each;
  choices.code.round_each = options.round_each;
  choices.code.streaming_bytes = options.streaming_bytes;
  choices.streaming = options.streaming_bytes > 0 ? kLarge : kNever;
  if (options.reassociate) choices.part = kReductionPart;
  return choices;
}

NestChoices nest_choices(const CpuTarget& target, const CpuKernelOptions& options) {
  return options.schedule ? read(*options.schedule, target, options)
                          : default_nest_choices(options);
}

Schedule schedule_of(const NestChoices& choices) {
  return Schedule(std::string(kNestFamily), {{"lanes", choices.code.lanes},
                                             {"unroll", choices.code.unroll},
                                             {"block", choices.code.block},
                                             {"prefetch", choices.code.prefetch_rows ? 1 : 0},
                                             {"columns", choices.code.transposed_columns},
                                             {"rows", choices.code.transposed_rows},
                                             {"streaming", choices.streaming},
                                             {"online", choices.loops.online ? 1 : 0},
                                             {"keep", choices.loops.keep_rows ? 1 : 0},
                                             {"interchange", choices.loops.interchange ? 1 : 0},
                                             {"part", choices.part},
                                             {"turns", choices.turns},
                                             {"threads", choices.threads}});
}

ScheduleSpace nest_space(const CpuTarget& target, const CpuKernelOptions& options) {
  ScheduleSpace space;
  space.start = schedule_of(default_nest_choices(options));
  SpaceBuilder builder(space);
  builder.add("unroll", {1, 2, 4, 8});
  std::vector<int64_t> lanes{0};
  for (int64_t width = target.lanes(64); width <= target.vector_bytes(); width *= 2)
    lanes.push_back(width);
  builder.add("lanes", lanes);
  builder.add("block", {512, 1024, 2048, 4096, 8192, 16384, 65536});
  if (options.threads > 1) {
    builder.add("turns", {0, 2, 4, 12, 32});
    builder.add_threads(options.threads);
  }
  if (options.streaming_bytes > 0) builder.add("streaming", {kNever, kLarge, kAlways});
  builder.add("prefetch", {0, 1});
  builder.add("keep", {0, 1});
  builder.add("interchange", {0, 1});
  if (options.reassociate) {
    builder.add("online", {0, 1});
    builder.add("part", {2048, 8192, 32768});
  }
  builder.add("columns", {32, 64, 128, 256});
  builder.add("rows", {256, 1024, 4096, 16384});
  return space;
}

}  // namespace luminal::codegen

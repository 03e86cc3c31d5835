#include "luminal/codegen/llvm/convolution_choices.h"

#include "luminal/codegen/llvm/convolution_kernel.h"
#include "luminal/codegen/llvm/schedule_reader.h"
#include "luminal/codegen/llvm/schedule_values.h"

namespace luminal::codegen {
namespace {

constexpr int kMostRows = 64;
constexpr int kMostPixels = 512;

ConvolutionChoices read(const Schedule& schedule, const ConvolutionSizes& sizes) {
  ScheduleReader reader(schedule);
  ConvolutionChoices choices;
  choices.mr = reader.small("mr", 1, kMostRows);
  choices.nr = reader.small("nr", 1, kMostPixels);
  choices.blocks.rows = reader.number("rows", 1, sizes.height);
  choices.blocks.columns = reader.number("columns", 1, sizes.width);
  choices.blocks.tiles = reader.number("tiles", 1, sizes.filter_rows);
  choices.blocks.filter_outer = reader.flag("order");
  choices.blocks.along =
      reader.flag("along") ? ConvolutionLanes::kFilters : ConvolutionLanes::kPixels;
  choices.chunk = reader.number("chunk", 0, 1 << 20);
  choices.threads = reader.small("threads", 0, 1024);
  reader.finish();
  return choices;
}

std::optional<std::string> refusal_of(const ConvolutionChoices& choices,
                                      const ConvolutionSizes& sizes, const CpuTarget& target) {
  if (choices.nr % sizes.lanes != 0)
    return fmt::format("nr is no multiple of the {} lanes", sizes.lanes);
  const int vectors = choices.nr / sizes.lanes;
  if (!tile_fits(choices.mr * vectors, vectors, target))
    return fmt::format("the sums do not fit the {} registers", target.vector_registers());
  if (choices.blocks.along == ConvolutionLanes::kFilters) {
    if (sizes.filter_rows < 2) return "there is only one filter row";
    if (choices.mr > sizes.width) return fmt::format("rows have only {} pixels", sizes.width);
    if (choices.nr >= sizes.filter_rows + sizes.lanes)
      return fmt::format("there are only {} filter rows", sizes.filter_rows);
    if (choices.blocks.columns < sizes.width && choices.blocks.columns % choices.mr != 0)
      return fmt::format("columns is no multiple of the {} pixels of a tile", choices.mr);
  } else if (choices.mr > sizes.filter_rows) {
    return fmt::format("there are only {} filter rows", sizes.filter_rows);
  }
  if (choices.blocks.columns < sizes.width && choices.blocks.rows > 1)
    return "rows of pixels are cut only one by one";
  return std::nullopt;
}

}  // namespace

Schedule schedule_of(const ConvolutionChoices& choices) {
  const int64_t along = choices.blocks.along == ConvolutionLanes::kFilters ? 1 : 0;
  return Schedule(std::string(kConvolutionFamily), {{"mr", choices.mr},
                                                    {"nr", choices.nr},
                                                    {"rows", choices.blocks.rows},
                                                    {"columns", choices.blocks.columns},
                                                    {"tiles", choices.blocks.tiles},
                                                    {"order", choices.blocks.filter_outer ? 1 : 0},
                                                    {"along", along},
                                                    {"chunk", choices.chunk},
                                                    {"threads", choices.threads}});
}

ConvolutionChoices read_convolution(const Schedule& schedule, const ConvolutionSizes& sizes,
                                    const CpuTarget& target) {
  const ConvolutionChoices choices = read(schedule, sizes);
  if (const auto why = refusal_of(choices, sizes, target))
    throw schedule_error(schedule, "{}", *why);
  return choices;
}

ScheduleSpace convolution_space(const ConvolutionChoices& chosen, const ConvolutionSizes& sizes,
                                const CpuTarget& target, const CpuKernelOptions& options) {
  ScheduleSpace space;
  space.start = schedule_of(chosen);
  SpaceBuilder builder(space);
  const bool filters_along = chosen.blocks.along == ConvolutionLanes::kFilters;
  builder.add_up_to("mr", {1, 2, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 16, 24},
                    filters_along ? sizes.width : sizes.filter_rows);
  std::vector<int64_t> pixels;
  for (const int64_t vectors : {1, 2, 3, 4, 6}) pixels.push_back(vectors * sizes.lanes);
  builder.add("nr", pixels);
  builder.add_up_to("rows", {1, 2, 3, 4, 6, 7, 8, 14, 16, 28, 32, 56}, sizes.height);
  if (sizes.height == 1) {
    std::vector<int64_t> columns;
    for (int64_t count = 128; count < sizes.width && count <= 4096; count *= 2)
      columns.push_back(count);
    builder.add("columns", columns);
  }
  const int64_t tile_filters = filters_along ? chosen.nr : chosen.mr;
  builder.add_up_to("tiles", {1, 2, 3, 4, 6, 8, 16},
                    (sizes.filter_rows + tile_filters - 1) / tile_filters);
  builder.add("order", {0, 1});
  builder.add("chunk", {0, 1, 2, 4});
  builder.add_threads(options.threads);
  space.refusal = [sizes, target](const Schedule& schedule) {
    return refusal_of(read(schedule, sizes), sizes, target);
  };
  return space;
}

}  // namespace luminal::codegen

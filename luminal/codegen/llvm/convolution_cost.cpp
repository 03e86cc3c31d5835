#include "luminal/codegen/llvm/convolution_cost.h"

#include <algorithm>

namespace luminal::codegen {
namespace {

/// Fewer sums wait for each other.
constexpr double kEnoughSums = 8;
/// What starting a tile costs, storing one of its sums, and turning one into a row of pixels.
constexpr double kPerTile = 30;
constexpr double kPerSum = 3;
constexpr double kPerTurn = 5;
/// What a load of a step costs where as many products begin in a cycle as loads: a tile of 28
/// pixels times one vector takes 1.35 times as long on a Zen 5 as 14 times two. Else it costs
/// nothing.
constexpr double kPerLoad = 1.3;
/// What laying out a vector of a filter, and of an image whose phases are set apart, costs.
constexpr double kPerFilterVector = 6;
constexpr double kPerPhaseVector = 8;
/// Sums of one item stay near; items that are too small are not worth handing out.
constexpr int64_t kMostPixels = 448;
constexpr int64_t kProductsOfItem = 150000;
constexpr double kPerItem = 100;
/// More items are better where the longest thread takes hardly longer for it.
constexpr double kAboutEqual = 1.01;

int64_t ceil_ratio(int64_t a, int64_t b) { return (a + b - 1) / b; }

double tile_cost(const ConvolutionProblem& problem, int64_t pixels, int64_t vectors) {
  const auto sums = static_cast<double>(pixels * vectors);
  const double loads = problem.loads_bind ? kPerLoad * static_cast<double>(pixels + vectors) : 0;
  return std::max({sums, loads, kEnoughSums}) * static_cast<double>(problem.steps) + kPerTile +
         (kPerSum + kPerTurn) * sums;
}

/// A row of pixels for one panel of filters.
double row_cost(const ConvolutionProblem& problem, const FilterTile& tile) {
  const int64_t whole = problem.width / tile.pixels;
  const int64_t tail = problem.width % tile.pixels;
  const double tails = tail > 0 ? tile_cost(problem, tail, tile.vectors) : 0;
  return static_cast<double>(whole) * tile_cost(problem, tile.pixels, tile.vectors) + tails;
}

}  // namespace

FilterTile choose_filter_tile(const ConvolutionProblem& problem, const CpuTarget& target) {
  constexpr int kMostVectors = 4;
  const int64_t filter_vectors = ceil_ratio(problem.filters, problem.lanes);
  FilterTile best;
  best.cost = -1;
  for (int vectors = 1; vectors <= std::min<int64_t>(kMostVectors, filter_vectors); ++vectors)
    for (int pixels = 1; pixels <= problem.width && tile_fits(pixels * vectors, vectors, target);
         ++pixels) {
      FilterTile tile{pixels, vectors, 0};
      tile.cost = static_cast<double>(problem.planes * problem.height) *
                  static_cast<double>(ceil_ratio(filter_vectors, vectors)) *
                  row_cost(problem, tile);
      if (best.cost < 0 || tile.cost < best.cost) best = tile;
    }
  if (!problem.filter_constant)
    best.cost += static_cast<double>(filter_vectors * problem.steps) * kPerFilterVector;
  return best;
}

double cost_of_pixels(const ConvolutionProblem& problem) {
  const int64_t pixels = (problem.height - 1) * problem.pitch + problem.width;
  const auto vectors = static_cast<double>(ceil_ratio(pixels, problem.lanes));
  const auto filters = static_cast<double>(problem.filters);
  double cost = vectors * filters * (static_cast<double>(problem.steps) + kPerSum);
  if (problem.stride > 1)
    cost += vectors * static_cast<double>(problem.steps) / static_cast<double>(problem.stride) *
            kPerPhaseVector;
  return cost * static_cast<double>(problem.planes);
}

ConvolutionBlocks choose_filter_blocks(const ConvolutionProblem& problem, const FilterTile& tile) {
  ConvolutionBlocks blocks;
  blocks.along = ConvolutionLanes::kFilters;
  blocks.columns = problem.width;
  if (problem.width > 2 * kMostPixels) blocks.columns = kMostPixels / tile.pixels * tile.pixels;
  const int64_t filters = int64_t{tile.vectors} * problem.lanes;
  const int64_t panels = ceil_ratio(problem.filters, filters);
  const int64_t others = problem.planes * panels * ceil_ratio(problem.width, blocks.columns);
  const int64_t row_products = blocks.columns * filters * problem.steps;
  const int64_t most = std::clamp<int64_t>(kMostPixels / blocks.columns, 1, problem.height);
  const int64_t least = std::min(most, ceil_ratio(kProductsOfItem, row_products));
  const auto cost = [&](int64_t rows) {
    const int64_t items = others * ceil_ratio(problem.height, rows);
    return static_cast<double>(ceil_ratio(items, std::max(1, problem.threads))) *
           (static_cast<double>(rows) * row_cost(problem, tile) + kPerItem);
  };
  blocks.rows = blocks.columns < problem.width ? 1 : least;
  if (blocks.columns < problem.width) return blocks;
  double best = cost(least);
  for (int64_t rows = least + 1; rows <= most; ++rows) best = std::min(best, cost(rows));
  while (cost(blocks.rows) > best * kAboutEqual) ++blocks.rows;
  return blocks;
}

}  // namespace luminal::codegen

#include <algorithm>

#include "luminal/codegen/llvm/gemm.h"

namespace luminal::codegen {
namespace {

using graph::DType;
using runtime::CpuFeature;

GemmMode mode_of(const GemmProblem& problem, const CpuTarget& target) {
  if (problem.a == DType::kBF16 && problem.b == DType::kBF16 && !problem.exact_bf16 &&
      target.has(CpuFeature::kAvx512bf16))
    return GemmMode::kDotBf16;
  if (problem.a == DType::kI8 && problem.b == DType::kI8 && problem.c != DType::kI64 &&
      target.has(CpuFeature::kAvx512vnni))
    return GemmMode::kDotI8;
  return GemmMode::kFma;
}

GemmSpec base_spec(const GemmProblem& problem, const CpuTarget& target) {
  GemmSpec spec;
  spec.a = problem.a;
  spec.b = problem.b;
  spec.c = problem.c;
  spec.b_transposed = problem.b_transposed;
  spec.mode = mode_of(problem, target);
  return spec;
}

/// How B should come. Reading it in place saves packing for few rows; constants are packed ahead.
GemmB source_of(const GemmProblem& problem, const GemmSpec& spec, const GemmLayout& layout) {
  if (problem.b_constant) return GemmB::kPrepacked;
  const bool readable =
      spec.mode == GemmMode::kFma && !problem.b_transposed && problem.b == layout.accumulator();
  return readable && problem.m < 256 ? GemmB::kInPlace : GemmB::kPackedHere;
}

/// Whether a tile fits the registers: sums, one row of B, one broadcast (and a product without
/// fma).
bool fits(int mr, int vectors, const CpuTarget& target) {
  return mr * vectors + vectors + (target.has_fma() ? 1 : 2) <= target.vector_registers();
}

void set_tile(GemmSpec& spec, const GemmProblem& problem, const GemmLayout& layout,
              const CpuTarget& target, int mr, int vectors) {
  spec.mr = static_cast<int>(std::min<int64_t>(mr, std::max<int64_t>(1, problem.m)));
  spec.nr = vectors * layout.lanes();
  // Fewer than eight sums wait for each other; more steps of k at once keep the units busy.
  const int sums = spec.mr * vectors;
  spec.k_unroll = 1;
  while (spec.k_unroll < 8 && sums * spec.k_unroll < 8 &&
         fits(spec.mr * spec.k_unroll * 2, vectors, target))
    spec.k_unroll *= 2;
}

/// Rows per item: a panel's rows are cut only where panels alone would leave threads idle.
void set_row_block(GemmSpec& spec, const GemmProblem& problem, const GemmLayout& layout) {
  const int64_t panels = problem.batch * layout.panels(problem.n);
  const int64_t wanted = 8 * int64_t{problem.threads};
  if (problem.threads == 1 || panels >= wanted || problem.m <= spec.mr) return;
  const int64_t tiles = (problem.m + spec.mr - 1) / spec.mr;
  const int64_t blocks = std::min(tiles, (wanted + panels - 1) / panels);
  spec.row_block = static_cast<int>((tiles + blocks - 1) / blocks) * spec.mr;
}

}  // namespace

std::vector<GemmSpec> gemm_candidates(const GemmProblem& problem, const CpuTarget& target) {
  struct Tile {
    int mr;
    int vectors;
  };
  constexpr Tile kWide[] = {{8, 2}, {6, 4}, {4, 4}, {12, 2}, {7, 2}, {14, 2}, {16, 1}};
  constexpr Tile kNarrow[] = {{6, 2}, {4, 2}, {5, 2}, {3, 3}, {8, 1}};
  const auto tiles = target.vector_registers() == 32 ? std::span<const Tile>(kWide)
                                                     : std::span<const Tile>(kNarrow);
  std::vector<GemmSpec> result;
  const auto add = [&](int mr, int vectors) {
    GemmSpec spec = base_spec(problem, target);
    const GemmLayout lanes_only(spec, target);
    if (!fits(mr, vectors, target)) return;
    set_tile(spec, problem, lanes_only, target, mr, vectors);
    const GemmLayout layout(spec, target);
    spec.b_source = source_of(problem, spec, layout);
    set_row_block(spec, problem, layout);
    if (std::none_of(result.begin(), result.end(),
                     [&](const GemmSpec& other) { return to_string(other) == to_string(spec); }))
      result.push_back(spec);
  };
  // One or two rows: a wide panel is one long stream with enough sums in flight.
  if (problem.m <= 4 && target.vector_registers() == 32) add(static_cast<int>(problem.m), 4);
  const GemmLayout layout(base_spec(problem, target), target);
  // A matrix of one vector's width would waste half of a wider panel.
  if (problem.n <= layout.lanes()) add(target.vector_registers() == 32 ? 16 : 8, 1);
  for (const Tile& tile : tiles) add(tile.mr, tile.vectors);
  return result;
}

GemmSpec choose_gemm(const GemmProblem& problem, const CpuTarget& target) {
  return gemm_candidates(problem, target).front();
}

}  // namespace luminal::codegen

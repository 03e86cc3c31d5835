#include "luminal/codegen/llvm/winograd_code.h"

#include <algorithm>

namespace luminal::codegen {
namespace {

using symbolic::Expr;

int64_t ceil_ratio(int64_t a, int64_t b) { return (a + b - 1) / b; }

}  // namespace

int64_t WinogradCode::channel_count() const {
  int64_t result = 1;
  for (const Expr& axis : channels) result *= *axis.axis_extent().constant_value();
  return result;
}

int WinogradCode::squares_at_once() const {
  constexpr int kFewest = 4;
  int result = lanes;
  while (result > kFewest && result / 2 >= across()) result /= 2;
  return result;
}

int64_t WinogradCode::filter_rows() const { return *plan.base.m.extent.constant_value(); }

Expr WinogradCode::all_rows() const {
  Expr result = down();
  for (const Expr& axis : plan.outer) result = result * axis.axis_extent();
  return result;
}

Expr WinogradCode::items() const { return ceil_div(all_rows(), rows) * parts; }

int64_t WinogradCode::part_rows() const {
  return ceil_ratio(ceil_ratio(filter_rows(), spec.mr), parts) * spec.mr;
}

int64_t WinogradCode::pitch() const {
  // Whole tiles are read, and whole vectors written at the end of every row.
  const int64_t panels = ceil_ratio(rows * across(), spec.nr);
  const int64_t written =
      (rows - 1) * across() + ceil_ratio(across(), squares_at_once()) * squares_at_once();
  const int64_t vectors = std::max(panels * spec.nr / lanes, ceil_ratio(written, lanes));
  // Rows of one panel lie one after the other. Else an odd number of vectors, so that lines of
  // neighbouring rows do not fight for one set of the cache.
  return (panels == 1 ? vectors : vectors | 1) * lanes;
}

int64_t WinogradCode::square_place() const { return channel_count() * pitch() + lanes; }
int64_t WinogradCode::sum_place() const { return spec.mr * pitch() + lanes; }

int64_t WinogradCode::scratch_bytes() const {
  return kSquarePlaces * (square_place() + sum_place()) * (graph::bits(spec.accumulator) / 8);
}

std::string to_string(const WinogradCode& code) {
  return fmt::format(
      "conv {} by squares of 2x2 tile {}x{} tails {}x{} blocks of {} rows of {}, {} parts",
      code.spec.accumulator, code.spec.mr, code.spec.nr, code.spec.row_tail, code.spec.column_tail,
      code.rows, code.across(), code.parts);
}

}  // namespace luminal::codegen

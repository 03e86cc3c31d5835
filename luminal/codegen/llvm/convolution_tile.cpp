#include "luminal/codegen/llvm/convolution_tile.h"

namespace luminal::codegen {
namespace {

using llvm::Value;

/// Products of one tile that are written out without a loop.
constexpr int64_t kMostProducts = 160;
/// Steps of one table.
constexpr int64_t kMostPlaces = 2048;

bool are_even(const std::vector<int64_t>& places) {
  for (size_t k = 1; k < places.size(); ++k)
    if (places[k] != places[1] * static_cast<int64_t>(k)) return false;
  return true;
}

}  // namespace

Carried WindowTile::run_over_k(const Carried& initial) {
  Value* a = argument(kTileA);
  Value* b = argument(kTileB);
  return pixels_along() ? over(0, initial, a, b) : over(0, initial, b, a);
}

Value* WindowTile::a_row_bytes() {
  return builder_.index((pixels_along() ? code_.filter.row : code_.plan.pixel_step) * bytes());
}

int64_t WindowTile::steps_from(size_t axis) const {
  int64_t steps = 1;
  for (size_t k = axis; k < code_.plan.steps.size(); ++k)
    steps *= static_cast<int64_t>(code_.plan.steps[k].image.size());
  return steps;
}

Carried WindowTile::multiply_at(llvm::ArrayRef<Value*> sums, Value* filter, Value* image) {
  return pixels_along() ? multiply(sums, filter, image, false)
                        : multiply(sums, image, filter, false);
}

Carried WindowTile::over(size_t axis, const Carried& sums, Value* filter, Value* image) {
  if (axis == code_.plan.steps.size()) return multiply_at(sums, filter, image);
  const std::vector<int64_t>& places = code_.plan.steps[axis].image;
  const int64_t filter_step = code_.filter.steps[axis];
  const auto count = static_cast<int64_t>(places.size());
  // Steps written out would keep each pixel of a line in a register for the next step of the
  // window: there are not enough for that where pixels are broadcast.
  if (!pixels_along() && steps_from(axis) <= kMostPlaces)
    return loop_over(
        all_places_from(axis), code_.filter.steps.back(), sums, filter, image,
        [&](const Carried& now, Value* f, Value* i) { return multiply_at(now, f, i); });
  if (count == 1 ||
      (pixels_along() && steps_from(axis) * int64_t{rows_} * vectors_ <= kMostProducts)) {
    Carried now = sums;
    for (int64_t k = 0; k < count; ++k)
      now = over(axis + 1, now, builder_.offset(filter, k * filter_step * bytes()),
                 builder_.offset(image, places[static_cast<size_t>(k)] * bytes()));
    return now;
  }
  return loop_over(
      places, filter_step, sums, filter, image,
      [&](const Carried& now, Value* f, Value* i) { return over(axis + 1, now, f, i); });
}

Carried WindowTile::loop_over(const std::vector<int64_t>& image_steps, int64_t filter_step,
                              const Carried& sums, Value* filter, Value* image,
                              llvm::function_ref<Carried(const Carried&, Value*, Value*)> each) {
  Value* places = are_even(image_steps) ? nullptr : table(image_steps);
  const int64_t apart = image_steps.size() > 1 ? image_steps[1] : 0;
  return builder_.loop(
      builder_.index(0), builder_.index(static_cast<int64_t>(image_steps.size())),
      builder_.index(1), sums, [&](Value* k, llvm::ArrayRef<Value*> now) {
        Value* at = places == nullptr ? ir_.CreateMul(k, builder_.index(apart * bytes()))
                                      : builder_.load(builder_.i64(),
                                                      builder_.offset(places, ir_.CreateShl(k, 3)));
        Value* from = ir_.CreateMul(k, builder_.index(filter_step * bytes()));
        return each(Carried(now.begin(), now.end()), builder_.offset(filter, from),
                    builder_.offset(image, at));
      });
}

/// Where all steps of an axis and those inside of it are in the image, innermost first.
std::vector<int64_t> WindowTile::all_places_from(size_t axis) const {
  std::vector<int64_t> all = {0};
  for (size_t k = axis; k < code_.plan.steps.size(); ++k) {
    std::vector<int64_t> next;
    for (const int64_t outer : all)
      for (const int64_t inner : code_.plan.steps[k].image) next.push_back(outer + inner);
    all = std::move(next);
  }
  return all;
}

/// Byte offsets as constant data.
Value* WindowTile::table(const std::vector<int64_t>& places) {
  std::vector<uint64_t> offsets;
  for (const int64_t place : places) offsets.push_back(static_cast<uint64_t>(place * bytes()));
  llvm::Constant* data = llvm::ConstantDataArray::get(ir_.getContext(), offsets);
  return new llvm::GlobalVariable(builder_.module(), data->getType(), true,
                                  llvm::GlobalValue::PrivateLinkage, data, "steps");
}

}  // namespace luminal::codegen

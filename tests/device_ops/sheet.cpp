#include "sheet.h"

#include "luminal/graph/dim_binding.h"
#include "random_values.h"

namespace luminal::device_ops {
namespace {

using test::Random;

Array special_values(DType dtype, const Extents& extents) {
  const std::vector<Scalar> values = test::special_scalars(dtype);
  Array array(dtype, extents);
  for (int64_t i = 0; i < array.size(); ++i)
    array.set(i, values[static_cast<size_t>(i) % values.size()]);
  return array;
}

Scalar ordinary(Random& random, DType dtype, double low, double high) {
  if (graph::is_bool(dtype)) return Scalar::of(dtype, random.one_in(2));
  const double value = low + (high - low) * random.unit();
  if (graph::is_float(dtype)) return Scalar::of(dtype, value);
  const int64_t lowest = graph::is_unsigned(dtype) ? 0 : static_cast<int64_t>(low * 2);
  return Scalar::of(dtype, random.between(lowest, static_cast<int64_t>(high * 2)));
}

Scalar element(Random& random, DType dtype, Fill fill) {
  switch (fill) {
    case Fill::kRare:
      if (random.one_in(40)) return test::random_scalar(random, dtype);
      return ordinary(random, dtype, -2, 2);
    case Fill::kPlain:
      return ordinary(random, dtype, -2, 2);
    case Fill::kNearOne:
      return graph::is_float(dtype) ? ordinary(random, dtype, 0.5, 1.5)
                                    : ordinary(random, dtype, -1, 1);
    case Fill::kIndex:
      return Scalar::of(dtype, random.between(0, 3));
    default:
      return test::random_scalar(random, dtype);
  }
}

}  // namespace

const char* name(Seen seen) {
  switch (seen) {
    case Seen::kWhole:
      return "whole";
    case Seen::kSliced:
      return "sliced";
    case Seen::kFlipped:
      return "flipped";
    case Seen::kPermuted:
      return "permuted";
    case Seen::kBroadcast:
      return "broadcast";
    case Seen::kPadded:
      return "padded";
    case Seen::kWindows:
      return "windows";
    case Seen::kReshaped:
      return "reshaped";
  }
  return "?";
}

std::vector<Tensor> Sheet::results() const {
  std::vector<Tensor> results;
  for (const Case& each : cases_) results.push_back(each.result);
  return results;
}

std::map<std::string, Array> Sheet::data(int64_t n) const {
  std::map<std::string, Array> data;
  for (const Source& source : sources_) {
    const Extents extents = graph::extents_of(source.shape, {{"n", n}});
    if (source.fill == Fill::kSpecial) {
      data.emplace(source.name, special_values(source.dtype, extents));
      continue;
    }
    Random random(source.seed);
    Array array(source.dtype, extents);
    for (int64_t i = 0; i < array.size(); ++i)
      array.set(i, element(random, source.dtype, source.fill));
    data.emplace(source.name, std::move(array));
  }
  return data;
}

std::vector<int> Cell::ways() const {
  std::vector<int> ways;
  for (int v = 0; v < kSeenCount; ++v)
    if (thorough() || (v - static_cast<int>(dtype_) % kSeenCount + kSeenCount) % 4 == 0)
      ways.push_back(v);
  return ways;
}

Tensor Cell::input(DType dtype, Shape shape, Fill fill) {
  const std::string name = fmt::format("x{}", sheet_.sources_.size());
  sheet_.sources_.push_back({name, dtype, shape, fill, sheet_.random_.bits()});
  return sheet_.graph_.input(name, std::move(shape), dtype);
}

Tensor Cell::seen(DType dtype, Seen how, Fill fill) {
  switch (how) {
    case Seen::kWhole:
      return input(dtype, {4, 65}, fill);
    case Seen::kSliced:
      return slice(input(dtype, {5, 133}, fill), {{1, 5}, {2, 132, 2}});
    case Seen::kFlipped:
      return slice(input(dtype, {4, 130}, fill), 1, {.step = -2});
    case Seen::kPermuted:
      return transpose(input(dtype, {65, 4}, fill));
    case Seen::kBroadcast:
      return expand(input(dtype, {4, 1}, fill), {4, 65});
    case Seen::kPadded:
      return pad(input(dtype, {3, 60}, fill), {{1, 0}, {2, 3}});
    case Seen::kWindows:
      return unfold(input(dtype, {71}, fill), 0, 65, 2);
    case Seen::kReshaped:
      return reshape(permute(input(dtype, {13, 4, 5}, fill), {1, 2, 0}), {4, 65});
  }
  return {};
}

void Cell::add(std::string what, const Tensor& result, const test::Tolerance& bound) {
  sheet_.cases_.push_back({dtype_, std::move(what), result, bound});
}

}  // namespace luminal::device_ops

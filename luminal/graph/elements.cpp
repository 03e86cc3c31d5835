#include "luminal/graph/elements.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>

#include "luminal/graph/dispatch.h"
#include "luminal/support/check.h"

namespace luminal::graph {
namespace {

/// The number a 4-bit pattern stands for.
template <DType kDType>
int64_t from_nibble(uint32_t pattern) {
  const auto value = static_cast<int64_t>(pattern);
  return kDType == DType::kI4 && value >= 8 ? value - 16 : value;
}

/// All 256 values of an 8-bit float; decoding them one by one is what f8 loads would spend their
/// time on.
template <typename Storage>
const std::array<double, 256>& decoded_bytes() {
  static const std::array<double, 256> table = [] {
    std::array<double, 256> values{};
    for (size_t bits = 0; bits < values.size(); ++bits)
      values[bits] = static_cast<double>(Storage::from_bits(static_cast<uint8_t>(bits)));
    return values;
  }();
  return table;
}

template <typename Storage, typename Number>
void load_strided(const Storage* source, int64_t stride, int64_t count, Number* numbers) {
  if (stride == 0) {
    std::fill_n(numbers, count, static_cast<Number>(*source));
  } else if (stride == 1) {
    for (int64_t i = 0; i < count; ++i) numbers[i] = static_cast<Number>(source[i]);
  } else {
    for (int64_t i = 0; i < count; ++i) numbers[i] = static_cast<Number>(source[i * stride]);
  }
}

template <typename Number>
void load_numbers(DType dtype, const std::byte* data, const ElementRun& run, Number* numbers) {
  if (run.count == 0) return;
  dispatch(dtype, [&](auto tag) {
    using Tag = decltype(tag);
    using Storage = typename Tag::Storage;
    if constexpr (!std::is_same_v<typename Tag::Compute, Number>) {
      throw InternalError(fmt::format("{} loaded as the other kind of number", dtype));
    } else if constexpr (Tag::kPacked) {
      for (int64_t i = 0; i < run.count; ++i)
        numbers[i] = from_nibble<Tag::kDType>(load_nibble(data, run.position + i * run.stride));
    } else if constexpr (is_float(Tag::kDType) && sizeof(Storage) == 1) {
      const std::array<double, 256>& table = decoded_bytes<Storage>();
      for (int64_t i = 0; i < run.count; ++i)
        numbers[i] = table[std::to_integer<size_t>(data[run.position + i * run.stride])];
    } else {
      load_strided(reinterpret_cast<const Storage*>(data) + run.position, run.stride, run.count,
                   numbers);
    }
  });
}

template <typename Number>
void store_numbers(DType dtype, std::byte* data, int64_t position,
                   std::span<const Number> numbers) {
  dispatch(dtype, [&](auto tag) {
    using Tag = decltype(tag);
    using Storage = typename Tag::Storage;
    if constexpr (!std::is_same_v<typename Tag::Compute, Number>) {
      throw InternalError(fmt::format("{} stored from the other kind of number", dtype));
    } else if constexpr (Tag::kPacked) {
      for (size_t i = 0; i < numbers.size(); ++i)
        store_nibble(data, position + static_cast<int64_t>(i), static_cast<uint32_t>(numbers[i]));
    } else {
      Storage* target = reinterpret_cast<Storage*>(data) + position;
      for (size_t i = 0; i < numbers.size(); ++i) target[i] = static_cast<Storage>(numbers[i]);
    }
  });
}

template <typename Word>
void copy_words(const std::byte* data, const ElementRun& run, std::byte* target, int64_t position) {
  const std::byte* from = data + run.position * static_cast<int64_t>(sizeof(Word));
  std::byte* to = target + position * static_cast<int64_t>(sizeof(Word));
  if (run.stride == 1) {
    std::memcpy(to, from, static_cast<size_t>(run.count) * sizeof(Word));
    return;
  }
  const int64_t step = run.stride * static_cast<int64_t>(sizeof(Word));
  for (int64_t i = 0; i < run.count; ++i, from += step, to += sizeof(Word))
    std::memcpy(to, from, sizeof(Word));
}

/// The nearest double, but with the last bit set if anything was lost (round to odd): rounding it
/// again to a format of at most 50 bits gives what one rounding would have given.
double to_double_sticky(int64_t value) {
  const auto nearest = static_cast<double>(value);
  constexpr int64_t kExact = int64_t{1} << 53;
  if (value >= -kExact && value <= kExact) return nearest;
  const uint64_t magnitude =
      value < 0 ? uint64_t{0} - static_cast<uint64_t>(value) : static_cast<uint64_t>(value);
  const int dropped = 64 - 53 - std::countl_zero(magnitude);
  if (dropped <= 0) return nearest;
  const uint64_t lost = magnitude & ((uint64_t{1} << dropped) - 1);
  uint64_t kept = magnitude >> dropped;
  if (lost != 0) kept |= 1;
  const double result = std::ldexp(static_cast<double>(kept), dropped);
  return value < 0 ? -result : result;
}

int64_t truncate(double value, double below, double above, int64_t lowest, int64_t highest) {
  if (std::isnan(value)) return 0;
  if (value <= below) return lowest;
  if (value >= above) return highest;
  return static_cast<int64_t>(value);
}

}  // namespace

void load(DType dtype, const std::byte* data, const ElementRun& run, double* numbers) {
  load_numbers(dtype, data, run, numbers);
}

void load(DType dtype, const std::byte* data, const ElementRun& run, int64_t* numbers) {
  load_numbers(dtype, data, run, numbers);
}

void store(DType dtype, std::byte* data, int64_t position, std::span<const double> numbers) {
  store_numbers(dtype, data, position, numbers);
}

void store(DType dtype, std::byte* data, int64_t position, std::span<const int64_t> numbers) {
  store_numbers(dtype, data, position, numbers);
}

void copy_bits(int width, const std::byte* data, const ElementRun& run, std::byte* target,
               int64_t target_position) {
  if (run.count == 0) return;
  switch (width) {
    case 64:
      return copy_words<uint64_t>(data, run, target, target_position);
    case 32:
      return copy_words<uint32_t>(data, run, target, target_position);
    case 16:
      return copy_words<uint16_t>(data, run, target, target_position);
    case 8:
      return copy_words<uint8_t>(data, run, target, target_position);
    case 4:
      for (int64_t i = 0; i < run.count; ++i)
        store_nibble(target, target_position + i, load_nibble(data, run.position + i * run.stride));
      return;
    default:
      throw InternalError(fmt::format("elements of {} bits", width));
  }
}

void round_floats(DType dtype, std::span<double> numbers) {
  if (dtype == DType::kF64) return;
  dispatch(dtype, [&](auto tag) {
    using Tag = decltype(tag);
    if constexpr (is_float(Tag::kDType)) {
      for (double& number : numbers)
        number = static_cast<double>(static_cast<typename Tag::Storage>(number));
    } else {
      throw InternalError(fmt::format("floats rounded to {}", dtype));
    }
  });
}

void wrap_integers(DType dtype, std::span<int64_t> numbers) {
  if (dtype == DType::kI64) return;
  dispatch(dtype, [&](auto tag) {
    using Tag = decltype(tag);
    if constexpr (is_float(Tag::kDType)) {
      throw InternalError(fmt::format("integers wrapped to {}", dtype));
    } else if constexpr (Tag::kPacked) {
      for (int64_t& number : numbers)
        number = from_nibble<Tag::kDType>(static_cast<uint32_t>(number) & 15U);
    } else {
      for (int64_t& number : numbers)
        number = static_cast<int64_t>(static_cast<typename Tag::Storage>(number));
    }
  });
}

void floats_to_integers(DType dtype, std::span<const double> numbers, int64_t* results) {
  if (is_bool(dtype)) {
    for (size_t i = 0; i < numbers.size(); ++i) results[i] = numbers[i] != 0.0 ? 1 : 0;
    return;
  }
  LUMINAL_CHECK(is_integer(dtype), "cast of floats to {} as integers", dtype);
  const int width = bits(dtype);
  const int64_t highest = is_unsigned(dtype) ? (int64_t{1} << width) - 1
                                             : std::numeric_limits<int64_t>::max() >> (64 - width);
  const int64_t lowest = is_unsigned(dtype) ? 0 : -highest - 1;
  // 2^63 - 1 is no double; its neighbour above is the first value that saturates.
  const double above = width == 64 ? 0x1p63 : static_cast<double>(highest);
  const auto below = static_cast<double>(lowest);
  for (size_t i = 0; i < numbers.size(); ++i)
    results[i] = truncate(numbers[i], below, above, lowest, highest);
}

void integers_to_floats(DType dtype, std::span<const int64_t> numbers, double* results) {
  if (dtype == DType::kF64) {
    for (size_t i = 0; i < numbers.size(); ++i) results[i] = static_cast<double>(numbers[i]);
    return;
  }
  for (size_t i = 0; i < numbers.size(); ++i) results[i] = to_double_sticky(numbers[i]);
  round_floats(dtype, {results, numbers.size()});
}

void cast_elements(DType from, const std::byte* data, DType to, std::byte* target, int64_t count) {
  constexpr int64_t kBlock = 1024;
  std::array<double, kBlock> floats;
  std::array<int64_t, kBlock> integers;
  if (from == to) {
    copy_bits(bits(from), data, {0, 1, count}, target, 0);
    return;
  }
  for (int64_t begin = 0; begin < count; begin += kBlock) {
    const auto size = static_cast<size_t>(std::min(kBlock, count - begin));
    const ElementRun run{begin, 1, static_cast<int64_t>(size)};
    if (is_float(from)) {
      load(from, data, run, floats.data());
      if (!is_float(to)) floats_to_integers(to, {floats.data(), size}, integers.data());
    } else {
      load(from, data, run, integers.data());
      if (is_float(to)) integers_to_floats(to, {integers.data(), size}, floats.data());
    }
    if (is_float(to)) {
      store(to, target, begin, std::span<const double>(floats.data(), size));
    } else {
      store(to, target, begin, std::span<const int64_t>(integers.data(), size));
    }
  }
}

}  // namespace luminal::graph

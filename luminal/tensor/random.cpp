#include "luminal/tensor/random.h"

#include <array>
#include <cmath>
#include <numbers>

#include "luminal/support/error.h"
#include "luminal/tensor/arithmetic.h"
#include "luminal/tensor/build.h"
#include "luminal/tensor/cast.h"
#include "luminal/tensor/creation.h"
#include "luminal/tensor/math.h"

namespace luminal {
namespace {

struct Words {
  Tensor low;
  Tensor high;
};

Tensor word(const Tensor& like, uint32_t value) {
  return build::full_like(like, Scalar::of(u32, static_cast<int64_t>(value)));
}

Tensor rotate_left(const Tensor& x, int amount) {
  return bit_or(shift_left(x, amount), shift_right(x, 32 - amount));
}

/// Threefry-2x32 with 20 rounds (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3",
/// 2011).
Words threefry(const Words& counter, uint32_t key_low, uint32_t key_high) {
  constexpr std::array kRotations{13, 15, 26, 6, 17, 29, 16, 24};
  const std::array<uint32_t, 3> keys{key_low, key_high, 0x1BD11BDAu ^ key_low ^ key_high};
  Tensor x0 = counter.low + word(counter.low, keys[0]);
  Tensor x1 = counter.high + word(counter.high, keys[1]);
  for (uint32_t round = 0; round < 20; ++round) {
    x0 = x0 + x1;
    x1 = bit_xor(rotate_left(x1, kRotations[round % 8]), x0);
    if (round % 4 != 3) continue;
    const uint32_t injection = round / 4 + 1;
    x0 = x0 + word(x0, keys[injection % 3]);
    x1 = x1 + word(x1, keys[(injection + 1) % 3] + injection);
  }
  return {x0, x1};
}

/// Two random words for each element of `shape`.
Words random_words(const Graph& graph, const Shape& shape, uint64_t seed) {
  const Dim two_to_32 = int64_t{1} << 32;
  auto position = [&](std::span<const Dim> i) {
    Dim linear = 0;
    for (size_t k = 0; k < shape.size(); ++k) linear = linear * shape[k] + i[k];
    return linear;
  };
  Tensor low = iota(
      graph, shape, [&](auto i) { return symbolic::mod(position(i), two_to_32); }, u32);
  Tensor high = iota(
      graph, shape, [&](auto i) { return symbolic::floor_div(position(i), two_to_32); }, u32);
  return threefry({low, high}, static_cast<uint32_t>(seed), static_cast<uint32_t>(seed >> 32));
}

/// The top 24 bits as a fraction in [0, 1), exact in f32.
Tensor fraction(const Tensor& bits) { return cast(shift_right(bits, 8), f32) * 0x1p-24; }

/// 53 bits of both words, exact in f64.
Tensor fraction_f64(const Words& words) {
  Tensor high = cast(shift_right(words.low, 5), f64);
  Tensor low = cast(shift_right(words.high, 6), f64);
  return (high * 0x1p26 + low) * 0x1p-53;
}

void check_float(std::string_view operation, DType dtype) {
  if (!graph::is_float(dtype))
    throw UserError(operation, "gives floats, not {}; cast the result", dtype);
}

}  // namespace

Tensor random_bits(const Graph& graph, const Shape& shape, uint64_t seed) {
  return random_words(graph, shape, seed).low;
}

Tensor rand(const Graph& graph, const Shape& shape, uint64_t seed, DType dtype) {
  check_float("rand", dtype);
  const Words words = random_words(graph, shape, seed);
  if (dtype == f64) return fraction_f64(words);
  // Rounding to a narrow dtype could reach 1, so keep only as many bits as it has.
  const int dropped = dtype == f32      ? 8
                      : dtype == f16    ? 21
                      : dtype == bf16   ? 24
                      : dtype == f8e4m3 ? 28
                                        : 29;
  return cast(cast(shift_right(words.low, dropped), f32) * std::ldexp(1.0, dropped - 32), dtype);
}

Tensor randn(const Graph& graph, const Shape& shape, uint64_t seed, DType dtype) {
  check_float("randn", dtype);
  const Words words = random_words(graph, shape, seed);
  const DType wide = dtype == f64 ? f64 : f32;
  // 1 - u is in (0, 1], so the logarithm is finite.
  Tensor radius = sqrt(log(cast(1 - fraction(words.low), wide)) * -2.0);
  return cast(radius * cos(cast(fraction(words.high), wide) * (2 * std::numbers::pi)), dtype);
}

}  // namespace luminal

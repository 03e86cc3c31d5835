// The floats that C++ has no type for: f16, bf16, f8e4m3 and f8e5m2, held by their bits. Conversion
// from float or double rounds exactly once (to nearest, ties to even); conversion to float or
// double is exact. No arithmetic: whoever computes does it in a wider format and rounds back.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>

namespace luminal::graph {

/// A binary format of one sign bit, `kExponentBits` and `kMantissaBits`. Formats without infinity
/// (f8e4m3) use the top exponent for numbers, keep one NaN pattern per sign, and saturate.
template <int kExponentBits, int kMantissaBits, bool kHasInfinity>
struct NarrowFormat {
  static constexpr int kBias = (1 << (kExponentBits - 1)) - 1;
  static constexpr uint32_t kSignBit = 1U << (kExponentBits + kMantissaBits);
  static constexpr uint32_t kTopExponent = ((1U << kExponentBits) - 1) << kMantissaBits;
  static constexpr uint32_t kNaN =
      kHasInfinity ? kTopExponent | 1U << (kMantissaBits - 1) : kSignBit - 1;
  static constexpr uint32_t kLargestFinite = (kHasInfinity ? kTopExponent : kNaN) - 1;
  static constexpr uint32_t kOverflow = kHasInfinity ? kTopExponent : kLargestFinite;

  /// The bits of the nearest value. A float widens to double exactly, so this serves both.
  static constexpr uint32_t encode(double value) {
    const auto bits = std::bit_cast<uint64_t>(value);
    const uint32_t sign = (bits >> 63) != 0 ? kSignBit : 0;
    const uint64_t magnitude = bits & ~(uint64_t{1} << 63);
    if (magnitude > uint64_t{0x7ff} << 52) return sign | kNaN;
    const int exponent = static_cast<int>(magnitude >> 52) - 1023 + kBias;
    uint64_t significand = magnitude & ((uint64_t{1} << 52) - 1);
    int dropped = 52 - kMantissaBits;
    if (exponent > 0) {
      // Exponent and mantissa side by side: a carry out of the mantissa is a step of the exponent.
      significand |= static_cast<uint64_t>(exponent) << 52;
    } else {
      significand |= uint64_t{1} << 52;
      dropped += 1 - exponent;
      if (dropped > 53) return sign;  // below half of the smallest subnormal
    }
    const uint64_t half = uint64_t{1} << (dropped - 1);
    const uint64_t rest = significand & (2 * half - 1);
    uint64_t kept = significand >> dropped;
    if (rest > half || (rest == half && (kept & 1) != 0)) ++kept;
    return sign | (kept > kLargestFinite ? kOverflow : static_cast<uint32_t>(kept));
  }

  /// The value of the bits, exactly.
  static constexpr double decode(uint32_t bits) {
    const uint64_t sign = (bits & kSignBit) != 0 ? uint64_t{1} << 63 : 0;
    const uint32_t magnitude = bits & (kSignBit - 1);
    if (magnitude > kLargestFinite) {
      const bool infinite = kHasInfinity && magnitude == kTopExponent;
      return std::bit_cast<double>(sign | (infinite ? uint64_t{0x7ff0} : uint64_t{0x7ff8}) << 48);
    }
    const uint32_t exponent = magnitude >> kMantissaBits;
    if (exponent == 0) {  // zero and subnormals: mantissa units of the smallest step
      constexpr auto kStep =
          std::bit_cast<double>(static_cast<uint64_t>(1024 - kBias - kMantissaBits) << 52);
      const double value = kStep * magnitude;
      return sign != 0 ? -value : value;
    }
    const uint64_t wide_exponent = static_cast<uint64_t>(exponent) + 1023 - kBias;
    const uint64_t mantissa = magnitude & ((1U << kMantissaBits) - 1);
    return std::bit_cast<double>(sign | wide_exponent << 52 | mantissa << (52 - kMantissaBits));
  }
};

/// A value of a narrow format: a number with its bits.
template <typename Format, typename Bits>
class NarrowFloat {
 public:
  NarrowFloat() = default;
  /// The nearest value; a float argument widens exactly.
  constexpr explicit NarrowFloat(double value) : bits_(static_cast<Bits>(Format::encode(value))) {}
  static constexpr NarrowFloat from_bits(Bits bits) {
    NarrowFloat result(0.0);
    result.bits_ = bits;
    return result;
  }

  constexpr Bits bits() const { return bits_; }
  constexpr explicit operator double() const { return Format::decode(bits_); }
  constexpr explicit operator float() const { return static_cast<float>(Format::decode(bits_)); }

 private:
  Bits bits_;
};

/// IEEE binary16.
using Half = NarrowFloat<NarrowFormat<5, 10, true>, uint16_t>;
/// The upper half of an IEEE binary32.
using BFloat16 = NarrowFloat<NarrowFormat<8, 7, true>, uint16_t>;
/// Range +-448, no infinity, NaN is 0x7f and 0xff.
using F8E4M3 = NarrowFloat<NarrowFormat<4, 3, false>, uint8_t>;
/// Range +-57344 and infinities.
using F8E5M2 = NarrowFloat<NarrowFormat<5, 2, true>, uint8_t>;

static_assert(sizeof(Half) == 2 && sizeof(BFloat16) == 2);
static_assert(sizeof(F8E4M3) == 1 && sizeof(F8E5M2) == 1);

/// The 4-bit pattern at `position` of packed data: two to a byte, low half first.
constexpr uint32_t load_nibble(const std::byte* data, int64_t position) {
  const auto byte = std::to_integer<uint32_t>(data[position >> 1]);
  return (position & 1) != 0 ? byte >> 4 : byte & 15U;
}

/// Replaces the 4-bit pattern at `position`, leaving its neighbour alone.
constexpr void store_nibble(std::byte* data, int64_t position, uint32_t pattern) {
  const auto byte = std::to_integer<uint32_t>(data[position >> 1]);
  const uint32_t low = pattern & 15U;
  data[position >> 1] =
      static_cast<std::byte>((position & 1) != 0 ? (byte & 15U) | low << 4 : (byte & 0xf0U) | low);
}

}  // namespace luminal::graph

// Stable hashing. The same values give the same 64 or 128 bits on every platform, in every process
// and in every run, so hashes may name files on disk and order things deterministically. The
// algorithm is MurmurHash3 (x64, 128 bits) by Austin Appleby, public domain: quick and well mixed,
// but not made to resist an adversary.
#pragma once

#include <compare>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>

namespace luminal::support {

/// A 128-bit hash: wide enough that equal hashes may be taken for equal contents.
struct Hash128 {
  std::uint64_t hi = 0;  ///< the upper half
  std::uint64_t lo = 0;  ///< the lower half

  friend constexpr auto operator<=>(const Hash128&, const Hash128&) = default;
};

/// 32 lower-case hexadecimal digits, `hi` first.
std::string to_hex(Hash128 hash);
/// 16 lower-case hexadecimal digits.
std::string to_hex(std::uint64_t hash);
/// Reads what to_hex(Hash128) wrote (either case); nothing if the text is anything else.
std::optional<Hash128> parse_hash128(std::string_view hex);

/// Spreads every bit of the value over the whole word; a bijection (MurmurHash3's finalizer).
constexpr std::uint64_t mix64(std::uint64_t value) {
  value ^= value >> 33;
  value *= 0xff51afd7ed558ccdULL;
  value ^= value >> 33;
  value *= 0xc4ceb9fe1a85ec53ULL;
  value ^= value >> 33;
  return value;
}

/// Folds one more value into a running 64-bit hash; order matters. Cheap enough for the keys of
/// in-memory tables; use a Hasher where the result is kept.
constexpr std::uint64_t hash_combine(std::uint64_t seed, std::uint64_t value) {
  // The odd constant keeps a run of zeros from leaving the seed at zero.
  return mix64(seed * 0x9e3779b97f4a7c15ULL + value + 0x2545f4914f6cdd1dULL);
}

/// Hashes a stream of typed values. Integers of every width are hashed as 64 bits (sign-extended),
/// so that `int` and `std::size_t` agree across platforms; text and byte ranges carry their length,
/// so that ("ab", "c") and ("a", "bc") differ.
class Hasher {
 public:
  explicit Hasher(std::uint64_t seed = 0) : h1_(seed), h2_(seed) {}  ///< begins with a seed

  /// Adds an integer or boolean by value.
  template <std::integral T>
  Hasher& add(T value) {
    return add_word(static_cast<std::uint64_t>(value));
  }

  /// Adds an enumerator by its underlying value.
  template <typename T>
  requires std::is_enum_v<T> Hasher& add(T value) {
    return add(static_cast<std::underlying_type_t<T>>(value));
  }

  /// Adds a double by its bits: 0.0 and -0.0 differ, as do NaNs with different payloads.
  Hasher& add(double value);
  /// Adds a float by its bits; the result differs from adding the same number as a double.
  Hasher& add(float value);
  /// Adds text: its length and its bytes.
  Hasher& add(std::string_view text);
  /// Adds bytes: their number and themselves.
  Hasher& add(std::span<const std::byte> bytes);
  /// Adds another hash.
  Hasher& add(Hash128 hash) { return add_word(hash.hi).add_word(hash.lo); }

  /// Adds the number of elements of a range and each of them.
  template <typename Range>
  Hasher& add_all(const Range& range) {
    add_word(static_cast<std::uint64_t>(std::size(range)));
    for (const auto& element : range) add(element);
    return *this;
  }

  /// Adds bytes without their number. A Hasher fed by this alone computes plain MurmurHash3 of the
  /// concatenation.
  Hasher& add_raw(const void* bytes, std::size_t count);

  /// The hash of everything added so far. More may be added afterwards.
  Hash128 finish128() const;
  /// The high half of finish128().
  std::uint64_t finish64() const { return finish128().hi; }

 private:
  Hasher& add_word(std::uint64_t word);
  void mix_block(const unsigned char* block);

  std::uint64_t h1_;
  std::uint64_t h2_;
  std::uint64_t length_ = 0;  // bytes added so far; length_ % 16 of them wait in tail_
  unsigned char tail_[16] = {};
};

/// MurmurHash3_x64_128 of the bytes of a text.
Hash128 hash128(std::string_view bytes, std::uint64_t seed = 0);
/// The high half of hash128.
std::uint64_t hash64(std::string_view bytes, std::uint64_t seed = 0);

}  // namespace luminal::support

template <>
struct std::hash<luminal::support::Hash128> {
  std::size_t operator()(const luminal::support::Hash128& value) const noexcept {
    return static_cast<std::size_t>(value.lo ^ (value.hi * 0x9e3779b97f4a7c15ULL));
  }
};

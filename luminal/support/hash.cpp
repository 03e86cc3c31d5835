#include "luminal/support/hash.h"

#include <fmt/core.h>

#include <algorithm>
#include <bit>
#include <cstring>

namespace luminal::support {
namespace {

constexpr std::uint64_t kC1 = 0x87c37b91114253d5ULL;
constexpr std::uint64_t kC2 = 0x4cf5ad432745937fULL;

constexpr std::uint64_t byte_swap(std::uint64_t word) {
  std::uint64_t swapped = 0;
  for (int i = 0; i < 8; ++i) swapped |= ((word >> (8 * i)) & 0xff) << (8 * (7 - i));
  return swapped;
}

constexpr std::uint64_t to_little_endian(std::uint64_t word) {
  return std::endian::native == std::endian::big ? byte_swap(word) : word;
}

std::uint64_t load_little_endian(const unsigned char* bytes) {
  std::uint64_t word;
  std::memcpy(&word, bytes, sizeof word);
  return to_little_endian(word);
}

constexpr std::uint64_t scramble_first(std::uint64_t k) { return std::rotl(k * kC1, 31) * kC2; }
constexpr std::uint64_t scramble_second(std::uint64_t k) { return std::rotl(k * kC2, 33) * kC1; }

std::optional<std::uint64_t> parse_hex64(std::string_view digits) {
  std::uint64_t value = 0;
  for (char c : digits) {
    const char lower = static_cast<char>(c | 0x20);
    if (c >= '0' && c <= '9')
      value = value << 4 | static_cast<std::uint64_t>(c - '0');
    else if (lower >= 'a' && lower <= 'f')
      value = value << 4 | static_cast<std::uint64_t>(lower - 'a' + 10);
    else
      return std::nullopt;
  }
  return value;
}

}  // namespace

std::string to_hex(Hash128 hash) { return fmt::format("{:016x}{:016x}", hash.hi, hash.lo); }

std::string to_hex(std::uint64_t hash) { return fmt::format("{:016x}", hash); }

std::optional<Hash128> parse_hash128(std::string_view hex) {
  if (hex.size() != 32) return std::nullopt;
  const auto hi = parse_hex64(hex.substr(0, 16));
  const auto lo = parse_hex64(hex.substr(16));
  if (!hi || !lo) return std::nullopt;
  return Hash128{*hi, *lo};
}

Hasher& Hasher::add(double value) { return add_word(std::bit_cast<std::uint64_t>(value)); }

Hasher& Hasher::add(float value) { return add_word(std::bit_cast<std::uint32_t>(value)); }

Hasher& Hasher::add(std::string_view text) {
  return add_word(text.size()).add_raw(text.data(), text.size());
}

Hasher& Hasher::add(std::span<const std::byte> bytes) {
  return add_word(bytes.size()).add_raw(bytes.data(), bytes.size());
}

Hasher& Hasher::add_word(std::uint64_t word) {
  const std::uint64_t little = to_little_endian(word);
  return add_raw(&little, sizeof little);
}

Hasher& Hasher::add_raw(const void* bytes, std::size_t count) {
  const auto* next = static_cast<const unsigned char*>(bytes);
  const std::size_t waiting = length_ % sizeof tail_;
  length_ += count;
  if (waiting > 0) {
    const std::size_t taken = std::min(count, sizeof tail_ - waiting);
    if (taken > 0) std::memcpy(tail_ + waiting, next, taken);
    if (waiting + taken < sizeof tail_) return *this;
    mix_block(tail_);
    next += taken;
    count -= taken;
  }
  for (; count >= sizeof tail_; next += sizeof tail_, count -= sizeof tail_) mix_block(next);
  if (count > 0) std::memcpy(tail_, next, count);
  return *this;
}

void Hasher::mix_block(const unsigned char* block) {
  h1_ ^= scramble_first(load_little_endian(block));
  h1_ = (std::rotl(h1_, 27) + h2_) * 5 + 0x52dce729;
  h2_ ^= scramble_second(load_little_endian(block + 8));
  h2_ = (std::rotl(h2_, 31) + h1_) * 5 + 0x38495ab5;
}

Hash128 Hasher::finish128() const {
  unsigned char tail[16] = {};
  std::memcpy(tail, tail_, length_ % sizeof tail_);
  // Absent tail bytes are zero, and scrambling zero gives zero: no case distinction is needed.
  std::uint64_t h1 = h1_ ^ scramble_first(load_little_endian(tail));
  std::uint64_t h2 = h2_ ^ scramble_second(load_little_endian(tail + 8));
  h1 ^= length_;
  h2 ^= length_;
  h1 += h2;
  h2 += h1;
  h1 = mix64(h1);
  h2 = mix64(h2);
  h1 += h2;
  h2 += h1;
  return {h1, h2};
}

Hash128 hash128(std::string_view bytes, std::uint64_t seed) {
  return Hasher(seed).add_raw(bytes.data(), bytes.size()).finish128();
}

std::uint64_t hash64(std::string_view bytes, std::uint64_t seed) { return hash128(bytes, seed).hi; }

}  // namespace luminal::support

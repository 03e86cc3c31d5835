#include "luminal/support/hash.h"

#include <gtest/gtest.h>

#include <bit>
#include <limits>
#include <set>
#include <unordered_set>
#include <vector>

namespace luminal::support {
namespace {

void append_little_endian(std::string& bytes, std::uint64_t word) {
  for (int i = 0; i < 8; ++i) bytes.push_back(static_cast<char>(word >> (8 * i)));
}

TEST(Hash, MatchesThePublishedVerificationValueOfMurmur3) {
  // SMHasher's verification test: keys {0}, {0,1}, ... with seed 256 - length, then the hash of all
  // hashes. 0x6384BA69 is the published value of MurmurHash3_x64_128.
  std::string key, hashes;
  for (int length = 0; length < 256; ++length) {
    const Hash128 hash = hash128(key, static_cast<std::uint64_t>(256 - length));
    append_little_endian(hashes, hash.hi);
    append_little_endian(hashes, hash.lo);
    key.push_back(static_cast<char>(length));
  }
  EXPECT_EQ(static_cast<std::uint32_t>(hash64(hashes)), 0x6384BA69u);
}

TEST(Hash, MatchesPublishedVectors) {
  EXPECT_EQ(to_hex(hash128("")), "00000000000000000000000000000000");
  EXPECT_EQ(to_hex(hash128("hello")), "cbd8a7b341bd9b025b1e906a48ae1d19");
  EXPECT_EQ(to_hex(hash128("The quick brown fox jumps over the lazy dog")),
            "e34bbc7bbc071b6c7a433ca9c49a9347");
}

TEST(Hash, TypedValuesHashTheSameForever) {
  // Cached files are named by such hashes: a change of these numbers orphans every cache.
  Hasher hasher;
  hasher.add(1).add(-1).add("text").add(1.5).add(1.5f).add(true).add(Hash128{1, 2});
  EXPECT_EQ(to_hex(hasher.finish128()), "b920df32e2c3f6290eb6b9a5f744854b");
  EXPECT_EQ(to_hex(hash_combine(1, 2)), "0419b319c32ced2b");
}

TEST(Hash, SplittingTheStreamDoesNotMatter) {
  std::string bytes;
  for (int i = 0; i < 100; ++i) bytes.push_back(static_cast<char>(i * 37));
  for (std::size_t first = 0; first <= bytes.size(); first += 7)
    for (std::size_t second = first; second <= bytes.size(); second += 5) {
      Hasher hasher(9);
      hasher.add_raw(bytes.data(), first)
          .add_raw(bytes.data() + first, second - first)
          .add_raw(bytes.data() + second, bytes.size() - second);
      ASSERT_EQ(hasher.finish128(), hash128(bytes, 9)) << first << " " << second;
    }
}

TEST(Hash, FinishingDoesNotDisturbTheStream) {
  Hasher once, twice;
  once.add("a").add("b");
  twice.add("a");
  EXPECT_NE(twice.finish128(), once.finish128());
  twice.add("b");
  EXPECT_EQ(twice.finish128(), once.finish128());
  EXPECT_EQ(once.finish64(), once.finish128().hi);
}

TEST(Hash, IntegersOfEveryWidthAgree) {
  const Hash128 expected = Hasher().add(std::int64_t{-5}).finish128();
  EXPECT_EQ(Hasher().add(std::int8_t{-5}).finish128(), expected);
  EXPECT_EQ(Hasher().add(-5).finish128(), expected);
  EXPECT_EQ(Hasher().add(7u).finish128(), Hasher().add(std::size_t{7}).finish128());
  enum class Color : std::uint8_t { kRed = 7 };
  EXPECT_EQ(Hasher().add(Color::kRed).finish128(), Hasher().add(7).finish128());
}

TEST(Hash, BoundariesBetweenTextsCount) {
  EXPECT_NE(Hasher().add("ab").add("c").finish128(), Hasher().add("a").add("bc").finish128());
  EXPECT_NE(Hasher().add("").finish128(), Hasher().finish128());
  const std::vector<int> one{1, 2}, two{3}, other_one{1}, other_two{2, 3};
  EXPECT_NE(Hasher().add_all(one).add_all(two).finish128(),
            Hasher().add_all(other_one).add_all(other_two).finish128());
}

TEST(Hash, BytesHashLikeText) {
  const std::string_view text = "bytes";
  EXPECT_EQ(Hasher().add(std::as_bytes(std::span(text))).finish128(),
            Hasher().add(text).finish128());
}

TEST(Hash, FloatsHashByBits) {
  EXPECT_NE(Hasher().add(0.0).finish128(), Hasher().add(-0.0).finish128());
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(Hasher().add(nan).finish128(), Hasher().add(nan).finish128());
  EXPECT_NE(Hasher().add(1.0).finish128(), Hasher().add(1.0f).finish128());
}

TEST(Hash, SeedsGiveDifferentFamilies) {
  EXPECT_NE(hash128("x", 1), hash128("x", 2));
  EXPECT_NE(Hasher(1).add(0).finish64(), Hasher(2).add(0).finish64());
}

TEST(Hash, HexTextReadsBack) {
  const Hash128 hash{0x0123456789abcdefULL, 0xfedcba9876543210ULL};
  EXPECT_EQ(to_hex(hash), "0123456789abcdeffedcba9876543210");
  EXPECT_EQ(parse_hash128(to_hex(hash)), hash);
  EXPECT_EQ(parse_hash128("0123456789ABCDEFFEDCBA9876543210"), hash);
  EXPECT_EQ(to_hex(std::uint64_t{255}), "00000000000000ff");
}

TEST(Hash, HexTextThatIsNoHashIsRefused) {
  EXPECT_FALSE(parse_hash128(""));
  EXPECT_FALSE(parse_hash128("0123456789abcdeffedcba987654321"));
  EXPECT_FALSE(parse_hash128("0123456789abcdeffedcba98765432100"));
  EXPECT_FALSE(parse_hash128("0123456789abcdefgedcba9876543210"));
  EXPECT_FALSE(parse_hash128("0x23456789abcdeffedcba98765432 0"));
}

TEST(Hash, CombineDependsOnOrderAndSpreadsSmallNumbers) {
  EXPECT_NE(hash_combine(hash_combine(0, 1), 2), hash_combine(hash_combine(0, 2), 1));
  std::set<std::uint64_t> low_bits;
  std::set<std::uint64_t> all;
  for (std::uint64_t a = 0; a < 64; ++a)
    for (std::uint64_t b = 0; b < 64; ++b) {
      all.insert(hash_combine(a, b));
      low_bits.insert(hash_combine(a, b) % 4096);
    }
  EXPECT_EQ(all.size(), 4096u);
  // 4096 random throws into 4096 bins hit about 63 % of them.
  EXPECT_GT(low_bits.size(), 2450u);
  EXPECT_LT(low_bits.size(), 2730u);
}

TEST(Hash, MixingFlipsHalfTheBitsForOneChangedBit) {
  double flipped = 0;
  for (int bit = 0; bit < 64; ++bit)
    flipped += std::popcount(mix64(12345) ^ mix64(12345 ^ (std::uint64_t{1} << bit)));
  EXPECT_NEAR(flipped / 64, 32, 4);
}

TEST(Hash, HashesAreKeysAndAreOrdered) {
  std::unordered_set<Hash128> set{{1, 2}, {2, 1}, {1, 2}};
  EXPECT_EQ(set.size(), 2u);
  EXPECT_LT((Hash128{1, 9}), (Hash128{2, 0}));
}

}  // namespace
}  // namespace luminal::support

// Values of the engine are 32-bit words: inline small integers, indexes into interners, or ids of
// e-classes and containers. Which of these a word is follows from its sort alone, so equality of
// values is equality of words.
#pragma once

#include <cstdint>
#include <limits>

namespace luminal::egraph {

/// One value of any sort.
using Value = uint32_t;
/// Index of a sort, a function or a rule in its registry.
using SortId = uint32_t;
using FunctionId = uint32_t;
using RuleId = uint32_t;
/// A moment of the database: every merge writes rows of a new epoch.
using Epoch = uint32_t;

/// "No value": a partial primitive that does not apply, a missing row.
inline constexpr Value kNoValue = std::numeric_limits<Value>::max();
/// "No row", "no sort", "no function".
inline constexpr uint32_t kNone = std::numeric_limits<uint32_t>::max();
/// The only value of Unit.
inline constexpr Value kUnitValue = 0;

/// Mixes one word into a running hash (multiply and rotate; fixed, so runs repeat).
constexpr uint64_t mix_hash(uint64_t hash, uint64_t word) {
  hash = (hash ^ word) * 0x9E3779B97F4A7C15ull;
  return hash ^ (hash >> 29);
}

/// Hash of `count` words.
inline uint32_t hash_words(const Value* words, uint32_t count) {
  uint64_t hash = 0x243F6A8885A308D3ull + count;
  for (uint32_t i = 0; i < count; ++i) hash = mix_hash(hash, words[i]);
  return static_cast<uint32_t>(hash ^ (hash >> 32));
}

}  // namespace luminal::egraph

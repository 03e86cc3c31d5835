// Random numbers for tests: the same on every machine and standard library, so that a seed
// names one graph for ever.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

namespace luminal::test {

/// A SplitMix64 generator.
class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed) {}

  uint64_t bits() {
    state_ += 0x9e3779b97f4a7c15ULL;
    uint64_t z = state_;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
    return z ^ (z >> 31);
  }
  /// A number in lowest..highest, both included.
  int64_t between(int64_t lowest, int64_t highest) {
    return lowest + static_cast<int64_t>(bits() % static_cast<uint64_t>(highest - lowest + 1));
  }
  int index(size_t count) { return static_cast<int>(bits() % count); }
  bool one_in(int64_t count) { return between(1, count) == 1; }
  double unit() { return static_cast<double>(bits() >> 11) * 0x1p-53; }
  template <typename Container>
  const auto& pick(const Container& choices) {
    return choices[static_cast<size_t>(index(std::size(choices)))];
  }
  /// 0..count-1 in random order.
  std::vector<int> permutation(int count) {
    std::vector<int> order(static_cast<size_t>(count));
    for (int i = 0; i < count; ++i) order[static_cast<size_t>(i)] = i;
    for (int i = count - 1; i > 0; --i)
      std::swap(order[static_cast<size_t>(i)], order[static_cast<size_t>(between(0, i))]);
    return order;
  }

 private:
  uint64_t state_;
};

}  // namespace luminal::test

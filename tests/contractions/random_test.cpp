// Contractions drawn at random: axes on either side in any order, dtypes, prologues and epilogues.
#include <algorithm>

#include "checks.h"

namespace luminal::codegen {
namespace {

/// Draws one contraction after the other.
class RandomContraction {
 public:
  explicit RandomContraction(uint64_t seed) : random_(seed) {}

  kernel::test::Sample draw() {
    Graph g;
    const std::string batch = letters("bcd", 2);
    const std::string m = letters("mpq", 2);
    const std::string n = letters("nuv", 2, 1);
    const std::string k = letters("kst", 2, 1);
    dtype = std::array{DType::kF32, DType::kF32, DType::kBF16, DType::kF64, DType::kF16}[pick(5)];
    const std::string a_axes = shuffled(batch + m + k), b_axes = shuffled(batch + n + k);
    const std::string out = shuffled(batch + m + n);
    Tensor a = g.input("a", shape(g, a_axes), dtype);
    Tensor b = g.input("b", shape(g, b_axes), dtype);
    if (pick(4) == 0) a = exp(a * 0.5);
    if (pick(4) == 0) b = b * g.input("scale", {}, dtype);
    Tensor y = einsum(a_axes + "," + b_axes + "->" + out, {a, b});
    text = a_axes + "," + b_axes + "->" + out;
    if (pick(2) == 0) y = relu(y);
    if (pick(2) == 0) y = y + g.input("residual", shape(g, out), dtype);
    if (pick(3) == 0) y = tanh(y) * 0.5;
    if (pick(4) == 0) y = cast(y, DType::kF32);
    return sample_of({y}, dims_, random_());
  }

  /// How far apart sums of this dtype may be.
  kernel::test::Closeness closeness() const {
    const double unit = dtype == DType::kF64   ? 1e-12
                        : dtype == DType::kF32 ? 2e-5
                        : dtype == DType::kF16 ? 4e-3
                                               : 3e-2;
    return {unit, unit};
  }

  std::string text;
  DType dtype = DType::kF32;

 private:
  size_t pick(size_t count) { return random_() % count; }
  std::string letters(std::string all, size_t most, size_t least = 0) {
    return all.substr(0, least + pick(most - least + 1));
  }
  std::string shuffled(std::string axes) {
    std::shuffle(axes.begin(), axes.end(), random_);
    return axes;
  }
  Shape shape(Graph& g, const std::string& axes) {
    Shape result;
    for (const char letter : axes) {
      if (!extents_.contains(letter)) {
        const auto size = static_cast<int64_t>(pick(4) == 0 ? 1 + pick(40) : 1 + pick(9));
        const bool symbolic = pick(5) == 0;
        if (symbolic) dims_[std::string("dim_") + letter] = size;
        extents_.emplace(letter, symbolic ? g.dim(std::string("dim_") + letter) : Dim(size));
      }
      result.push_back(extents_.at(letter));
    }
    return result;
  }

  std::mt19937_64 random_;
  std::map<char, Dim> extents_;
  graph::DimValues dims_;
};

TEST(RandomContractions, EqualTheOracle) {
  const std::vector<CpuTarget> all = targets();
  for (uint64_t seed = 0; seed < 150; ++seed) {
    RandomContraction random(seed);
    const kernel::test::Sample sample = random.draw();
    SCOPED_TRACE(fmt::format("seed {}: {}", seed, random.text));
    check(sample,
          {.target = all[seed % all.size()], .constants = seed % 3 == 0, .must_match = false},
          random.closeness());
    if (HasFailure()) return;
  }
}

}  // namespace
}  // namespace luminal::codegen

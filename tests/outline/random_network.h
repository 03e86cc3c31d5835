// Random networks in which a random body is repeated: before, between and after the repeats stands
// something else, and instances read weights of their own, shared weights and values from outside.
#pragma once

#include <random>

#include "networks.h"

namespace luminal::networks {

/// Writes one random network from a seed.
class RandomNetwork {
 public:
  explicit RandomNetwork(uint64_t seed) : random_(seed) {}

  IR build() {
    Tensor x = graph_.input("x", {kRows, kColumns});
    shared_.push_back(graph_.input("shared", {kColumns, kColumns}));
    shared_.push_back(sin(graph_.input("table", {kRows, kColumns})));
    x = body(random_(), "before", x);
    for (int part = 0; part < 1 + pick(2); ++part) {
      const uint64_t seed = random_();
      const int instances = 2 + pick(4);
      for (int k = 0; k < instances; ++k) x = body(seed, fmt::format("p{}i{}_", part, k), x);
      if (pick(2) == 0) x = body(random_(), fmt::format("after{}_", part), x);
    }
    outputs_.push_back({"y", pick(2) == 0 ? x : transpose(x)});
    return finished(graph_, outputs_);
  }

 private:
  static constexpr int64_t kRows = 3, kColumns = 4;

  int pick(int count) { return static_cast<int>(random_() % static_cast<uint64_t>(count)); }

  /// The same seed writes the same body, with other weights.
  Tensor body(uint64_t seed, const std::string& prefix, const Tensor& x) {
    std::mt19937_64 random(seed);
    const auto choose = [&](int count) {
      return static_cast<int>(random() % static_cast<uint64_t>(count));
    };
    std::vector<Tensor> values{x};
    int weights = 0;
    const auto weight = [&](const Shape& shape) {
      return graph_.input(fmt::format("{}w{}", prefix, weights++), shape);
    };
    const auto any = [&]() -> const Tensor& { return values[random() % values.size()]; };
    for (int steps = 3 + choose(6); steps > 0; --steps) {
      switch (choose(9)) {
        case 0:
          values.push_back(tanh(any()));
          break;
        case 1:
          values.push_back(any() + any());
          break;
        case 2:
          values.push_back(any() * weight({kColumns}));
          break;
        case 3:
          values.push_back(softmax(any(), choose(2)));
          break;
        case 4:
          values.push_back(tanh(matmul(any(), weight({kColumns, kColumns}))));
          break;
        case 5:
          values.push_back(tanh(matmul(any(), shared_[0])));
          break;
        case 6:
          values.push_back(layer_norm(any()) + shared_[1]);
          break;
        case 7:
          values.push_back(any() - mean(any(), 1, true));
          break;
        default:
          values.push_back(where(any() < any(), flip(any(), {1}), any()));
      }
    }
    // Results on the side, sometimes through a view.
    if (choose(3) == 0) outputs_.push_back({prefix + "side", values[values.size() - 2]});
    if (choose(4) == 0) outputs_.push_back({prefix + "row", select(values.back(), 0, 1)});
    return choose(2) == 0 ? tanh(values.back()) : values.back() * 0.5 + x;
  }

  std::mt19937_64 random_;
  Graph graph_;
  std::vector<Tensor> shared_;
  Outputs outputs_;
};

inline IR random_network(uint64_t seed) { return RandomNetwork(seed).build(); }

}  // namespace luminal::networks

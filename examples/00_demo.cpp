// The two-minute tour: a small transformer block, written in a few lines, computed, checked by hand
// and explained.
#include <cmath>
#include <fstream>
#include <iostream>

#include "luminal/graph/drawing.h"
#include "luminal/luminal.h"

using namespace luminal;

namespace {

constexpr int64_t kWidth = 16;
constexpr int64_t kHeads = 2;

/// Random numbers, which are themselves a small graph.
Array random_values(const Extents& extents, uint64_t seed) {
  Graph g;
  Tensor values = randn(g, Shape(extents.begin(), extents.end()), seed) * 0.25;
  Executable exe = compile(g, {values});
  exe.run();
  return exe.get(values);
}

/// The weights of a network: inputs whose data is loaded when first needed.
class Weights {
 public:
  explicit Weights(const Graph& graph) : graph_(graph) {}

  Tensor add(const Extents& extents) {
    const std::string name = "weight" + std::to_string(inputs_.size());
    inputs_.push_back(graph_.weight(name, Shape(extents.begin(), extents.end())));
    extents_.push_back(extents);
    return inputs_.back();
  }

  void set_loaders(Executable& exe) const {
    for (size_t k = 0; k < inputs_.size(); ++k)
      exe.set_loader(inputs_[k], [extents = extents_[k], k] { return random_values(extents, k); });
  }

 private:
  Graph graph_;
  std::vector<Tensor> inputs_;
  std::vector<Extents> extents_;
};

/// [seq, width] -> [heads, seq, width / heads]
Tensor split_heads(const Tensor& x) { return transpose(split_dims(x, -1, {kHeads, -1}), 0, 1); }

/// A pre-norm transformer block with causal attention.
Tensor block(Weights& weights, const Tensor& x) {
  Tensor h = layer_norm(x);
  Tensor positions = arange(x.graph(), x.dim(0));
  Tensor q = rope(split_heads(matmul(h, weights.add({kWidth, kWidth}))), positions);
  Tensor k = rope(split_heads(matmul(h, weights.add({kWidth, kWidth}))), positions);
  Tensor v = split_heads(matmul(h, weights.add({kWidth, kWidth})));
  Tensor mixed = merge_dims(transpose(attention(q, k, v, {.causal = true}), 0, 1), 1, 2);
  Tensor residual = x + matmul(mixed, weights.add({kWidth, kWidth}));
  Tensor up = gelu(matmul(layer_norm(residual), weights.add({kWidth, 4 * kWidth})));
  return residual + matmul(up, weights.add({4 * kWidth, kWidth}));
}

/// What a softmax over the rows of `scores` should be, in plain C++.
double worst_distance_of_softmax(const std::vector<double>& scores,
                                 const std::vector<double>& result, size_t width) {
  double worst = 0;
  for (size_t row = 0; row < scores.size(); row += width) {
    double total = 0;
    for (size_t k = 0; k < width; ++k) total += std::exp(scores[row + k]);
    for (size_t k = 0; k < width; ++k)
      worst = std::max(worst, std::abs(std::exp(scores[row + k]) / total - result[row + k]));
  }
  return worst;
}

}  // namespace

int main(int argc, char** argv) {
  std::cout << "1. A network is written; nothing runs yet.\n";
  Graph g;
  Dim seq = g.dim("seq", 1, 1024);  // decided when it runs
  Tensor x = g.input("x", {seq, kWidth});
  Weights weights(g);
  Tensor logits = block(weights, block(weights, x)).named("logits");
  Tensor probabilities = softmax(logits).named("probabilities");
  std::cout << "   " << g.ir().size() << " nodes for two transformer blocks; the result is "
            << graph::to_string(probabilities.shape()) << ".\n\n";

  std::cout << "2. It is compiled and runs, here for two values of seq.\n";
  Tensor best = argmax(probabilities, -1);
  Executable exe = compile(g, {logits, probabilities, best});
  weights.set_loaders(exe);
  for (int64_t length : {3, 5}) {
    std::vector<float> data;
    for (int64_t k = 0; k < length * kWidth; ++k) data.push_back(std::sin(static_cast<float>(k)));
    exe.set(x, data);
    exe.run();
    std::cout << "seq = " << length << ": most probable = " << exe.get(best) << "\n";
  }

  std::cout << "\n3. Checked against plain loops: ";
  const double worst =
      worst_distance_of_softmax(exe.get<double>(logits), exe.get<double>(probabilities), kWidth);
  std::cout << "largest distance " << worst << (worst < 1e-6 ? ", fine.\n\n" : ", WRONG.\n\n");

  std::cout << "4. Explained, here for a smaller graph:\n";
  Graph small;
  Tensor a = small.input("a", {2, 3});
  std::cout << compile(small, {softmax(relu(a))}).explain();

  const std::string page = argc > 1 ? argv[1] : "demo_graph.html";
  std::ofstream file(page);
  file << graph::to_html(exe.ir(), {.title = "Two transformer blocks"}) << std::flush;
  if (!file) {
    std::cerr << "demo: cannot write " << page << '\n';
    return 1;
  }
  std::cout << "\n5. " << page << " is a drawing of the whole graph: open it in a browser.\n"
            << "   Next: docs/tutorial.md, the other examples, and `./run test`.\n";
  return worst < 1e-6 ? 0 : 1;
}

// Graphs of any length that are no networks of layers: recurrences that share their weights, many
// readers of one value, values carried past each other, long chains. What a search has to stay
// quick on.
#pragma once

#include <array>
#include <functional>

#include "networks.h"

namespace luminal::networks {

/// sin again and again, of nothing but itself.
inline IR sine_chain(int steps) {
  Graph g;
  Tensor x = g.input("x", {7, 33});
  for (int k = 0; k < steps; ++k) x = sin(x);
  return finished(g, {{"y", x}});
}

/// Every step reads the first value too.
inline IR damped_chain(int steps) {
  Graph g;
  const Tensor x = g.input("x", {7, 33});
  Tensor y = x;
  for (int k = 0; k < steps; ++k) y = sin(y) + x * 0.5;
  return finished(g, {{"y", y}});
}

/// A sum of many inputs.
inline IR long_sum(int terms) {
  Graph g;
  Tensor x = g.input("x", {7, 33});
  for (int k = 0; k < terms; ++k) x = x + g.input(fmt::format("y{}", k), {7, 33});
  return finished(g, {{"y", x}});
}

/// Each value is made of the two before it, with reductions on both sides.
inline IR carried_norms(int steps) {
  Graph g;
  Tensor a = g.input("x", {7, 33});
  Tensor b = a;
  for (int k = 0; k < steps; ++k) {
    const Tensor next = layer_norm(a) + softmax(b);
    a = b;
    b = next;
  }
  return finished(g, {{"y", b}});
}

/// Each layer reads everything before it.
inline IR densenet(int layers) {
  Graph g;
  Tensor x = g.input("x", {7, 33});
  for (int k = 0; k < layers; ++k) {
    const Tensor w = g.weight(fmt::format("w{}", k), {x.dim(1), 8});
    x = concat({x, relu(matmul(x, w))}, 1);
  }
  return finished(g, {{"y", x}});
}

/// One value times many weights, summed.
inline IR wide(int readers) {
  Graph g;
  const Tensor x = g.input("x", {7, 33});
  Tensor y;
  for (int k = 0; k < readers; ++k) {
    const Tensor part = relu(matmul(x, g.weight(fmt::format("w{}", k), {33, 16})));
    y = y ? y + part : part;
  }
  return finished(g, {{"y", y}});
}

/// A recurrent network whose steps read slices of one tensor.
inline IR rnn(int steps) {
  Graph g;
  Tensor h = g.input("h", {4, 32});
  const Tensor w = g.weight("w", {32, 32}), u = g.weight("u", {32, 32});
  const Tensor x = g.input("x", {steps, 4, 32});
  for (int k = 0; k < steps; ++k) h = tanh(matmul(select(x, 0, k), w) + matmul(h, u));
  return finished(g, {{"h", h}});
}

/// The same with gates.
inline IR gated_rnn(int steps) {
  Graph g;
  Tensor h = g.input("h", {4, 32}), c = g.input("c", {4, 32});
  const Tensor w = g.weight("w", {32, 128}), u = g.weight("u", {32, 128});
  const Tensor x = g.input("x", {steps, 4, 32});
  for (int k = 0; k < steps; ++k) {
    const auto gates = split(matmul(select(x, 0, k), w) + matmul(h, u), {32, 32, 32, 32}, 1);
    c = sigmoid(gates[0]) * c + sigmoid(gates[1]) * tanh(gates[2]);
    h = sigmoid(gates[3]) * tanh(c);
  }
  return finished(g, {{"h", h}});
}

/// A graph of each kind by its length.
struct Growing {
  std::string_view name;
  IR (*make)(int length);
  std::array<int, 3> lengths;  ///< each about twice the one before
};
inline const std::vector<Growing>& growing() {
  static const std::vector<Growing> all{
      {"sine chain", sine_chain, {200, 400, 800}},
      {"damped chain", damped_chain, {50, 100, 200}},
      {"long sum", long_sum, {200, 400, 800}},
      {"carried norms", carried_norms, {8, 16, 30}},
      {"densenet", densenet, {8, 15, 30}},
      {"wide", wide, {16, 32, 64}},
      {"rnn", rnn, {20, 40, 80}},
      {"gated rnn", gated_rnn, {4, 8, 16}},
  };
  return all;
}

}  // namespace luminal::networks

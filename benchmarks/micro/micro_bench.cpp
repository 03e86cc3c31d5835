// Every primitive op as a graph of its own, on arrays beyond the caches: how near its code comes to
// the memory's speed, and to the peers'. Ops that do nothing (graph_break) and those that speak to
// the outside (print, diff, custom) have no rows.
#include <fmt/format.h>

#include <numeric>
#include <string>
#include <vector>

#include "benchmarks/suite.h"

namespace luminal::benchmarks {
namespace {

using Unary = Tensor (*)(const Tensor& x);
using Binary = Tensor (*)(const Tensor& a, const Tensor& b);

std::string sized(const std::string& name, DType dtype = f32) {
  return fmt::format("{} {}x{}", name, rows_of(dtype), kSide);
}

void add_unary(std::vector<Case>& cases, const std::string& name, DType dtype, Unary function) {
  cases.push_back({sized(name, dtype), dtype, [=](Network& network) {
                     // Where every function is defined.
                     network.values = {0.1F, 1.9F};
                     network.outputs = {function(network.input({rows_of(dtype), kSide}, dtype))};
                   }});
}

void add_binary(std::vector<Case>& cases, const std::string& name, DType dtype, Binary function) {
  cases.push_back({sized(name, dtype), dtype, [=](Network& network) {
                     // Integers divide and shift too: no zeros, and no more than the bits of i32.
                     network.values = dtype == i32 ? Interval{1.0F, 30.0F} : Interval{0.1F, 1.9F};
                     const Extents extents = {rows_of(dtype), kSide};
                     const Tensor a = network.input(extents, dtype);
                     network.outputs = {function(a, network.input(extents, dtype))};
                   }});
}

void add_functions(std::vector<Case>& cases, DType dtype) {
  add_unary(cases, "recip", dtype, recip);
  add_unary(cases, "sqrt", dtype, sqrt);
  add_unary(cases, "exp", dtype, exp);
  add_unary(cases, "exp2", dtype, exp2);
  add_unary(cases, "log", dtype, log);
  add_unary(cases, "log2", dtype, log2);
  add_unary(cases, "sin", dtype, sin);
  add_unary(cases, "cos", dtype, cos);
  add_unary(cases, "tanh", dtype, tanh);
  add_unary(cases, "erf", dtype, erf);
  add_unary(cases, "atan", dtype, atan);
  add_unary(cases, "floor", dtype, floor);
  add_unary(cases, "round", dtype, round);
}

void add_arithmetic(std::vector<Case>& cases, DType dtype) {
  add_binary(cases, "add", dtype, [](const Tensor& a, const Tensor& b) { return a + b; });
  add_binary(cases, "mul", dtype, [](const Tensor& a, const Tensor& b) { return a * b; });
  add_binary(cases, "div", dtype, [](const Tensor& a, const Tensor& b) {
    return a.dtype() == i32 ? trunc_div(a, b) : a / b;
  });
  add_binary(cases, "mod", dtype, [](const Tensor& a, const Tensor& b) { return fmod(a, b); });
  add_binary(cases, "max", dtype, [](const Tensor& a, const Tensor& b) { return maximum(a, b); });
  add_binary(cases, "less_than", dtype, [](const Tensor& a, const Tensor& b) { return a < b; });
  add_binary(cases, "equal", dtype, [](const Tensor& a, const Tensor& b) { return equal(a, b); });
  add_binary(cases, "select", dtype,
             [](const Tensor& a, const Tensor& b) { return where(a < b, a, b); });
}

void add_bits(std::vector<Case>& cases) {
  add_binary(cases, "bit_and", i32, [](const Tensor& a, const Tensor& b) { return bit_and(a, b); });
  add_binary(cases, "bit_or", i32, [](const Tensor& a, const Tensor& b) { return bit_or(a, b); });
  add_binary(cases, "bit_xor", i32, [](const Tensor& a, const Tensor& b) { return bit_xor(a, b); });
  add_binary(cases, "shift_left", i32,
             [](const Tensor& a, const Tensor& b) { return shift_left(a, b); });
  add_binary(cases, "shift_right", i32,
             [](const Tensor& a, const Tensor& b) { return shift_right(a, b); });
}

void add_reductions(std::vector<Case>& cases, DType dtype) {
  add_unary(cases, "sum", dtype, [](const Tensor& x) { return sum(x, -1); });
  add_unary(cases, "prod", dtype, [](const Tensor& x) { return prod(x, -1); });
  add_unary(cases, "reduce_max", dtype, [](const Tensor& x) { return max(x, -1); });
}

/// Casts, copies, and what is made without reading anything.
void add_copies(std::vector<Case>& cases) {
  add_unary(cases, "cast to bf16", f32, [](const Tensor& x) { return cast(x, bf16); });
  add_unary(cases, "cast to f32", bf16, [](const Tensor& x) { return cast(x, f32); });
  add_unary(cases, "cast to i8", i32, [](const Tensor& x) { return cast(x, i8); });
  add_unary(cases, "bitcast", f32, [](const Tensor& x) { return bitcast(x, i32); });
  add_unary(cases, "copy", f32, [](const Tensor& x) { return contiguous(flip(x, {0})); });
  add_unary(cases, "copy", bf16, [](const Tensor& x) { return contiguous(flip(x, {0})); });
  cases.push_back({sized("constant"), f32, [](Network& network) {
                     network.outputs = {full(network.graph, {kSide, kSide}, 1.5, f32)};
                   }});
  cases.push_back(
      {sized("iota"), i32, [](Network& network) {
         network.outputs = {reshape(arange(network.graph, kSide * kSide, i32), {kSide, kSide})};
       }});
}

/// Rows taken from, and written to, places in reverse order; rows in order of their values.
void add_positions(std::vector<Case>& cases) {
  const auto reversed = [](Network& network) {
    std::vector<int64_t> places(kSide);
    std::iota(places.rbegin(), places.rend(), 0);
    return network.graph.constant(Array::from<int64_t>(i64, {kSide}, places));
  };
  cases.push_back({sized("gather"), f32, [=](Network& network) {
                     const Tensor x = network.input({kSide, kSide}, f32);
                     network.outputs = {index_select(x, 0, reversed(network))};
                   }});
  cases.push_back({sized("scatter"), f32, [=](Network& network) {
                     const Tensor x = network.input({kSide, kSide}, f32);
                     const Tensor updates = network.input({kSide, kSide}, f32);
                     network.outputs = {index_put(x, 0, reversed(network), updates)};
                   }});
  cases.push_back({"argsort 1024x1024", f32, [](Network& network) {
                     network.outputs = {argsort(network.input({1024, 1024}, f32))};
                   }});
}

std::vector<Case> all_cases() {
  std::vector<Case> cases;
  for (const DType dtype : {f32, bf16}) {
    add_functions(cases, dtype);
    add_arithmetic(cases, dtype);
    add_binary(cases, "pow", dtype, [](const Tensor& a, const Tensor& b) { return pow(a, b); });
    add_reductions(cases, dtype);
  }
  add_arithmetic(cases, i32);
  add_bits(cases);
  add_reductions(cases, i32);
  add_copies(cases);
  add_positions(cases);
  return cases;
}

}  // namespace
}  // namespace luminal::benchmarks

int main(int argc, char** argv) {
  return luminal::benchmarks::run_suite("micro", luminal::benchmarks::all_cases(), argc, argv);
}

// The patterns that networks are made of, each as a graph of its own: what one kernel, or a few,
// can reach. Sizes are those of the literature and beyond the caches.
#include <fmt/format.h>

#include <random>

#include "benchmarks/patterns/product_cases.h"

namespace luminal::benchmarks {
namespace {

/// Networks of one result, from inputs of one shape.
using Unary = Tensor (*)(const Tensor& x);

std::string large_name(const std::string& name, DType dtype) {
  return fmt::format("{} {}x{}", name, rows_of(dtype), kSide);
}

void add_large(std::vector<Case>& cases, const std::string& name, DType dtype, Unary function) {
  cases.push_back({large_name(name, dtype), dtype, [=](Network& network) {
                     network.outputs = {function(network.input({rows_of(dtype), kSide}, dtype))};
                   }});
}

void add_rows(std::vector<Case>& cases, DType dtype) {
  add_large(cases, "gelu tanh", dtype, [](const Tensor& x) { return gelu_tanh(x); });
  add_large(cases, "gelu erf", dtype, [](const Tensor& x) { return gelu(x); });
  add_large(cases, "softmax", dtype, [](const Tensor& x) { return softmax(x); });
  add_large(cases, "log softmax", dtype, [](const Tensor& x) { return log_softmax(x); });
  add_large(cases, "layer norm", dtype, [](const Tensor& x) { return layer_norm(x); });
  add_large(cases, "rms norm", dtype, [](const Tensor& x) { return rms_norm(x); });
  add_large(cases, "row sum", dtype, [](const Tensor& x) { return sum(x, -1); });
  add_large(cases, "column sum", dtype, [](const Tensor& x) { return sum(x, 0); });
  add_large(cases, "full sum", dtype, [](const Tensor& x) { return sum(x); });
}

void add_elementwise(std::vector<Case>& cases, DType dtype) {
  const auto two = [dtype](auto function) {
    return [dtype, function](Network& network) {
      const Tensor a = network.input({rows_of(dtype), kSide}, dtype);
      network.outputs = {function(a, network.input({rows_of(dtype), kSide}, dtype))};
    };
  };
  cases.push_back({large_name("add", dtype), dtype,
                   two([](const Tensor& a, const Tensor& b) { return a + b; })});
  cases.push_back({large_name("chain", dtype), dtype,
                   two([](const Tensor& a, const Tensor& b) { return sqrt(abs(sin(a + b))); })});
}

void add_attention(std::vector<Case>& cases, DType dtype, int64_t tokens, bool causal) {
  constexpr int64_t kHeads = 12;
  constexpr int64_t kWidth = 64;
  cases.push_back(
      {fmt::format("{}attention {}x{}x{}", causal ? "causal " : "", kHeads, tokens, kWidth), dtype,
       [=](Network& network) {
         const Tensor q = network.input({kHeads, tokens, kWidth}, dtype);
         const Tensor k = network.input({kHeads, tokens, kWidth}, dtype);
         const Tensor v = network.input({kHeads, tokens, kWidth}, dtype);
         network.outputs = {attention(q, k, v, {.causal = causal})};
       },
       (causal ? 2.0 : 4.0) * static_cast<double>(kHeads * tokens * tokens * kWidth)});
}

/// Windows of 3x3 over a square image; `per_channel`: every channel has a filter of its own.
struct Windows {
  int64_t channels, outputs, size;
  int64_t stride = 1;
  bool per_channel = false;
  bool given = false;  ///< the filters come with each run instead of staying
};

std::string name_of(const Windows& windows) {
  if (windows.per_channel)
    return fmt::format("depthwise conv 3x3 {}x{}", windows.channels, windows.size);
  const char* kind = windows.given ? "given filters " : windows.stride == 2 ? "strided " : "";
  return fmt::format("{}conv 3x3 {}x{}x{}", kind, windows.channels, windows.outputs, windows.size);
}

void add_conv(std::vector<Case>& cases, const Windows& windows) {
  const int64_t groups = windows.per_channel ? windows.channels : 1;
  const int64_t inputs = windows.channels / groups;
  const int64_t side = (windows.size - 1) / windows.stride + 1;
  cases.push_back(
      {name_of(windows), f32,
       [=](Network& network) {
         const Tensor x = network.input({1, windows.channels, windows.size, windows.size}, f32);
         const auto parameter = windows.given ? &Network::input : &Network::weight;
         const Tensor weight = (network.*parameter)({windows.outputs, inputs, 3, 3}, f32);
         const Tensor bias = (network.*parameter)({windows.outputs}, f32);
         network.outputs = {conv2d(
             x, weight, bias, {.stride = {windows.stride}, .padding = {{1, 1}}, .groups = groups})};
       },
       2.0 * 9 * static_cast<double>(inputs * windows.outputs * side * side)});
}

/// Positions below `bound`, spread as a hash spreads them.
Tensor positions(Network& network, const Extents& extents, int64_t bound) {
  int64_t count = 1;
  for (const int64_t extent : extents) count *= extent;
  std::vector<int64_t> values(static_cast<size_t>(count));
  std::mt19937_64 random(3);
  for (int64_t& value : values)
    value = static_cast<int64_t>(random() % static_cast<uint64_t>(bound));
  return network.graph.constant(Array::from<int64_t>(i64, extents, values));
}

/// Sums along rows, orders, and rows that are chosen or added to by position.
void add_scans_and_positions(std::vector<Case>& cases) {
  add_large(cases, "cumsum", f32, [](const Tensor& x) { return cumsum(x, -1); });
  cases.push_back({"topk 64x128256", f32, [](Network& network) {
                     const Sorted best = topk(network.input({128256}, f32), 64);
                     network.outputs = {best.values, best.indices};
                   }});
  cases.push_back({"argsort 1000000", f32, [](Network& network) {
                     network.outputs = {argsort(network.input({1000000}, f32))};
                   }});
  cases.push_back({"embedding 8192x32000x1024", f32, [](Network& network) {
                     const Tensor table = network.input({32000, 1024}, f32);
                     network.outputs = {embedding(table, positions(network, {8192}, 32000))};
                   }});
  cases.push_back({fmt::format("scatter add {0}x{0}", kSide), f32, [](Network& network) {
                     const Tensor x = network.input({kSide, kSide}, f32);
                     const Tensor updates = network.input({kSide, kSide}, f32);
                     const Tensor index = positions(network, {kSide, kSide}, kSide);
                     network.outputs = {scatter(x, 1, index, updates, ScatterMode::kAdd)};
                   }});
}

/// A copy across, whose squares are of other sides for every width of elements.
void add_transposed(std::vector<Case>& cases, DType dtype) {
  add_large(cases, "transpose", dtype, [](const Tensor& x) { return transpose(x, 0, 1); });
}

std::vector<Case> all_cases() {
  std::vector<Case> cases;
  for (const DType dtype : {f32, bf16}) {
    add_elementwise(cases, dtype);
    add_rows(cases, dtype);
    add_transposed(cases, dtype);
    add_products(cases, dtype);
    for (const int64_t tokens : {512, 2048})
      for (const bool causal : {false, true}) add_attention(cases, dtype, tokens, causal);
  }
  add_double_products(cases);
  add_byte_products(cases);
  for (const DType dtype : {f64, i8}) add_transposed(cases, dtype);
  add_scans_and_positions(cases);
  add_conv(cases, {64, 64, 56});
  add_conv(cases, {32, 64, 14});
  add_conv(cases, {.channels = 64, .outputs = 64, .size = 56, .given = true});
  add_conv(cases, {.channels = 32, .outputs = 64, .size = 14, .given = true});
  add_conv(cases, {64, 128, 56, 2});
  add_conv(cases, {256, 512, 14, 2});
  add_conv(cases, {128, 128, 56, 1, true});
  add_conv(cases, {512, 512, 14, 1, true});
  return cases;
}

}  // namespace
}  // namespace luminal::benchmarks

int main(int argc, char** argv) {
  return luminal::benchmarks::run_suite("patterns", luminal::benchmarks::all_cases(), argc, argv);
}

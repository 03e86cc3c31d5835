#include "benchmarks/patterns/product_cases.h"

#include <fmt/format.h>

namespace luminal::benchmarks {
namespace {

/// Weights of a decoder of 8 billion parameters: rows and what a row is long.
constexpr std::pair<int64_t, int64_t> kWeightSizes[] = {{4096, 4096}, {14336, 4096}, {4096, 14336}};
/// How many four-bit weights share a scale.
constexpr int64_t kBlock = 32;

/// What sums of products are, as matmul takes it.
DType sums_of(DType dtype) { return dtype == i8 ? i32 : dtype; }

double operations(int64_t m, int64_t n, int64_t k) {
  return 2.0 * static_cast<double>(m * n) * static_cast<double>(k);
}

void add_matrices(std::vector<Case>& cases, DType dtype, int64_t m, int64_t n, int64_t k) {
  const bool cube = m == n && n == k;
  const std::string size = cube ? fmt::format("{}", m) : fmt::format("{}x{}x{}", m, n, k);
  cases.push_back({"matmul " + size, dtype,
                   [=](Network& network) {
                     const Tensor a = network.input({m, k}, dtype);
                     const Tensor b = network.input({k, n}, dtype);
                     network.outputs = {matmul(a, b, sums_of(dtype))};
                   },
                   operations(m, n, k)});
}

void add_batch(std::vector<Case>& cases, DType dtype, int64_t batch, int64_t m, int64_t k,
               int64_t n) {
  cases.push_back({fmt::format("batched matmul {}x{}x{}x{}", batch, m, k, n), dtype,
                   [=](Network& network) {
                     const Tensor a = network.input({batch, m, k}, dtype);
                     network.outputs = {matmul(a, network.input({batch, k, n}, dtype))};
                   },
                   operations(batch * m, n, k)});
}

/// The gradient of weights: rows of both operands are what is summed.
void add_gradient(std::vector<Case>& cases, DType dtype, int64_t m, int64_t n, int64_t k) {
  cases.push_back({fmt::format("weight gradient {}x{}x{}", m, n, k), dtype,
                   [=](Network& network) {
                     const Tensor x = network.input({k, m}, dtype);
                     network.outputs = {matmul(transpose(x), network.input({k, n}, dtype))};
                   },
                   operations(m, n, k)});
}

/// A matrix that the run gives, times a vector.
void add_gemv(std::vector<Case>& cases, DType dtype, int64_t n, int64_t k) {
  cases.push_back({fmt::format("gemv {}x{}", n, k), dtype, [=](Network& network) {
                     const Tensor weight = network.input({n, k}, dtype);
                     const Tensor x = network.input({k}, dtype);
                     network.outputs = {matmul(weight, x, sums_of(dtype))};
                   }});
}

/// Few rows times a matrix of rows of k: given by the run, or weights that stay.
void add_skinny(std::vector<Case>& cases, DType dtype, bool weights, int64_t m, int64_t n,
                int64_t k) {
  const char* name = weights ? "linear" : "skinny";
  cases.push_back(
      {fmt::format("{} {}x{}x{}", name, m, n, k), dtype,
       [=](Network& network) {
         const Tensor x = network.input({m, k}, dtype);
         const Tensor w = weights ? network.weight({n, k}, dtype) : network.input({n, k}, dtype);
         network.outputs = {matmul(x, transpose(w), sums_of(dtype))};
       },
       operations(m, n, k)});
}

/// Four-bit weights, 8 too large, with a scale per block.
void add_four_bit(std::vector<Case>& cases, DType dtype, int64_t m, int64_t n, int64_t k) {
  cases.push_back({fmt::format("4-bit linear {}x{}x{}", m, n, k), dtype,
                   [=](Network& network) {
                     const Tensor x = network.input({m, k}, dtype);
                     const Tensor q = network.weight({n, k / kBlock, kBlock}, u4);
                     const Tensor scales = network.weight({n, k / kBlock, 1}, f16);
                     const Tensor w = (cast(q, f32) - 8.0) * cast(scales, f32);
                     const Tensor y = matmul(cast(x, f32), transpose(merge_dims(w, 1)));
                     network.outputs = {cast(y, dtype)};
                   },
                   operations(m, n, k)});
}

void add_few_rows(std::vector<Case>& cases, DType dtype) {
  for (const auto& [n, k] : kWeightSizes) add_gemv(cases, dtype, n, k);
  for (const auto& [n, k] : kWeightSizes) add_skinny(cases, dtype, true, 1, n, k);
  for (const int64_t m : {4, 8, 16}) add_skinny(cases, dtype, true, m, 14336, 4096);
  for (const int64_t m : {8, 16}) add_skinny(cases, dtype, false, m, 14336, 4096);
}

void add_large_products(std::vector<Case>& cases, DType dtype) {
  for (const int64_t size : {128, 130, 512, 1024, 2048})
    add_matrices(cases, dtype, size, size, size);
  add_matrices(cases, dtype, 1000, 1003, 997);
  add_matrices(cases, dtype, 64, 64, 65536);
  add_matrices(cases, dtype, 16, 512, 16384);
  add_gradient(cases, dtype, 768, 768, 4096);
  add_batch(cases, dtype, 24, 512, 64, 512);
  add_batch(cases, dtype, 7, 509, 61, 503);
}

}  // namespace

void add_products(std::vector<Case>& cases, DType dtype) {
  add_large_products(cases, dtype);
  add_matrices(cases, dtype, 16, 3072, 768);
  add_few_rows(cases, dtype);
  for (const auto& [n, k] : kWeightSizes) add_four_bit(cases, dtype, 1, n, k);
  for (const int64_t m : {2, 4, 8, 16}) add_four_bit(cases, dtype, m, 14336, 4096);
}

void add_double_products(std::vector<Case>& cases) { add_large_products(cases, f64); }

void add_byte_products(std::vector<Case>& cases) {
  for (const int64_t size : {512, 1024, 2048}) add_matrices(cases, i8, size, size, size);
  add_few_rows(cases, i8);
}

}  // namespace luminal::benchmarks

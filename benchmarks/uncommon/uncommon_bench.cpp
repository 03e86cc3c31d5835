// Kernels of shapes that no default was made for: narrow, odd, deep, of many small parts, summed
// along the middle. What a search gains here over the plan without one shows where the cost model
// errs, and what neither reaches shows which choice of code is missing.
#include <fmt/format.h>

#include <span>

#include "benchmarks/suite.h"

namespace luminal::benchmarks {
namespace {

using Given = std::span<const Tensor>;

/// A case of a function and the shapes it is given; the last `weights` of them stay the same.
struct Uncommon {
  std::string name;
  std::vector<Extents> shapes;
  Tensor (*function)(Given given);
  double products = 0;  ///< multiplications that it needs
  DType dtype = f32;
  size_t weights = 0;
};

Case case_of(const Uncommon& uncommon) {
  return {uncommon.name, uncommon.dtype,
          [=](Network& network) {
            std::vector<Tensor> given;
            for (const Extents& shape : uncommon.shapes) {
              const bool stays = given.size() + uncommon.weights >= uncommon.shapes.size();
              given.push_back(stays ? network.weight(shape, uncommon.dtype)
                                    : network.input(shape, uncommon.dtype));
            }
            network.outputs = {uncommon.function(given)};
          },
          2.0 * uncommon.products};
}

Tensor product(Given given) { return matmul(given[0], given[1]); }
Tensor transposed_product(Given given) { return matmul(transpose(given[0]), given[1]); }
Tensor dense(Given given) { return relu(matmul(given[0], transpose(given[1])) + given[2]); }

/// Products of [m, k] and [k, n], in a batch or not.
void add_products(std::vector<Uncommon>& cases) {
  const auto matrices = [&](int64_t m, int64_t n, int64_t k, DType dtype = f32) {
    cases.push_back({.name = fmt::format("matmul {}x{}x{}", m, n, k),
                     .shapes = {{m, k}, {k, n}},
                     .function = product,
                     .products = static_cast<double>(m * n * k),
                     .dtype = dtype});
  };
  matrices(5, 5000, 5000);
  matrices(17, 1000, 1000);
  matrices(1000, 17, 1000);
  matrices(1000, 1000, 17);
  matrices(2000, 3, 2000);
  matrices(48, 5000, 300);
  matrices(97, 97, 97);
  matrices(33, 33, 100000);
  matrices(2500, 2500, 4);
  matrices(300, 200, 100, bf16);
  matrices(17, 1000, 1000, bf16);
  matrices(100, 100, 100, f64);
  const auto batch = [&](int64_t count, int64_t m, int64_t k, int64_t n) {
    cases.push_back({.name = fmt::format("batched matmul {}x{}x{}x{}", count, m, k, n),
                     .shapes = {{count, m, k}, {count, k, n}},
                     .function = product,
                     .products = static_cast<double>(count * m * n * k)});
  };
  batch(20000, 3, 3, 3);
  batch(4000, 8, 8, 8);
  batch(1000, 33, 33, 33);
  batch(500, 1, 300, 100);
  cases.push_back({.name = "transposed matmul 100x100x10000",
                   .shapes = {{10000, 100}, {10000, 100}},
                   .function = transposed_product,
                   .products = 1e8});
  const auto layer = [&](int64_t m, int64_t n, int64_t k) {
    cases.push_back({.name = fmt::format("dense {}x{}x{}", m, n, k),
                     .shapes = {{m, k}, {n, k}, {n}},
                     .function = dense,
                     .products = static_cast<double>(m * n * k),
                     .weights = 2});
  };
  layer(256, 10, 784);
  layer(1024, 1, 512);
  layer(7, 777, 1111);
  layer(64, 100, 3000);
}

/// Sums, norms and softmax along short, long, middle and several axes.
void add_reductions(std::vector<Uncommon>& cases) {
  const auto add = [&](const std::string& name, const Extents& shape, Tensor (*function)(Given),
                       DType dtype = f32) {
    cases.push_back({.name = fmt::format("{} {}", name, fmt::join(shape, "x")),
                     .shapes = {shape},
                     .function = function,
                     .dtype = dtype});
  };
  add("softmax", {1000000, 10}, [](Given x) { return softmax(x[0]); });
  add("softmax", {64, 100000}, [](Given x) { return softmax(x[0]); });
  add("softmax of columns", {2048, 1000}, [](Given x) { return softmax(x[0], 0); });
  add("softmax of the middle", {64, 200, 300}, [](Given x) { return softmax(x[0], 1); });
  add("layer norm", {100000, 48}, [](Given x) { return layer_norm(x[0]); });
  add("layer norm", {8, 500000}, [](Given x) { return layer_norm(x[0]); });
  add(
      "layer norm", {20000, 100}, [](Given x) { return layer_norm(x[0]); }, bf16);
  add("group norm", {8, 64, 3136}, [](Given x) { return group_norm(x[0], 16); });
  add("channel means", {32, 64, 784}, [](Given x) { return mean(x[0], {0, 2}); });
  add("sum of the middle", {64, 1000, 100}, [](Given x) { return sum(x[0], 1); });
  add("row sum", {1000000, 3}, [](Given x) { return sum(x[0], -1); });
  add("column sum", {1000000, 8}, [](Given x) { return sum(x[0], 0); });
  add("column max", {100, 100000}, [](Given x) { return max(x[0], 0); });
  add("argmax", {20000, 200}, [](Given x) { return argmax(x[0], 1); });
  add("logsumexp", {5000, 1000}, [](Given x) { return logsumexp(x[0], -1); });
  add("cumsum of columns", {4000, 1000}, [](Given x) { return cumsum(x[0], 0); });
}

/// Copies of other orders and of parts.
void add_movement(std::vector<Uncommon>& cases) {
  const auto add = [&](const std::string& name, const Extents& shape, Tensor (*function)(Given),
                       DType dtype = f32) {
    cases.push_back({.name = fmt::format("{} {}", name, fmt::join(shape, "x")),
                     .shapes = {shape},
                     .function = function,
                     .dtype = dtype});
  };
  add("heads first", {64, 512, 12, 64}, [](Given x) { return permute(x[0], {0, 2, 1, 3}); });
  add("channels last", {16, 64, 3136}, [](Given x) { return transpose(x[0]); });
  add("channels first", {16, 50176, 3}, [](Given x) { return transpose(x[0]); });
  add("channels last", {16, 3, 50176}, [](Given x) { return transpose(x[0]); });
  add("transpose", {1000003, 7}, [](Given x) { return transpose(x[0]); });
  add("transpose", {4099, 5003}, [](Given x) { return transpose(x[0]); });
  add(
      "transpose", {4099, 5003}, [](Given x) { return transpose(x[0]); }, bf16);
  add(
      "transpose", {5000, 3000}, [](Given x) { return transpose(x[0]); }, i8);
  add("reversed rows", {3000, 3000}, [](Given x) { return flip(x[0], {1}); });
  add("upsample", {64, 56, 1, 56, 1}, [](Given x) {
    return merge_dims(merge_dims(expand(x[0], {64, 56, 2, 56, 2}), 3), 1);
  });
  add("pad", {64, 255, 255}, [](Given x) { return pad(x[0], {{0, 0}, {1, 1}, {1, 1}}); });
}

/// Windows of unusual sizes, steps and groups.
void add_windows(std::vector<Uncommon>& cases) {
  const auto add = [&](const std::string& name, const Extents& image, const Extents& weight,
                       Tensor (*function)(Given), int64_t outputs) {
    const int64_t window = weight[1] * weight[2] * (weight.size() > 3 ? weight[3] : 1);
    cases.push_back({.name = name,
                     .shapes = {image, weight},
                     .function = function,
                     .products = static_cast<double>(image[0] * weight[0] * window * outputs),
                     .weights = 1});
  };
  add(
      "conv 1x1 256x64x56", {1, 256, 56, 56}, {64, 256, 1, 1},
      [](Given x) { return conv2d(x[0], x[1]); }, 56 * 56);
  add(
      "conv 5x5 32x32x28", {1, 32, 28, 28}, {32, 32, 5, 5},
      [](Given x) {
        return conv2d(x[0], x[1], {}, {.padding = {{2, 2}}});
      },
      28 * 28);
  add(
      "conv 7x7 3x64x224 by 2", {1, 3, 224, 224}, {64, 3, 7, 7},
      [](Given x) {
        return conv2d(x[0], x[1], {}, {.stride = {2}, .padding = {{3, 3}}});
      },
      112 * 112);
  add(
      "conv 16x16 3x768x224 by 16", {1, 3, 224, 224}, {768, 3, 16, 16},
      [](Given x) { return conv2d(x[0], x[1], {}, {.stride = {16}}); }, 14 * 14);
  add(
      "dilated conv 3x3 64x64x28", {1, 64, 28, 28}, {64, 64, 3, 3},
      [](Given x) {
        return conv2d(x[0], x[1], {}, {.padding = {{2, 2}}, .dilation = {2}});
      },
      28 * 28);
  add(
      "batch conv 3x3 16x16x32x28", {16, 16, 28, 28}, {32, 16, 3, 3},
      [](Given x) {
        return conv2d(x[0], x[1], {}, {.padding = {{1, 1}}});
      },
      28 * 28);
  add(
      "grouped conv 3x3 128x128x28", {1, 128, 28, 28}, {128, 32, 3, 3},
      [](Given x) {
        return conv2d(x[0], x[1], {}, {.padding = {{1, 1}}, .groups = 4});
      },
      28 * 28);
  add(
      "depthwise conv 5x5 240x28", {1, 240, 28, 28}, {240, 1, 5, 5},
      [](Given x) {
        return conv2d(x[0], x[1], {}, {.padding = {{2, 2}}, .groups = 240});
      },
      28 * 28);
  add(
      "depthwise conv 3x3 96x112 by 2", {1, 96, 112, 112}, {96, 1, 3, 3},
      [](Given x) {
        return conv2d(x[0], x[1], {}, {.stride = {2}, .padding = {{1, 1}}, .groups = 96});
      },
      56 * 56);
  add(
      "conv1d 80x384x3000", {1, 80, 3000}, {384, 80, 3},
      [](Given x) {
        return conv1d(x[0], x[1], {}, {.padding = {{1, 1}}});
      },
      3000);
  cases.push_back(
      {.name = "max pool 3x3 64x112 by 2", .shapes = {{1, 64, 112, 112}}, .function = [](Given x) {
         return max_pool(x[0], {3, 3}, {.stride = {2}, .padding = {{1, 1}}});
       }});
  cases.push_back(
      {.name = "average pool 2x2 16x64x56", .shapes = {{16, 64, 56, 56}}, .function = [](Given x) {
         return avg_pool(x[0], {2, 2});
       }});
}

/// Attention of other heads, of one query, and of queries and keys of different numbers.
void add_attention(std::vector<Uncommon>& cases) {
  const auto add = [&](int64_t heads, int64_t queries, int64_t keys, int64_t width) {
    cases.push_back(
        {.name = fmt::format("cross attention {}x{}x{}x{}", heads, queries, keys, width),
         .shapes = {{heads, queries, width}, {heads, keys, width}, {heads, keys, width}},
         .function = [](Given x) { return attention(x[0], x[1], x[2]); },
         .products = static_cast<double>(2 * heads * queries * keys * width)});
  };
  add(8, 300, 300, 80);
  add(32, 1, 1000, 128);
  add(8, 1024, 77, 40);
  add(200, 49, 49, 32);
}

std::vector<Case> all_cases() {
  std::vector<Uncommon> uncommon;
  add_products(uncommon);
  add_reductions(uncommon);
  add_movement(uncommon);
  add_windows(uncommon);
  add_attention(uncommon);
  std::vector<Case> cases;
  cases.reserve(uncommon.size());
  for (const Uncommon& one : uncommon) cases.push_back(case_of(one));
  return cases;
}

}  // namespace
}  // namespace luminal::benchmarks

int main(int argc, char** argv) {
  return luminal::benchmarks::run_suite("uncommon", luminal::benchmarks::all_cases(), argc, argv);
}

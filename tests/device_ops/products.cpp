// Products of matrices, convolutions, pools and attention.
#include "rows.h"

namespace luminal::device_ops {
namespace {

constexpr Fill kPlain = Fill::kPlain;

/// [rows, columns], in either order in memory.
Tensor matrix(Cell& cell, const Dim& rows, const Dim& columns, bool across) {
  return across ? transpose(cell.input({columns, rows}, kPlain))
                : cell.input({rows, columns}, kPlain);
}

void write_matmul(Cell& cell) {
  for (const bool left : {false, true})
    for (const bool right : {false, true}) {
      const auto add = [&](const char* what, const Dim& m, int64_t k, int64_t columns) {
        cell.add(fmt::format("{}{}{}", what, left ? ", a across" : "", right ? ", b across" : ""),
                 matmul(matrix(cell, m, k, left), matrix(cell, k, columns, right)));
      };
      add("odd", 33, 37, 35);
      add("n rows", cell.n(), 19, 17);
    }
  cell.add("batches", matmul(cell.input({3, 5, 7}, kPlain), cell.input({3, 7, 9}, kPlain)));
  cell.add("a batch by one",
           matmul(cell.input({2, 3, 5, 7}, kPlain), cell.input({3, 7, 4}, kPlain)));
  cell.add("one row", matmul(cell.input({1, 67}, kPlain), cell.input({67, 130}, kPlain)));
  cell.add("one column", matmul(cell.input({130, 67}, kPlain), cell.input({67, 1}, kPlain)));
  cell.add("a vector first", matmul(cell.input({67}, kPlain), cell.input({67, 33}, kPlain)));
  cell.add("a vector last", matmul(cell.input({33, 67}, kPlain), cell.input({67}, kPlain)));
  cell.add("k is n", matmul(cell.input({5, cell.n()}, kPlain), cell.input({cell.n(), 6}, kPlain)));
  cell.add("a view",
           matmul(cell.seen(Seen::kPadded, kPlain), transpose(cell.seen(Seen::kReshaped, kPlain))));
  cell.add("zeros around a",
           matmul(pad(cell.input({6, 9}, kPlain), {{1, 1}, {2, 3}}), cell.input({14, 5}, kPlain)));
  cell.add("zeros around both, a batch",
           matmul(pad(cell.input({2, 6, 9}, kPlain), {{0, 1}, {0, 0}, {0, 2}}),
                  pad(cell.input({3, 10, 5}, kPlain), {{0, 0}, {1, 0}, {0, 3}})));
  cell.add(
      "zeros around the result",
      pad(matmul(cell.input({cell.n(), 9}, kPlain), cell.input({9, 5}, kPlain)), {{1, 0}, {2, 1}}));
}

void write_widened_matmul(Cell& cell) {
  const DType wide = graph::is_float(cell.dtype()) ? f32 : i32;
  cell.add(fmt::format("to {}", wide),
           matmul(cell.input({17, 36}, kPlain), cell.input({36, 35}, kPlain), wide));
  cell.add(
      fmt::format("to {}, across", wide),
      matmul(cell.input({cell.n(), 36}, kPlain), transpose(cell.input({35, 36}, kPlain)), wide));
}

void add_linalg(std::vector<Row>& rows) {
  rows.push_back({"Products", "matmul", write_matmul, kShortLengths});
  rows.push_back({"Products", "matmul, widened", write_widened_matmul, kShortLengths});
  rows.push_back(
      {"Products", "dot",
       [](Cell& cell) {
         cell.add("n", dot(cell.input({cell.n()}, kPlain), cell.input({cell.n()}, kPlain)));
         cell.add("flipped", dot(flip(cell.input({67}, kPlain), {0}), cell.input({67}, kPlain)));
       },
       kShortLengths});
  rows.push_back({"Products", "outer", [](Cell& cell) {
                    cell.add("n", outer(cell.input({cell.n()}, kPlain), cell.input({67}, kPlain)));
                  }});
  rows.push_back({"Products", "einsum",
                  [](Cell& cell) {
                    cell.add("bij,bjk->bik",
                             einsum("bij,bjk->bik", {cell.input({3, 5, 7}, kPlain),
                                                     cell.input({3, 7, 4}, kPlain)}));
                    cell.add("ii->i", einsum("ii->i", {cell.input({9, 9}, kPlain)}));
                    cell.add("ni,ni->n", einsum("ni,ni->n", {cell.input({cell.n(), 33}, kPlain),
                                                             cell.input({cell.n(), 33}, kPlain)}));
                  },
                  kShortLengths});
}

void write_conv(Cell& cell) {
  const auto add = [&](const char* what, const Dim& images, int64_t in, int64_t out, int64_t kernel,
                       const ConvOptions& options) {
    cell.add(what, conv2d(cell.input({images, in, 9, 11}, kPlain),
                          cell.input({out, in / options.groups, kernel, kernel}, kPlain),
                          cell.input({out}, kPlain), options));
  };
  add("3x3", 2, 3, 5, 3, {.padding = {{1, 1}}});
  add("1x1", 1, 5, 7, 1, {});
  add("strided, dilated", 1, 2, 3, 3, {.stride = {2}, .padding = {{2, 2}}, .dilation = {2}});
  add("groups", 1, 4, 6, 3, {.groups = 2});
  add("depthwise", 1, 4, 4, 3, {.padding = {{1, 1}}, .groups = 4});
  add("n images", cell.n(), 2, 3, 2, {});
  cell.add("1d", conv1d(cell.input({2, 3, 40}, kPlain), cell.input({4, 3, 5}, kPlain)));
  cell.add("3d", conv3d(cell.input({1, 2, 4, 5, 6}, kPlain), cell.input({2, 2, 2, 3, 2}, kPlain)));
}

using Pool = Tensor (*)(const Tensor&, const std::vector<int64_t>&, const PoolOptions&);

Row pool(const std::string& op, Pool function) {
  return {"Convolutions", op,
          [function](Cell& cell) {
            cell.add("2x2", function(cell.input({2, 3, 8, 34}, kPlain), {2, 2}, {}));
            cell.add("padded, strided", function(cell.input({2, 9, 11}, kPlain), {3, 3},
                                                 {.stride = {2}, .padding = {{1, 1}}}));
            cell.add("n rows", function(cell.input({cell.n(), 20}, kPlain), {5}, {.stride = {1}}));
          },
          kShortLengths};
}

struct AttentionForm {
  const char* what;
  int64_t heads, kv_heads, queries, keys, d;
  AttentionOptions options;
};

void write_attention(Cell& cell) {
  const std::vector<AttentionForm> forms{
      {"plain", 2, 2, 7, 19, 8, {}},
      {"causal", 2, 2, 17, 17, 16, {.causal = true}},
      {"grouped", 4, 2, 5, 9, 4, {.causal = true}},
      {"decode", 4, 1, 1, 67, 8, {}},
      {"a window", 2, 2, 20, 20, 8, {.causal = true, .window = 5}},
      {"a soft cap", 2, 2, 6, 11, 8, {.scale = 0.5, .soft_cap = 3.0}}};
  for (const AttentionForm& form : forms)
    cell.add(form.what,
             attention(cell.input({form.heads, form.queries, form.d}, kPlain),
                       cell.input({form.kv_heads, form.keys, form.d}, kPlain),
                       cell.input({form.kv_heads, form.keys, form.d + 1}, kPlain), form.options));
  const Tensor mask = expand(cell.input(boolean, {7, 18}, Fill::kAny), {7, 18});
  // Every query sees the first key, or its row would be NaN.
  const Tensor seen = logical_or(pad(mask, {{0, 0}, {1, 0}}), arange(cell.graph(), 19) < 1);
  cell.add("a mask", attention(cell.input({2, 7, 8}, kPlain), cell.input({2, 19, 8}, kPlain),
                               cell.input({2, 19, 8}, kPlain), {.mask = seen}));
  const Dim n = cell.n();
  cell.add("n tokens", attention(cell.input({2, n, 8}, kPlain), cell.input({2, n, 8}, kPlain),
                                 cell.input({2, n, 8}, kPlain), {.causal = true}));
}

void write_rope(Cell& cell) {
  const Dim n = cell.n();
  const Tensor positions = arange(cell.graph(), 9);
  cell.add("halves", rope(cell.input({2, 9, 8}, kPlain), positions));
  cell.add("neighbours", rope(cell.input({2, 9, 8}, kPlain), positions, {.interleaved = true}));
  cell.add("n tokens", rope(cell.input({n, 16}, kPlain), arange(cell.graph(), n), {.base = 500}));
}

}  // namespace

void add_products(std::vector<Row>& rows) {
  add_linalg(rows);
  rows.push_back({"Convolutions", "conv", write_conv, kShortLengths});
  rows.push_back(pool("max_pool", max_pool));
  rows.push_back(pool("avg_pool", avg_pool));
  rows.push_back({"Attention", "attention", write_attention, kShortLengths});
  rows.push_back({"Attention", "rope", write_rope, kShortLengths});
}

}  // namespace luminal::device_ops

#include "rule_cases.h"

namespace luminal::rules {
namespace {

using Tensors = std::vector<Tensor>;
using G = luminal::Graph;
using S = CaseSizes;

const std::vector<DType> kFloats{f32, bf16}, kWide{f32, f64, i32}, kWideFloats{f32, f64},
    kIntegers{i64};

/// A sum in the dtype itself, without the accumulator that the tensor layer gives narrow floats.
Tensor input(const G& g, const char* name, const Shape& shape, const S& s) {
  return g.input(name, shape, s.dtype);
}

std::vector<RuleCase> product_cases() {
  std::vector<RuleCase> cases;
  const auto chain = [](const G& g, const S& s) -> Tensors {
    // Many rows and a wide middle: (x a) b is dearer than x (a b).
    Tensor x = input(g, "x", {s.a + 40, 2}, s), a = input(g, "a", {2, 9}, s);
    return {matmul(matmul(x, a), input(g, "b", {9, s.b}, s))};
  };
  cases.push_back({"product-chain", chain, kWide});
  cases.push_back({"sum-of-products-is-product", chain, kWide});
  cases.push_back({"product-is-sum-of-products", chain, kWide});
  cases.push_back({"times", chain, kWide});
  cases.push_back({"product", chain, kWide});
  cases.push_back({"product-chain",
                   [](const G& g, const S& s) -> Tensors {
                     // The chain on the right, transposed and with a batch.
                     Tensor a = input(g, "a", {3, 9, 2}, s), x = input(g, "x", {3, 2, s.a + 40}, s);
                     return {matmul(input(g, "b", {3, s.b, 9}, s), matmul(a, x))};
                   },
                   kWide});
  cases.push_back({"plus", [](const G& g, const S& s) -> Tensors {
                     return {input(g, "x", {s.a}, s) + input(g, "y", {s.a}, s)};
                   }});
  cases.push_back({"scale-out-of-product",
                   [](const G& g, const S& s) -> Tensors {
                     Tensor x = input(g, "x", {s.a, 5}, s) * input(g, "scale", {s.a, 1}, s);
                     return {matmul(x, input(g, "w", {5, 3}, s))};
                   },
                   kIntegers});
  cases.push_back({"scale-into-product",
                   [](const G& g, const S& s) -> Tensors {
                     Tensor x = input(g, "x", {s.a, 3}, s), w = input(g, "w", {3, 9}, s);
                     return {matmul(x, w) * (s.dtype == i32 ? 3.0 : 0.3)};
                   },
                   kWide});
  cases.push_back(
      {"common-factor-of-products",
       [](const G& g, const S& s) -> Tensors {
         Tensor x = input(g, "x", {s.a, 4}, s);
         return {matmul(x, input(g, "u", {4, s.b}, s)) + matmul(x, input(g, "w", {4, s.b}, s))};
       },
       kWide});
  cases.push_back({"product-of-low-rank-sum",
                   [](const G& g, const S& s) -> Tensors {
                     Tensor x = input(g, "x", {s.a, 8}, s), w = input(g, "w", {8, 12}, s);
                     Tensor adapter = matmul(input(g, "u", {8, 2}, s), input(g, "v", {2, 12}, s));
                     return {matmul(x, w + adapter)};
                   },
                   kWide});
  return cases;
}

std::vector<RuleCase> slice_cases() {
  std::vector<RuleCase> cases;
  const auto joined = [](const G& g, const S& s) -> Tensors {
    Tensor x = input(g, "x", {s.a, 3}, s), y = input(g, "y", {s.a, 2}, s);
    Tensor both = concat({x, y}, 1);
    return {slice(both, 1, {.end = 2}), slice(both, 1, {.begin = 3}), both};
  };
  cases.push_back({"see-chosen-first", joined});
  cases.push_back({"see-chosen-second", joined});
  cases.push_back({"select-by-position-is-concat", joined});
  cases.push_back({"concat-is-select-by-position", joined});
  cases.push_back({"part-of-product",
                   [](const G& g, const S& s) -> Tensors {
                     Tensor y = matmul(input(g, "x", {s.a, 5}, s), input(g, "w", {5, 9}, s));
                     return {slice(y, 1, {.begin = 2, .end = 5}), slice(y, 1, {.begin = 6})};
                   },
                   kWide});
  cases.push_back({"part-of-unary", [](const G& g, const S& s) -> Tensors {
                     Tensor x = input(g, "x", {s.a, 9}, s);
                     Tensor y = graph::is_float(s.dtype) ? exp(x) : cast(x, i64);
                     return {slice(y, 1, {.begin = 2, .end = 5})};
                   }});
  cases.push_back({"part-of-binary", [](const G& g, const S& s) -> Tensors {
                     Tensor x = input(g, "x", {s.a, 9}, s) + input(g, "y", {9}, s);
                     return {slice(x, 1, {.begin = 7}), less(slice(x, 1, {.end = 4}), 1)};
                   }});
  cases.push_back({"part-of-select", [](const G& g, const S& s) -> Tensors {
                     Tensor x = input(g, "x", {s.a, 9}, s), y = input(g, "y", {s.a, 9}, s);
                     return {slice(where(x < y, x, y), 1, {.begin = 5})};
                   }});
  cases.push_back({"part-of-select-by-position", [](const G& g, const S& s) -> Tensors {
                     Tensor x = concat({input(g, "x", {s.a, 5}, s), input(g, "y", {s.a, 5}, s)}, 1);
                     return {slice(x, 1, {.begin = 3, .end = 7})};
                   }});
  cases.push_back(
      {"part-of-reduction", [](const G& g, const S& s) -> Tensors {
         Tensor x = input(g, "x", {9, s.a, 3}, s);
         return {slice(max(x, -1), 0, {.begin = 2, .end = 5}), slice(sum(x, -1), 0, {.begin = 8})};
       }});
  cases.push_back({"part-of-gather", [](const G& g, const S& s) -> Tensors {
                     Tensor x = input(g, "x", {9, s.a}, s);
                     return {slice(index_select(x, 0, flip(arange(g, 9), {0})), 0, {.end = 3})};
                   }});
  cases.push_back({"product-of-joined-rows",
                   [](const G& g, const S& s) -> Tensors {
                     Tensor w = concat({input(g, "u", {4, 3}, s), input(g, "w", {4, s.b}, s)}, 1);
                     return {matmul(input(g, "x", {s.a, 4}, s), w)};
                   },
                   kWide});
  cases.push_back(
      {"product-of-joined-depth",
       [](const G& g, const S& s) -> Tensors {
         Tensor x = concat({input(g, "x", {s.a, 3}, s), input(g, "y", {s.a, s.b}, s)}, 1);
         return {matmul(x, input(g, "w", {3 + s.b, 5}, s))};
       },
       kWide});
  return cases;
}

std::vector<RuleCase> sibling_cases() {
  std::vector<RuleCase> cases;
  const auto three = [](const G& g, const S& s) -> Tensors {
    Tensor x = input(g, "x", {s.a, 4}, s);
    return {matmul(x, input(g, "q", {4, 6}, s)), matmul(x, transpose(input(g, "k", {s.b, 4}, s))),
            matmul(x, input(g, "v", {4, 2}, s))};
  };
  for (const char* rule : {"sibling", "next-sibling", "first-sibling", "join-siblings"})
    cases.push_back({rule, three, kWide});
  return cases;
}

std::vector<RuleCase> reduction_cases() {
  std::vector<RuleCase> cases;
  cases.push_back({"max-of-max", [](const G& g, const S& s) -> Tensors {
                     return {max(max(input(g, "x", {3, s.a, s.b}, s), -1), -1)};
                   }});
  cases.push_back({"sum-of-sums", [](const G& g, const S& s) -> Tensors {
                     return {sum(sum(input(g, "x", {3, s.a, s.b}, s), 1), -1)};
                   }});
  cases.push_back(
      {"split-long-sum",
       [](const G& g, const S& s) -> Tensors { return {sum(input(g, "x", {1 << 16}, s), 0)}; },
       kWide});
  cases.push_back(
      {"split-long-narrow-sum",
       [](const G& g, const S& s) -> Tensors { return {sum(input(g, "x", {1 << 16}, s), 0)}; },
       {bf16, f16}});
  cases.push_back({"reduction-of-one", [](const G& g, const S& s) -> Tensors {
                     Tensor x = input(g, "x", {s.a, 1, 1}, s);
                     return {sum(x, {1, 2}), max(x, {1, 2})};
                   }});
  cases.push_back({"reduction-without-unit-axes", [](const G& g, const S& s) -> Tensors {
                     Tensor x = input(g, "x", {2, 3, 1}, s);
                     return {sum(x, {1, 2}), max(x, {1, 2}), prod(x, {1, 2}), max(x, {2, 0})};
                   }});
  cases.push_back({"max-of-repeated", [](const G& g, const S& s) -> Tensors {
                     return {max(expand(input(g, "x", {s.a, 1, 3}, s), {s.a, 4, 3}), {1, 2})};
                   }});
  cases.push_back({"sum-of-repeated",
                   [](const G& g, const S& s) -> Tensors {
                     return {sum(expand(input(g, "x", {s.a, 1, 3}, s), {s.a, 4, 3}), {1, 2}),
                             sum(expand(input(g, "y", {1, 3}, s), {s.b, 3}), {0, 1})};
                   },
                   kWide});
  cases.push_back({"scale-out-of-sum",
                   [](const G& g, const S& s) -> Tensors {
                     return {sum(input(g, "x", {s.a, 5}, s) * input(g, "w", {s.a, 1}, s), 1)};
                   },
                   kIntegers});
  const auto joined = [](const G& g, const S& s) {
    return concat({input(g, "x", {s.a, 3}, s), input(g, "y", {s.a, s.b}, s)}, 1);
  };
  cases.push_back(
      {"max-of-concat", [=](const G& g, const S& s) -> Tensors { return {max(joined(g, s), 1)}; }});
  cases.push_back({"sum-of-concat",
                   [=](const G& g, const S& s) -> Tensors { return {sum(joined(g, s), 1)}; },
                   kWide});
  return cases;
}

std::vector<RuleCase> cast_cases() {
  std::vector<RuleCase> cases;
  const std::vector<DType> narrow{bf16, i32};
  const auto wide = [](const S& s) { return graph::is_float(s.dtype) ? f32 : i64; };
  cases.push_back({"cast-of-lossless-cast",
                   [=](const G& g, const S& s) -> Tensors {
                     Tensor x = cast(input(g, "x", {s.a, 3}, s), wide(s));
                     return {cast(transpose(x), f16)};
                   },
                   narrow});
  cases.push_back({"cast-to-same",
                   [=](const G& g, const S& s) -> Tensors {
                     // Only rules make such a cast: the tensor layer leaves it out.
                     return {cast(cast(input(g, "x", {s.a, 3}, s), wide(s)), s.dtype)};
                   },
                   narrow});
  cases.push_back({"max-of-casts",
                   [=](const G& g, const S& s) -> Tensors {
                     Tensor x = cast(input(g, "x", {s.a, 3}, s), wide(s));
                     return {max(x, 1), max(x, 0)};
                   },
                   narrow});
  cases.push_back({"gather-of-cast", [](const G& g, const S& s) -> Tensors {
                     Tensor table = cast(input(g, "x", {5, s.a}, s), f64);
                     return {index_select(table, 0, flip(arange(g, 5), {0}))};
                   }});
  cases.push_back({"select-of-casts", [](const G& g, const S& s) -> Tensors {
                     Tensor x = input(g, "x", {s.a, 3}, s), y = input(g, "y", {3}, s);
                     return {where(x < 1, cast(x, f64), cast(y, f64))};
                   }});
  cases.push_back({"max-of-two-casts",
                   [=](const G& g, const S& s) -> Tensors {
                     Tensor x = input(g, "x", {s.a, 3}, s), y = input(g, "y", {3}, s);
                     return {maximum(cast(x, wide(s)), cast(y, wide(s)))};
                   },
                   narrow});
  cases.push_back({"transposed-product",
                   [](const G& g, const S& s) -> Tensors {
                     Tensor x = input(g, "x", {s.a + 1, 4}, s), w = input(g, "w", {4, 3}, s);
                     return {transpose(matmul(x, w))};
                   },
                   kWide});
  cases.push_back({"transposed-reduction", [](const G& g, const S& s) -> Tensors {
                     Tensor x = input(g, "x", {s.a + 1, 3, 2}, s);
                     return {transpose(max(x, 2)), transpose(sum(x, 2))};
                   }});
  return cases;
}

std::vector<RuleCase> convolution_cases() {
  std::vector<RuleCase> cases;
  const auto conv3 = [](const G& g, const S& s) -> Tensors {
    Tensor x = input(g, "x", {s.a, 3, 6, 5}, s);
    return {conv2d(x, input(g, "w", {4, 3, 3, 3}, s), {}, {.padding = {{1, 1}, {1, 1}}})};
  };
  cases.push_back({"windows-in-memory", conv3, kWide});
  cases.push_back({"sum-of-window-products", conv3, kWide});
  cases.push_back(
      {"product-without-unit-axes",
       [](const G& g, const S& s) -> Tensors {
         Tensor x = input(g, "x", {s.a, 4, 6, 5}, s);
         Tensor pointwise = conv2d(x, input(g, "w", {3, 4, 1, 1}, s));
         // Depthwise: one channel per group.
         return {pointwise, conv2d(x, input(g, "d", {4, 1, 3, 3}, s), {}, {.groups = 4})};
       },
       kWide});
  cases.push_back({"windows-in-memory",
                   [](const G& g, const S& s) -> Tensors {
                     // Grouped, strided and dilated.
                     Tensor x = input(g, "x", {s.a, 4, 11}, s);
                     return {conv1d(x, input(g, "w", {6, 2, 3}, s), {},
                                    {.stride = {2}, .dilation = {2}, .groups = 2})};
                   },
                   kWide});
  return cases;
}

std::vector<RuleCase> attention_cases() {
  return {{"attention-of-repeated-heads",
           [](const G& g, const S& s) -> Tensors {
             Tensor q = input(g, "q", {4, s.a, 3}, s);
             const auto repeated = [&](const char* name) {
               Tensor x = unsqueeze(input(g, name, {2, s.b, 3}, s), 1);
               return merge_dims(expand(x, {2, 2, s.b, 3}), 0, 2);
             };
             return {attention(q, repeated("k"), repeated("v"))};
           },
           {f32}}};
}

std::vector<RuleCase> strength_cases() {
  std::vector<RuleCase> cases;
  cases.push_back({"divide-by-power-of-two",
                   [](const G& g, const S& s) -> Tensors {
                     Tensor x = input(g, "x", {s.a, 9}, s);
                     return {x / 8, x / -0.25, x / 3};
                   },
                   kFloats, true, true});
  cases.push_back({"twice-is-sum",
                   [](const G& g, const S& s) -> Tensors {
                     return {input(g, "x", {s.a, 9}, s) * 2};
                   },
                   {f32, bf16, i32},
                   true,
                   true});
  const auto by_eight = [](const G& g, const S& s) -> Tensors {
    Tensor x = input(g, "x", {s.a, 9}, s);
    return {x * 8, trunc_div(x, 8), fmod(x, 8)};
  };
  const std::vector<DType> unsigned_only{u8, u32};
  cases.push_back({"multiply-integer-by-power-of-two", by_eight, {i32, u8, i64}, true, true});
  cases.push_back({"divide-unsigned-by-power-of-two", by_eight, unsigned_only, true, true});
  cases.push_back({"remainder-of-unsigned-by-power-of-two", by_eight, unsigned_only, true, true});
  const auto power = [](int64_t exponent) {
    return [exponent](const G& g, const S& s) -> Tensors {
      return {pow(input(g, "x", {s.a, 9}, s), exponent)};
    };
  };
  cases.push_back({"integer-square", power(2), {i32, u8}, true, true});
  cases.push_back({"square", power(2), kFloats, true, true});
  cases.push_back({"cube", power(3), kFloats, true, true});
  cases.push_back({"power-minus-one", power(-1), kFloats, true, true});
  cases.push_back({"constant-factors",
                   [](const G& g, const S& s) -> Tensors {
                     return {transpose(input(g, "x", {s.a, 9}, s) * 0.3) * 1.7};
                   },
                   kFloats, true, true});
  return cases;
}

std::vector<RuleCase> cleanup_cases() {
  std::vector<RuleCase> cases;
  cases.push_back({"copy-of-whole", [](const G& g, const S& s) -> Tensors {
                     // x[:, :2] of a concatenation is its first part, seen as a copy.
                     Tensor x = input(g, "x", {s.a, 2}, s), y = input(g, "y", {s.a, 3}, s);
                     return {slice(concat({x, y}, 1), 1, {.end = 2})};
                   }});
  cases.push_back({"see-through-copy", [](const G& g, const S& s) -> Tensors {
                     return {transpose(contiguous(transpose(input(g, "x", {s.a, 3}, s)))) + 1};
                   }});
  cases.push_back({"select-of-same",
                   [](const G& g, const S& s) -> Tensors {
                     Tensor x = input(g, "x", {s.a, 3}, s);
                     return {where(x < 1, x, x)};
                   },
                   {f32, bf16, i32},
                   true,
                   true});
  cases.push_back({"max-of-same",
                   [](const G& g, const S& s) -> Tensors {
                     Tensor x = input(g, "x", {s.a, 3}, s);
                     return {maximum(x, x)};
                   },
                   {f32, bf16, i32},
                   true,
                   true});
  cases.push_back({"minus-of-minus",
                   [](const G& g, const S& s) -> Tensors {
                     return {transpose(input(g, "x", {s.a, 3}, s) * -1) * -1};
                   },
                   {f32, bf16, i32},
                   true,
                   true});
  cases.push_back({"product-of-minuses",
                   [](const G& g, const S& s) -> Tensors {
                     return {(input(g, "x", {s.a, 3}, s) * -1) * (input(g, "y", {3}, s) * -1)};
                   },
                   {f32, bf16, i32},
                   true,
                   true});
  return cases;
}

}  // namespace

const std::vector<RuleCase>& rule_cases() {
  static const std::vector<RuleCase> all = [] {
    std::vector<RuleCase> cases;
    for (const auto& list :
         {product_cases(), slice_cases(), sibling_cases(), reduction_cases(), cast_cases(),
          convolution_cases(), attention_cases(), strength_cases(), cleanup_cases()})
      cases.insert(cases.end(), list.begin(), list.end());
    return cases;
  }();
  return all;
}

graph::Graph graph_of(const RuleCase& rule_case, const CaseSizes& sizes) {
  const luminal::Graph graph;
  const std::vector<Tensor> outputs = rule_case.outputs(graph, sizes);
  graph::Graph ir = graph.ir();
  for (size_t k = 0; k < outputs.size(); ++k)
    ir.add_output("y" + std::to_string(k), outputs[k].edge());
  return ir;
}

}  // namespace luminal::rules

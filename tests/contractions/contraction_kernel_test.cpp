// Products as generated code: layouts, dtypes, sizes, prologues and epilogues against the oracle.
#include "checks.h"

namespace luminal::codegen {
namespace {

TEST(ContractionKernel, LayoutsOfBothOperands) {
  size_t turn = 0;
  for (const auto& [m, n, k] : {std::tuple<int64_t, int64_t, int64_t>{8, 32, 16},
                                {1, 1, 1},
                                {7, 31, 5},
                                {9, 33, 17},
                                {40, 65, 31},
                                {3, 130, 66},
                                {29, 75, 51},
                                {64, 64, 64},
                                {130, 20, 3}})
    for (const char* equation : {"mk,kn->mn", "mk,nk->mn", "km,kn->mn", "km,nk->mn", "kn,mk->mn",
                                 "nk,km->mn", "mk,kn->nm"}) {
      SCOPED_TRACE(fmt::format("{} with {} {} {}", equation, m, n, k));
      Graph g;
      const std::map<char, int64_t> sizes{{'m', m}, {'n', n}, {'k', k}};
      const std::string text = equation;
      Tensor a = g.input("a", {sizes.at(text[0]), sizes.at(text[1])});
      Tensor b = g.input("b", {sizes.at(text[3]), sizes.at(text[4])});
      const kernel::test::Sample sample = sample_of({einsum(equation, {a, b})});
      // One size with borders on all sides everywhere, the others in turn.
      if (m == 9)
        check_all(sample);
      else
        check_in_turn(sample, turn++, {1e-4, 1e-5}, k > 1);
      if (HasFailure()) return;
    }
}

TEST(ContractionKernel, EveryDtype) {
  size_t turn = 0;
  struct Case {
    DType operand, result;
    double unit;
  };
  for (const auto& [operand, result, unit] :
       {Case{DType::kF64, DType::kF64, 1e-13}, Case{DType::kBF16, DType::kBF16, 8e-3},
        Case{DType::kBF16, DType::kF32, 1e-4}, Case{DType::kF16, DType::kF16, 1e-3},
        Case{DType::kF16, DType::kF32, 1e-5}, Case{DType::kI8, DType::kI32, 0},
        Case{DType::kI8, DType::kI8, 0}, Case{DType::kI8, DType::kI64, 0},
        Case{DType::kU8, DType::kI32, 0}, Case{DType::kI16, DType::kI32, 0},
        Case{DType::kI32, DType::kI32, 0}, Case{DType::kI64, DType::kI64, 0},
        Case{DType::kU32, DType::kU32, 0}})
    for (const auto& [m, n, k] : {std::tuple<int64_t, int64_t, int64_t>{11, 45, 37}, {1, 70, 9}})
      for (const bool transposed : {false, true}) {
        SCOPED_TRACE(fmt::format("{} to {}, {} {} {} {}", operand, result, m, n, k, transposed));
        Graph g;
        Tensor a = g.input("a", {m, k}, operand);
        Tensor b =
            transposed ? transpose(g.input("b", {n, k}, operand)) : g.input("b", {k, n}, operand);
        const kernel::test::Sample sample = sample_of({matmul(a, b, result)});
        // The shape with rows for a tile everywhere, few rows in turn.
        if (m > 1 && transposed)
          check_all(sample, {unit, unit});
        else
          check_in_turn(sample, turn++, {unit, unit});
        if (HasFailure()) return;
      }
}

TEST(ContractionKernel, AskingForTheNextPanelChangesNothing) {
  for (const DType dtype : {DType::kF32, DType::kBF16, DType::kI8})
    for (const bool transposed : {false, true})
      for (const int ahead : {1, 2}) {
        SCOPED_TRACE(fmt::format("{} {} {} lines", dtype, transposed, ahead));
        Graph g;
        const Tensor a = g.input("a", {21, 37}, dtype);
        const Tensor b =
            transposed ? transpose(g.input("b", {150, 37}, dtype)) : g.input("b", {37, 150}, dtype);
        Way way{.more = {.always = true, .spec = GemmSpec{}}};
        const DType result = dtype == DType::kI8 ? DType::kI32 : dtype;
        for (const GemmB source : {GemmB::kInPlace, GemmB::kPackedHere, GemmB::kPrepacked}) {
          way.more.spec->ahead = ahead;
          way.more.spec->b_source = source;
          check(sample_of({matmul(a, b, result)}), way, {1e-2, 1e-2});
        }
        if (HasFailure()) return;
      }
}

TEST(ContractionKernel, FewRowsAskForWhatLiesAheadInPackedPanels) {
  for (const DType dtype : {DType::kF32, DType::kF64, DType::kBF16, DType::kF16, DType::kI8})
    for (const int64_t m : {5, 8, 9, 16})
      for (const int kc : {0, 16}) {
        if (kc > 0 && dtype == DType::kI8) continue;
        SCOPED_TRACE(fmt::format("{} {} rows, {} steps in a pass", dtype, m, kc));
        Graph g;
        const Tensor x = g.input("x", {m, 53}, dtype);
        const Tensor w = transpose(g.input("w", {139, 53}, dtype));
        GemmSpec spec{.b_source = GemmB::kPrepacked, .row_block = kc > 0 ? 16 : 0, .kc = kc};
        spec.ahead = m > 8 ? 1 : 2;
        const DType result = dtype == DType::kI8 ? DType::kI32 : dtype;
        check(sample_of({matmul(x, w, result)}),
              {.constants = true, .more = {.always = true, .spec = spec}}, {1e-2, 1e-2});
        if (HasFailure()) return;
      }
}

TEST(ContractionKernel, ThreadsHaveRowsOfTheirOwnWhereNothingIsPacked) {
  for (const int row_block : {5, 10, 15})
    for (const DType dtype : {DType::kF32, DType::kF64, DType::kI32}) {
      SCOPED_TRACE(fmt::format("{} {} rows of an item", dtype, row_block));
      GemmSpec spec{
          .b_source = GemmB::kInPlace, .mr = 5, .row_block = row_block, .rows_outer = true};
      const Way way{.more = {.always = true, .spec = spec}};
      Graph g;
      const Tensor b = g.input("b", {3, 21, 77}, dtype);
      check(sample_of({matmul(g.input("a", {30, 21}, dtype), g.input("e", {21, 77}, dtype))}), way);
      check(sample_of({matmul(g.input("c", {3, 29, 21}, dtype), b)}), way);
      // Heads that share a matrix.
      const Tensor shared = g.input("d", {3, 4, 23, 21}, dtype);
      check(sample_of({matmul(shared, unsqueeze(b, 1))}), way);
      if (HasFailure()) return;
    }
}

/// What is chosen where the matrix is long enough that it matters.
TEST(ContractionKernel, LongMatricesOfFewRowsAreRight) {
  for (const bool constants : {false, true})
    for (const DType dtype : {DType::kF32, DType::kBF16, DType::kI8})
      for (const int64_t m : {4, 7, 11, 16}) {
        SCOPED_TRACE(fmt::format("{} {} rows, packed ahead {}", dtype, m, constants));
        Graph g;
        const Tensor x = g.input("x", {m, 2573}, dtype);
        const Tensor w = transpose(g.input("w", {431, 2573}, dtype));
        const DType result = dtype == DType::kI8 ? DType::kI32 : DType::kF32;
        check(sample_of({matmul(x, w, result)}), {.constants = constants, .more = {}},
              {dtype == DType::kBF16 ? 2e-2 : 2e-4, 1e-3});
        if (HasFailure()) return;
      }
}

TEST(ContractionKernel, BatchesAndGroups) {
  Graph g;
  Tensor q = g.input("q", {8, 5, 16});
  check_all(sample_of({einsum("bij,bkj->bik", {q, g.input("k8", {8, 37, 16})})}));
  Tensor k = g.input("k", {2, 7, 16});
  check_all(sample_of({matmul(split_dims(q, 0, {2, 4}), unsqueeze(transpose(k), 1))}));
  check_all(sample_of({matmul(q, g.input("w", {16, 33}))}));
  // Heads are moved inside the kernel.
  Tensor heads = einsum("bsx,hdx->bhsd", {g.input("x", {2, 6, 20}), g.input("wh", {3, 18, 20})});
  check_all(sample_of({heads}));
  Tensor scores =
      einsum("bshd,bthd->bhst", {g.input("qs", {2, 5, 3, 16}), g.input("ks", {2, 9, 3, 16})});
  check_all(sample_of({scores}));
}

TEST(ContractionKernel, AMatrixThatHoldsSumsIsLeftToLoops) {
  Graph g;
  Tensor w = g.input("w", {40, 16});
  const kernel::test::Closeness near{1e-4, 1e-5};
  for (const int64_t rows : {1, 5, 40})
    check_all(sample_of({matmul(g.input(fmt::format("x{}", rows), {rows, 16}),
                                transpose(layer_norm(w)))}),
              near, false);
}

TEST(ContractionKernel, NothingToSumGivesTheEpilogueOfZero) {
  Graph g;
  const kernel::test::Closeness near{1e-4, 1e-5};
  Tensor product = matmul(g.input("a", {5, g.dim("k")}), g.input("b", {g.dim("k"), 40}));
  check_all(sample_of({product}, {{"k", 0}}));
  check_all(sample_of({relu(product + g.input("c", {40})) * 2.0}, {{"k", 0}}));
  Tensor none = matmul(g.input("d", {5, 0}), g.input("e", {0, 40}));
  check_all(sample_of({none + 1.0}, {{"k", 0}}), near, false);
  Graph empty;
  check_all(sample_of({matmul(empty.input("a", {0, 4}), empty.input("b", {4, 40}))}), near, false);
  check_all(sample_of({matmul(empty.input("c", {4, 4}), empty.input("d", {4, 0}))}), near, false);
}

TEST(ContractionKernel, SymbolicSizes) {
  for (const auto& [m, n, k] : {std::tuple<int64_t, int64_t, int64_t>{1, 1, 1},
                                {13, 70, 29},
                                {64, 32, 48},
                                {3, 100, 1},
                                {17, 0, 5},
                                {6, 48, 0}}) {
    Graph g;
    const Dim ms = g.dim("m"), ns = g.dim("n"), ks = g.dim("k");
    Tensor a = g.input("a", {ms, ks}), b = g.input("b", {ns, ks}), c = g.input("c", {ns});
    check_all(sample_of({gelu(matmul(a, transpose(b)) + c)}, {{"m", m}, {"n", n}, {"k", k}}));
    Tensor d = g.input("d", {ms, 3, ks}), e = g.input("e", {ks, 40});
    check_all(sample_of({matmul(d, e)}, {{"m", m}, {"n", n}, {"k", k}}));
    if (HasFailure()) return;
  }
}

TEST(ContractionKernel, EpiloguesAreFused) {
  for (const DType dtype : {DType::kF32, DType::kBF16}) {
    Graph g;
    Tensor x = g.input("x", {13, 40}, dtype), w = g.input("w", {70, 40}, dtype);
    Tensor bias = g.input("bias", {70}, dtype), residual = g.input("r", {13, 70}, dtype);
    Tensor scale = g.input("s", {13, 1}, dtype);
    Tensor product = matmul(x, transpose(w));
    const kernel::test::Closeness near{dtype == DType::kF32 ? 1e-4 : 6e-2, 1e-2};
    check_all(sample_of({gelu(product + bias) + residual}), near);
    check_all(sample_of({silu(product * scale) * residual}), near);
    check_all(sample_of({tanh(product) + transpose(g.input("t", {70, 13}, dtype))}), near);
    check_all(sample_of({cast(relu(product), DType::kI32)}), {1.0, 0});
  }
}

TEST(ContractionKernel, ProloguesAreFused) {
  Graph g;
  Tensor x = g.input("x", {13, 40}), w = g.input("w", {70, 40}), gain = g.input("g", {40});
  check_all(sample_of({matmul(x * gain, transpose(w))}));
  check_all(sample_of({matmul(exp(x), transpose(w * 0.5))}));
  check_all(sample_of({matmul(rms_norm(x, gain), transpose(w))}));
  check_all(sample_of({relu(matmul(layer_norm(x, gain, g.input("b", {40})), transpose(w)))}));
  // Weights of eight and four bits with a scale per column, and per block of k.
  for (const DType dtype : {DType::kI8, DType::kI4, DType::kU4}) {
    Tensor q = g.input(fmt::format("q{}", dtype), {70, 40}, dtype);
    check_all(sample_of({matmul(x, transpose(cast(q, DType::kF32) *
                                             g.input(fmt::format("s{}", dtype), {70, 1})))}),
              {1e-2, 1e-4});
    Tensor blocks = g.input(fmt::format("blocks{}", dtype), {70, 5, 1});
    Tensor dequantised = merge_dims(split_dims(cast(q, DType::kF32), 1, {5, 8}) * blocks, 1, 2);
    check_all(sample_of({matmul(x, transpose(dequantised))}), {1e-2, 1e-4});
  }
}

TEST(ContractionKernel, SiblingsShareOneEpilogue) {
  for (const int64_t rows : {1, 5, 19}) {
    Graph g;
    Tensor x = g.input("x", {rows, 40});
    Tensor gate = matmul(x, transpose(g.input("wg", {70, 40})));
    Tensor up = matmul(x, transpose(g.input("wu", {70, 40})));
    check_all(sample_of({silu(gate) * up}));
    Tensor other = matmul(g.input("z", {rows, 24}), g.input("v", {24, 70}));
    check_all(sample_of({gate + other * up}));
  }
}

TEST(ContractionKernel, FewRowsAreStreamed) {
  for (const int64_t m : {1, 2, 3, 4, 5, 6, 8})
    for (const auto& [n, k] : {std::pair<int64_t, int64_t>{70, 130}, {33, 64}, {5, 7}, {100, 1000}})
      for (const DType dtype : {DType::kF32, DType::kBF16, DType::kF16, DType::kI8}) {
        SCOPED_TRACE(fmt::format("{} {} {} {}", dtype, m, n, k));
        Graph g;
        Tensor x = g.input("x", {m, k}, dtype);
        const DType sum = dtype == DType::kI8 ? DType::kI32 : DType::kF32;
        Tensor along_k = matmul(x, transpose(g.input("w", {n, k}, dtype)), sum);
        Tensor along_columns = matmul(x, g.input("v", {k, n}, dtype), sum);
        const kernel::test::Closeness near{dtype == DType::kI8 ? 0 : 2e-3, 1e-4};
        check(sample_of({along_k + along_k}), {}, near);
        check(sample_of({along_columns}), {}, near);
        if (HasFailure()) return;
      }
}

TEST(ContractionKernel, NaNAndInfinityStayInTheirRowsAndColumns) {
  Graph g;
  Tensor product = matmul(g.input("a", {13, 20}), g.input("b", {20, 45}));
  for (const bool constants : {false, true})
    for (const double bad :
         {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()}) {
      kernel::test::Sample sample = sample_of({product});
      kernel::store(sample.inputs.at("a"), 12 * 20 + 19, {bad, 0});
      kernel::store(sample.inputs.at("b"), 7 * 45 + 44, {bad, 0});
      check(sample, {.constants = constants});
    }
}

TEST(ContractionKernel, EveryTileAndSource) {
  Graph g;
  const auto sample = sample_of({matmul(g.input("a", {29, 51}), g.input("b", {51, 75}))});
  const auto bits = sample_of({matmul(g.input("c", {29, 51}, DType::kBF16),
                                      g.input("d", {51, 75}, DType::kBF16), DType::kF32)});
  for (const CpuTarget& target : targets())
    for (const GemmB source : {GemmB::kPrepacked, GemmB::kPackedHere, GemmB::kInPlace}) {
      GemmProblem problem{.m = 29, .n = 75, .k = 51, .b_readable = true, .threads = 2};
      for (GemmSpec spec : gemm_candidates(problem, target)) {
        spec.b_source = source;
        for (const int kc : {0, 16}) {
          spec.kc = kc;
          if (kc > 0) spec.row_block = 2 * spec.mr;
          check(sample, {.target = target, .more = {.always = true, .spec = spec}});
          check(bits, {.target = target, .more = {.always = true, .spec = spec}}, {1e-3, 1e-3});
          if (HasFailure()) return;
        }
      }
    }
}

}  // namespace
}  // namespace luminal::codegen

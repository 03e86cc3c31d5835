// Products whose k is split: parts of it are summed on their own and added up by a launch of their
// own, whatever the dtype, the source of the matrix, the sizes and what is around the product.
#include "checks.h"

namespace luminal::codegen {
namespace {

/// A spec that splits k.
GemmSpec in_parts(int split, GemmB source = GemmB::kPackedHere, int kc = 0) {
  return {.b_source = source, .row_block = kc > 0 ? 16 : 0, .kc = kc, .split = split};
}

Way way_of(const GemmSpec& spec, bool constants = false) {
  return {.constants = constants, .more = {.always = true, .spec = spec}};
}

/// In every source of the matrix, with k whole and in passes.
void check_parts(const kernel::test::Sample& sample, int split,
                 const kernel::test::Closeness& closeness = {1e-4, 1e-5}) {
  for (const GemmB source : {GemmB::kInPlace, GemmB::kPackedHere, GemmB::kPrepacked})
    for (const int kc : {0, 16}) {
      SCOPED_TRACE(
          fmt::format("{} parts, source {}, passes of {}", split, static_cast<int>(source), kc));
      check(sample, way_of(in_parts(split, source, kc), source == GemmB::kPrepacked), closeness);
      if (testing::Test::HasFailure()) return;
    }
}

TEST(Split, PartsOfEveryDtypeAddUp) {
  struct Case {
    DType operand, result;
    double unit;
  };
  for (const auto& [operand, result, unit] :
       {Case{f32, f32, 1e-4}, Case{f64, f64, 1e-13}, Case{bf16, bf16, 2e-2}, Case{bf16, f32, 1e-3},
        Case{f16, f32, 1e-4}, Case{i8, i32, 0}, Case{i32, i32, 0}})
    for (const bool transposed : {false, true})
      for (const int split : {2, 3}) {
        SCOPED_TRACE(fmt::format("{} to {}, transposed {}", operand, result, transposed));
        Graph g;
        const Tensor a = g.input("a", {21, 133}, operand);
        const Tensor b = transposed ? transpose(g.input("b", {75, 133}, operand))
                                    : g.input("b", {133, 75}, operand);
        const auto sample = sample_of({matmul(a, b, result)});
        // Passes of dots of i8 are none.
        if (operand == i8)
          for (const GemmB source : {GemmB::kPackedHere, GemmB::kPrepacked})
            check(sample, way_of(in_parts(split, source), source == GemmB::kPrepacked), {});
        else
          check_parts(sample, split, {unit, unit});
        if (HasFailure()) return;
      }
}

TEST(Split, MorePartsThanThereIsToSumAreEmpty) {
  for (const int64_t k : {2, 15, 17, 37})
    for (const DType dtype : {f32, bf16, i8}) {
      SCOPED_TRACE(fmt::format("{} steps of {}", k, dtype));
      Graph g;
      const Tensor product = matmul(g.input("a", {9, k}, dtype), g.input("b", {k, 40}, dtype),
                                    dtype == i8 ? i32 : f32);
      for (const GemmB source : {GemmB::kPackedHere, GemmB::kPrepacked})
        check(sample_of({product + product}),
              way_of(in_parts(64, source), source == GemmB::kPrepacked), {1e-3, 1e-3});
      if (HasFailure()) return;
    }
}

TEST(Split, SizesMayBeKnownLater) {
  for (const auto& [m, n, k] : {std::tuple<int64_t, int64_t, int64_t>{13, 70, 290},
                                {1, 1, 1},
                                {8, 32, 64},
                                {17, 0, 50},
                                {6, 48, 0}}) {
    Graph g;
    const Dim ms = g.dim("m"), ns = g.dim("n"), ks = g.dim("k");
    const Tensor a = g.input("a", {ms, ks}), c = g.input("c", {ns});
    const graph::DimValues dims{{"m", m}, {"n", n}, {"k", k}};
    check_parts(sample_of({gelu(matmul(a, transpose(g.input("b", {ns, ks}))) + c)}, dims), 4);
    check_parts(sample_of({relu(matmul(a, g.input("d", {ks, ns})) + c)}, dims), 3);
    if (HasFailure()) return;
  }
}

TEST(Split, BatchesKeepTheirSumsApart) {
  Graph g;
  const Tensor b = g.input("b", {3, 121, 77});
  check_parts(sample_of({matmul(g.input("c", {3, 29, 121}), b)}), 3);
  // Heads that share a matrix.
  check_parts(sample_of({matmul(g.input("d", {3, 4, 23, 121}), unsqueeze(b, 1))}), 2);
}

TEST(Split, WhatIsAroundTheProductStays) {
  for (const DType dtype : {f32, bf16}) {
    Graph g;
    const Tensor x = g.input("x", {13, 240}, dtype), w = g.input("w", {70, 240}, dtype);
    const Tensor bias = g.input("bias", {70}, dtype), residual = g.input("r", {13, 70}, dtype);
    const Tensor gain = g.input("g", {240}, dtype);
    const kernel::test::Closeness near{dtype == f32 ? 1e-4 : 2e-1, 2e-2};
    check_parts(sample_of({gelu(matmul(x, transpose(w)) + bias) + residual}), 4, near);
    check_parts(sample_of({matmul(rms_norm(x, gain), transpose(w * 0.5))}), 3, near);
    const Tensor gate = matmul(x, transpose(w));
    const Tensor other = matmul(g.input("z", {13, 124}, dtype), g.input("v", {124, 70}, dtype));
    check_parts(sample_of({silu(gate) * other}), 3, near);
    if (HasFailure()) return;
  }
}

TEST(Split, MatrixRegistersTakeParts) {
  if (!host_target().has(runtime::CpuFeature::kAvx512bf16) ||
      !host_target().has(runtime::CpuFeature::kAvx512vnni))
    GTEST_SKIP() << "this machine has no dot instructions";
  for (const DType dtype : {bf16, i8})
    for (const int kc : {0, 64}) {
      SCOPED_TRACE(fmt::format("{} in passes of {}", dtype, kc));
      Graph g;
      const Tensor product = matmul(g.input("a", {40, 448}, dtype), g.input("b", {448, 50}, dtype),
                                    dtype == i8 ? i32 : f32);
      Way way = way_of(in_parts(3, GemmB::kPackedHere, kc));
      way.more.matrix_registers = true;
      check(sample_of({product}), way, {1e-3, 1e-3});
    }
}

/// The bytes of the first result of a product by a schedule, with items dealt out in some way.
std::vector<std::byte> bits_of(const LoadedCpuKernel::Deal& deal) {
  Graph g;
  const auto sample =
      sample_of({matmul(g.input("a", {19, 1500}), g.input("b", {1500, 45})) + g.input("c", {45})});
  const kernel::GraphProgram program(sample.graph);
  const auto order = *kernel::topological_order(program);
  kernel::Tensors tensors = kernel::test::oracle_values(sample, program, order);
  kernel::Arena arena;
  const auto derived =
      kernel::derive(arena, program, kernel::smallest_cut(program, order), program.output(0));
  const auto& kernel = std::get<kernel::Kernel>(derived);
  const auto code = contraction_kernel(arena, kernel, host_target(), {.threads = 2},
                                       {.always = true, .spec = in_parts(7)});
  LoadedCpuKernel loaded(*code, host_target(), {}, 4);
  std::map<kernel::NodeId, void*> memory;
  for (auto& [tensor, array] : tensors) memory[tensor] = array.mutable_bytes().data();
  loaded.run(memory, deal, false);
  const auto bytes = tensors.at(program.output(0)).bytes();
  return {bytes.begin(), bytes.end()};
}

TEST(Split, BitsAreTheSameOnAnyNumberOfThreads) {
  const std::vector<std::byte> expected = bits_of(LoadedCpuKernel::in_ranges);
  for (const int threads : {1, 2, 3, 4}) {
    runtime::ThreadTeam team({.threads = threads});
    EXPECT_EQ(bits_of(LoadedCpuKernel::on_team(team)), expected) << threads;
  }
}

TEST(Split, FewTilesOfALongKAreSplitByThemselves) {
  const auto parts = [](GemmProblem problem) {
    problem.b_readable = true;
    return choose_gemm(problem, host_target()).split;
  };
  const GemmProblem few{.m = 8, .n = 16, .k = 65536, .threads = 2};
  EXPECT_GE(parts(few), 2);
  GemmProblem other = few;
  other.threads = 1;
  EXPECT_EQ(parts(other), 1) << "one thread has nobody to share with";
  other = few;
  other.ordered = true;
  EXPECT_EQ(parts(other), 1) << "the order of sums is given";
  other = few;
  other.k = 200;
  EXPECT_EQ(parts(other), 1) << "a launch costs more than this";
  other = few;
  other.m = other.n = 64;
  EXPECT_GE(parts(other), 2) << "the matrix falls out of the second cache";
  other = few;
  other.m = other.n = other.k = 512;
  EXPECT_EQ(parts(other), 1) << "there are tiles for all";
}

TEST(Split, LongPanelsThatFewTilesUseAreSummedInParts) {
  const CpuTarget target = cpu_target("znver4");
  GemmProblem problem{.a = bf16, .b = bf16, .m = 16, .n = 512, .k = 16384};
  problem.threads = 2;
  EXPECT_EQ(choose_gemm(problem, target).split, 4);
  problem.ordered = true;
  EXPECT_EQ(choose_gemm(problem, target).split, 1);
  problem.ordered = false;
  problem.k = 4096;
  EXPECT_EQ(choose_gemm(problem, target).split, 1);
  problem.k = 16384;
  problem.m = 256;
  EXPECT_EQ(choose_gemm(problem, target).split, 1);
}

}  // namespace
}  // namespace luminal::codegen

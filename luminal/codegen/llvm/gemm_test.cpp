#include "luminal/codegen/llvm/gemm.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <random>
#include <vector>

#include "luminal/codegen/llvm/elements.h"
#include "luminal/codegen/llvm/jit_for_tests.h"
#include "luminal/codegen/llvm/vector_math.h"
#include "luminal/graph/elements.h"
#include "luminal/runtime/cpu/arena.h"

namespace luminal::codegen {
namespace {

using graph::DType;
using runtime::HostMemory;

/// A matrix of any dtype with its values as doubles.
struct Matrix {
  Matrix(DType type, int64_t rows, int64_t row_stride, int64_t columns, uint32_t seed)
      : dtype(type), stride(row_stride), memory(graph::byte_size(type, rows * row_stride)) {
    std::mt19937 random(seed);
    values.resize(static_cast<size_t>(rows * row_stride));
    // What lies between the rows must not be used.
    for (double& value : values) value = 1e30;
    for (int64_t r = 0; r < rows; ++r)
      for (int64_t c = 0; c < columns; ++c) {
        const double number =
            graph::is_float(type)
                ? static_cast<double>(static_cast<int>(random() % 2001) - 1000) / 512
                : static_cast<double>(static_cast<int>(random() % 256) - 128);
        values[static_cast<size_t>(r * stride + c)] = number;
      }
    graph::cast_elements(DType::kF64, reinterpret_cast<const std::byte*>(values.data()), type,
                         memory.data(), rows * row_stride);
    graph::cast_elements(type, memory.data(), DType::kF64,
                         reinterpret_cast<std::byte*>(values.data()), rows * row_stride);
  }
  double at(int64_t r, int64_t c) const { return values[static_cast<size_t>(r * stride + c)]; }
  void read_back() {
    graph::cast_elements(dtype, memory.data(), DType::kF64,
                         reinterpret_cast<std::byte*>(values.data()),
                         static_cast<int64_t>(values.size()));
  }

  DType dtype;
  int64_t stride;
  HostMemory memory;
  std::vector<double> values;
};

struct Shape {
  int64_t batch, m, n, k;
  int64_t padding = 0;  // of every row
  bool a_transposed = false;
  bool b_shared = false;
};

/// Runs a spec on a shape and compares with double sums.
void check(const GemmSpec& spec, const CpuTarget& target, const Shape& shape,
           const GemmEpilogue& epilogue = {},
           const std::function<double(double sum, int64_t row, int64_t column)>& reference = {}) {
  const auto [batch, m, n, k, padding, a_transposed, b_shared] = shape;
  const std::string where = fmt::format("{} on {}: batch {} m {} n {} k {} padding {}",
                                        to_string(spec), target.name, batch, m, n, k, padding);
  SCOPED_TRACE(where);
  const int64_t a_rows = a_transposed ? k : m;
  const int64_t a_columns = a_transposed ? m : k;
  const int64_t b_rows = spec.b_transposed ? n : k;
  const int64_t b_columns = spec.b_transposed ? k : n;
  const int64_t b_count = b_shared ? 1 : batch;
  const Matrix a(spec.a, batch * a_rows, a_columns + padding, a_columns, 1);
  const Matrix b(spec.b, b_count * b_rows, b_columns + padding, b_columns, 2);
  Matrix c(spec.c, batch * m, n + padding, n, 3);
  const Matrix old = Matrix(spec.c, batch * m, n + padding, n, 3);
  const GemmLayout layout(spec, target);
  HostMemory packed(spec.b_source == GemmB::kPrepacked ? b_count * layout.packed_bytes(n, k) : 0);
  std::vector<void*> buffers{a.memory.data(), b.memory.data(), c.memory.data()};
  if (spec.b_source == GemmB::kPrepacked) {
    const runtime::CpuModule packer(KernelCompiler(target).compile(gemm_pack_kernel(spec)));
    const std::vector<int64_t> scalars{n, k, b.stride, b_rows * b.stride};
    const std::vector<void*> arguments{b.memory.data(), packed.data()};
    packer.entry("pack")(arguments.data(), scalars.data(), 0, b_count * layout.panels(n), nullptr);
    buffers[1] = packed.data();
  }
  HostMemory more(std::max<int64_t>(m, n) * 4);
  if (!epilogue.buffers.empty()) {
    for (int64_t i = 0; i < std::max(m, n); ++i)
      reinterpret_cast<float*>(more.data())[i] = static_cast<float>(i % 7) - 3;
    buffers.push_back(more.data());
  }
  const runtime::CpuModule module(KernelCompiler(target).compile(gemm_kernel(spec, epilogue)));
  const std::vector<int64_t> scalars{m,
                                     n,
                                     k,
                                     a_transposed ? 1 : a.stride,
                                     a_transposed ? a.stride : 1,
                                     b.stride,
                                     c.stride,
                                     a_rows * a.stride,
                                     b_shared ? 0 : b_rows * b.stride,
                                     m * c.stride};
  HostMemory scratch(layout.scratch_bytes(k));
  // In three ranges, as threads would.
  const int64_t items = layout.items(batch, m, n);
  for (const auto& [begin, end] : {std::pair{items / 2, items}, std::pair{int64_t{0}, items / 3},
                                   std::pair{items / 3, items / 2}})
    module.entry("gemm")(buffers.data(), scalars.data(), begin, end, scratch.data());
  c.read_back();
  const double unit = spec.c == DType::kBF16 ? 0x1p-8 : spec.c == DType::kF16 ? 0x1p-11 : 0;
  const double sum_unit = spec.a == DType::kF64 ? 0x1p-50 : graph::is_float(spec.a) ? 0x1p-21 : 0;
  for (int64_t i = 0; i < batch; ++i)
    for (int64_t r = 0; r < m; ++r)
      for (int64_t col = 0; col < n + padding; ++col) {
        const double got = c.at(i * m + r, col);
        if (col >= n) {
          ASSERT_EQ(got, old.at(i * m + r, col)) << "past the row's end";
          continue;
        }
        double sum = spec.accumulate ? old.at(i * m + r, col) : 0;
        double magnitude = std::fabs(sum);
        for (int64_t x = 0; x < k; ++x) {
          const double left = a_transposed ? a.at(i * k + x, r) : a.at(i * m + r, x);
          const int64_t bi = b_shared ? 0 : i;
          const double right = spec.b_transposed ? b.at(bi * n + col, x) : b.at(bi * k + x, col);
          sum += left * right;
          magnitude += std::fabs(left * right);
        }
        const double expected = reference ? reference(sum, r, col) : sum;
        ASSERT_NEAR(got, expected, magnitude * sum_unit + std::fabs(expected) * unit)
            << "at " << i << ", " << r << ", " << col;
      }
}

const Shape kShapes[] = {
    {1, 1, 1, 1},
    {1, 8, 32, 16},
    {1, 7, 31, 5, 3},
    {1, 9, 33, 17},
    {2, 13, 70, 29, 5},
    {1, 3, 100, 66},
    {3, 5, 16, 1},
    {1, 40, 65, 31, 1},
    {1, 1, 130, 77},
    {1, 2, 37, 40, 0, true},
    {2, 17, 35, 19, 2, false, true},
};

std::vector<CpuTarget> targets() {
  std::vector<CpuTarget> result;
  for (const char* name : {"x86-64", "haswell", "skylake-avx512", "znver4"})
    if (runs_here(cpu_target(name))) result.push_back(cpu_target(name));
  return result;
}

TEST(Gemm, ChosenSpecsGiveTheProductForEveryDtypeAndTarget) {
  const DType f32 = DType::kF32;
  const std::tuple<DType, DType, DType> dtypes[] = {
      {f32, f32, f32},
      {DType::kF64, DType::kF64, DType::kF64},
      {DType::kBF16, DType::kBF16, f32},
      {DType::kBF16, DType::kBF16, DType::kBF16},
      {DType::kF16, DType::kF16, DType::kF16},
      {f32, DType::kBF16, f32},
      {DType::kI8, DType::kI8, DType::kI32},
  };
  for (const CpuTarget& target : targets())
    for (const auto& [a, b, c] : dtypes)
      for (const bool constant : {false, true})
        for (const bool transposed : {false, true})
          for (const Shape& shape : {kShapes[2], kShapes[4], kShapes[8]}) {
            const GemmProblem problem{a,       b,          c,        shape.batch, shape.m, shape.n,
                                      shape.k, transposed, constant, false,       2};
            check(choose_gemm(problem, target), target, shape);
          }
}

TEST(Gemm, AllShapesWork) {
  for (const CpuTarget& target : targets())
    for (const GemmB source : {GemmB::kPrepacked, GemmB::kPackedHere, GemmB::kInPlace})
      for (const Shape& shape : kShapes) {
        GemmSpec spec;
        spec.b_source = source;
        spec.mr = 4;
        spec.nr = 2 * target.lanes(32);
        spec.row_block = 8;
        check(spec, target, shape);
      }
}

TEST(Gemm, EveryCandidateGivesTheProduct) {
  const Shape shape{1, 29, 75, 51, 1};
  for (const CpuTarget& target : targets())
    for (const DType dtype : {DType::kF32, DType::kBF16, DType::kI8}) {
      const DType c = dtype == DType::kI8 ? DType::kI32 : dtype;
      for (const GemmSpec& spec :
           gemm_candidates({dtype, dtype, c, 1, 29, 75, 51, false, true, false, 2}, target))
        check(spec, target, shape);
    }
}

TEST(Gemm, PassesOverKAddUp) {
  for (const GemmB source : {GemmB::kPrepacked, GemmB::kPackedHere})
    for (const bool accumulate : {false, true}) {
      GemmSpec spec;
      spec.b_source = source;
      spec.kc = 16;
      spec.accumulate = accumulate;
      spec.nr = 2 * host_target().lanes(32);
      check(spec, host_target(), {2, 11, 45, 50, 3});
      check(spec, host_target(), {1, 8, 32, 16});
    }
}

TEST(Gemm, SeparateSumsForStepsOfKAddUp) {
  for (const int unroll : {2, 4, 8})
    for (const int64_t k : {1, 7, 8, 33}) {
      GemmSpec spec;
      spec.mr = 1;
      spec.nr = 2 * host_target().lanes(32);
      spec.k_unroll = unroll;
      check(spec, host_target(), {1, 3, 50, k});
    }
}

TEST(Gemm, NothingToSumGivesZero) {
  GemmSpec spec;
  spec.nr = 2 * host_target().lanes(32);
  check(spec, host_target(), {1, 5, 40, 0});
}

/// relu(sum * 2 + bias[column]).
GemmEpilogue bias_relu(DType c) {
  GemmEpilogue epilogue;
  epilogue.key = "relu(2x + bias)";
  epilogue.buffers = {runtime::BufferUse::kRead};
  epilogue.emit = [c](const GemmEpilogueContext& context) {
    VectorBuilder& builder = context.builder;
    llvm::Value* bias =
        builder.ir().CreateLoad(builder.pointer(), builder.offset(context.buffers, 24));
    ElementCode code(builder);
    llvm::Value* added =
        code.load(DType::kF32, bias, context.column, context.lanes, {.mask = context.mask});
    llvm::Value* two = VectorBuilder::number(added->getType(), 2);
    llvm::Value* sum = builder.mul_add(context.value, two, added);
    llvm::Value* result = builder.maximum(sum, VectorBuilder::number(sum->getType(), 0));
    return code.cast(DType::kF32, c, result);
  };
  return epilogue;
}

TEST(Gemm, TheEpilogueSeesEveryElementOnce) {
  for (const CpuTarget& target : targets())
    for (const DType c : {DType::kF32, DType::kBF16})
      for (const Shape& shape : {kShapes[1], kShapes[4], kShapes[8]}) {
        const GemmProblem problem{DType::kF32, DType::kF32, c,     shape.batch, shape.m, shape.n,
                                  shape.k,     false,       false, false,       1};
        check(choose_gemm(problem, target), target, shape, bias_relu(c),
              [](double sum, int64_t, int64_t column) {
                return std::max(0.0, 2 * sum + static_cast<double>(column % 7) - 3);
              });
      }
}

TEST(Gemm, TheEpilogueRunsOnceAfterAllPasses) {
  GemmSpec spec;
  spec.kc = 8;
  spec.nr = 2 * host_target().lanes(32);
  check(spec, host_target(), {1, 9, 40, 30}, bias_relu(DType::kF32),
        [](double sum, int64_t, int64_t column) {
          return std::max(0.0, 2 * sum + static_cast<double>(column % 7) - 3);
        });
}

TEST(Gemm, InfinitiesStayInTheirRow) {
  // Rows past the end repeat the last one; padding of panels is zero times whatever A holds.
  GemmSpec spec;
  spec.nr = 2 * host_target().lanes(32);
  const GemmLayout layout(spec, host_target());
  std::vector<float> a{1, 2, std::numeric_limits<float>::infinity(), 4};
  std::vector<float> b{1, 1};
  std::vector<float> c(2, 7.0F);
  HostMemory scratch(layout.scratch_bytes(2));
  const runtime::CpuModule module(KernelCompiler().compile(gemm_kernel(spec)));
  const std::vector<void*> buffers{a.data(), b.data(), c.data()};
  const std::vector<int64_t> scalars{2, 1, 2, 2, 1, 1, 1, 0, 0, 0};
  module.entry("gemm")(buffers.data(), scalars.data(), 0, 1, scratch.data());
  EXPECT_EQ(c[0], 3);
  EXPECT_EQ(c[1], std::numeric_limits<float>::infinity());
}

TEST(Gemm, FullTilesNeverSpill) {
  for (const std::string_view name : cpu_target_names()) {
    const CpuTarget target = cpu_target(name);
    const GemmProblem problem{DType::kF32, DType::kF32, DType::kF32, 1,     512, 512,
                              512,         false,       true,        false, 1};
    const std::string text =
        KernelCompiler(target).assembly_text(gemm_kernel(choose_gemm(problem, target)));
    // The innermost loop is the one with the multiplications: no vector goes to the stack in it.
    const char* multiply = target.has_fma() ? "vfmadd" : "mulps";
    const size_t first = text.find(multiply);
    const size_t last = text.rfind(multiply);
    ASSERT_NE(first, std::string::npos) << name;
    EXPECT_EQ(text.substr(first, last - first).find("-byte Spill"), std::string::npos) << name;
    EXPECT_EQ(text.substr(first, last - first).find("-byte Reload"), std::string::npos) << name;
  }
}

}  // namespace
}  // namespace luminal::codegen

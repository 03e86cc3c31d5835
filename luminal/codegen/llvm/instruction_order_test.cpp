#include "luminal/codegen/llvm/instruction_order.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <sstream>

#include "luminal/codegen/llvm/jit_for_tests.h"

namespace luminal::codegen {
namespace {

constexpr int kChains = 8;
constexpr int kSteps = 12;
constexpr int kLanes = 16;

/// kSteps times x = x * x / 2 + 1 / 4 for some vectors, written side by side; `tested`: and a test
/// of all of them together, on the way.
KernelSource side_by_side(bool staggered, bool tested = false) {
  return TestKernel::source([=](VectorBuilder& builder, const EntryArguments& entry) {
    llvm::IRBuilder<>& ir = builder.ir();
    if (staggered) ask_for_staggered_chains(*ir.GetInsertBlock()->getParent());
    llvm::Type* type = VectorBuilder::vector(builder.f32(), kLanes);
    const auto place = [&](int buffer, int chain) {
      return builder.offset(builder.buffer(entry, buffer),
                            builder.index(int64_t{chain} * kLanes * 4));
    };
    // A loop, so that constants come from outside.
    builder.loop(entry.begin, entry.end, builder.index(1), [&](llvm::Value*) {
      std::vector<llvm::Value*> values;
      for (int chain = 0; chain < kChains; ++chain)
        values.push_back(builder.load(type, place(0, chain), {}));
      if (tested) {
        llvm::Value* largest = values[0];
        for (llvm::Value* x : values) largest = builder.maximum(largest, x);
        llvm::Value* is_large = ir.CreateFCmpOGT(largest, VectorBuilder::number(type, 1e30));
        builder.store(ir.CreateZExt(builder.any(is_large), builder.i64()), place(1, kChains), {});
      }
      for (int step = 0; step < kSteps; ++step)
        for (llvm::Value*& x : values)
          x = ir.CreateFAdd(ir.CreateFMul(ir.CreateFMul(x, x), VectorBuilder::number(type, 0.5)),
                            VectorBuilder::number(type, 0.25));
      for (int chain = 0; chain < kChains; ++chain)
        builder.store(values[static_cast<size_t>(chain)], place(1, chain), {});
    });
  });
}

/// How many sums come before the load of the last chain.
int additions_before_the_last_chain(const std::string& assembly) {
  const auto has = [](const std::string& line, const char* text) {
    return line.find(text) != std::string::npos;
  };
  std::istringstream lines(assembly);
  std::string line;
  int additions = 0;
  int loads = 0;
  while (loads < kChains && std::getline(lines, line)) {
    if (has(line, "vaddps")) ++additions;
    if (has(line, "vmovup") && has(line, "), %zmm")) ++loads;
  }
  return additions;
}

TEST(InstructionOrder, ChainsBeginOneAfterTheOther) {
  const KernelCompiler compiler(cpu_target("skylake-avx512"));
  const int plain = additions_before_the_last_chain(compiler.assembly_text(side_by_side(false)));
  const int staggered = additions_before_the_last_chain(compiler.assembly_text(side_by_side(true)));
  EXPECT_LT(plain, kSteps);
  EXPECT_GT(staggered, kSteps);
}

TEST(InstructionOrder, ATestOfAllChainsJoinsNone) {
  const KernelCompiler compiler(cpu_target("skylake-avx512"));
  const std::string text = compiler.assembly_text(side_by_side(true, true));
  EXPECT_GT(additions_before_the_last_chain(text), kSteps);
}

TEST(InstructionOrder, ResultsAreTheSame) {
  for (const CpuTarget& target : targets_that_run_here()) {
    std::vector<float> x(kChains * kLanes);
    std::iota(x.begin(), x.end(), 0.0F);
    for (float& each : x) each /= 256;
    std::vector<float> plain(x.size());
    std::vector<float> staggered(x.size());
    TestKernel(target, side_by_side(false))({x.data(), plain.data()}, {}, 0, 1);
    TestKernel(target, side_by_side(true))({x.data(), staggered.data()}, {}, 0, 1);
    EXPECT_EQ(plain, staggered) << target.name;
  }
}

}  // namespace
}  // namespace luminal::codegen

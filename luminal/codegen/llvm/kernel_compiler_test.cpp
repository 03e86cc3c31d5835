#include "luminal/codegen/llvm/kernel_compiler.h"

#include <gtest/gtest.h>
#include <llvm/IR/IntrinsicsX86.h>

#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <numeric>
#include <thread>

#include "luminal/codegen/llvm/jit_for_tests.h"
#include "luminal/codegen/llvm/vector_math.h"
#include "luminal/support/error.h"

namespace luminal::codegen {
namespace {

/// y = exp(x) + x over [begin, end), with a masked tail.
void emit_exp_plus(VectorBuilder& builder, const EntryArguments& entry) {
  const int lanes = builder.target().lanes(32);
  llvm::IRBuilder<>& ir = builder.ir();
  llvm::Type* type = VectorBuilder::vector(builder.f32(), lanes);
  llvm::Value* source = builder.buffer(entry, 0);
  llvm::Value* result = builder.buffer(entry, 1);
  builder.loop(entry.begin, entry.end, builder.index(lanes), [&](llvm::Value* i) {
    llvm::Value* at = ir.CreateMul(i, builder.index(4));
    llvm::Value* mask = builder.lanes_below(ir.CreateSub(entry.end, i), lanes);
    llvm::Value* x = builder.load(type, builder.offset(source, at), {.mask = mask});
    builder.store(ir.CreateFAdd(VectorMath(builder).exp(x), x), builder.offset(result, at),
                  {.mask = mask});
  });
}

TEST(KernelCompiler, CodeForEveryTargetThatRunsHereGivesTheResult) {
  for (const CpuTarget& target : targets_that_run_here()) {
    const TestKernel kernel(target, emit_exp_plus);
    for (const int64_t count : {0, 1, 7, 16, 37}) {
      std::vector<float> x(64);
      std::iota(x.begin(), x.end(), -10.0F);
      std::vector<float> y(64, -1.0F);
      kernel({x.data(), y.data()}, {}, 0, count);
      for (int64_t i = 0; i < 64; ++i) {
        const auto at = static_cast<size_t>(i);
        const float expected = i < count ? std::exp(x[at]) + x[at] : -1.0F;
        EXPECT_NEAR(y[at], expected, 1e-6 * std::abs(expected)) << target.name << " " << i;
      }
    }
  }
}

TEST(KernelCompiler, EveryNamedTargetCompiles) {
  for (const std::string_view name : cpu_target_names()) {
    const KernelCompiler compiler(cpu_target(name));
    const runtime::Artifact artifact = compiler.compile(TestKernel::source(emit_exp_plus));
    EXPECT_GT(artifact.code.size(), 200U) << name;
    EXPECT_EQ(artifact.needed, cpu_target(name).features);
    const std::string assembly = compiler.assembly_text(TestKernel::source(emit_exp_plus));
    EXPECT_EQ(assembly.find("%zmm") != std::string::npos, compiler.target().vector_bytes() == 64);
    EXPECT_EQ(assembly.find("%ymm") != std::string::npos, compiler.target().vector_bytes() == 32);
  }
}

TEST(KernelCompiler, WhatTheBackendCannotSelectIsAnErrorOfOurs) {
  const auto emit_dots = [](VectorBuilder& builder, const EntryArguments& entry) {
    llvm::Type* type = VectorBuilder::vector(builder.i32(), 16);
    llvm::Value* x = builder.load(type, builder.buffer(entry, 0));
    x = builder.call_intrinsic(llvm::Intrinsic::x86_avx512_vpdpbusd_512, {}, {x, x, x});
    builder.store(x, builder.buffer(entry, 1));
  };
  for (int time = 0; time < 3; ++time) {
    try {
      KernelCompiler(cpu_target("x86-64")).compile(TestKernel::source(emit_dots));
      FAIL() << "there is no such instruction";
    } catch (const InternalError& error) {
      EXPECT_NE(std::string(error.what()).find("the backend gives up: "), std::string::npos)
          << error.what();
    }
    // And the next kernel is compiled as ever.
    EXPECT_NO_THROW(KernelCompiler(cpu_target("znver4")).compile(TestKernel::source(emit_dots)));
  }
}

TEST(KernelCompiler, UnknownTargetsAreNamed) {
  try {
    cpu_target("i486");
    FAIL();
  } catch (const UserError& error) {
    EXPECT_STREQ(error.what(),
                 "compile: there is no processor named i486; known are x86-64, haswell, "
                 "skylake-avx512, znver4, sapphirerapids");
  }
}

TEST(KernelCompiler, CodeForAnotherProcessorIsRefusedWhenLoaded) {
  CpuTarget target = cpu_target("sapphirerapids");
  if (runs_here(target)) GTEST_SKIP() << "this machine has everything";
  const runtime::Artifact artifact =
      KernelCompiler(target).compile(TestKernel::source(emit_exp_plus));
  try {
    const runtime::CpuModule module(artifact);
    FAIL();
  } catch (const UserError& error) {
    EXPECT_NE(std::string(error.what()).find("lacks; compile it here"), std::string::npos);
  }
}

TEST(KernelCompiler, InvalidIrIsAnInternalError) {
  const KernelSource source = TestKernel::source([](VectorBuilder& builder, const EntryArguments&) {
    builder.ir().CreateRetVoid();  // a second one follows
  });
  EXPECT_THROW(KernelCompiler().compile(source), InternalError);
}

class CacheTest : public testing::Test {
 protected:
  CacheTest()
      : directory_(std::filesystem::temp_directory_path() /
                   ("luminal_kernels_" + std::to_string(::getpid()))) {}
  ~CacheTest() override { std::filesystem::remove_all(directory_); }
  std::filesystem::path directory_;
};

TEST_F(CacheTest, SecondCompilationComesFromDisk) {
  support::FileCache cache({.directory = directory_.string()});
  const KernelCompiler compiler(host_target(), &cache);
  int emitted = 0;
  KernelSource source =
      TestKernel::source([&](VectorBuilder& builder, const EntryArguments& entry) {
        ++emitted;
        emit_exp_plus(builder, entry);
      });
  source.key = "exp plus";
  const runtime::Artifact first = compiler.compile(source);
  const runtime::Artifact second = compiler.compile(source);
  EXPECT_EQ(first, second);
  EXPECT_EQ(emitted, 1);
  source.key = "another";
  compiler.compile(source);
  EXPECT_EQ(emitted, 2);
  const char* other = host_target().name == "haswell" ? "znver4" : "haswell";
  KernelCompiler(cpu_target(other), &cache).compile(source);
  EXPECT_EQ(emitted, 3);
  for (const auto& entry : cache.list()) cache.put(entry.key, "rubbish");
  EXPECT_EQ(compiler.compile(source), first);
  EXPECT_EQ(emitted, 4);
}

TEST(KernelCompiler, ThreadsCompileAtTheSameTime) {
  const KernelCompiler compiler;
  std::vector<runtime::Artifact> artifacts(4);
  std::vector<std::thread> threads;
  for (runtime::Artifact& artifact : artifacts)
    threads.emplace_back([&] { artifact = compiler.compile(TestKernel::source(emit_exp_plus)); });
  for (std::thread& thread : threads) thread.join();
  for (const runtime::Artifact& artifact : artifacts) EXPECT_EQ(artifact, artifacts[0]);
}

TEST(CpuModule, DamagedObjectsAreRefusedAndNeverCrash) {
  const runtime::Artifact good = KernelCompiler().compile(TestKernel::source(emit_exp_plus));
  for (size_t size = 0; size < good.code.size(); size += 7) {
    runtime::Artifact damaged = good;
    damaged.code.resize(size);
    EXPECT_THROW(runtime::CpuModule{damaged}, UserError) << size;
  }
  // A flipped bit may hit code or padding; loading must not read or write outside.
  for (size_t i = 0; i < good.code.size(); ++i) {
    runtime::Artifact damaged = good;
    damaged.code[i] = static_cast<char>(damaged.code[i] ^ 0x80);
    try {
      const runtime::CpuModule module(damaged);
    } catch (const UserError&) {
    }
  }
}

TEST(KernelCompiler, TextFormsShowTheKernel) {
  const KernelCompiler compiler;
  EXPECT_NE(compiler.ir_text(TestKernel::source(emit_exp_plus)).find("define void @kernel("),
            std::string::npos);
  EXPECT_NE(compiler.assembly_text(TestKernel::source(emit_exp_plus)).find("kernel:"),
            std::string::npos);
}

}  // namespace
}  // namespace luminal::codegen

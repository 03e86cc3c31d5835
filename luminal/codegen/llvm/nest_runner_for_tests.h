// Runs kernels as nests make them, for tests that compare them with the oracle.
#pragma once

#include <functional>
#include <vector>

#include "luminal/codegen/llvm/launches_for_tests.h"
#include "luminal/codegen/llvm/nest_launches.h"
#include "luminal/kernel/test_kernels.h"

namespace luminal::codegen {

/// Runs kernels as cpu_kernel() makes them; counts launches.
struct Runner {
  CpuTarget target = host_target();
  CpuKernelOptions options = {};
  int launches = 0;
  int64_t items = 0;  // of the last launch, if that is known

  void operator()(kernel::Arena& arena, const kernel::Kernel& kernel, const graph::DimValues& dims,
                  kernel::Tensors& tensors) {
    const CpuKernel code = nest_launches(arena, kernel, target, options);
    launches += static_cast<int>(code.launches.size());
    items = code.launches.back().items.constant_value().value_or(0);
    run_launches(arena, kernel, code, target, dims, tensors);
  }
};

/// Runs a sample with the smallest cut and with random ones; gives the number of launches.
inline int check(const kernel::test::Sample& sample, Runner runner,
                 const kernel::test::Closeness& closeness, int random_cuts = 0) {
  kernel::test::check_cuts(sample, std::ref(runner), closeness, random_cuts);
  return runner.launches;
}

/// Random elements.
inline graph::Array filled(graph::DType dtype, const graph::Extents& extents, uint64_t seed) {
  return kernel::test::random_array(dtype, extents, seed, 1);
}

/// Processors of several generations, as far as their code runs here.
inline std::vector<CpuTarget> targets() {
  std::vector<CpuTarget> result;
  for (const char* name : {"x86-64", "haswell", "skylake-avx512"})
    if (runs_here(cpu_target(name))) result.push_back(cpu_target(name));
  return result;
}

}  // namespace luminal::codegen

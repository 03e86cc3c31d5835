// Runs kernels that are products as generated code, in every way there is, and compares with the
// oracle.
#pragma once

#include <gtest/gtest.h>

#include "kernel_samples.h"
#include "loaded_kernel.h"
#include "luminal/codegen/llvm/contraction_kernel.h"
#include "luminal/codegen/llvm/convolution_kernel.h"
#include "luminal/kernel/test_kernels.h"
#include "luminal/luminal.h"

namespace luminal::codegen {

/// How a kernel is compiled.
struct Way {
  CpuTarget target = host_target();
  bool constants = false;                      ///< all inputs count as weights
  bool must_match = true;                      ///< a kernel that is no contraction fails the test
  bool windows = false;                        ///< as a convolution
  bool squares = false;                        ///< as one of 3x3 windows by fewer products
  bool depthwise = false;                      ///< as one of single filters, read in place
  bool by_cost = false;                        ///< the convolution chooses for itself
  std::optional<ConvolutionLanes> along = {};  ///< of a convolution; nothing: by cost
  int threads = 2;
  int64_t streaming_bytes = CpuKernelOptions{}.streaming_bytes;
  bool* streamed = nullptr;       ///< set if few rows were streamed
  std::string_view counted = {};  ///< a family of schedules
  int* count = nullptr;           ///< how many kernels are of it
  ContractionKernelOptions more = {.always = true};
};

/// Targets that stand for the forms of code there are, as far as this machine runs them.
inline std::vector<CpuTarget> targets() {
  std::vector<CpuTarget> result;
  for (const char* name : {"x86-64", "haswell", "skylake-avx512"})
    if (runs_here(cpu_target(name))) result.push_back(cpu_target(name));
  result.push_back(host_target());
  return result;
}

/// Runs one kernel as code.
inline kernel::test::RunKernel by_contraction(const Way& way, const kernel::test::Sample& sample) {
  return [way, &sample](kernel::Arena& arena, const kernel::Kernel& kernel,
                        const graph::DimValues& dims, kernel::Tensors& tensors) {
    CpuKernelOptions options;
    options.dims = dims;
    options.threads = way.threads;
    options.streaming_bytes = way.streaming_bytes;
    if (way.constants) options.constants = inputs_of(sample.graph);
    Recognised<CpuKernel> code =
        way.windows ? convolution_kernel(arena, kernel, way.target, options,
                                         {.always = !way.by_cost,
                                          .squares = way.squares,
                                          .depthwise = way.depthwise,
                                          .along = way.along})
                    : contraction_kernel(arena, kernel, way.target, options, way.more);
    if (way.must_match) {
      ASSERT_TRUE(code.has_value()) << to_string(arena, kernel);
    }
    if (!code) code = cpu_kernel(arena, kernel, way.target, options);
    if (way.streamed != nullptr) *way.streamed |= code->schedule.family() == kGemvFamily;
    if (way.count != nullptr) *way.count += code->schedule.family() == way.counted ? 1 : 0;
    SCOPED_TRACE(way.target.name + ": " + code->schedule.to_string());
    LoadedCpuKernel loaded(*code, way.target, dims, 1);
    kernel::Tensors results = kernel::empty_results(arena, kernel, dims);
    std::map<kernel::NodeId, void*> memory;
    for (auto& [tensor, array] : tensors)
      memory[tensor] = const_cast<std::byte*>(array.bytes().data());
    for (auto& [tensor, array] : results) memory[tensor] = array.mutable_bytes().data();
    loaded.run(memory, LoadedCpuKernel::in_ranges, false);
    // What was made ahead is used again.
    for (auto& [tensor, array] : results)
      std::fill(array.mutable_bytes().begin(), array.mutable_bytes().end(), std::byte{0x55});
    loaded.run(memory, LoadedCpuKernel::in_ranges, true);
    for (auto& [tensor, value] : results) tensors.insert_or_assign(tensor, std::move(value));
  };
}

/// Runs every kernel of the smallest cut.
inline void check(const kernel::test::Sample& sample, const Way& way,
                  const kernel::test::Closeness& closeness = {1e-4, 1e-5}) {
  const kernel::GraphProgram program(sample.graph);
  const auto order = *kernel::topological_order(program);
  const kernel::Tensors oracle = kernel::test::oracle_values(sample, program, order);
  kernel::Arena arena;
  const kernel::Cut cut = kernel::smallest_cut(program, order);
  const int kernels = kernel::test::check_cut(arena, sample, program, order, cut, oracle,
                                              by_contraction(way, sample), closeness);
  EXPECT_GT(kernels, 0);
}

/// On one target, with weights packed ahead or not; where few rows were streamed, by tiles too.
inline void check_both_forms(const kernel::test::Sample& sample, Way way,
                             const kernel::test::Closeness& closeness) {
  bool streamed = false;
  way.streamed = &streamed;
  check(sample, way, closeness);
  if (!streamed || testing::Test::HasFailure()) return;
  way.more.never_gemv = true;
  check(sample, way, closeness);
}

/// As convolutions, on all targets, with pixels and with filters along the lanes, and filters laid
/// out ahead and not.
inline void check_windows(const kernel::test::Sample& sample,
                          const kernel::test::Closeness& closeness = {1e-4, 1e-5}) {
  for (const CpuTarget& target : targets())
    for (const ConvolutionLanes along : {ConvolutionLanes::kPixels, ConvolutionLanes::kFilters})
      for (const bool constants : {false, true}) {
        const Way way{.target = target,
                      .constants = constants,
                      .windows = true,
                      .along = along,
                      .threads = constants ? 8 : 1};
        check(sample, way, closeness);
        if (testing::Test::HasFailure()) return;
      }
}

/// As convolutions of such a family (`way` says how to get it), on all targets, by one thread and
/// by several with filters laid out ahead; gives how many kernels are of it on this machine's own.
inline int check_family(const kernel::test::Sample& sample, Way way,
                        const kernel::test::Closeness& closeness) {
  int found = 0;
  way.must_match = false;
  way.windows = true;
  way.count = &found;
  for (const CpuTarget& target : targets())
    for (const int threads : {1, 8}) {
      found = 0;
      way.target = target;
      way.constants = threads > 1;
      way.threads = threads;
      check(sample, way, closeness);
      if (testing::Test::HasFailure()) return found;
    }
  return found;
}

/// On all targets, with weights packed ahead and not.
inline void check_all(const kernel::test::Sample& sample,
                      const kernel::test::Closeness& closeness = {1e-4, 1e-5},
                      bool must_match = true) {
  for (const CpuTarget& target : targets())
    for (const bool constants : {false, true}) {
      check_both_forms(sample, {.target = target, .constants = constants, .must_match = must_match},
                       closeness);
      if (testing::Test::HasFailure()) return;
    }
}

/// One target with weights packed ahead and one without, others every turn: enough where many
/// samples differ in what no target cares about.
inline void check_in_turn(const kernel::test::Sample& sample, size_t turn,
                          const kernel::test::Closeness& closeness = {1e-4, 1e-5},
                          bool must_match = true) {
  const std::vector<CpuTarget> all = targets();
  for (const bool constants : {false, true})
    check_both_forms(sample,
                     {.target = all[(turn + (constants ? 1 : 0)) % all.size()],
                      .constants = constants,
                      .must_match = must_match},
                     closeness);
}

}  // namespace luminal::codegen

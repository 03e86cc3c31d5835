// How a graph is compiled: plain data with defaults, passed down.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "luminal/codegen/llvm/cpu_kernel.h"
#include "luminal/codegen/llvm/cpu_target.h"
#include "luminal/graph/program.h"
#include "luminal/kernel/estimate.h"

namespace luminal::compiler {

/// One kernel that code is needed for, under canonical names: tensors are t0, t1, ... and dims S0,
/// S1, ..., so that equal kernels of different models are asked for in the same words.
struct KernelRequest {
  const std::string& text;                   ///< what it computes (kernel/canonical.h)
  const kernel::Arena& arena;                ///< holds the kernel's bodies
  const kernel::Kernel& kernel;              ///< with canonical names
  const codegen::CpuTarget& target;          ///< what code is made for
  const codegen::CpuKernelOptions& options;  ///< with the values to expect of dims, and constants
};

/// See above.
struct Options {
  /// The processor that code is made for. Nothing: the one we run on. A program for one that has
  /// more than this one is there to be saved (`Executable::save`): to run it is an error.
  std::optional<codegen::CpuTarget> target = {};
  /// What the cost model reckons with. Nothing: a CPU with as many cores as there are threads.
  std::optional<kernel::Machine> machine = {};
  /// Threads that a launch may use; 0: all of the process's team.
  int threads = 0;
  /// Allow laws that round elsewhere (sums taken in another order, a factor moved out of a sum).
  bool reassociate = true;
  /// Round narrow floats after every op, as the interpreter does, instead of keeping more of them.
  bool round_each = false;
  /// Values of dims to expect; others count as `typical_dim`.
  graph::DimValues dims = {};
  int64_t typical_dim = 512;  ///< of a dim that is not named
  /// Values of dims to choose separately for (buckets.h): a run uses the plan of the smallest value
  /// that is not below its own, or the largest there is. Every plan is right for all values.
  std::map<std::string, std::vector<int64_t>> buckets = {};
  /// Inputs to treat as weights besides those that the graph marks: what is made of weights alone
  /// is made once.
  std::vector<std::string> weights = {};
  /// Let rules find other definitions of values, and choose among them (docs/rules.md).
  bool rules = true;
  /// Cuts by chance that the choice of kernels begins with besides the two standard ones.
  int restarts = 0;
  uint64_t restart_seed = 1;  ///< what they are drawn by
  /// Look at one instance for all where parts of the graph repeat (outline.h).
  bool outline = true;
  /// Keep compiled kernels on disk and use those that are there.
  bool cache = true;
  /// The schedule of a kernel, where one is known; asked once for every distinct kernel, in the
  /// order of the plan. A schedule that does not fit is passed over. Nothing: what is thought best.
  std::function<std::optional<codegen::Schedule>(const KernelRequest&)> schedules = {};
  /// Called with every distinct piece of code before it is compiled, for those who show it.
  std::function<void(const codegen::KernelSource&, const codegen::CpuTarget&)> on_code = {};
  /// Keep the text of every kernel's loops, for explaining.
  bool keep_text = false;
  /// Also note why not more was fused and in which other ways kernels could be computed, for
  /// explaining: takes some time.
  bool explain = false;
  /// Keep what every kernel should compute, compare every step of every run with it and end the run
  /// at the first that is wrong (plan/step_check.h). Slow.
  bool check_steps = false;
};

}  // namespace luminal::compiler

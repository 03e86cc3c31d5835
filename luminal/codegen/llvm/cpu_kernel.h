// The code of one kernel for the CPU: whatever its body is, here it becomes launches. Templates
// that know a form of body (products, transpositions, attention) are asked first; the loop nest,
// which takes every body, is the last. A template may need several launches and memory between
// them. Which template and how is chosen by rule of thumb, or given as a schedule. No LLVM types:
// whoever plans may ask.
#pragma once

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "luminal/codegen/llvm/kernel_compiler.h"
#include "luminal/codegen/llvm/recognised.h"
#include "luminal/codegen/llvm/schedule.h"
#include "luminal/graph/program.h"
#include "luminal/kernel/nest.h"

namespace luminal::codegen {

/// What a template may know beyond the body.
struct CpuKernelOptions {
  /// How loops are built where the nest is used.
  kernel::NestOptions nest = {.online = false, .keep_rows = true};
  /// Tensors whose data rarely changes between runs (constants and weights): what is made of them
  /// alone may be made ahead (CpuLaunch::prepare).
  std::vector<kernel::NodeId> constants = {};
  /// Values of dims to expect; others count as `typical_dim`.
  graph::DimValues dims = {};
  int64_t typical_dim = 512;  ///< of a dim that is not named
  /// How many threads run a launch.
  int threads = 1;
  /// Sums may be taken in another order.
  bool reassociate = true;
  /// Round narrow floats after every op, as the interpreter does.
  bool round_each = false;
  /// Results of at least this many bytes go past the caches; they must be aligned to 64 bytes.
  /// 0: never.
  int64_t streaming_bytes = int64_t{32} << 20;
  /// Loops run over the axes in their order, not as operands lie in memory, and are dealt out in
  /// equal shares: each thread gets the part of the result that it will read.
  bool keep_order = false;
  /// The family and choices to use (docs/kernels.md, Schedules). Nothing: what is thought best.
  /// Launches before the main one, such as those that copy operands, choose for themselves.
  std::optional<Schedule> schedule = {};
};

/// What a pointer of a launch points to: a tensor of the kernel, or a temporary of its code.
struct LaunchBuffer {
  enum class Kind : uint8_t { kTensor, kTemporary };
  Kind kind = Kind::kTensor;   ///< says which field below counts
  kernel::NodeId tensor = {};  ///< kTensor
  size_t temporary = 0;        ///< kTemporary: which of CpuKernel::temporaries
  bool operator==(const LaunchBuffer&) const = default;
};

/// One launch of an entry.
struct CpuLaunch {
  KernelSource source;                  ///< with one entry
  std::vector<LaunchBuffer> buffers;    ///< in the order of the pointers
  std::vector<symbolic::Expr> scalars;  ///< over the dims, which are found by name
  symbolic::Expr items = 1;             ///< of work, dealt out to threads
  symbolic::Expr scratch_bytes = 0;     ///< per thread
  int64_t chunk = 0;                    ///< as runtime::LaunchSize has it
  int threads = 0;                      ///< that run it at most; 0: all
  /// Values it computes, at most; 0 if that is not known.
  symbolic::Expr work = 0;
  /// Reads constants (and temporaries of such launches) only and writes temporaries only: it need
  /// not run again while they stay the same.
  bool prepare = false;
};

/// A template that was asked and is not used.
struct TemplateRefusal {
  std::string name;  ///< that of its family of schedules
  std::string why;   ///< in words
};

/// A kernel as code.
struct CpuKernel {
  std::vector<CpuLaunch> launches;            ///< in order; each waits for those before it
  std::vector<symbolic::Expr> temporaries;    ///< sizes in bytes, over the dims
  Schedule schedule;                          ///< given in the options, it makes the same code
  std::vector<TemplateRefusal> refused = {};  ///< that come before this one, with their reasons
  /// Products of whole vectors that its template counts, of all threads together; 0: as many as the
  /// kernel asks for.
  double vector_products = 0.0;
  /// Flops of the sums of products as the kernel defines them, and those that an algorithm with
  /// fewer products takes instead, its transformations included. 0: it is the definition's.
  double defined_flops = 0.0;
  double own_flops = 0.0;  ///< see above
};

/// The code of a kernel. Bodies made on the way go to the arena, which must live until the sources
/// are compiled. UserError if a schedule is given that does not fit the kernel or the target.
CpuKernel cpu_kernel(kernel::Arena& arena, const kernel::Kernel& kernel, const CpuTarget& target,
                     const CpuKernelOptions& options = {});

/// Why a schedule was not used.
struct ScheduleRefusal {
  std::string why;  ///< for people
};

/// The same for those who try schedules: one that does not fit is an ordinary result.
std::variant<CpuKernel, ScheduleRefusal> try_cpu_kernel(kernel::Arena& arena,
                                                        const kernel::Kernel& kernel,
                                                        const CpuTarget& target,
                                                        const CpuKernelOptions& options);

}  // namespace luminal::codegen

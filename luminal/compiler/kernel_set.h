// The distinct kernels of a plan. Kernels that are equal but for the names of their tensors and
// dims (the layers of a model) are one: it is written and compiled once, under canonical names, and
// every use says which tensors and dims those are. Compiling runs on the thread pool.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "luminal/codegen/llvm/cpu_kernel.h"
#include "luminal/compiler/options.h"
#include "luminal/compiler/plan.h"
#include "luminal/compiler/positions.h"
#include "luminal/kernel/canonical.h"
#include "luminal/search/kernel_bench.h"

namespace luminal::compiler {

/// The threads that launches may use, the caller's included.
int threads_of(const Options& options);

/// A kernel as it is known: by its canonical names and by what its code may count on.
struct KernelIdentity {
  kernel::CanonicalKernel names;
  /// The kernel that is named, if it is not the one that was asked for.
  std::optional<WithPositions> with_positions;
  /// The canonical text and all else that code depends on, but for the values of dims.
  std::string text;
  codegen::CpuKernelOptions options;  ///< in canonical names; dims that are expected
  /// Values of all dims, those that nobody named too.
  graph::DimValues dims;
};

/// `constants` are tensors of the kernel that rarely change.
KernelIdentity identify(const kernel::Arena& arena, const kernel::Kernel& kernel,
                        const kernel::NestOptions& nest, const std::vector<NodeId>& constants,
                        const Options& options);

/// How the loops of all kernels are built.
inline constexpr kernel::NestOptions kNestOfKernels{.online = false, .keep_rows = true};

/// How one kernel of a plan uses a kernel of the set.
struct KernelUse {
  size_t kernel = 0;
  std::vector<NodeId> tensors;  ///< which tensor t<k> is
  std::vector<Expr> dims;       ///< which dim, or number, S<k> is

  /// An expression of the kernel's code in the plan's dims.
  Expr renamed(const Expr& expr) const;
  /// A text about the kernel's code with the plan's dims where it has S0, S1, ...
  std::string renamed(const std::string& text) const;
  NodeId renamed(NodeId tensor) const { return tensors[tensor.value]; }
};

/// See above.
class KernelSet {
 public:
  explicit KernelSet(const Options& options);
  ~KernelSet();

  /// Adds a kernel, if it is new. `constants` are tensors of it that rarely change.
  KernelUse add(const kernel::Arena& arena, const kernel::Kernel& kernel, const std::string& label,
                const kernel::NestOptions& nest, const std::vector<NodeId>& constants);

  /// A kernel as something to be tuned, by number.
  search::KernelTask task(size_t kernel) const;
  const std::string& label(size_t kernel) const;
  /// What it is, but for the values of dims.
  const std::string& identity(size_t kernel) const;
  /// What its measurements are kept under.
  search::TuningKey key(size_t kernel, const std::string& device) const;

  /// Computes a kernel by this schedule, as its text says, instead of what is thought best.
  void set_schedule(size_t kernel, const std::string& schedule);

  /// Writes and compiles everything that was added.
  void compile();

  // After compile().

  const codegen::CpuKernel& code(const KernelUse& use) const;
  /// Which of kernels() runs launch k.
  size_t entry(const KernelUse& use, size_t k) const;
  /// The loops of a kernel as text: tensors are t0, t1, ..., dims as the plan calls them. Empty
  /// unless they are kept.
  std::string text(const KernelUse& use) const;
  std::vector<PlanKernel> take_kernels() { return std::move(kernels_); }
  size_t size() const { return units_.size(); }

 private:
  struct Unit;

  void write(Unit& unit) const;

  const Options& options_;
  codegen::CpuTarget target_;
  std::map<std::string, size_t> unit_of_;  // by identity
  std::vector<std::unique_ptr<Unit>> units_;
  std::vector<PlanKernel> kernels_;
};

}  // namespace luminal::compiler

// What is noted of the kernels of a plan for those who explain it: what the model thinks of each,
// which templates refused it, and, if that is asked for, in which other ways it could be computed
// and why what it stores was not fused into what reads it.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "luminal/compiler/kernel_set.h"
#include "luminal/compiler/labels.h"
#include "luminal/compiler/planned_program.h"

namespace luminal::compiler {

class FusionNotes;

/// See above.
class KernelNotes {
 public:
  /// All must outlive it; labels are by kernel of the plan.
  KernelNotes(PlannedProgram& planned, const kernel::CutSearchOptions& cut, const Options& options,
              const std::vector<std::vector<std::string>>& words);
  ~KernelNotes();

  /// The note of kernel `number` of the plan, which is written out, after its code was made.
  KernelNote note(size_t number, const KernelSet& kernels, const KernelUse& use);

 private:
  void note_work(const kernel::PlannedKernel& planned, KernelNote& note);
  /// Flops of an algorithm that is not the definition.
  static void note_algorithm(const codegen::CpuKernel& code, KernelNote& note);
  void note_others(const KernelSet& kernels, const KernelUse& use, KernelNote& note) const;

  PlannedProgram& planned_;
  const kernel::CutSearchOptions& cut_;
  const Options& options_;
  const std::vector<std::vector<std::string>>& words_;
  std::unique_ptr<FusionNotes> fusion_;
};

}  // namespace luminal::compiler

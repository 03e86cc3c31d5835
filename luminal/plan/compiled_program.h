// A plan made executable on the CPU: memory taken once and kept, kernels loaded, launches prepared.
// After the first run with some dims a run computes and does nothing else: no allocation, no
// symbolic work. Errors are those of the interpreter, in the same words.
#pragma once

#include <memory>

#include "luminal/graph/program.h"
#include "luminal/plan/plan.h"

namespace luminal::plan {

/// A program that runs a plan.
class CompiledProgram : public graph::Program {
 public:
  /// What the plan holds of the program is shared by all runs; only one may run at a time.
  virtual const Plan& plan() const = 0;
  /// Bytes of memory that runs with the last dims share: slots, scratch, prepared data.
  virtual int64_t working_bytes() const = 0;
};

/// Loads a plan. UserError if this processor cannot run it.
std::unique_ptr<CompiledProgram> load_plan(Plan plan, int threads = 0);

}  // namespace luminal::plan

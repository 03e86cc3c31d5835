// A plan made executable on the CPU: memory taken once and kept, kernels loaded, launches prepared.
// After the first run with some dims a run computes and does nothing else: no allocation, no
// symbolic work (run_into(); steps on the host excepted). Errors are those of the interpreter, in
// the same words.
#pragma once

#include <memory>

#include "luminal/graph/index_walker.h"
#include "luminal/graph/program.h"
#include "luminal/plan/plan.h"

namespace luminal::plan {

/// What is in memory during a run.
class RunMemory {
 public:
  virtual ~RunMemory() = default;
  /// What a buffer of the plan holds now. Its memory may be written by the next step.
  virtual graph::Array array(size_t buffer) const = 0;
  virtual const graph::DimBindings& dims() const = 0;
};

/// Is told of every step of a run. Steps are counted from the plan's prepare steps on, which all
/// run then.
class StepWatcher {
 public:
  virtual ~StepWatcher() = default;
  virtual void before(size_t step, const RunMemory& memory) = 0;
  virtual void after(size_t step, const RunMemory& memory) = 0;
};

/// A program that runs a plan.
class CompiledProgram : public graph::Program {
 public:
  using graph::Program::run;
  /// The same, watched.
  virtual std::vector<graph::Array> run(const graph::RunRequest& request, StepWatcher& watcher) = 0;
  /// What the plan holds of the program is shared by all runs; only one may run at a time.
  virtual const Plan& plan() const = 0;
  /// The program of the plan that runs with this request: itself, unless there are buckets.
  virtual CompiledProgram& chosen(const graph::RunRequest& /*request*/) { return *this; }
  /// Bytes of memory that runs with the last dims share: slots, scratch, prepared data.
  virtual int64_t working_bytes() const = 0;
};

/// Loads a plan. One with code for a processor that has more than this one can be looked at and
/// saved; its runs are UserErrors.
std::unique_ptr<CompiledProgram> load_plan(Plan plan, int threads = 0);

}  // namespace luminal::plan

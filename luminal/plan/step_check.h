// Step mode: runs a plan kernel by kernel and compares each with the interpreter on the kernel's
// actual inputs, so that the first wrong step is named and not the many that follow it. Beside
// wrong results it finds memory that is written by a step it does not belong to. What a step should
// compute is what rules and fusion made of the graph, so in the end the outputs are compared with
// the interpreter of the graph itself.
//
// Nearness is that of graph/expected.h; nodes that run on the host and copies must be exact. The
// plan has to be built with its definitions (Options::check_steps).
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "luminal/graph/expected.h"
#include "luminal/plan/compiled_program.h"

namespace luminal::plan {

/// The first step that is wrong.
struct StepFault {
  enum class Kind : uint8_t {
    kWrongResult,  ///< the step's inputs are right and its result is not
    kOverwritten,  ///< the step wrote to memory of another tensor
    kWrongOutput,  ///< every step is right and an output of the graph is not
  };
  Kind kind = Kind::kWrongResult;
  size_t step = 0;                        ///< counted from the plan's prepare steps on
  std::string tensor;                     ///< the buffer or output that is wrong
  graph::Comparison comparison = {};      ///< of a wrong result
  std::vector<graph::Array> inputs = {};  ///< what the kernel or host node read
  std::string replay_file = {};           ///< where the step was saved, if it was
};

/// What a checked run found.
struct StepCheckReport {
  size_t steps = 0;       ///< that ran
  size_t checked = 0;     ///< kernels, host nodes and copies that were compared
  int64_t elements = 0;   ///< that were compared
  int64_t undecided = 0;  ///< of these, where no value would be wrong (graph/expected.h)
  std::optional<StepFault> fault;
  std::vector<graph::Array> outputs;  ///< of the run, if nothing was wrong

  bool passed() const { return !fault; }
};

/// How to check.
struct StepCheckOptions {
  /// Where the file of a wrong step goes (step_replay.h); empty: none is written.
  std::string directory = {};
};

/// Runs the program once, step by step, up to the first fault. UserError if its plan was built
/// without definitions. Functions of the user's own are called several times.
StepCheckReport check_steps(CompiledProgram& program, const graph::RunRequest& request,
                            const StepCheckOptions& options = {});

/// For people: that all is well, or the wrong step with its label, schedule, worst element, what it
/// should compute and its loops. The plan is that of the program which was chosen.
std::string to_string(const StepCheckReport& report, const Plan& plan);

/// A program whose every run is checked; a fault is an InternalError with the report.
std::unique_ptr<CompiledProgram> with_checked_steps(std::unique_ptr<CompiledProgram> program,
                                                    StepCheckOptions options = {});

}  // namespace luminal::plan

// What a plan is, put so that people can ask questions of it: what runs in which order and what was
// fused, how each kernel is computed and why not otherwise, how near it comes to what the machine
// can do, and where everything is in memory. Plain data, made once; text, JSON and pages are made
// from it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "luminal/compiler/plan.h"
#include "luminal/compiler/search_options.h"
#include "luminal/search/machine_limits.h"

namespace luminal::search {
class TuningDatabase;
}

namespace luminal::compiler {

/// A way to compute a kernel: the one that is used, one that was possible, or one that was tried.
struct ExplainedWay {
  std::string schedule;       ///< or the name of a plan
  bool used = false;          ///< it is the one that runs
  double estimated_us = 0.0;  ///< by the model; 0 only for what was measured or does not count
  double measured_us = 0.0;   ///< alone, by a search; 0: not measured
  double spread_us = 0.0;     ///< half of the samples lie so near to that
  int samples = 0;            ///< of the measurement
  std::string rejected;       ///< why it does not count; empty: it does
  std::string why;            ///< what counts and is not used: why not
};

/// A kernel, however often it runs.
struct ExplainedKernel {
  std::string label;                           ///< what it computes
  std::vector<std::string> fused;              ///< named definitions, and ops beside them
  uint64_t nodes = 0;                          ///< of the graph
  size_t uses = 0;                             ///< in a run
  std::string identity;                        ///< what `luminal tuning show` finds it by
  std::string implementation;                  ///< as ExplainedStep has it
  double estimated_us = 0.0;                   ///< by the model
  double bytes = 0.0;                          ///< that have to be moved
  double flops = 0.0;                          ///< that its algorithm has to compute
  double defined_flops = 0.0;                  ///< of its definition, if those are others
  std::vector<plan::RefusedTemplate> refused;  ///< templates that did not take it
  std::vector<plan::Boundary> boundaries;      ///< why what it stores is stored
  std::vector<ExplainedWay> ways;              ///< the one that is used first, then the quickest
  std::string loops;                           ///< those of its code, if they were asked for
};

/// One step of a run, or of what is prepared for all runs. Its number, everywhere, is its place
/// among all of them, the first being 1.
struct ExplainedStep {
  std::string label;            ///< what it computes
  std::string kind;             ///< "launch", "host", "copy" or "check"
  std::string implementation;   ///< "product", "loop nest", ..., "host"
  std::string schedule;         ///< of a launch
  bool once = false;            ///< prepares weights, run again only for new ones
  uint32_t node = 0;            ///< of the graph
  std::string type;             ///< of what it computes
  size_t part = 1;              ///< which launch of its kernel it is
  size_t parts = 1;             ///< how many launches its kernel has
  std::vector<size_t> kernels;  ///< numbers of those that it runs
  double bytes = 0.0;           ///< that have to be moved
  double flops = 0.0;           ///< that the algorithms of its kernels have to compute
  double estimated_us = 0.0;    ///< by the model
  double measured_us = 0.0;     ///< a median; 0: it was not run
  double floor_us = 0.0;    ///< the least that bytes and flops take on this machine; 0: not known
  std::string bound;        ///< what that is made of: "memory" or "compute"
  std::string why;          ///< of what is no launch: why it is none
  std::string no_estimate;  ///< why the model tells nothing, if it does not
};

/// A tensor in memory.
struct ExplainedBuffer {
  std::string name;   ///< of an input, or of a value in terms of the graph
  std::string type;   ///< dtype and extents
  std::string place;  ///< "input", "constant", "result", "arena", "prepared" or "thread"
  size_t slot = 0;    ///< which of its place
  int64_t bytes = 0;  ///< with the dims
  bool used = false;  ///< by a step of a run
  size_t first = 0;   ///< the steps of a run that it is needed from and to, by number
  size_t last = 0;    ///< see `first`
};

/// Two tensors in one memory at the same time.
struct ExplainedAlias {
  std::string value;  ///< the later one
  std::string of;     ///< whose memory it has
  std::string why;    ///< "computed in place", "updated in place" or "if given away"
};

/// Where everything is.
struct ExplainedMemory {
  int64_t arena_bytes = 0;               ///< of all slots
  size_t slots = 0;                      ///< that values of different times share
  int64_t peak_bytes = 0;                ///< the most of it that holds values at a time
  size_t peak_step = 0;                  ///< when that is, by number; 0: never
  int64_t input_bytes = 0;               ///< of the caller
  int64_t constant_bytes = 0;            ///< with the plan
  int64_t result_bytes = 0;              ///< given to the caller
  int64_t prepared_bytes = 0;            ///< made of weights and kept
  std::vector<int64_t> live;             ///< bytes of the arena that hold values, by step of a run
  std::vector<ExplainedBuffer> buffers;  ///< all of them
  std::vector<ExplainedAlias> aliases;   ///< those that share memory
};

/// See above.
struct Explanation {
  std::string title;                            ///< of the file or the graph
  graph::DimValues dims;                        ///< their values
  std::string device;                           ///< what code is for
  bool as_estimated = true;                     ///< estimates are for these dims
  bool has_reasons = false;                     ///< why not more was fused was asked for
  std::optional<search::MachineLimits> limits;  ///< of the machine, if they were measured
  std::vector<ExplainedKernel> kernels;         ///< the distinct ones
  std::vector<ExplainedStep> steps;             ///< what is run once first
  ExplainedMemory memory;                       ///< where everything is
  std::optional<SearchReport> search;    ///< what was done to find the plan, if there was a search
  std::vector<ExplainedWay> structures;  ///< whole plans that were timed, the quickest first
  std::vector<Explanation> variants;     ///< plans of other buckets

  std::string not_run;        ///< why there are no times although they were asked for
  double run_us = 0.0;        ///< a whole run, measured as one; 0: it was not
  double measured_us = 0.0;   ///< of all steps of a run, each measured apart
  double estimated_us = 0.0;  ///< by the model
  double floor_us = 0.0;      ///< the least that bytes and flops take
};

/// What is known besides the plan.
struct ExplainOptions {
  std::string title = {};            ///< for people
  graph::DimValues dims = {};        ///< those that are not given are as estimates have them
  std::vector<double> step_us = {};  ///< by step of a run, if it was run
  double run_us = 0.0;               ///< of whole runs, if they were timed
  std::string not_run = {};          ///< why it was not run although it should have been
  std::optional<search::MachineLimits> limits = {};  ///< what the machine can do
  /// Where measurements are looked up, and what they were made on.
  const search::TuningDatabase* database = nullptr;
  std::string device = {};                  ///< as search::device_text gives it
  std::optional<SearchReport> search = {};  ///< how the plan was found
};

/// Explains a plan.
Explanation explain(const Plan& plan, const ExplainOptions& options = {});

/// How much an explanation says.
struct ExplainText {
  bool times = true;       ///< what was measured; without, the same plan gives the same text
  bool all_steps = false;  ///< every step on a line of its own, repeated layers too
  bool details = true;     ///< schedules, alternatives and boundaries of each kernel
};

/// For a terminal of 120 columns, the most important first.
std::string to_string(const Explanation& explanation, const ExplainText& how = {});

}  // namespace luminal::compiler

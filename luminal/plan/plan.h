// What runs: buffers, compiled kernels and steps in order, as plain data. A plan holds no pointer
// and no handle of a device, so it can be kept in a file and run where no compiler is. Sizes are
// expressions of the dims: one plan serves all values of them.
#pragma once

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "luminal/graph/program.h"
#include "luminal/plan/kernel_note.h"
#include "luminal/runtime/artifact.h"

namespace luminal::plan {

using graph::NodeId;
using symbolic::Expr;

/// Where the memory of a buffer is.
enum class Place : uint8_t {
  kInput,     ///< the caller's data
  kConstant,  ///< with the plan
  kResult,    ///< memory that the caller is given; number `index` of the results
  kSlot,      ///< shared with buffers of other times; number `index` of the slots
  kPrepared,  ///< kept between runs; number `index` of the prepared buffers
  kThread,    ///< memory of each thread's own, during one step; `index` means nothing
};

/// A tensor in memory, or bytes that code keeps between its launches.
struct PlanBuffer {
  std::string name;            ///< of an input: its name; else for people
  graph::TensorType type;      ///< bytes of code are u8[n]
  Expr bytes;                  ///< its size, over the dims
  Place place = Place::kSlot;  ///< who owns its memory
  size_t index = 0;            ///< which of that kind
  graph::Array value = {};     ///< kConstant
};

/// One entry of compiled code.
struct PlanKernel {
  runtime::Artifact artifact;  ///< the code
  std::string entry;           ///< which function of it
};

/// Runs an entry over its work items: one start of the threads, however many entries they run.
struct LaunchStep {
  size_t kernel = 0;            ///< which of Plan::kernels
  std::vector<size_t> buffers;  ///< in the order of the pointers
  std::vector<Expr> scalars;    ///< over the dims
  Expr items = 1;               ///< of work, dealt out to threads
  Expr scratch_bytes = 0;       ///< per thread
  int64_t chunk = 0;            ///< as runtime::LaunchSize has it
  int threads = 0;              ///< that run it at most; 0: all
  Expr work = 0;                ///< values computed in all: small launches run on one thread
  /// What every thread runs for itself before its share, all items of each: too little to be worth
  /// a start of its own. It writes to buffers of the thread's own.
  std::vector<LaunchStep> first = {};
  /// What runs at the same time, independent of this and of each other.
  std::vector<LaunchStep> beside = {};
};

/// Calls visit(launch) for every entry that a launch runs, `first` ones first.
template <typename Visit>
void for_each_launch(const LaunchStep& step, Visit visit) {
  for (const LaunchStep& launch : step.first) visit(launch);
  visit(step);
  for (const LaunchStep& launch : step.beside) visit(launch);
}

/// Computes a node that reads whole arrays (graph/opaque.h).
struct HostStep {
  graph::Node node;              ///< what is computed
  std::vector<size_t> operands;  ///< buffers
  size_t result = 0;             ///< the buffer it fills
};

/// Copies a buffer to one of the same size.
struct CopyStep {
  size_t from = 0;  ///< a buffer
  size_t to = 0;    ///< another buffer
};

/// Makes sure that the positions of a gather are in range.
struct CheckStep {
  graph::Node gather;  ///< the node whose positions they are
  size_t index = 0;    ///< the buffer of positions
};

/// A result may be computed in the memory of an input that the caller gives away.
struct Donation {
  size_t input = 0;   ///< its buffer
  size_t result = 0;  ///< the number of the result
};

/// What one kernel should compute, in primitives: what its launches are checked against.
struct KernelDefinition {
  graph::Graph graph;           ///< from what the kernel reads to what it stores
  std::vector<size_t> inputs;   ///< the buffer of each input, in the order of the graph's nodes
  std::vector<size_t> outputs;  ///< the buffer of each output
  /// The kernel writes only a region: its result begins as a copy of this buffer, or in its place.
  std::optional<size_t> updated = {};
};

/// One step and what is said of it.
struct PlanStep {
  std::variant<LaunchStep, HostStep, CopyStep, CheckStep> action;  ///< what is done
  std::string label;                                               ///< what it computes
  NodeId node = {};                                                ///< the graph node, for reports
  bool made_by_rules = false;  ///< no graph node has this value; `node` is one that needs it
  graph::TensorType type;      ///< of what it computes
  std::string schedule = {};   ///< of a launch: the template and its choices
  std::string text = {};       ///< of a launch: its loops, if they were kept
  double estimated_us = 0.0;   ///< what the cost model thinks
  /// Of a launch: which definition it is part of, if they were kept.
  std::optional<size_t> definition = {};
  /// Of a launch: the kernels that it runs, by number of their notes.
  std::vector<size_t> notes = {};
  size_t part = 1;   ///< which launch of its kernel it is, from 1 on
  size_t parts = 1;  ///< how many launches its kernel has
};

/// See above.
struct Plan {
  graph::Graph graph;               ///< what is computed, after passes
  std::vector<Expr> dims;           ///< that need a value
  std::vector<PlanBuffer> buffers;  ///< steps name them by their place
  std::vector<PlanKernel> kernels;  ///< steps name them by their place
  std::vector<PlanStep> prepare;    ///< run again only when an input they read has other data
  std::vector<PlanStep> steps;      ///< in the order they run
  std::vector<size_t> outputs;      ///< the buffer of each output of the graph
  size_t results = 0;               ///< how many results, slots and prepared buffers there are
  size_t slots = 0;                 ///< see above
  size_t prepared = 0;              ///< see above
  std::vector<KernelDefinition> definitions = {};  ///< one per kernel, if they were kept
  std::vector<Donation> donations = {};            ///< those that come first are better
  std::vector<KernelNote> notes = {};              ///< one per distinct kernel
  graph::DimValues estimated_for = {};             ///< the values of dims that estimates are for
  graph::DimValues made_for = {};   ///< values of dims that the choices are good for, if any
  std::vector<Plan> variants = {};  ///< of the same graph, made for other values of these dims
};

/// Every step with what was fused, for people.
std::string to_string(const Plan& plan);

}  // namespace luminal::plan

// One compile with everything worth looking at kept: the graph before and after passes, the
// e-graph, the plan with loops, LLVM IR and assembly of its kernels, the search if there was one,
// and the times of one run. Of a plan that was saved there is what its file holds, and a run.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "luminal/cli/inspected_graph.h"
#include "luminal/compiler/explanation.h"
#include "luminal/compiler/search_options.h"
#include "luminal/plan/compiled_program.h"
#include "luminal/support/hash.h"

namespace luminal::cli {

/// How to compile and run.
struct RecordOptions {
  graph::DimValues dims = {};  ///< others get a value of their own choice
  /// Nothing: the cost model chooses; 0: what the database holds.
  std::optional<double> search_seconds = {};
  std::string database = {};  ///< of the search; empty: that of this machine
  bool run = true;            ///< also run once on random data
};

/// The code of one kernel, for people.
struct CodeText {
  std::string ir;
  std::string assembly;
};

/// What the search tried, and when.
struct TimedTrial {
  compiler::SearchTrial trial;
  double seconds = 0;  ///< from the beginning of the search to this result
};

/// See above.
struct CompileRecord {
  std::unique_ptr<InspectedGraph> graph;  ///< null for a saved plan
  std::unique_ptr<plan::CompiledProgram> program;
  graph::DimValues dims;
  double compile_seconds = 0;
  /// By the hash of the object code of a kernel.
  std::map<support::Hash128, CodeText> code;
  std::optional<compiler::SearchReport> search;
  std::vector<TimedTrial> trials;  ///< of the search, in order; what the database had among them
  std::vector<graph::StepReport> run;  ///< in order, median times; empty if not run
  double run_us = 0;                   ///< of whole runs
  compiler::Explanation explanation;   ///< of the plan
};

/// Compiles a graph for this machine. UserError for graphs and dims that cannot be.
CompileRecord record_compile(const graph::Graph& written, const RecordOptions& options);

/// A saved plan as it is: nothing is compiled, so there is no search either. UserError if this
/// processor cannot run it.
CompileRecord record_plan(plan::Plan plan, const RecordOptions& options);

}  // namespace luminal::cli

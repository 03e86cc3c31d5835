// What can be run: the interface that the interpreter implements now and compiled backends
// implement beside it.
#pragma once

#include <chrono>
#include <functional>
#include <iosfwd>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "luminal/graph/graph.h"

namespace luminal::graph {

/// Values of the named dims in one run.
using DimValues = std::map<std::string, int64_t>;

/// What a program tells of each step it ran.
struct StepReport {
  std::string name;     ///< "softmax", "matmul + add", or the op's name
  NodeId node;          ///< the graph node it computed, in the program's graph
  DType dtype;          ///< of what it computed
  Extents extents;      ///< of what it computed
  double microseconds;  ///< from start to end
};

/// One run: data for the inputs, values of the dims, and where effects and reports go.
struct RunRequest {
  /// One per graph input, by name. The program reads them during the run only.
  std::map<std::string, const Array*> inputs;
  DimValues dims;  ///< of named dims; those that inputs fix may be left out
  /// Inputs that are given away: an output that is a new value of one (a cache with new rows) may
  /// be computed in its memory, unless other arrays share it. Such an input holds anything
  /// afterwards.
  std::set<std::string, std::less<>> donated = {};
  /// Where kPrint and kDiff write.
  std::ostream* text = nullptr;
  /// Called after every step, if set.
  std::function<void(const StepReport&)> on_step;
};

/// A graph made executable.
class Program {
 public:
  virtual ~Program() = default;
  /// The outputs of the graph, contiguous, in the graph's order. Throws UserError for missing or
  /// unfit inputs and dims.
  virtual std::vector<Array> run(const RunRequest& request) = 0;
  /// The same into arrays that are used again and again, for programs that then take no memory.
  /// What they hold is let go; if this throws they hold anything.
  virtual void run_into(const RunRequest& request, std::vector<Array>& outputs) {
    outputs = run(request);
  }
  /// The graph it computes (after passes).
  virtual const Graph& graph() const = 0;
};

/// Runs the graph node by node: the oracle. Never optimises; defines what every other program must
/// give.
std::unique_ptr<Program> make_interpreter(Graph graph);

}  // namespace luminal::graph

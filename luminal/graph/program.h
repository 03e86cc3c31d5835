// What can be run: the interface that the interpreter implements now and compiled backends
// implement beside it.
#pragma once

#include <chrono>
#include <functional>
#include <iosfwd>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "luminal/graph/graph.h"

namespace luminal::graph {

/// Values of the named dims in one run.
using DimValues = std::map<std::string, int64_t>;

/// What a program tells of each step it ran.
struct StepReport {
  std::string name;  // "softmax", "matmul + add", or the op's name
  NodeId node;       // the graph node it computed, in the program's graph
  DType dtype;
  Extents extents;
  double microseconds;
};

/// One run: data for the inputs, values of the dims, and where effects and reports go.
struct RunRequest {
  /// One per graph input, by name. The program reads them during the run only.
  std::map<std::string, const Array*> inputs;
  DimValues dims;
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
  /// The graph it computes (after passes).
  virtual const Graph& graph() const = 0;
};

/// Runs the graph node by node: the oracle. Never optimises; defines what every other program must
/// give.
std::unique_ptr<Program> make_interpreter(Graph graph);

}  // namespace luminal::graph

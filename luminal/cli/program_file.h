// What a user names to be run: a graph in its text form, a built-in case, or a plan that was saved.
// It is read first, so that what is wrong with a command line is known before anything is compiled.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "luminal/graph/program.h"
#include "luminal/plan/plan.h"

namespace luminal::cli {

/// See above.
class ProgramFile {
 public:
  /// Reads it. UserError of the operation if it is neither graph nor case nor plan.
  ProgramFile(const std::string& operation, const std::string& case_or_file);

  /// What is computed; of a plan, after passes.
  const graph::Graph& graph() const { return plan_ ? plan_->graph : graph_; }
  /// Whether it is a plan, whose choices are made.
  bool is_plan() const { return plan_.has_value(); }

  /// Makes it runnable on "cpu" or "interpreter". UserError for a plan on the interpreter, which
  /// runs graphs only.
  std::unique_ptr<graph::Program> load(const std::string& device) const;

 private:
  std::string operation_;
  std::string file_;
  graph::Graph graph_;
  std::optional<plan::Plan> plan_;
};

}  // namespace luminal::cli

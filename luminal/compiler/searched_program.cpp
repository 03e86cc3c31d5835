#include "luminal/compiler/searched_program.h"

#include <utility>

#include "luminal/compiler/plan_bench.h"
#include "luminal/search/kernel_bench.h"

namespace luminal::compiler {

PlanDraft SearchedProgram::draft_of(const std::string& choice) const {
  return {graph, options, found, nullptr, [&](support::Hash128) { return std::optional(choice); }};
}

search::TuningKey SearchedProgram::key(std::string text) const {
  search::KernelTask task;
  task.text = std::move(text);
  task.options.dims = typical_dims(graph, options);
  return task.key(device);
}

}  // namespace luminal::compiler

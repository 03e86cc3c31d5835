#include "luminal/compiler/make_compiled.h"

#include "luminal/compiler/build_plan.h"

namespace luminal::compiler {

std::unique_ptr<plan::CompiledProgram> make_compiled(graph::Graph graph, const Options& options) {
  return plan::load_plan(build_plan(std::move(graph), options), options.threads);
}

}  // namespace luminal::compiler

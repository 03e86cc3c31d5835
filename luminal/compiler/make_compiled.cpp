#include "luminal/compiler/make_compiled.h"

#include "luminal/compiler/buckets.h"
#include "luminal/plan/step_check.h"
#include "luminal/support/env.h"

namespace luminal::compiler {

std::unique_ptr<plan::CompiledProgram> make_compiled(const graph::Graph& graph,
                                                     const Options& options) {
  const support::Environment& environment = support::environment();
  if (!options.check_steps && !environment.flag(support::EnvVar::kCheckSteps))
    return plan::load_plan(build_buckets(graph, options), options.threads);
  Options checked = options;
  checked.check_steps = true;
  checked.keep_text = true;
  auto program = plan::load_plan(build_buckets(graph, checked), options.threads);
  return plan::with_checked_steps(std::move(program),
                                  {.directory = environment.text(support::EnvVar::kCheckDir)});
}

}  // namespace luminal::compiler

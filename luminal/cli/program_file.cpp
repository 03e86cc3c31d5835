#include "luminal/cli/program_file.h"

#include "luminal/cli/cases.h"
#include "luminal/compiler/make_compiled.h"
#include "luminal/graph/pass.h"
#include "luminal/plan/compiled_program.h"
#include "luminal/plan/plan_file.h"
#include "luminal/support/error.h"

namespace luminal::cli {

std::unique_ptr<graph::Program> load_program(const std::string& file, const std::string& device) {
  if (plan::is_plan_file(file)) {
    if (device == "interpreter")
      throw UserError("run", "{} is a plan, which is code for the CPU; the interpreter runs graphs",
                      file);
    return plan::load_plan(plan::load_plan_file(file));
  }
  const graph::Graph graph = read_graph("run", file);
  if (device == "interpreter") return graph::make_interpreter(graph);
  return compiler::make_compiled(graph::default_passes().run(graph).graph);
}

}  // namespace luminal::cli

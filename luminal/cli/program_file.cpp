#include "luminal/cli/program_file.h"

#include "luminal/cli/cases.h"
#include "luminal/compiler/make_compiled.h"
#include "luminal/graph/pass.h"
#include "luminal/plan/compiled_program.h"
#include "luminal/plan/plan_file.h"
#include "luminal/support/error.h"

namespace luminal::cli {

ProgramFile::ProgramFile(const std::string& operation, const std::string& case_or_file)
    : operation_(operation), file_(case_or_file) {
  if (!is_case(case_or_file) && plan::is_plan_file(case_or_file))
    plan_ = plan::load_plan_file(case_or_file);
  else
    graph_ = graph_of(operation, case_or_file);
}

std::unique_ptr<graph::Program> ProgramFile::load(const std::string& device) const {
  if (!plan_) {
    if (device == "interpreter") return graph::make_interpreter(graph_);
    return compiler::make_compiled(graph::default_passes().run(graph_).graph);
  }
  if (device == "interpreter")
    throw UserError(operation_,
                    "{} is a plan, which is code for the CPU; the interpreter runs graphs", file_);
  return plan::load_plan(*plan_);
}

}  // namespace luminal::cli

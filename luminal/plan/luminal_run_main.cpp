// luminal-run: runs a saved plan on data in .npy files. It links no compiler, so it also shows what
// a program needs that only runs plans.
#include <fmt/format.h>

#include <cstdio>
#include <iostream>
#include <string>
#include <vector>

#include "luminal/graph/file_run.h"
#include "luminal/graph/npy.h"
#include "luminal/plan/compiled_program.h"
#include "luminal/plan/plan_file.h"
#include "luminal/support/error.h"

namespace {

using luminal::UserError;
using luminal::graph::FileRun;

constexpr const char* kUsage =
    R"(usage: luminal-run PLAN [INPUT=FILE.npy | --dim NAME=NUMBER | --out OUTPUT=FILE.npy]...

Runs a plan that Executable::save() wrote. Results are printed, but for those that --out writes to a
file. With nothing but the plan it says what inputs the plan takes and what outputs it gives.
)";

FileRun read_arguments(const std::vector<std::string>& arguments) {
  constexpr std::string_view kName = "luminal-run";
  FileRun run;
  for (size_t k = 0; k < arguments.size(); ++k) {
    const std::string& option = arguments[k];
    const bool is_option = option == "--dim" || option == "--out";
    if (is_option && k + 1 == arguments.size())
      throw UserError(kName, "{} takes NAME=VALUE after it", option);
    if (option == "--dim") {
      run.dims.insert(luminal::graph::parse_dim(kName, arguments[++k]));
    } else if (option == "--out") {
      run.outputs.insert(luminal::graph::split_setting(kName, arguments[++k]));
    } else {
      const auto [name, file] = luminal::graph::split_setting(kName, option);
      run.inputs.emplace(name, luminal::graph::load_npy(file, "luminal-run"));
    }
  }
  return run;
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> arguments(argv + 1, argv + argc);
  if (arguments.empty() || arguments[0] == "--help") {
    fmt::print("{}", kUsage);
    return arguments.empty() ? 2 : 0;
  }
  try {
    const auto program = luminal::plan::load_plan(luminal::plan::load_plan_file(arguments[0]));
    if (arguments.size() == 1) {
      luminal::graph::describe_interface(program->graph(), std::cout);
      return 0;
    }
    run_with_files(*program, read_arguments({arguments.begin() + 1, arguments.end()}),
                   "luminal-run", std::cout);
    return 0;
  } catch (const std::exception& error) {
    fmt::print(stderr, "{}\n", error.what());
    return 1;
  }
}

// luminal-run: runs a saved plan on data in .npy files. It links no compiler, so it also shows what
// a program needs that only runs plans.
#include <fmt/format.h>

#include <cstdio>
#include <iostream>
#include <map>
#include <string>
#include <vector>

#include "luminal/graph/array_text.h"
#include "luminal/graph/npy.h"
#include "luminal/plan/compiled_program.h"
#include "luminal/plan/plan_file.h"
#include "luminal/support/error.h"

namespace {

using luminal::UserError;
using luminal::graph::Array;

constexpr const char* kUsage =
    R"(usage: luminal-run PLAN [INPUT=FILE.npy | --dim NAME=NUMBER | --out OUTPUT=FILE.npy]...

Runs a plan that Executable::save() wrote. Results are printed, but for those that --out writes to a
file. With nothing but the plan it says what inputs the plan takes and what outputs it gives.
)";

struct Request {
  std::map<std::string, Array> inputs;
  luminal::graph::DimValues dims;
  std::map<std::string, std::string> files;  // of outputs
};

/// "name=value" in two.
std::pair<std::string, std::string> split(const std::string& argument) {
  const size_t equals = argument.find('=');
  if (equals == std::string::npos || equals == 0)
    throw UserError("luminal-run", "'{}' is not NAME=VALUE; --help says more", argument);
  return {argument.substr(0, equals), argument.substr(equals + 1)};
}

Request read_arguments(const std::vector<std::string>& arguments) {
  Request request;
  for (size_t k = 0; k < arguments.size(); ++k) {
    const bool is_option = arguments[k] == "--dim" || arguments[k] == "--out";
    if (is_option && k + 1 == arguments.size())
      throw UserError("luminal-run", "{} takes NAME=VALUE after it", arguments[k]);
    const auto [name, value] = split(arguments[is_option ? k + 1 : k]);
    if (arguments[k] == "--dim")
      request.dims[name] = std::stoll(value);
    else if (arguments[k] == "--out")
      request.files[name] = value;
    else
      request.inputs.emplace(name, luminal::graph::load_npy(value));
    k += is_option ? 1 : 0;
  }
  return request;
}

void describe(const luminal::graph::Graph& graph) {
  for (const luminal::graph::Node& node : graph.nodes())
    if (node.op == luminal::graph::Op::kInput)
      fmt::print("input {}: {}\n", node.attribute<luminal::graph::InputAttribute>().name,
                 to_string(node.type));
  for (const luminal::graph::Output& output : graph.outputs())
    fmt::print("output {}: {}{}\n", output.name, graph.node(output.edge.node).dtype(),
               luminal::graph::to_string(output.edge.view.domain()));
}

void run(luminal::plan::CompiledProgram& program, Request request) {
  luminal::graph::RunRequest run;
  run.dims = request.dims;
  for (auto& [name, value] : request.inputs) {
    const auto node = program.graph().find_input(name);
    if (!node) throw UserError("luminal-run", "the plan has no input '{}'", name);
    value = value.cast(program.graph().node(*node).dtype());
    run.inputs[name] = &value;
  }
  const std::vector<Array> results = program.run(run);
  for (size_t k = 0; k < results.size(); ++k) {
    const std::string& name = program.graph().outputs()[k].name;
    const auto file = request.files.find(name);
    if (file == request.files.end()) {
      std::cout << name << " = " << results[k] << "\n";
      continue;
    }
    luminal::graph::save_npy(file->second, results[k]);
    request.files.erase(file);
  }
  if (!request.files.empty())
    throw UserError("luminal-run", "the plan has no output '{}'", request.files.begin()->first);
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
      describe(program->graph());
      return 0;
    }
    run(*program, read_arguments({arguments.begin() + 1, arguments.end()}));
    return 0;
  } catch (const std::exception& error) {
    fmt::print(stderr, "{}\n", error.what());
    return 1;
  }
}

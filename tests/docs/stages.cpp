#include "stages.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <sstream>

#include "luminal/cli/random_inputs.h"
#include "luminal/codegen/llvm/attention_cost.h"
#include "luminal/codegen/llvm/cpu_schedules.h"
#include "luminal/codegen/llvm/kernel_compiler.h"
#include "luminal/compiler/build_plan.h"
#include "luminal/compiler/planned_program.h"
#include "luminal/graph/text.h"
#include "luminal/luminal.h"
#include "luminal/plan/compiled_program.h"

namespace luminal::docs {
namespace {

using Stages = std::map<std::string, std::string>;

/// What code is made for on every machine.
compiler::Options fixed_options() {
  return {.target = codegen::cpu_target("haswell"),
          .machine = kernel::Machine::cpu(2),
          .threads = 2,
          .cache = false,
          .keep_text = true};
}

std::string pass_text(const graph::PassListResult& passes) {
  std::string text;
  for (const graph::PassStep& step : passes.steps)
    if (step.changed)
      text += fmt::format("{}: {} -> {} nodes\n", step.name, step.nodes_before, step.nodes_after);
  return text;
}

/// The products of the graph, each with all the definitions that there are of it.
std::string choices_text(const rules::Choices& choices, const graph::Graph& graph) {
  std::string text;
  for (const graph::NamedDefinition& named : graph.named()) {
    if (named.name != "matmul") continue;
    const uint32_t id = named.result.node.value;
    const size_t count = choices.program.definitions({id});
    for (size_t k = 0; k < count; ++k)
      text += fmt::format("{:<6}{}\n", k == 0 ? fmt::format("%{}", id) : "   or",
                          graph::to_text(choices.program.definition({id}, k)));
  }
  return text;
}

/// The kernels that were chosen: what each stores, and the value of one element of it.
std::string kernels_text(compiler::PlannedProgram& planned) {
  std::string text;
  for (size_t k = 0; k < planned.plan().kernels.size(); ++k) {
    const kernel::PlannedKernel each =
        kernel::written_out(planned.arena(), planned.program(), planned.plan(), k);
    text += fmt::format("kernel {}\n", k);
    std::istringstream lines(kernel::to_string(planned.arena(), each.kernel));
    for (std::string line; std::getline(lines, line);) text += "  " + line + "\n";
  }
  return text;
}

/// The loops of the last kernel.
std::string nest_text(compiler::PlannedProgram& planned) {
  const kernel::PlannedKernel last = kernel::written_out(
      planned.arena(), planned.program(), planned.plan(), planned.plan().kernels.size() - 1);
  return kernel::to_string(planned.arena(),
                           kernel::build_nest(planned.arena(), last.estimate.kernel));
}

/// What may be chosen for a kernel: for each family of code, where it starts and how it may move.
std::string space_text(const compiler::KernelRequest& request) {
  kernel::Arena arena = request.arena;
  std::string text;
  for (const codegen::ScheduleSpace& space :
       codegen::cpu_schedule_spaces(arena, request.kernel, request.target, request.options)) {
    text += space.start.to_string() + "\n";
    for (const codegen::ScheduleAxis& axis : space.axes) {
      text += fmt::format("  {:<12}", axis.name);
      for (const int64_t value : axis.values) text += " " + codegen::choice_text(axis.name, value);
      text += "\n";
    }
  }
  return text;
}

/// Of the blocks that a text has between labels, the first with a certain word. Of a long one the
/// first and the last lines.
std::string block_with(const std::string& text, const std::string& wanted, size_t most) {
  std::vector<std::string> block;
  bool found = false;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    const bool is_label =
        !line.empty() && line[0] != ' ' && line[0] != '\t' && line.find(':') != std::string::npos;
    if (is_label && found) break;
    if (is_label) block.clear();
    found = found || line.find(wanted) != std::string::npos;
    if (!line.empty()) block.push_back(line);
  }
  constexpr size_t kLast = 4;
  std::string result;
  for (size_t k = 0; k < block.size(); ++k) {
    if (block.size() <= most || k < most - kLast || k >= block.size() - kLast)
      result += block[k] + "\n";
    else if (k == most - kLast)
      result += "  ...\n";
  }
  return result;
}

std::string memory_text(const plan::Plan& plan) {
  static constexpr std::array kPlaces{"input", "constant", "result", "slot", "prepared", "thread"};
  std::string text;
  for (size_t k = 0; k < plan.buffers.size(); ++k) {
    const plan::PlanBuffer& buffer = plan.buffers[k];
    const auto place = static_cast<size_t>(buffer.place);
    const bool numbered = buffer.place == plan::Place::kResult ||
                          buffer.place == plan::Place::kSlot ||
                          buffer.place == plan::Place::kPrepared;
    text += fmt::format("{:<3} {:<22} {:<12} {:>6} bytes  {}{}\n", k, buffer.name,
                        graph::to_string(buffer.type), symbolic::to_string(buffer.bytes),
                        kPlaces.at(place), numbered ? fmt::format(" {}", buffer.index) : "");
  }
  return text;
}

/// The plan without what the cost model thinks of it, and without the loops.
std::string plan_text(plan::Plan plan) {
  for (std::vector<plan::PlanStep>* steps : {&plan.prepare, &plan.steps})
    for (plan::PlanStep& step : *steps) {
      step.estimated_us = 0;
      step.text.clear();
    }
  return plan::to_string(plan);
}

/// Runs the plan on fixed data and tells of its steps.
std::string run_text(const plan::Plan& plan) {
  const std::unique_ptr<plan::CompiledProgram> program = plan::load_plan(plan);
  graph::FileRun files;
  cli::fill_inputs(plan.graph, 1, files);
  graph::RunRequest request;
  for (const auto& [name, value] : files.inputs) request.inputs[name] = &value;
  std::string text;
  request.on_step = [&](const graph::StepReport& step) {
    text += fmt::format("{:<34} {:.0f} us\n", step.name, step.microseconds);
  };
  program->run(request);
  return text;
}

/// Rules, choices, the cut and the loops, as the compiler does it.
void add_choices(const graph::Graph& graph, const compiler::Options& options, Stages& result) {
  compiler::FoundDefinitions found;
  compiler::ProgramSearch search{.found = &found};
  search.cut.machine = *options.machine;
  search.cut.cost = [&](kernel::Arena& arena, const kernel::Kernel& kernel) {
    return codegen::attention_cost(arena, kernel, *options.machine, {});
  };
  compiler::PlannedProgram planned(graph, {}, search);
  result["choices"] = choices_text(*found.whole, graph);
  result["kernels"] = kernels_text(planned);
  result["nest"] = nest_text(planned);
}

}  // namespace

graph::Graph network() {
  Graph g;
  Tensor x = g.input("x", {16, 32});
  Tensor q = matmul(x, g.weight("wq", {32, 32}));
  Tensor k = matmul(x, g.weight("wk", {32, 32}));
  Tensor v = matmul(x, g.weight("wv", {32, 32}));
  Tensor weights = softmax(matmul(q, transpose(k)) / std::sqrt(32.0));
  Tensor y = matmul(weights, v) * 1;  // what is left of a dropout
  graph::Graph ir = g.ir();
  ir.add_output("y", y.edge());
  return ir;
}

Stages stages() {
  Stages result;
  const graph::Graph written = network();
  result["written"] = graph::to_text(written);
  const graph::PassListResult passes = graph::default_passes().run(written);
  result["passes"] = pass_text(passes);
  compiler::Options options = fixed_options();
  add_choices(passes.graph, options, result);

  options.schedules = [&](const compiler::KernelRequest& request) {
    const std::string space = space_text(request);
    if (space.starts_with("gemm")) {
      result["identity"] = request.text;
      result["space"] = space;
    }
    return std::nullopt;
  };
  options.on_code = [&](const codegen::KernelSource& source, const codegen::CpuTarget& target) {
    if (source.label != "matmul") return;
    const codegen::KernelCompiler compiler(target, nullptr);
    const std::string ir = block_with(compiler.ir_text(source), "llvm.fma", 34);
    if (ir.empty()) return;
    result["ir"] = ir;
    result["assembly"] = block_with(compiler.assembly_text(source), "vfmadd", 40);
  };
  const plan::Plan plan = compiler::build_plan(passes.graph, options);
  result["memory"] = memory_text(plan);
  result["plan"] = plan_text(plan);
  result["run"] = run_text(plan);
  return result;
}

}  // namespace luminal::docs

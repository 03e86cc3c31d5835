#include "luminal/plan/step_replay.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "luminal/graph/npy.h"
#include "luminal/graph/zip_archive.h"
#include "luminal/plan/plan_records.h"
#include "luminal/support/error.h"
#include "luminal/support/file.h"
#include "luminal/support/hash.h"
#include "luminal/support/text.h"

namespace luminal::plan {
namespace {

using graph::Array;

constexpr std::string_view kPlanEntry = "plan";
constexpr std::string_view kDimsEntry = "dims.txt";
constexpr std::string_view kReportEntry = "report.txt";
constexpr std::string_view kArrayEnd = ".npy";

/// The inputs of a graph by name, in the order of its nodes.
std::vector<std::string> input_names(const graph::Graph& graph) {
  std::vector<std::string> names;
  for (const graph::Node& node : graph.nodes())
    if (node.op == graph::Op::kInput) names.push_back(node.attribute<graph::InputAttribute>().name);
  return names;
}

/// Builds the plan of one step from that of all.
class StepPlan {
 public:
  StepPlan(const Plan& from, const graph::Graph& graph) : from_(from) {
    plan_.graph = graph;
    for (const Expr& dim : from.dims)
      if (graph.dims().contains(dim.name())) plan_.dims.push_back(dim);
  }

  void add_inputs(const std::vector<size_t>& buffers) {
    const std::vector<std::string> names = input_names(plan_.graph);
    for (size_t k = 0; k < buffers.size(); ++k) {
      PlanBuffer& buffer = add(buffers[k], Place::kInput, 0);
      buffer.name = names[k];
      buffer.value = {};
    }
  }
  void add_outputs(const std::vector<size_t>& buffers) {
    for (const size_t buffer : buffers) {
      add(buffer, Place::kResult, plan_.results++);
      plan_.outputs.push_back(new_number_.at(buffer));
    }
  }

  void add_launches(const std::vector<PlanStep>& steps, size_t definition) {
    for (const PlanStep& step : steps)
      if (step.definition == definition) add_launch(step);
  }

  void add_copy(const PlanStep& like, size_t from, size_t to) {
    PlanStep step = like;
    step.label = "copy";
    step.definition.reset();
    step.notes.clear();
    step.action = CopyStep{number(from), number(to)};
    plan_.steps.push_back(std::move(step));
  }

  void add_host(const PlanStep& like, const HostStep& host) {
    PlanStep step = like;
    HostStep action{host.node, {}, number(host.result)};
    for (const size_t operand : host.operands) action.operands.push_back(number(operand));
    step.action = std::move(action);
    plan_.steps.push_back(std::move(step));
  }

  Plan take(std::optional<KernelDefinition> definition) {
    if (definition) {
      for (size_t& buffer : definition->inputs) buffer = number(buffer);
      for (size_t& buffer : definition->outputs) buffer = number(buffer);
      if (definition->updated) definition->updated = number(*definition->updated);
      plan_.definitions.push_back(std::move(*definition));
    }
    return std::move(plan_);
  }

 private:
  PlanBuffer& add(size_t old, Place place, size_t index) {
    PlanBuffer buffer = from_.buffers[old];
    buffer.place = place;
    buffer.index = index;
    new_number_[old] = plan_.buffers.size();
    plan_.buffers.push_back(std::move(buffer));
    return plan_.buffers.back();
  }

  /// What is neither read nor given is memory between the launches.
  size_t number(size_t old) {
    const bool own = from_.buffers[old].place == Place::kThread;
    if (!new_number_.contains(old) && own) add(old, Place::kThread, 0);
    if (!new_number_.contains(old)) add(old, Place::kSlot, plan_.slots++);
    return new_number_.at(old);
  }

  void add_launch(const PlanStep& old) {
    PlanStep step = old;
    step.definition = 0;
    auto& launch = std::get<LaunchStep>(step.action);
    take_kernel(launch);
    for (std::vector<LaunchStep>* list : {&launch.first, &launch.beside})
      for (LaunchStep& each : *list) take_kernel(each);
    for (size_t& note : step.notes) note = take_note(note);
    plan_.steps.push_back(std::move(step));
  }

  size_t take_note(size_t old) {
    const auto [found, is_new] = new_note_.try_emplace(old, plan_.notes.size());
    if (is_new) plan_.notes.push_back(from_.notes[old]);
    return found->second;
  }

  void take_kernel(LaunchStep& launch) {
    for (size_t& buffer : launch.buffers) buffer = number(buffer);
    plan_.kernels.push_back(from_.kernels[launch.kernel]);
    launch.kernel = plan_.kernels.size() - 1;
  }

  const Plan& from_;
  Plan plan_;
  std::map<size_t, size_t> new_number_;
  std::map<size_t, size_t> new_note_;
};

Plan plan_of_kernel(const Plan& plan, const PlanStep& step) {
  const KernelDefinition& definition = plan.definitions[*step.definition];
  StepPlan alone(plan, definition.graph);
  alone.add_inputs(definition.inputs);
  alone.add_outputs(definition.outputs);
  alone.add_launches(plan.prepare, *step.definition);
  if (definition.updated) alone.add_copy(step, *definition.updated, definition.outputs[0]);
  alone.add_launches(plan.steps, *step.definition);
  return alone.take(definition);
}

/// Where each tensor that a host node reads stands first among its operands.
std::vector<size_t> distinct_operands(const HostStep& host) {
  std::vector<size_t> positions;
  for (size_t k = 0; k < host.operands.size(); ++k)
    if (std::find(host.operands.begin(), host.operands.begin() + static_cast<std::ptrdiff_t>(k),
                  host.operands[k]) == host.operands.begin() + static_cast<std::ptrdiff_t>(k))
      positions.push_back(k);
  return positions;
}

Plan plan_of_host(const Plan& plan, const PlanStep& step, const HostStep& host) {
  graph::Graph graph;
  std::map<size_t, graph::NodeId> inputs;  // by buffer
  std::vector<size_t> buffers;
  for (const size_t k : distinct_operands(host)) {
    const graph::TensorType& type = plan.buffers[host.operands[k]].type;
    buffers.push_back(host.operands[k]);
    inputs[buffers.back()] = graph.add_input(fmt::format("operand_{}", k), type.dtype, type.shape);
  }
  std::vector<graph::Edge> operands = host.node.operands;
  for (size_t k = 0; k < operands.size(); ++k) operands[k].node = inputs.at(host.operands[k]);
  graph.add_output("result", graph.whole(graph.add_like(host.node, std::move(operands))));
  StepPlan alone(plan, graph);
  alone.add_inputs(buffers);
  alone.add_outputs({host.result});
  alone.add_host(step, host);
  return alone.take({});
}

graph::ZipEntry entry(std::string_view name, std::string_view text) {
  const auto* bytes = reinterpret_cast<const std::byte*>(text.data());
  return {std::string(name), {bytes, bytes + text.size()}};
}

std::string text_of(const graph::ZipEntry& entry) {
  return {reinterpret_cast<const char*>(entry.bytes.data()), entry.bytes.size()};
}

/// An array under its own dtype again, which NumPy may not have (graph/npy.h).
Array with_dtype(const Array& saved, graph::DType dtype) {
  if (saved.dtype() == dtype) return saved;
  const bool by_bits = graph::is_float(dtype) && graph::bits(saved.dtype()) == graph::bits(dtype);
  if (!by_bits) return saved.cast(dtype);
  const std::span<const std::byte> bytes = saved.bytes();
  return {dtype, saved.extents(), std::vector<std::byte>(bytes.begin(), bytes.end())};
}

graph::DimValues parse_dims(const std::string& text, const std::string& path) {
  graph::DimValues dims;
  for (const std::string_view line : support::split_lines(text)) {
    const std::vector<std::string_view> words = support::split_words(line);
    const auto value = words.size() == 2 ? support::parse_int64(words[1]) : std::nullopt;
    if (!value) throw UserError("replay", "{}: '{}' is not the value of a dim", path, line);
    dims[std::string(words[0])] = *value;
  }
  return dims;
}

Plan parse_plan(const graph::ZipEntry& entry, const std::string& path) {
  return from_records(
      entry.bytes,
      [&](uint64_t, uint64_t) -> std::shared_ptr<std::byte> {
        throw UserError("replay", "{} is damaged: a step has no constants of its own", path);
      },
      path);
}

}  // namespace

std::optional<StepReplay> replay_of(const Plan& plan, const StepFault& fault,
                                    const graph::DimValues& dims) {
  const PlanStep& step = fault.step < plan.prepare.size()
                             ? plan.prepare[fault.step]
                             : plan.steps[fault.step - plan.prepare.size()];
  StepReplay replay;
  std::vector<size_t> positions;  // of the inputs among what was read
  if (const auto* host = std::get_if<HostStep>(&step.action)) {
    if (host->node.op == graph::Op::kCustom) return std::nullopt;
    replay.plan = plan_of_host(plan, step, *host);
    positions = distinct_operands(*host);
  } else if (step.definition) {
    replay.plan = plan_of_kernel(plan, step);
    positions.resize(fault.inputs.size());
    std::iota(positions.begin(), positions.end(), size_t{0});
  } else {
    return std::nullopt;
  }
  const std::vector<std::string> names = input_names(replay.plan.graph);
  for (size_t k = 0; k < names.size(); ++k)
    replay.inputs.emplace(names[k], fault.inputs.at(positions.at(k)));
  for (const Expr& dim : replay.plan.dims)
    if (const auto found = dims.find(dim.name()); found != dims.end()) replay.dims.insert(*found);
  return replay;
}

std::string save_step(const StepReplay& replay, const std::string& directory) {
  std::vector<graph::ZipEntry> entries;
  entries.push_back(entry(kReportEntry, replay.report));
  std::string dims;
  for (const auto& [name, value] : replay.dims) dims += fmt::format("{} {}\n", name, value);
  entries.push_back(entry(kDimsEntry, dims));
  entries.push_back(entry(kPlanEntry, to_records(replay.plan).bytes));
  for (const auto& [name, value] : replay.inputs)
    entries.push_back({name + std::string(kArrayEnd), graph::format_npy(value)});
  const std::vector<std::byte> bytes = graph::write_zip(entries, true);
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  support::create_directories(directory);
  const std::string path = fmt::format("{}/luminal-step-{}.npz", directory,
                                       support::to_hex(support::hash64(text)).substr(0, 8));
  support::write_file_atomic(path, text, "check_steps");
  return path;
}

StepReplay load_step(const std::string& path) {
  const std::string text = support::read_file(path, "replay");
  const auto* bytes = reinterpret_cast<const std::byte*>(text.data());
  StepReplay replay;
  bool has_plan = false;
  std::map<std::string, Array> arrays;
  for (const graph::ZipEntry& each : graph::read_zip({bytes, text.size()}, path)) {
    if (each.name == kReportEntry) replay.report = text_of(each);
    if (each.name == kDimsEntry) replay.dims = parse_dims(text_of(each), path);
    if (each.name == kPlanEntry) {
      replay.plan = parse_plan(each, path);
      has_plan = true;
    }
    if (each.name.ends_with(kArrayEnd))
      arrays.emplace(each.name.substr(0, each.name.size() - kArrayEnd.size()),
                     graph::parse_npy(each.bytes, path));
  }
  if (!has_plan) throw UserError("replay", "{} is no saved step: it has no plan", path);
  for (const std::string& name : input_names(replay.plan.graph)) {
    const auto found = arrays.find(name);
    if (found == arrays.end()) throw UserError("replay", "{} has no data for '{}'", path, name);
    const graph::NodeId id = *replay.plan.graph.find_input(name);
    replay.inputs.emplace(name, with_dtype(found->second, replay.plan.graph.node(id).dtype()));
  }
  return replay;
}

StepCheckReport run_step(const StepReplay& replay) {
  graph::RunRequest request;
  for (const auto& [name, value] : replay.inputs) request.inputs[name] = &value;
  request.dims = replay.dims;
  return check_steps(*load_plan(replay.plan), request);
}

}  // namespace luminal::plan

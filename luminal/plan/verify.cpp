#include "luminal/plan/verify.h"

#include <fmt/format.h>

#include <algorithm>

#include "luminal/graph/opaque.h"
#include "luminal/graph/verify.h"
#include "luminal/plan/plan_values.h"

namespace luminal::plan {
namespace {

class Verifier {
 public:
  explicit Verifier(const Plan& plan) : plan_(plan) {}

  std::vector<std::string> run() {
    found_ = graph::problems(plan_.graph);
    for (const Expr& dim : plan_.dims)
      if (!dim.is_variable()) add("{} stands where a dim should", symbolic::to_string(dim));
    for (size_t k = 0; k < plan_.buffers.size(); ++k) buffer(k);
    for (const PlanStep& step : plan_.prepare) {
      if (!std::holds_alternative<LaunchStep>(step.action)) add("a prepare step is no launch");
      this->step(step);
    }
    for (const PlanStep& step : plan_.steps) this->step(step);
    for (const KernelDefinition& definition : plan_.definitions) check(definition);
    for (const Donation& donation : plan_.donations)
      if (known(donation.input) && (plan_.buffers[donation.input].place != Place::kInput ||
                                    donation.result >= plan_.results))
        add("'{}' cannot be given away for result {}", plan_.buffers[donation.input].name,
            donation.result);
    outputs();
    for (const auto& [name, value] : plan_.made_for)
      if (!plan_.graph.dims().contains(name)) add("it is made for the unknown dim {}", name);
    for (const Plan& variant : plan_.variants) {
      for (const std::string& problem : problems(variant)) found_.push_back(problem);
      if (variant.made_for.size() != plan_.made_for.size()) add("variants are for other dims");
    }
    return std::move(found_);
  }

 private:
  template <typename... Args>
  void add(fmt::format_string<Args...> format, Args&&... args) {
    found_.push_back(fmt::format(format, std::forward<Args>(args)...));
  }

  void size(const Expr& expr, std::string_view what) {
    if (!expr.axes().empty()) add("{} of {} has an axis", expr, what);
    for (const Expr& variable : expr.variables())
      if (std::find(plan_.dims.begin(), plan_.dims.end(), variable) == plan_.dims.end())
        add("{} of {} has the unknown dim {}", expr, what, variable);
  }

  void buffer(size_t number) {
    const PlanBuffer& buffer = plan_.buffers[number];
    for (const Expr& extent : buffer.type.shape) size(extent, buffer.name);
    size(buffer.bytes, buffer.name);
    switch (buffer.place) {
      case Place::kInput:
        return input(buffer);
      case Place::kConstant:
        return constant(buffer);
      case Place::kResult:
        return index(buffer, plan_.results);
      case Place::kSlot:
        // A buffer that no step uses has no slot.
        return plan_.slots > 0 ? index(buffer, plan_.slots) : void();
      case Place::kPrepared:
        return index(buffer, plan_.prepared);
      case Place::kThread:
        return;
    }
  }

  void index(const PlanBuffer& buffer, size_t limit) {
    if (buffer.index >= limit)
      add("buffer '{}' is number {} of {}", buffer.name, buffer.index, limit);
  }

  void input(const PlanBuffer& buffer) {
    const std::optional<NodeId> node = plan_.graph.find_input(buffer.name);
    if (!node)
      add("there is no input '{}'", buffer.name);
    else if (plan_.graph.node(*node).type != buffer.type)
      add("input '{}' is {} in the graph and {} in the plan", buffer.name,
          graph::to_string(plan_.graph.node(*node).type), graph::to_string(buffer.type));
  }

  void constant(const PlanBuffer& buffer) {
    graph::Shape shape;
    for (const int64_t extent : buffer.value.extents()) shape.push_back(extent);
    if (buffer.value.dtype() != buffer.type.dtype || shape != buffer.type.shape)
      add("the data of constant '{}' is no {}", buffer.name, graph::to_string(buffer.type));
  }

  /// Nobody but launches knows the memory of threads.
  bool shared(size_t buffer) {
    if (!known(buffer)) return false;
    if (plan_.buffers[buffer].place != Place::kThread) return true;
    add("'{}' is a thread's own, and no launch uses it", plan_.buffers[buffer].name);
    return false;
  }

  bool known(size_t buffer) {
    if (buffer < plan_.buffers.size()) return true;
    add("a step uses buffer {} of {}", buffer, plan_.buffers.size());
    return false;
  }

  void written(size_t buffer) {
    if (!known(buffer)) return;
    const Place place = plan_.buffers[buffer].place;
    if (place == Place::kInput || place == Place::kConstant)
      add("a step writes to '{}', which is not the plan's own", plan_.buffers[buffer].name);
  }

  void step(const PlanStep& step) {
    for (const Expr& extent : step.type.shape) size(extent, step.label);
    if (step.definition && *step.definition >= plan_.definitions.size())
      add("a step is part of definition {} of {}", *step.definition, plan_.definitions.size());
    for (const size_t note : step.notes)
      if (note >= plan_.notes.size()) add("a step has note {} of {}", note, plan_.notes.size());
    std::visit([&](const auto& action) { check(action); }, step.action);
  }

  void check(const LaunchStep& step) {
    std::vector<size_t> own;  // buffers of threads that were written
    for_each_launch(step, [&](const LaunchStep& launch) {
      if (&launch != &step && !(launch.first.empty() && launch.beside.empty()))
        add("a launch in a launch has launches");
      const size_t before = found_.size();
      entry(launch);
      if (found_.size() == before) check_own(launch, own);
    });
  }

  /// Each thread writes its own buffers before it reads them.
  void check_own(const LaunchStep& launch, std::vector<size_t>& written) {
    const runtime::EntryInfo& entry = entry_of(plan_, launch);
    for (size_t k = 0; k < launch.buffers.size(); ++k) {
      const size_t buffer = launch.buffers[k];
      if (plan_.buffers[buffer].place != Place::kThread) continue;
      if (entry.buffers[k] != runtime::BufferUse::kRead)
        written.push_back(buffer);
      else if (std::find(written.begin(), written.end(), buffer) == written.end())
        add("a launch reads '{}', which no thread has written", plan_.buffers[buffer].name);
    }
  }

  void entry(const LaunchStep& launch) {
    for (const Expr& scalar : launch.scalars) size(scalar, "a launch");
    for (const Expr& expr : {launch.items, launch.scratch_bytes, launch.work})
      size(expr, "a launch");
    if (launch.kernel >= plan_.kernels.size())
      return add("a launch runs kernel {} of {}", launch.kernel, plan_.kernels.size());
    const PlanKernel& kernel = plan_.kernels[launch.kernel];
    const auto entry =
        std::find_if(kernel.artifact.entries.begin(), kernel.artifact.entries.end(),
                     [&](const runtime::EntryInfo& each) { return each.name == kernel.entry; });
    if (entry == kernel.artifact.entries.end())
      return add("kernel {} has no entry '{}'", launch.kernel, kernel.entry);
    if (entry->buffers.size() != launch.buffers.size() ||
        entry->scalars != static_cast<int>(launch.scalars.size()))
      return add("a launch of '{}' has {} buffers and {} scalars", kernel.entry,
                 launch.buffers.size(), launch.scalars.size());
    for (size_t k = 0; k < launch.buffers.size(); ++k)
      if (entry->buffers[k] == runtime::BufferUse::kRead)
        known(launch.buffers[k]);
      else
        written(launch.buffers[k]);
  }

  void check(const HostStep& host) {
    if (host.operands.size() != host.node.operands.size())
      add("a {} has {} operands and {} buffers", graph::name(host.node.op),
          host.node.operands.size(), host.operands.size());
    for (const size_t operand : host.operands) shared(operand);
    if (shared(host.result)) written(host.result);
  }

  void check(const CopyStep& copy) {
    written(copy.to);
    if (shared(copy.from) && shared(copy.to) &&
        plan_.buffers[copy.from].bytes != plan_.buffers[copy.to].bytes)
      add("a copy goes from '{}' to '{}', which is of another size", plan_.buffers[copy.from].name,
          plan_.buffers[copy.to].name);
  }

  void check(const CheckStep& check) {
    shared(check.index);
    if (check.gather.op != graph::Op::kGather || check.gather.operands.size() != 2)
      add("a check of positions is for a gather, not {}", graph::name(check.gather.op));
  }

  void check(const KernelDefinition& definition) {
    for (const std::string& problem : graph::problems(definition.graph)) found_.push_back(problem);
    for (const size_t input : definition.inputs) shared(input);
    for (const size_t output : definition.outputs) shared(output);
    if (definition.updated) shared(*definition.updated);
    if (definition.outputs.size() != definition.graph.outputs().size())
      add("a definition has {} outputs and {} buffers", definition.graph.outputs().size(),
          definition.outputs.size());
  }

  void outputs() {
    if (plan_.outputs.size() != plan_.graph.outputs().size())
      add("the graph has {} outputs and the plan {}", plan_.graph.outputs().size(),
          plan_.outputs.size());
    for (const size_t output : plan_.outputs)
      if (shared(output) && (plan_.buffers[output].place == Place::kSlot ||
                             plan_.buffers[output].place == Place::kPrepared))
        add("the output '{}' has no memory of its own", plan_.buffers[output].name);
  }

  const Plan& plan_;
  std::vector<std::string> found_;
};

}  // namespace

std::vector<std::string> problems(const Plan& plan) { return Verifier(plan).run(); }

}  // namespace luminal::plan

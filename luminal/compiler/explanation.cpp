#include "luminal/compiler/explanation.h"

#include <algorithm>
#include <map>

#include "luminal/codegen/llvm/loop_text.h"
#include "luminal/compiler/explanation_memory.h"
#include "luminal/compiler/explanation_ways.h"
#include "luminal/compiler/host_cost.h"

namespace luminal::compiler {
namespace {

/// What people call the families of schedules.
std::string implementation_of(const std::string& schedule) {
  static const std::map<std::string, std::string> names = {
      {"attention", "attention"},
      {"attention_runs", "attention, few queries"},
      {"attention_matrices", "attention"},
      {"depthwise", "depthwise convolution"},
      {"convolution", "convolution"},
      {"winograd", "Winograd convolution"},
      {"gemm", "product in tiles"},
      {"gemm_blocks", "product, 4-bit weights"},
      {"gemv", "product, streamed"},
      {"scan", "scan"},
      {"nest", "loop nest"}};
  const std::string family = schedule.substr(0, schedule.find(' '));
  const auto found = names.find(family);
  return found == names.end() ? family : found->second;
}

/// The same for launches that run side by side: each name once.
std::string implementations_of(const std::string& schedules) {
  std::string text;
  std::string rest = schedules;
  std::vector<std::string> seen;
  while (!rest.empty()) {
    const size_t end = rest.find(" | ");
    const std::string name = implementation_of(rest.substr(0, end));
    if (std::find(seen.begin(), seen.end(), name) == seen.end()) {
      text += (text.empty() ? "" : " | ") + name;
      seen.push_back(name);
    }
    rest = end == std::string::npos ? "" : rest.substr(end + 3);
  }
  return text;
}

class Explainer {
 public:
  Explainer(const Plan& plan, const ExplainOptions& options) : plan_(plan), options_(options) {}

  Explanation run() {
    result_.title = options_.title;
    result_.device = options_.device;
    result_.limits = options_.limits;
    result_.search = options_.search;
    result_.run_us = options_.run_us;
    result_.not_run = options_.not_run;
    bind();
    for (const KernelNote& note : plan_.notes) add_kernel(note);
    result_.memory = explain_memory(plan_, bytes_);
    note_touched();
    for (const PlanStep& step : plan_.prepare) add_step(step, true, 0);
    for (size_t k = 0; k < plan_.steps.size(); ++k)
      add_step(plan_.steps[k], false, k < options_.step_us.size() ? options_.step_us[k] : 0);
    for (const ExplainedStep& step : result_.steps) {
      if (step.once) continue;
      result_.measured_us += step.measured_us;
      result_.estimated_us += step.estimated_us;
      result_.floor_us += step.floor_us;
    }
    if (options_.search) result_.structures = compared_plans(*options_.search);
    for (const Plan& variant : plan_.variants) {
      ExplainOptions other = options_;
      other.step_us.clear();  // it was another one that ran
      other.run_us = 0;
      other.not_run.clear();
      other.search.reset();
      result_.variants.push_back(explain(variant, other));
    }
    return std::move(result_);
  }

 private:
  void bind() {
    result_.dims = options_.dims;
    for (const auto& [name, value] : plan_.estimated_for) result_.dims.emplace(name, value);
    graph::DimBindings dims;
    for (const Expr& dim : plan_.dims) {
      const auto value = result_.dims.find(dim.name());
      dims.push_back({dim, value == result_.dims.end() ? Expr(1) : Expr(value->second)});
    }
    // Sizes are for people, so dims that no run could have are not refused here.
    for (const PlanBuffer& buffer : plan_.buffers)
      bytes_.push_back(std::max<int64_t>(
          0, symbolic::substitute(buffer.bytes, dims).constant_value().value_or(0)));
    for (const auto& [name, value] : plan_.estimated_for)
      if (result_.dims.at(name) != value) result_.as_estimated = false;
  }

  void add_kernel(const KernelNote& note) {
    ExplainedKernel kernel;
    kernel.label = note.label;
    kernel.fused = note.words;
    kernel.nodes = note.nodes;
    kernel.identity = note.identity;
    kernel.estimated_us = note.estimated_us;
    kernel.bytes = note.memory_bytes;
    kernel.flops = note.flops;
    kernel.defined_flops = note.defined_flops;
    kernel.refused = note.refused;
    kernel.boundaries = note.boundaries;
    kernel.loops = note.loops;
    if (!note.boundaries.empty()) result_.has_reasons = true;
    kernel.ways = other_ways(note, options_);
    result_.kernels.push_back(std::move(kernel));
  }

  void add_step(const PlanStep& step, bool once, double measured_us) {
    ExplainedStep result;
    result.label = step.label;
    result.once = once;
    result.node = step.node.value;
    result.type = graph::to_string(step.type);
    result.part = step.part;
    result.parts = step.parts;
    result.kernels = step.notes;
    result.estimated_us = step.estimated_us;
    result.measured_us = measured_us;
    result.schedule = step.schedule;
    if (std::holds_alternative<LaunchStep>(step.action)) {
      result.kind = "launch";
      result.implementation = step.part < step.parts ? help_of(std::get<LaunchStep>(step.action))
                                                     : implementations_of(step.schedule);
      use_kernels(step, once);
    } else {
      result.kind = std::holds_alternative<HostStep>(step.action)   ? "host"
                    : std::holds_alternative<CopyStep>(step.action) ? "copy"
                                                                    : "check";
      result.implementation = result.kind;
      note_reasons(step, result);
    }
    note_work(step, result);
    result_.steps.push_back(std::move(result));
  }

  /// What launches before the main one of a kernel do.
  std::string help_of(const LaunchStep& launch) const {
    return codegen::launch_purpose(plan_.kernels[launch.kernel].entry);
  }

  /// Why a step is no launch, and why there is no estimate of it.
  void note_reasons(const PlanStep& step, ExplainedStep& result) const {
    if (const auto* host = std::get_if<HostStep>(&step.action)) {
      result.why = why_on_host(host->node.op);
      result.no_estimate = why_no_estimate(host->node.op);
    } else if (const auto* copy = std::get_if<CopyStep>(&step.action)) {
      const PlanBuffer& from = plan_.buffers[copy->from];
      const PlanBuffer& to = plan_.buffers[copy->to];
      const bool same = from.place == to.place && from.index == to.index;
      result.why = same ? "nothing moves: what is updated has the memory already"
                        : "what is updated in place has to be there first; nothing moves if the "
                          "caller gives it away";
      if (same) result.estimated_us = 0;
    } else {
      result.why = "positions that are read are checked before a kernel uses them";
    }
  }

  /// Fills in what kernels learn from the steps that run them.
  void use_kernels(const PlanStep& step, bool once) {
    if (step.part != step.parts) return;
    std::string rest = step.schedule;
    for (const size_t number : step.notes) {
      ExplainedKernel& kernel = result_.kernels[number];
      const size_t end = rest.find(" | ");
      const std::string schedule = rest.substr(0, end);
      rest = end == std::string::npos ? "" : rest.substr(end + 3);
      if (!once) ++kernel.uses;
      if (!kernel.implementation.empty()) continue;
      kernel.implementation = implementation_of(schedule);
      mark_used(kernel.ways, schedule, kernel.estimated_us, options_.search.has_value());
      tell_refused_from_possible(kernel.refused, kernel.ways);
    }
  }

  /// Bytes and flops: the model's of whole kernels, those of the buffers for everything else.
  void note_work(const PlanStep& step, ExplainedStep& result) const {
    const bool whole = !step.notes.empty() && step.part == step.parts && result_.as_estimated;
    if (whole) {
      for (const size_t note : step.notes) {
        result.bytes += plan_.notes[note].memory_bytes;
        result.flops += plan_.notes[note].flops;
      }
    } else {
      std::vector<size_t> seen;
      for_each_buffer(plan_, step, [&](size_t buffer, bool /*writes*/) {
        if (std::find(seen.begin(), seen.end(), buffer) != seen.end()) return;
        seen.push_back(buffer);
        result.bytes += static_cast<double>(bytes_[buffer]);
      });
    }
    // For dims that no estimate is for nobody knows the flops, and so not the floor.
    if (result_.limits && (whole || step.notes.empty() || result_.as_estimated))
      note_floor(step, result);
  }

  void note_floor(const PlanStep& step, ExplainedStep& result) const {
    const search::MachineLimits& limits = *result_.limits;
    const double bytes_us = 1e6 * result.bytes / limits.read_rate(touched_);
    const double flops_us = 1e6 * result.flops / peak_of(step.schedule);
    result.floor_us = std::max(bytes_us, flops_us);
    result.bound = flops_us > bytes_us ? "compute" : "memory";
  }

  double peak_of(const std::string& schedule) const {
    const search::MachineLimits& limits = *result_.limits;
    const auto has = [&](const char* mode) { return schedule.find(mode) != std::string::npos; };
    const bool narrow = has("mode=dot-bf16") || has("mode=amx-bf16");
    const bool bytes = has("mode=dot-i8") || has("mode=amx-i8");
    if (narrow && limits.bf16_flops > 0) return limits.bf16_flops;
    if (bytes && limits.i8_flops > 0) return limits.i8_flops;
    return limits.f32_flops;
  }

  /// All that a run has in its hands: if that fits into a cache it is read from there. Weights of
  /// which others are made are not read any more.
  void note_touched() {
    touched_ = result_.memory.arena_bytes + result_.memory.result_bytes;
    for (const ExplainedBuffer& buffer : result_.memory.buffers) {
      const bool lasts =
          buffer.place == "input" || buffer.place == "constant" || buffer.place == "prepared";
      if (buffer.used && lasts) touched_ += buffer.bytes;
    }
  }

  const Plan& plan_;
  const ExplainOptions& options_;
  std::vector<int64_t> bytes_;  // by buffer
  int64_t touched_ = 0;
  Explanation result_;
};

}  // namespace

Explanation explain(const Plan& plan, const ExplainOptions& options) {
  return Explainer(plan, options).run();
}

}  // namespace luminal::compiler

#include "luminal/plan/plan.h"

#include <fmt/format.h>

#include <algorithm>

namespace luminal::plan {
namespace {

std::string kind_of(const PlanStep& step) {
  if (std::holds_alternative<LaunchStep>(step.action)) return step.schedule;
  if (std::holds_alternative<HostStep>(step.action)) return "host";
  return std::holds_alternative<CopyStep>(step.action) ? "copy" : "check";
}

std::string line_of(const PlanStep& step) {
  std::string text = fmt::format("  %{:<5} {:<40} {:<24} {}", step.node.value, step.label,
                                 graph::to_string(step.type), kind_of(step));
  if (step.parts > 1) text += fmt::format(", launch {} of {}", step.part, step.parts);
  if (step.estimated_us > 0) text += fmt::format(", about {:.3g} us", step.estimated_us);
  return text + "\n";
}

/// " for n = 16" of a plan that was made for some values.
std::string made_for_text(const Plan& plan) {
  std::string text;
  for (const auto& [name, value] : plan.made_for)
    text += fmt::format("{}{} = {}", text.empty() ? " for " : ", ", name, value);
  return text;
}

}  // namespace

std::string to_string(const Plan& plan) {
  const auto launches = std::count_if(plan.steps.begin(), plan.steps.end(), [](const PlanStep& s) {
    return std::holds_alternative<LaunchStep>(s.action);
  });
  std::string text =
      fmt::format("{} steps{}, {} of them launches of {} kernels; {} slots of memory\n",
                  plan.steps.size(), made_for_text(plan), launches, plan.notes.size(), plan.slots);
  if (!plan.prepare.empty())
    text += fmt::format(" {} of weights and constants, run once:\n", plan.prepare.size());
  for (const PlanStep& step : plan.prepare) text += line_of(step);
  if (!plan.prepare.empty()) text += " in every run:\n";
  for (const PlanStep& step : plan.steps) {
    text += line_of(step);
    if (!step.text.empty()) text += step.text;
  }
  for (const Plan& variant : plan.variants) text += to_string(variant);
  return text;
}

}  // namespace luminal::plan

#include "luminal/compiler/explanation_memory.h"

#include <algorithm>
#include <map>

#include "luminal/plan/plan_values.h"
#include "luminal/runtime/cpu/arena.h"

namespace luminal::compiler {
namespace {

const char* name_of(Place place) {
  switch (place) {
    case Place::kInput:
      return "input";
    case Place::kConstant:
      return "constant";
    case Place::kResult:
      return "result";
    case Place::kSlot:
      return "arena";
    case Place::kPrepared:
      return "prepared";
    case Place::kThread:
      return "thread";
  }
  return "";
}

class MemoryExplainer {
 public:
  MemoryExplainer(const Plan& plan, const std::vector<int64_t>& bytes)
      : plan_(plan), bytes_(bytes) {}

  ExplainedMemory run() {
    for (size_t k = 0; k < plan_.buffers.size(); ++k) add_buffer(k);
    for (size_t step = 0; step < plan_.steps.size(); ++step)
      for_each_buffer(plan_, plan_.steps[step],
                      [&](size_t buffer, bool /*writes*/) { use(buffer, number_of(step)); });
    for (const size_t output : plan_.outputs)
      if (memory_.buffers[output].used)
        memory_.buffers[output].last = number_of(plan_.steps.size() - 1);
    sum_up();
    find_live();
    find_aliases();
    return std::move(memory_);
  }

 private:
  /// What people call a step of a run.
  size_t number_of(size_t step) const { return plan_.prepare.size() + step + 1; }

  void add_buffer(size_t number) {
    const PlanBuffer& buffer = plan_.buffers[number];
    ExplainedBuffer result;
    result.name = buffer.name;
    result.type = graph::to_string(buffer.type);
    result.place = name_of(buffer.place);
    result.slot = buffer.index;
    result.bytes = bytes_[number];
    memory_.buffers.push_back(std::move(result));
  }

  /// Steps by their numbers.
  void use(size_t number, size_t step) {
    ExplainedBuffer& buffer = memory_.buffers[number];
    if (!buffer.used) buffer.first = step;
    buffer.used = true;
    buffer.last = step;
  }

  /// Buffers of one place and number are one memory: each counts as its largest.
  void sum_up() {
    std::map<std::pair<std::string, size_t>, int64_t> bytes;
    for (const ExplainedBuffer& buffer : memory_.buffers) {
      const bool own = buffer.place == "input" || buffer.place == "constant";
      if (own)
        (buffer.place == "input" ? memory_.input_bytes : memory_.constant_bytes) += buffer.bytes;
      else if (buffer.used || buffer.place == "prepared")
        bytes[{buffer.place, buffer.slot}] =
            std::max(bytes[{buffer.place, buffer.slot}], runtime::aligned_size(buffer.bytes));
    }
    for (const auto& [place, size] : bytes) {
      if (place.first == "arena") {
        memory_.arena_bytes += size;
        ++memory_.slots;
      }
      if (place.first == "result") memory_.result_bytes += size;
      if (place.first == "prepared") memory_.prepared_bytes += size;
    }
  }

  /// A slot holds values while one of its buffers is needed, two where one is made of the other.
  void find_live() {
    memory_.live.assign(plan_.steps.size(), 0);
    for (size_t step = 0; step < plan_.steps.size(); ++step) {
      std::map<size_t, int64_t> slots;
      const size_t number = number_of(step);
      for (const ExplainedBuffer& buffer : memory_.buffers)
        if (buffer.place == "arena" && buffer.used && buffer.first <= number &&
            number <= buffer.last)
          slots[buffer.slot] = std::max(slots[buffer.slot], buffer.bytes);
      for (const auto& [slot, bytes] : slots) memory_.live[step] += bytes;
      if (memory_.live[step] > memory_.peak_bytes) {
        memory_.peak_bytes = memory_.live[step];
        memory_.peak_step = number;
      }
    }
  }

  void find_aliases() {
    std::map<std::pair<std::string, size_t>, std::vector<size_t>> sharing;
    for (size_t k = 0; k < memory_.buffers.size(); ++k) {
      const ExplainedBuffer& buffer = memory_.buffers[k];
      if (buffer.used && (buffer.place == "arena" || buffer.place == "result"))
        sharing[{buffer.place, buffer.slot}].push_back(k);
    }
    for (auto& [place, members] : sharing) {
      std::stable_sort(members.begin(), members.end(), [&](size_t a, size_t b) {
        return memory_.buffers[a].first < memory_.buffers[b].first;
      });
      for (size_t k = 1; k < members.size(); ++k) {
        const ExplainedBuffer& before = memory_.buffers[members[k - 1]];
        const ExplainedBuffer& after = memory_.buffers[members[k]];
        if (before.last < after.first) continue;
        const bool whole = before.last == after.first;
        memory_.aliases.push_back(
            {after.name, before.name, whole ? "computed in place" : "updated in place"});
      }
    }
    for (const plan::Donation& donation : plan_.donations)
      for (const size_t output : plan_.outputs)
        if (plan_.buffers[output].place == Place::kResult &&
            plan_.buffers[output].index == donation.result) {
          memory_.aliases.push_back(
              {plan_.buffers[output].name, plan_.buffers[donation.input].name, "if given away"});
          break;
        }
  }

  const Plan& plan_;
  const std::vector<int64_t>& bytes_;  // by buffer
  ExplainedMemory memory_;
};

}  // namespace

void for_each_buffer(const Plan& plan, const PlanStep& step,
                     const std::function<void(size_t buffer, bool writes)>& visit) {
  if (const auto* action = std::get_if<LaunchStep>(&step.action)) {
    plan::for_each_launch(*action, [&](const LaunchStep& launch) {
      const runtime::EntryInfo& entry = plan::entry_of(plan, launch);
      for (size_t k = 0; k < launch.buffers.size(); ++k)
        visit(launch.buffers[k], entry.buffers[k] != runtime::BufferUse::kRead);
    });
  } else if (const auto* host = std::get_if<HostStep>(&step.action)) {
    for (const size_t operand : host->operands) visit(operand, false);
    visit(host->result, true);
  } else if (const auto* copy = std::get_if<CopyStep>(&step.action)) {
    visit(copy->from, false);
    visit(copy->to, true);
  } else {
    visit(std::get<CheckStep>(step.action).index, false);
  }
}

ExplainedMemory explain_memory(const Plan& plan, const std::vector<int64_t>& bytes) {
  return MemoryExplainer(plan, bytes).run();
}

}  // namespace luminal::compiler

#include "luminal/compiler/buffer_plan.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>

#include "luminal/kernel/reads.h"

namespace luminal::compiler {
namespace {

using kernel::BodyId;
using kernel::BodyKind;
using kernel::BodyNode;

/// Calls visit(buffer, is_written) for every buffer of a step.
template <typename Visit>
void for_each_buffer(const PlanStep& step, const std::vector<PlanKernel>& kernels, Visit visit) {
  if (const auto* whole = std::get_if<LaunchStep>(&step.action)) {
    plan::for_each_launch(*whole, [&](const LaunchStep& launch) {
      const PlanKernel& kernel = kernels[launch.kernel];
      const auto entry =
          std::find_if(kernel.artifact.entries.begin(), kernel.artifact.entries.end(),
                       [&](const runtime::EntryInfo& each) { return each.name == kernel.entry; });
      for (size_t k = 0; k < launch.buffers.size(); ++k)
        visit(launch.buffers[k], entry->buffers[k] != runtime::BufferUse::kRead);
    });
  } else if (const auto* host = std::get_if<HostStep>(&step.action)) {
    for (const size_t buffer : host->operands) visit(buffer, false);
    visit(host->result, true);
  } else if (const auto* copy = std::get_if<CopyStep>(&step.action)) {
    visit(copy->from, false);
    visit(copy->to, true);
  } else if (const auto* check = std::get_if<CheckStep>(&step.action)) {
    visit(check->index, false);
  }
}

}  // namespace

bool reads(const kernel::Arena& arena, const kernel::Kernel& kernel, NodeId tensor) {
  for (const BodyId id : kernel::bodies_of(arena, kernel))
    if (arena[id].kind == BodyKind::kLoad && arena[id].tensor == tensor) return true;
  return false;
}

bool may_overwrite(const kernel::Arena& arena, const kernel::Kernel& kernel, NodeId tensor) {
  if (kernel.roots.size() != 1 || !reads(arena, kernel, tensor)) return false;
  const kernel::Root& root = kernel.roots[0];
  const graph::TensorType& old_type = arena.tensor(tensor);
  const graph::TensorType& new_type = arena.tensor(root.tensor);
  if (old_type.shape != new_type.shape || graph::bits(old_type.dtype) < 8 ||
      graph::bits(old_type.dtype) != graph::bits(new_type.dtype))
    return false;
  for (const BodyId id : kernel::bodies_of(arena, kernel)) {
    const BodyNode& node = arena[id];
    if (node.kind == BodyKind::kReduce) return false;
    if (node.kind == BodyKind::kLoad && node.tensor == tensor && node.exprs != root.store)
      return false;
  }
  return true;
}

size_t BufferPlanner::add(PlanBuffer buffer) {
  plan_.buffers.push_back(std::move(buffer));
  return plan_.buffers.size() - 1;
}

bool BufferPlanner::is_output(size_t buffer) const {
  return std::find(plan_.outputs.begin(), plan_.outputs.end(), buffer) != plan_.outputs.end();
}

size_t BufferPlanner::owner(size_t buffer) const {
  while (owner_[buffer] != buffer) buffer = owner_[buffer];
  return buffer;
}

void BufferPlanner::place() {
  owner_.resize(plan_.buffers.size());
  std::iota(owner_.begin(), owner_.end(), size_t{0});
  take_over();
  find_uses();
  place_results();
  place_slots();
  find_donations();
  for (PlanBuffer& buffer : plan_.buffers)
    if (buffer.place == Place::kPrepared) buffer.index = plan_.prepared++;
}

void BufferPlanner::find_uses() {
  uses_.assign(plan_.buffers.size(), {});
  for (size_t k = 0; k < plan_.steps.size(); ++k)
    for_each_buffer(plan_.steps[k], plan_.kernels, [&](size_t buffer, bool) {
      Use& use = uses_[buffer];
      use.first = std::min(use.first, k);
      use.last = std::max(use.last, k);
    });
}

/// A tensor takes over memory from one that nobody reads any more. The copy goes.
void BufferPlanner::take_over() {
  find_uses();
  std::set<size_t> needless;
  for (const InPlace& pair : takeovers_) {
    const auto copy = std::find_if(plan_.steps.begin(), plan_.steps.end(), [&](const PlanStep& s) {
      const auto* action = std::get_if<CopyStep>(&s.action);
      return action != nullptr && action->from == pair.before && action->to == pair.after;
    });
    const auto step = static_cast<size_t>(copy - plan_.steps.begin());
    const bool dies = plan_.buffers[pair.before].place == Place::kSlot && !is_output(pair.before) &&
                      uses_[pair.before].last == step;
    if (!dies) continue;
    needless.insert(step);
    owner_[owner(pair.before)] = owner(pair.after);
  }
  std::vector<PlanStep> kept;
  for (size_t k = 0; k < plan_.steps.size(); ++k)
    if (needless.count(k) == 0) kept.push_back(std::move(plan_.steps[k]));
  plan_.steps = std::move(kept);
}

/// What the caller is given has memory of its own, and so has what was updated into it.
void BufferPlanner::place_results() {
  std::map<size_t, size_t> results;  // by owner
  for (const size_t output : plan_.outputs) {
    if (plan_.buffers[output].place == Place::kSlot) results.emplace(owner(output), results.size());
  }
  for (size_t k = 0; k < plan_.buffers.size(); ++k) {
    const auto found = results.find(owner(k));
    if (plan_.buffers[k].place != Place::kSlot || found == results.end()) continue;
    plan_.buffers[k].place = Place::kResult;
    plan_.buffers[k].index = found->second;
  }
  plan_.results = results.size();
}

void BufferPlanner::place_slots() {
  std::map<size_t, size_t> number_of;  // by owner
  std::vector<Lifetime> lives;
  for (size_t k = 0; k < plan_.buffers.size(); ++k) {
    if (plan_.buffers[k].place != Place::kSlot || uses_[k].first == SIZE_MAX) continue;
    const auto [found, is_new] = number_of.emplace(owner(k), lives.size());
    if (is_new) lives.push_back({plan_.buffers[k].bytes, uses_[k].first, uses_[k].last});
    Lifetime& life = lives[found->second];
    life.first = std::min(life.first, uses_[k].first);
    life.last = std::max(life.last, uses_[k].last);
  }
  std::vector<InPlace> pairs;
  for (const InPlace& pair : in_place_) {
    const auto before = number_of.find(owner(pair.before));
    const auto after = number_of.find(owner(pair.after));
    if (before != number_of.end() && after != number_of.end())
      pairs.push_back({before->second, after->second});
  }
  const MemoryPlan memory = plan_memory(lives, pairs);
  for (size_t k = 0; k < plan_.buffers.size(); ++k)
    if (const auto found = number_of.find(owner(k));
        found != number_of.end() && plan_.buffers[k].place == Place::kSlot)
      plan_.buffers[k].index = memory.slot_of[found->second];
  plan_.slots = memory.slots;
}

/// True if nobody reads the input after `step`, and the memory of the result is not used before.
bool BufferPlanner::may_donate(size_t input, size_t after, size_t step) const {
  if (plan_.buffers[input].place != Place::kInput || is_output(input)) return false;
  if (plan_.buffers[after].place != Place::kResult || uses_[input].last != step) return false;
  if (plan_.buffers[input].bytes != plan_.buffers[after].bytes) return false;
  for (size_t k = 0; k < plan_.buffers.size(); ++k)
    if (plan_.buffers[k].place == Place::kResult &&
        plan_.buffers[k].index == plan_.buffers[after].index && uses_[k].first < step)
      return false;
  for (const PlanStep& prepare : plan_.prepare) {
    bool reads = false;
    for_each_buffer(prepare, plan_.kernels, [&](size_t buffer, bool) { reads |= buffer == input; });
    if (reads) return false;
  }
  return true;
}

/// Updates first, since they save a copy of the whole.
void BufferPlanner::find_donations() {
  const auto add = [&](const InPlace& pair) {
    const size_t step = uses_[pair.after].first;
    if (may_donate(pair.before, pair.after, step))
      plan_.donations.push_back({pair.before, plan_.buffers[pair.after].index});
  };
  for (const InPlace& pair : takeovers_) add(pair);
  for (const InPlace& pair : in_place_) add(pair);
}

}  // namespace luminal::compiler

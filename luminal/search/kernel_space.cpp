#include "luminal/search/kernel_space.h"

#include <algorithm>

#include "luminal/codegen/llvm/cpu_schedules.h"
#include "luminal/codegen/llvm/schedule_cost.h"
#include "luminal/support/error.h"

namespace luminal::search {
namespace {

using codegen::Schedule;
using codegen::ScheduleSpace;

/// Databases may hold texts of other releases.
std::optional<Schedule> parsed(const std::string& text) try {
  return Schedule::parse(text);
} catch (const UserError&) {
  return std::nullopt;
}

/// What a way comes to; empty if it is none.
std::string identity_of(const KernelTask& task, const Schedule& schedule) {
  codegen::CpuKernelOptions options = task.options;
  options.schedule = schedule;
  const auto code = codegen::try_cpu_kernel(*task.arena, task.kernel, task.target, options);
  const auto* kernel = std::get_if<codegen::CpuKernel>(&code);
  return kernel == nullptr ? ""
                           : support::to_hex(support::hash128(codegen::code_identity(*kernel)));
}

}  // namespace

KernelSpace::KernelSpace(KernelTask task, const std::vector<std::string>& hints)
    : task_(std::move(task)),
      machine_(kernel::Machine::cpu(task_.options.threads)),
      spaces_(codegen::cpu_whole_spaces(*task_.arena, task_.kernel, task_.target, task_.options)) {
  add(spaces_.front().start.to_string());
  // Texts of other releases may name what is no way any more.
  for (const std::string& hint : hints)
    if (const auto schedule = parsed(hint); schedule && space_of(*schedule) != nullptr)
      add(schedule->to_string());
  for (const ScheduleSpace& space : spaces_) add(space.start.to_string());
}

void KernelSpace::add(const std::string& start) {
  if (std::find(starts_.begin(), starts_.end(), start) == starts_.end()) starts_.push_back(start);
}

const ScheduleSpace* KernelSpace::space_of(const Schedule& schedule) const {
  for (const ScheduleSpace& space : spaces_)
    if (space.contains(schedule)) return &space;
  return nullptr;
}

std::vector<std::string> KernelSpace::neighbours(const std::string& schedule) const {
  const std::optional<Schedule> from = parsed(schedule);
  const ScheduleSpace* space = from ? space_of(*from) : nullptr;
  std::vector<std::string> result;
  if (space == nullptr) return result;
  for (const Schedule& each : codegen::neighbours(*space, *from))
    result.push_back(each.to_string());
  return result;
}

std::optional<std::string> KernelSpace::crossed(const std::string& one, const std::string& other,
                                                Random& random) const {
  const std::optional<Schedule> mother = parsed(one);
  const std::optional<Schedule> father = parsed(other);
  const ScheduleSpace* space = mother ? space_of(*mother) : nullptr;
  if (space == nullptr || !father || space_of(*father) != space) return std::nullopt;
  Schedule child = *mother;
  for (const codegen::ScheduleAxis& axis : space->axes)
    if (random.one_in(2)) child = child.with(axis.name, father->at(axis.name));
  if (!space->contains(child)) return std::nullopt;
  return child.to_string();
}

std::string KernelSpace::identity(const std::string& schedule) const {
  const auto [place, is_new] = identities_.try_emplace(schedule);
  if (!is_new) return place->second;
  const std::optional<Schedule> way = parsed(schedule);
  if (way && space_of(*way) != nullptr) place->second = identity_of(task_, *way);
  return place->second;
}

std::optional<double> KernelSpace::cost(const std::string& schedule) const {
  const auto [place, is_new] = costs_.try_emplace(schedule);
  if (!is_new) return place->second;
  const std::optional<Schedule> way = parsed(schedule);
  if (!way || space_of(*way) == nullptr) return std::nullopt;
  const auto cost = codegen::schedule_cost(*task_.arena, task_.kernel, *way, task_.target,
                                           task_.options, machine_);
  if (const auto* microseconds = std::get_if<double>(&cost)) place->second = *microseconds;
  return place->second;
}

void KernelSpace::set_machine(const kernel::Machine& machine) {
  machine_ = machine;
  costs_.clear();
}

std::string ListedSpace::identity(const std::string& schedule) const {
  return std::ranges::find(ways_, schedule) == ways_.end() ? "" : schedule;
}

std::unique_ptr<KernelSpace> kernel_space(const KernelTask& task,
                                          const std::vector<std::string>& hints) {
  return std::make_unique<KernelSpace>(task, hints);
}

}  // namespace luminal::search

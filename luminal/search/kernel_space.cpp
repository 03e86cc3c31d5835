#include "luminal/search/kernel_space.h"

#include <algorithm>

#include "luminal/codegen/llvm/cpu_schedules.h"
#include "luminal/support/error.h"

namespace luminal::search {
namespace {

using codegen::Schedule;
using codegen::ScheduleSpace;

/// Schedules of all families that can compute a kernel.
class FamilySpaces : public Space {
 public:
  FamilySpaces(std::vector<ScheduleSpace> spaces, const std::vector<std::string>& hints)
      : spaces_(std::move(spaces)) {
    add(spaces_.front().start.to_string());
    // Texts of other releases may name what is no way any more.
    for (const std::string& hint : hints)
      if (const auto schedule = parsed(hint); schedule && space_of(*schedule) != nullptr)
        add(schedule->to_string());
    for (const ScheduleSpace& space : spaces_) add(space.start.to_string());
  }

  const std::vector<std::string>& starts() const override { return starts_; }

  std::vector<std::string> neighbours(const std::string& schedule) const override {
    const std::optional<Schedule> from = parsed(schedule);
    const ScheduleSpace* space = from ? space_of(*from) : nullptr;
    std::vector<std::string> result;
    if (space == nullptr) return result;
    for (const Schedule& each : codegen::neighbours(*space, *from))
      result.push_back(each.to_string());
    return result;
  }

  std::optional<std::string> crossed(const std::string& one, const std::string& other,
                                     Random& random) const override {
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

 private:
  void add(const std::string& start) {
    if (std::find(starts_.begin(), starts_.end(), start) == starts_.end()) starts_.push_back(start);
  }

  /// Databases may hold texts of other releases.
  static std::optional<Schedule> parsed(const std::string& text) try {
    return Schedule::parse(text);
  } catch (const UserError&) {
    return std::nullopt;
  }

  const ScheduleSpace* space_of(const Schedule& schedule) const {
    for (const ScheduleSpace& space : spaces_)
      if (space.contains(schedule)) return &space;
    return nullptr;
  }

  std::vector<ScheduleSpace> spaces_;
  std::vector<std::string> starts_;
};

}  // namespace

std::unique_ptr<Space> kernel_space(const KernelTask& task, const std::vector<std::string>& hints) {
  return std::make_unique<FamilySpaces>(
      codegen::cpu_schedule_spaces(*task.arena, task.kernel, task.target, task.options), hints);
}

}  // namespace luminal::search

#include "luminal/codegen/llvm/cpu_schedules.h"

#include <algorithm>
#include <set>

#include "luminal/codegen/llvm/attention_choices.h"
#include "luminal/codegen/llvm/contraction_choices.h"
#include "luminal/codegen/llvm/convolution_kernel.h"
#include "luminal/codegen/llvm/nest_choices.h"
#include "luminal/codegen/llvm/nest_launches.h"
#include "luminal/kernel/estimate.h"
#include "luminal/support/check.h"

namespace luminal::codegen {
namespace {

/// Finds the spaces of one kernel.
class Spaces {
 public:
  Spaces(kernel::Arena& arena, const kernel::Kernel& kernel, const CpuTarget& target,
         const CpuKernelOptions& options)
      : arena_(arena), kernel_(kernel), target_(target), options_(options) {
    options_.schedule.reset();
  }

  std::vector<ScheduleSpace> find() {
    std::vector<ScheduleSpace> spaces = find_with_idle_values();
    for (ScheduleSpace& space : spaces) drop_idle_values(space);
    return spaces;
  }

  std::vector<ScheduleSpace> find_with_idle_values() {
    own_ = cpu_kernel(arena_, kernel_, target_, options_);
    std::vector<ScheduleSpace> spaces = attention_spaces(arena_, kernel_, target_, options_);
    for (ScheduleSpace& windows : convolution_spaces(arena_, kernel_, target_, options_))
      spaces.push_back(std::move(windows));
    for (ScheduleSpace& products : contraction_spaces(arena_, kernel_, target_, options_))
      spaces.push_back(std::move(products));
    if (is_own_family(kNestFamily) || is_small()) spaces.push_back(nest_space(target_, options_));
    const auto own = std::find_if(spaces.begin(), spaces.end(), [&](const ScheduleSpace& space) {
      return is_own_family(space.start.family());
    });
    // What has no choices of its own is a space of one.
    if (own == spaces.end())
      spaces.insert(spaces.begin(), {own_.schedule, {}, {}});
    else
      std::rotate(spaces.begin(), own, own + 1);
    LUMINAL_CHECK(spaces[0].start == own_.schedule, "'{}' is not where its space starts, '{}'",
                  own_.schedule.to_string(), spaces[0].start.to_string());
    return spaces;
  }

 private:
  bool is_own_family(std::string_view family) const { return own_.schedule.family() == family; }

  /// Loops instead of tiles are only for what is over soon.
  bool is_small() {
    constexpr double kMostMicroseconds = 200;
    const kernel::Estimate estimate =
        kernel::estimate(arena_, kernel_, kernel::Machine::cpu(options_.threads),
                         {.dims = options_.dims, .typical_dim = options_.typical_dim});
    return estimate.microseconds <= kMostMicroseconds;
  }

  std::optional<std::string> identity(const Schedule& schedule) {
    CpuKernelOptions options = options_;
    options.schedule = schedule;
    auto code = try_cpu_kernel(arena_, kernel_, target_, options);
    if (std::holds_alternative<ScheduleRefusal>(code)) return std::nullopt;
    return code_identity(std::get<CpuKernel>(code));
  }

  /// Leaves out values that give the code of another value, everything else being as at the start.
  void drop_idle_values(ScheduleSpace& space) {
    const auto start = identity(space.start);
    for (ScheduleAxis& axis : space.axes) {
      const int64_t own = space.start.at(axis.name);
      std::set<std::string> seen;
      if (start) seen.insert(*start);
      std::erase_if(axis.values, [&](int64_t value) {
        const Schedule changed = space.start.with(axis.name, value);
        if (value == own || !space.contains(changed)) return false;
        const auto code = identity(changed);
        return !code || !seen.insert(*code).second;
      });
    }
    std::erase_if(space.axes, [](const ScheduleAxis& axis) { return axis.values.size() < 2; });
  }

  kernel::Arena& arena_;
  const kernel::Kernel& kernel_;
  const CpuTarget& target_;
  CpuKernelOptions options_;
  CpuKernel own_;
};

/// Collects schedules, each once.
class Listing {
 public:
  explicit Listing(size_t most) : most_(most) {}

  bool is_full() const { return list_.size() >= most_; }
  void add(const Schedule& schedule) {
    if (!is_full() && seen_.insert(schedule).second) list_.push_back(schedule);
  }
  std::vector<Schedule> take() { return std::move(list_); }

 private:
  size_t most_;
  std::set<Schedule> seen_;
  std::vector<Schedule> list_;
};

}  // namespace

std::string code_identity(const CpuKernel& code) {
  std::string text;
  for (const CpuLaunch& launch : code.launches)
    text += fmt::format("{}\nitems {} scratch {} chunk {} threads {} ahead {}\n", launch.source.key,
                        launch.items, launch.scratch_bytes, launch.chunk, launch.threads,
                        launch.prepare);
  return text;
}

std::vector<ScheduleSpace> cpu_schedule_spaces(kernel::Arena& arena, const kernel::Kernel& kernel,
                                               const CpuTarget& target,
                                               const CpuKernelOptions& options) {
  return Spaces(arena, kernel, target, options).find();
}

std::vector<ScheduleSpace> cpu_whole_spaces(kernel::Arena& arena, const kernel::Kernel& kernel,
                                            const CpuTarget& target,
                                            const CpuKernelOptions& options) {
  return Spaces(arena, kernel, target, options).find_with_idle_values();
}

std::vector<Schedule> listed_schedules(const std::vector<ScheduleSpace>& spaces, size_t most) {
  Listing listing(most);
  for (const ScheduleSpace& space : spaces) listing.add(space.start);
  for (const ScheduleSpace& space : spaces)
    for (const Schedule& next : neighbours(space, space.start)) listing.add(next);
  for (const ScheduleSpace& space : spaces)
    for (const Schedule& next : neighbours(space, space.start)) {
      if (listing.is_full()) break;
      for (const Schedule& far : neighbours(space, next)) listing.add(far);
    }
  return listing.take();
}

std::vector<Schedule> cpu_family_schedules(kernel::Arena& arena, const kernel::Kernel& kernel,
                                           const CpuTarget& target,
                                           const CpuKernelOptions& options) {
  std::vector<Schedule> result;
  for (const ScheduleSpace& space : Spaces(arena, kernel, target, options).find_with_idle_values())
    result.push_back(space.start);
  return result;
}

std::vector<Schedule> cpu_schedules(kernel::Arena& arena, const kernel::Kernel& kernel,
                                    const CpuTarget& target, const CpuKernelOptions& options,
                                    size_t most) {
  return listed_schedules(cpu_schedule_spaces(arena, kernel, target, options), most);
}

}  // namespace luminal::codegen

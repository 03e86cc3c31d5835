// The ways in which the code generator can compute one kernel, as a space to be searched.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "luminal/kernel/estimate.h"
#include "luminal/search/kernel_bench.h"
#include "luminal/search/space.h"

namespace luminal::search {

/// The ways of a kernel: what is used without search first, then those of `hints` that are ways of
/// it (schedule_hints.h), then what each family of code would choose.
class KernelSpace : public Space {
 public:
  explicit KernelSpace(KernelTask task, const std::vector<std::string>& hints = {});

  const std::vector<std::string>& starts() const override { return starts_; }
  std::vector<std::string> neighbours(const std::string& schedule) const override;
  std::optional<std::string> crossed(const std::string& one, const std::string& other,
                                     Random& random) const override;
  /// The code, which takes some milliseconds to write when a way is first asked for.
  std::string identity(const std::string& schedule) const override;
  std::optional<double> cost(const std::string& schedule) const override;

  /// What costs are reckoned with from now on; a CPU with the threads of the task until then.
  void set_machine(const kernel::Machine& machine);

 private:
  void add(const std::string& start);
  const codegen::ScheduleSpace* space_of(const codegen::Schedule& schedule) const;

  KernelTask task_;
  kernel::Machine machine_;
  std::vector<codegen::ScheduleSpace> spaces_;
  std::vector<std::string> starts_;
  mutable std::map<std::string, std::string> identities_;
  mutable std::map<std::string, std::optional<double>> costs_;
};

/// The space of a kernel.
std::unique_ptr<KernelSpace> kernel_space(const KernelTask& task,
                                          const std::vector<std::string>& hints = {});

/// Ways that are listed and have no neighbours.
class ListedSpace : public Space {
 public:
  explicit ListedSpace(std::vector<std::string> ways) : ways_(std::move(ways)) {}
  const std::vector<std::string>& starts() const override { return ways_; }
  std::vector<std::string> neighbours(const std::string& /*schedule*/) const override { return {}; }
  std::optional<std::string> crossed(const std::string& /*one*/, const std::string& /*other*/,
                                     Random& /*random*/) const override {
    return std::nullopt;
  }
  std::string identity(const std::string& schedule) const override;

 private:
  std::vector<std::string> ways_;
};

}  // namespace luminal::search

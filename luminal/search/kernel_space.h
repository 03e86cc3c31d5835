// The ways in which the code generator can compute one kernel, as a space to be searched.
#pragma once

#include <memory>

#include "luminal/search/kernel_bench.h"
#include "luminal/search/space.h"

namespace luminal::search {

/// The ways of a kernel: what is used without search first, then those of `hints` that are ways of
/// it (schedule_hints.h).
std::unique_ptr<Space> kernel_space(const KernelTask& task,
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

 private:
  std::vector<std::string> ways_;
};

}  // namespace luminal::search

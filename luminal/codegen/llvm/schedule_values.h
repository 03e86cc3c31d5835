// Adds axes to a space of schedules. What the family chooses by itself is always among the values,
// at its place by size.
#pragma once

#include <algorithm>

#include "luminal/codegen/llvm/schedule.h"

namespace luminal::codegen {

/// See above. The start of the space must be set.
class SpaceBuilder {
 public:
  explicit SpaceBuilder(ScheduleSpace& space) : space_(space) {}

  /// An axis, unless it has one value only.
  void add(const std::string& name, std::vector<int64_t> values) {
    values.push_back(space_.start.at(name));
    std::sort(values.begin(), values.end());
    values.erase(std::unique(values.begin(), values.end()), values.end());
    if (values.size() > 1) space_.axes.push_back({name, std::move(values)});
  }

  /// An axis of those of the values that are not above a limit.
  void add_up_to(const std::string& name, std::vector<int64_t> values, int64_t limit) {
    std::erase_if(values, [&](int64_t value) { return value > limit; });
    add(name, std::move(values));
  }

  /// How many of the threads take part; 0: all.
  void add_threads(int threads) {
    if (threads < 2) return;
    std::vector<int64_t> values{0};
    for (int64_t count = 1; count < threads; count *= 2) values.push_back(count);
    add("threads", std::move(values));
  }

 private:
  ScheduleSpace& space_;
};

}  // namespace luminal::codegen

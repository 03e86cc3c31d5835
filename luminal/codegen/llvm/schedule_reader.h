// Reads the choices of a schedule one after the other, each within its bounds. Families use it, so
// that a schedule that misses a choice, has one too many or one that makes no sense is refused in
// the same words everywhere.
#pragma once

#include <set>

#include "luminal/codegen/llvm/schedule.h"
#include "luminal/support/error.h"

namespace luminal::codegen {

/// The error of a schedule that does not fit.
template <typename... Args>
UserError schedule_error(const Schedule& schedule, fmt::format_string<Args...> format,
                         Args&&... args) {
  return {"schedule", "'{}' does not fit: {}", schedule.to_string(),
          fmt::format(format, std::forward<Args>(args)...)};
}

/// See above. Everything throws UserError.
class ScheduleReader {
 public:
  explicit ScheduleReader(const Schedule& schedule) : schedule_(schedule) {}

  /// The value of a choice, from `least` to `most`.
  int64_t number(const std::string& name, int64_t least, int64_t most) {
    read_.insert(name);
    const int64_t value = schedule_.at(name);
    if (value < least || value > most)
      throw schedule_error(schedule_, "{} is {}, and may be {} to {}", name, value, least, most);
    return value;
  }
  int small(const std::string& name, int least, int most) {
    return static_cast<int>(number(name, least, most));
  }
  bool flag(const std::string& name) { return number(name, 0, 1) == 1; }

  /// No choice may be left.
  void finish() const {
    for (const Choice& choice : schedule_.choices())
      if (!read_.contains(choice.name))
        throw schedule_error(schedule_, "a {} has no choice '{}'", schedule_.family(), choice.name);
  }

 private:
  const Schedule& schedule_;
  std::set<std::string> read_;
};

}  // namespace luminal::codegen

// Schedules that were found best somewhere, as lines of text: what the project ships of its tuning
// database (data/tuning). A hint names a kernel by its canonical text, the values of its dims and
// the device, and no version of the code generator: it is no measurement. A search tries it before
// anything else but the default, checks it as every other and times it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "luminal/search/tuning_database.h"

namespace luminal::search {

/// See above.
struct ScheduleHint {
  std::string label;        ///< what the kernel computes, for people
  support::Hash128 kernel;  ///< of its canonical text
  std::string shapes;       ///< values of its dims, as in TuningKey
  std::string device;       ///< what it was measured on
  std::string schedule;     ///< the best one there
  double gain = 1.0;        ///< how much quicker it was than the schedule without search
  bool operator==(const ScheduleHint&) const = default;
};

/// Lines, sorted, so that two lists differ where they differ.
std::string to_text(std::vector<ScheduleHint> hints);
/// Reads what to_text wrote. UserError that names the line if a text is anything else.
std::vector<ScheduleHint> parse_hints(std::string_view text);

/// What follows from a database: of every kernel the best schedule, where it is quicker than the
/// one without search by a share of `least_gain` at least and beyond noise.
std::vector<ScheduleHint> hints_of(const TuningDatabase& database, double least_gain = 0.03);

/// Schedules to be tried for a kernel: those of its device first, then those of others.
std::vector<std::string> hinted_schedules(const std::vector<ScheduleHint>& hints,
                                          const TuningKey& key);

/// Schedules that were best for other values of a kernel's dims, none of which is more than twice
/// or less than half of its own, the nearest first. Times are of exact values, but what is good for
/// one is good for a range of them as a rule.
std::vector<std::string> near_schedules(const TuningDatabase& database, const TuningKey& key);

/// What this library ships.
const std::vector<ScheduleHint>& shipped_hints();

}  // namespace luminal::search

// What the tuning database knows of the cost model: the work of every kernel that was measured
// (kernel/estimate.h) beside its time. The constants of the model are fitted to all of it, and how
// well the model ranks kernels is told from it.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "luminal/search/calibration.h"
#include "luminal/search/tuning_database.h"

namespace luminal::search {

/// A kernel whose work is known, with the best of its times.
struct KnownWork {
  std::string label;  ///< for people
  TimedWork timed;
};

/// One line.
std::string to_text(const kernel::Work& work);
/// Reads what to_text wrote; nothing if the text is anything else, that of another release too.
std::optional<kernel::Work> parse_work(std::string_view text);

/// All that is known of a device. Times of code of the given version where there are some, else the
/// newest: a machine stays what it is when code generators change.
std::vector<KnownWork> known_works(const TuningDatabase& database, const std::string& device,
                                   const std::string& compiler);

/// The constants that fit a device, and how well the ones before and the new ones do.
struct Calibration {
  kernel::Machine machine;
  ModelQuality before = {};
  ModelQuality after = {};
};

/// Fits the constants of a machine to all that is known of it.
Calibration calibrated(const std::vector<KnownWork>& works, const kernel::Machine& machine);

}  // namespace luminal::search

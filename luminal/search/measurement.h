// What trying a candidate gave: how long it took, or why it does not count. A candidate that fails
// is an ordinary value here, never an exception.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <variant>

namespace luminal::search {

/// How long one run takes.
struct Timing {
  double median_us = 0.0;  ///< of one run
  double spread_us = 0.0;  ///< half of the samples lie within so much of the median
  int samples = 0;         ///< runs that were timed
  /// Other work on the machine disturbed them: to be measured again when it is quiet.
  bool disturbed = false;
  bool operator==(const Timing&) const = default;
};

/// What is quicker than `standard` by less is as likely to be luck.
double noise_us(const Timing& standard, const Timing& other);

/// Why a candidate does not count.
struct Rejected {
  /// What went wrong.
  enum class Why {
    kCompile,      ///< no code was made of it
    kResources,    ///< it asks for more than the device has
    kWrongResult,  ///< it computes something else
    kCrash,        ///< it ended the process it ran in
    kOutOfBounds,  ///< it touched memory that is not its own
    kTimeout,      ///< it did not come to an end
    kInterrupted,  ///< it was not let come to an end, which says nothing about it: never a record
  };
  Why why = Why::kCompile;  ///< the first reason that was found
  std::string detail;       ///< for people
  bool operator==(const Rejected&) const = default;
};

/// See above.
using Measurement = std::variant<Timing, Rejected>;

/// Whether something is wrong with the candidate itself, and not with what a machine had for it
/// (memory, time).
bool is_fault(Rejected::Why why);

/// "compile", "resources", "wrong result", "crash", "out of bounds", "timeout" or
/// "interrupted".
std::string_view to_string(Rejected::Why why);
/// Reads what to_string wrote.
std::optional<Rejected::Why> parse_why(std::string_view text);
/// One line for people.
std::string to_string(const Measurement& measurement);

}  // namespace luminal::search

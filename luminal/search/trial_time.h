// How many more ways can be tried in the time there is, by what it took to try others. A search
// that is to end in time must not begin what will not end in time.
#pragma once

#include <cstddef>
#include <functional>
#include <utility>

namespace luminal::search {

/// What trying a way takes for every byte of its tensors, about, as long as nothing else is known:
/// data is made, copied and compared, and memory for all of it taken from the system.
inline constexpr double kSecondsPerByte = 4e-9;
/// Runs of a way until it is checked, which is done on one thread mostly, and timed: a few where it
/// takes long.
inline constexpr double kRunsPerWay = 10;
/// So little of it is not worth a thought.
inline constexpr double kLeastDataSeconds = 0.05;

/// See above. What is tried is building, checking and timing together.
class TrialTime {
 public:
  /// `seconds_left` may be null: there is any amount of time. `seconds_per_way` is what is known
  /// from before; 0: nothing. `clock` gives microseconds; null: the machine's.
  TrialTime(std::function<double()> seconds_left, double seconds_per_way,
            std::function<double()> clock)
      : seconds_left_(std::move(seconds_left)),
        clock_(std::move(clock)),
        seconds_per_way_(seconds_per_way) {}

  /// How many of so many ways fit. All of them as long as nothing is known; `default_us` is the
  /// time of the default, if that is.
  size_t that_fit(size_t wanted, double default_us) const;

  /// A batch begins.
  void begin();
  /// It ended. `ways` of it had not been tried before; `is_first`: nor had any other, so that data
  /// and what is expected were made as well.
  void end(size_t ways, bool is_first);
  /// Whether the same again fits.
  bool fits_again() const;

  /// What is known now.
  double seconds_per_way() const { return seconds_per_way_; }

 private:
  double now_us() const;

  std::function<double()> seconds_left_;
  std::function<double()> clock_;
  double seconds_per_way_;
  double begin_us_ = 0;
  double last_seconds_ = 0;
};

}  // namespace luminal::search

// Whether other programs use the processors that we measure on. Samples that scatter tell of work
// that comes and goes; one that stays makes all of them longer, steadily, those that wait for
// threads more than others, and only the system knows of it.
#pragma once

#include <functional>
#include <optional>

namespace luminal::search {

/// Seconds that processors have been at work, and for whom.
struct ProcessorTimes {
  double passed = 0.0;  ///< on the clock
  double busy = 0.0;    ///< all processors that we may use together
  double ours = 0.0;    ///< of this process
};

/// What the system says now; nothing if it does not tell.
std::optional<ProcessorTimes> processor_times();

/// Watches from its making on.
class OtherWork {
 public:
  explicit OtherWork(std::function<std::optional<ProcessorTimes>()> times = processor_times);

  /// Whether others had so much of `processors` that as many threads of ours had to share them.
  /// False as long as the system's clock is too coarse to say.
  bool disturbs(int threads, int processors) const;
  /// Seconds until it can say that; 0 if it can, or if the system does not tell.
  double seconds_to_know() const;

 private:
  std::function<std::optional<ProcessorTimes>()> times_;
  std::optional<ProcessorTimes> begin_;
};

/// Processors that this process may use.
int usable_processors();

}  // namespace luminal::search

// Runs a piece of work in a child process, so that whatever it does wrong (a fault, an endless
// loop, an end of the process) is an answer and not the end of ours. The child is a copy of the
// caller with one thread, and may make others; it leaves results in shared memory.
#pragma once

#include <chrono>
#include <functional>
#include <optional>

#include "luminal/search/measurement.h"

namespace luminal::search {

/// How a child is run.
struct ApartOptions {
  /// How much processor time the work may use, all of its threads together. Time on the clock says
  /// little: a child that somebody stops, or that waits for its turn, is no endless one.
  std::chrono::milliseconds limit{10'000};
  /// How long the child is waited for. That it did not end is no fault of the work for sure, which
  /// is "interrupted" then.
  std::chrono::milliseconds patience{120'000};
  /// Asked now and then while work takes long: whether to wait no longer, with the same result.
  std::function<bool()> stop = nullptr;
  /// From when on, on the clock: however little time is left, what is quick is let end.
  std::chrono::milliseconds unasked{1000};
  /// Told how much processor time the child has used, if it is given.
  std::chrono::milliseconds* used = nullptr;
  /// Whether an address is one that nobody may touch: a fault there is "out of bounds".
  std::function<bool(const void* address)> is_forbidden = nullptr;
};

/// Why the work did not come to its end; nothing if it did. DeviceError if there can be no child.
/// Work that the machine gives no memory or no thread is "interrupted": that says nothing about it.
std::optional<Rejected> run_apart(const std::function<void()>& work,
                                  const ApartOptions& options = {});

}  // namespace luminal::search

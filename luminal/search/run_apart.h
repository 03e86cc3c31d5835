// Runs a piece of work in a child process, so that whatever it does wrong (a fault, an endless
// loop, an end of the process) is an answer and not the end of ours. The child is a copy of the
// caller with one thread; it leaves results in shared memory.
#pragma once

#include <chrono>
#include <functional>
#include <optional>

#include "luminal/search/measurement.h"

namespace luminal::search {

/// How a child is run.
struct ApartOptions {
  std::chrono::milliseconds limit{10'000};
  /// Whether an address is one that nobody may touch: a fault there is "out of bounds".
  std::function<bool(const void* address)> is_forbidden = nullptr;
};

/// Why the work did not come to its end; nothing if it did. DeviceError if there can be no child.
std::optional<Rejected> run_apart(const std::function<void()>& work,
                                  const ApartOptions& options = {});

}  // namespace luminal::search

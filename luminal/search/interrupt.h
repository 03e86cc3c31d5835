// Ends a search from the keyboard: while one of these lives, the first SIGINT raises a flag instead
// of ending the process, and the second is what it was before. A program that handles SIGINT itself
// keeps doing so.
#pragma once

namespace luminal::search {

/// See above. Several may live at a time; all see the same interrupt.
class InterruptWatch {
 public:
  InterruptWatch();
  ~InterruptWatch();
  InterruptWatch(const InterruptWatch&) = delete;
  InterruptWatch& operator=(const InterruptWatch&) = delete;

  /// Whether there was an interrupt since the first of those that live now.
  static bool was_interrupted();
};

}  // namespace luminal::search

// How long a search may go on. A search counts the rows it looks at; every few thousand of them the
// clock is read, so that a search without matches ends in time too. A primitive may take as long as
// it likes, so the clock is read sooner the more of them were called.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <string>

namespace luminal::egraph {

/// Why a run or a search ended.
enum class StopReason { kFinished, kIterations, kRows, kTime, kCancelled };
std::string to_text(StopReason reason);

/// When a search has to end, whether it is complete or not.
struct SearchLimit {
  using Clock = std::chrono::steady_clock;
  Clock::time_point deadline = Clock::time_point::max();
  /// Set by somebody else, a signal handler say, to end the search; may be null.
  const std::atomic<bool>* cancelled = nullptr;

  bool is_cancelled() const { return cancelled != nullptr && cancelled->load(); }
  bool is_late() const { return deadline != Clock::time_point::max() && Clock::now() >= deadline; }
  StopReason reached() const {
    if (is_cancelled()) return StopReason::kCancelled;
    return is_late() ? StopReason::kTime : StopReason::kFinished;
  }
};

/// Counts rows and matches of one search and says when it ends early.
class SearchMeter {
 public:
  explicit SearchMeter(const SearchLimit& limit = {}) : limit_(limit) {}

  /// Makes the search give up after `rows` rows, and some more per match.
  void set_allowance(uint64_t rows) {
    allowance_ = rows;
    next_look_ = std::min(rows, kRowsPerLook);
  }
  void lift_allowance() {
    allowance_ = UINT64_MAX;
    gave_up_ = false;
  }
  /// Counts a row; false if the search must end.
  bool count_row() { return ++rows_ < next_look_ || look(); }
  /// Counts a row where the search cannot end.
  void add_row() { ++rows_; }
  void add_rows(uint64_t rows) { rows_ += rows; }
  void add_match() { ++matches_; }
  /// Counts a call of a primitive: the clock is read after a few dozen of them.
  void add_call() { next_look_ = std::max(rows_, next_look_ - std::min(next_look_, kRowsPerCall)); }

  uint64_t rows() const { return rows_; }
  /// kFinished unless the limit was reached.
  StopReason stop() const { return stop_; }
  /// Whether the allowance was used up.
  bool gave_up() const { return gave_up_; }

 private:
  static constexpr uint64_t kRowsPerLook = 4096;
  /// How many rows a call of a primitive brings the next look at the clock nearer.
  static constexpr uint64_t kRowsPerCall = 64;
  /// Matches are what a search is for: each allows this many rows more.
  static constexpr uint64_t kRowsPerMatch = 4;

  bool look() {
    stop_ = limit_.reached();
    next_look_ = rows_ + kRowsPerLook;
    if (allowance_ != UINT64_MAX) {
      const uint64_t allowed = allowance_ + kRowsPerMatch * matches_;
      gave_up_ = rows_ >= allowed;
      next_look_ = std::min(next_look_, allowed);
    }
    return stop_ == StopReason::kFinished && !gave_up_;
  }

  SearchLimit limit_;
  uint64_t rows_ = 0;
  uint64_t matches_ = 0;
  uint64_t next_look_ = kRowsPerLook;
  uint64_t allowance_ = UINT64_MAX;
  StopReason stop_ = StopReason::kFinished;
  bool gave_up_ = false;
};

}  // namespace luminal::egraph

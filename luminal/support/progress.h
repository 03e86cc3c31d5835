// A progress bar for long work: label, bar, done and total, rate, time left and a status text on
// one line of stderr. It draws at most ten times a second and only to a terminal, so it costs
// nothing in scripts and logs; work that ends within a tenth of a second shows nothing at all.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

namespace luminal::support {

/// Where a bar is drawn and what time it is there. Tests bring their own.
struct ProgressStream {
  std::function<void(std::string_view text)> write;
  bool draws = false;               ///< false: nothing is ever written
  std::function<int()> columns;     ///< width of the terminal, asked at every draw
  std::function<double()> seconds;  ///< a steady clock

  /// stderr; draws if it is a terminal, or as LUMINAL_PROGRESS says.
  static ProgressStream standard_error();
};

/// What one line shows.
struct ProgressLine {
  std::string label = {};
  std::string status = {};
  std::int64_t done = 0;
  std::optional<std::int64_t> total = {};
  std::optional<double> budget_seconds = {};  ///< work that ends with its time, instead of a total
  double rate = 0;                            ///< per second; 0: not known yet
  double elapsed_seconds = 0;
  bool finished = false;
  bool interrupted = false;  ///< it ended before its time
};

/// The text of a line in at most `columns` columns, without control characters. When room is short
/// the status goes first, then the bar, then the rest from the right; beside a budget the bar goes
/// first.
std::string render(const ProgressLine& line, int columns);

/// A bar that lives as long as the work. All members may be called from any thread. Two bars on one
/// terminal take turns on the same line.
class Progress {
 public:
  explicit Progress(std::string label, std::optional<std::int64_t> total = std::nullopt,
                    ProgressStream stream = ProgressStream::standard_error());
  /// Finishes, if that was not done before.
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  /// So much more is done.
  void advance(std::int64_t amount = 1);
  /// So much is done in all.
  void set_done(std::int64_t done);
  /// The total became known or changed.
  void set_total(std::optional<std::int64_t> total);
  /// The work goes on for so long, whatever it gets done.
  void set_budget(double seconds);
  /// It ends before its time.
  void set_interrupted();
  /// A few words on what is going on, such as "best 12.3 us".
  void set_status(std::string status);

  /// Draws the last state and ends the line, if anything was drawn. Later calls do nothing.
  void finish();

 private:
  void draw_if_due();
  void draw_locked(double now);

  const ProgressStream stream_;
  const double start_;
  std::atomic<std::int64_t> done_{0};
  std::atomic<double> next_draw_;
  std::mutex mutex_;  // guards what follows
  ProgressLine line_;
  double last_draw_;
  std::int64_t last_done_ = 0;
  bool drawn_ = false;
};

}  // namespace luminal::support

#include "luminal/support/progress.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <exception>
#include <utility>

#include "luminal/support/env.h"
#include "luminal/support/log.h"
#include "luminal/support/text.h"

namespace luminal::support {
namespace {

constexpr double kSecondsBetweenDraws = 0.1;
// The rate forgets the past with this time constant: the time left follows a change of pace within
// seconds and does not jump at every step.
constexpr double kRateMemorySeconds = 5;
constexpr int kWidestBar = 30;
constexpr int kBarBesideStatus = 12;  // what goes on says more than how far it is
constexpr int kNarrowestBar = 6;
constexpr int kDefaultColumns = 80;

int stderr_columns() {
  winsize size{};
  if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return kDefaultColumns;
  return size.ws_col;
}

double steady_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

void write_to_stderr(std::string_view text) {
  StderrLine& shared = stderr_line();
  const std::lock_guard lock(shared.mutex);
  // A log line took the place of the bar: there is no line left to end.
  if (text == "\n" && !shared.line_open) return;
  std::fwrite(text.data(), 1, text.size(), stderr);
  std::fflush(stderr);
  shared.line_open = !text.ends_with('\n');
}

std::string duration_text(double seconds) {
  if (!(seconds < 359999)) return ">99h";
  const auto whole = static_cast<long>(std::lround(std::max(seconds, 0.0)));
  if (whole >= 3600)
    return fmt::format("{}:{:02}:{:02}", whole / 3600, whole / 60 % 60, whole % 60);
  return fmt::format("{}:{:02}", whole / 60, whole % 60);
}

std::string rate_text(double rate) {
  constexpr std::pair<double, const char*> kScales[] = {{1e9, "G"}, {1e6, "M"}, {1e3, "k"}};
  for (const auto& [scale, suffix] : kScales)
    if (rate >= scale) return fmt::format("{:.1f}{}/s", rate / scale, suffix);
  return fmt::format("{:.1f}/s", rate);
}

double fraction_done(const ProgressLine& line) {
  if (line.budget_seconds)
    return line.finished && !line.interrupted
               ? 1
               : std::clamp(line.elapsed_seconds / *line.budget_seconds, 0.0, 1.0);
  if (*line.total <= 0) return 1;
  return std::clamp(static_cast<double>(line.done) / static_cast<double>(*line.total), 0.0, 1.0);
}

std::string bar_text(double fraction, int width) {
  const int inside = width - 2;
  const int filled = static_cast<int>(fraction * inside);
  std::string bar(static_cast<std::size_t>(inside), ' ');
  std::fill_n(bar.begin(), filled, '=');
  if (filled > 0 && filled < inside) bar[static_cast<std::size_t>(filled) - 1] = '>';
  return "[" + bar + "]";
}

std::string counts_text(const ProgressLine& line) {
  if (line.budget_seconds) {
    const std::string percent = fmt::format("{:3.0f}%", std::floor(fraction_done(line) * 100));
    return line.finished ? fmt::format("{} in {}", percent, duration_text(line.elapsed_seconds))
                         : fmt::format("{} of {:g} s", percent, *line.budget_seconds);
  }
  std::string text = line.total
                         ? fmt::format("{:3.0f}% {}/{}", std::floor(fraction_done(line) * 100),
                                       line.done, *line.total)
                         : fmt::format("{}", line.done);
  if (line.rate > 0) text += " " + rate_text(line.rate);
  if (line.finished || !line.total)
    text += " in " + duration_text(line.elapsed_seconds);
  else if (line.rate > 0)
    text += " left " +
            duration_text(static_cast<double>(std::max<std::int64_t>(*line.total - line.done, 0)) /
                          line.rate);
  return text;
}

std::string without_control_characters(std::string text) {
  for (char& c : text)
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = ' ';
  return text;
}

}  // namespace

ProgressStream ProgressStream::standard_error() {
  const std::string& mode = environment().text(EnvVar::kProgress);
  return {.write = write_to_stderr,
          .draws = mode == "on" || (mode == "auto" && isatty(STDERR_FILENO) != 0),
          .columns = stderr_columns,
          .seconds = steady_seconds};
}

std::string render(const ProgressLine& line, int columns) {
  const std::string label = without_control_characters(line.label);
  const std::string status = without_control_characters(line.status);
  const std::string counts = counts_text(line);
  int room = columns - static_cast<int>(utf8_length(label) + 1 + utf8_length(counts));
  std::string text = label;
  const bool tells_status = line.budget_seconds && !status.empty();
  const int widest = tells_status ? kBarBesideStatus : kWidestBar;
  // What a search has found and tried says more than a bar, of which the number is there anyhow.
  const bool has_room =
      !tells_status || room >= kBarBesideStatus + 2 + static_cast<int>(utf8_length(status));
  if (const int width = std::min(room - 1, widest);
      (line.total || line.budget_seconds) && has_room && width >= kNarrowestBar) {
    text += " " + bar_text(fraction_done(line), width);
    room -= width + 1;
  }
  text += " " + counts;
  if (!status.empty() && room > 4)
    text += " " + ellipsize(status, static_cast<std::size_t>(room - 1));
  return ellipsize(text, static_cast<std::size_t>(std::max(columns, 0)));
}

Progress::Progress(std::string label, std::optional<std::int64_t> total, ProgressStream stream)
    : stream_(std::move(stream)),
      start_(stream_.draws ? stream_.seconds() : 0),
      next_draw_(start_ + kSecondsBetweenDraws),
      last_draw_(start_) {
  line_.label = std::move(label);
  line_.total = total;
}

Progress::~Progress() {
  try {
    finish();
  } catch (const std::exception& error) {
    log_debug("progress bar: {}", error.what());
  }
}

void Progress::advance(std::int64_t amount) {
  done_.fetch_add(amount, std::memory_order_relaxed);
  draw_if_due();
}

void Progress::set_done(std::int64_t done) {
  done_.store(done, std::memory_order_relaxed);
  draw_if_due();
}

void Progress::set_total(std::optional<std::int64_t> total) {
  if (!stream_.draws) return;
  {
    const std::lock_guard lock(mutex_);
    line_.total = total;
  }
  draw_if_due();
}

void Progress::set_budget(double seconds) {
  const std::lock_guard lock(mutex_);
  line_.budget_seconds = seconds;
}

void Progress::set_interrupted() {
  const std::lock_guard lock(mutex_);
  line_.interrupted = true;
}

void Progress::set_status(std::string status) {
  if (!stream_.draws) return;
  {
    const std::lock_guard lock(mutex_);
    line_.status = std::move(status);
  }
  draw_if_due();
}

void Progress::draw_if_due() {
  if (!stream_.draws) return;
  const double now = stream_.seconds();
  if (now < next_draw_.load(std::memory_order_relaxed)) return;
  // Somebody else is drawing: nothing would be gained by waiting for them.
  const std::unique_lock lock(mutex_, std::try_to_lock);
  if (!lock.owns_lock() || line_.finished || now < next_draw_.load(std::memory_order_relaxed))
    return;
  draw_locked(now);
}

void Progress::draw_locked(double now) {
  next_draw_.store(now + kSecondsBetweenDraws, std::memory_order_relaxed);
  line_.done = done_.load(std::memory_order_relaxed);
  line_.elapsed_seconds = now - start_;
  const double passed = now - last_draw_;
  if (line_.finished) {
    line_.rate =
        line_.elapsed_seconds > 0 ? static_cast<double>(line_.done) / line_.elapsed_seconds : 0;
  } else if (passed > 0) {
    const double recent = std::max(static_cast<double>(line_.done - last_done_) / passed, 0.0);
    const double weight = drawn_ ? 1 - std::exp(-passed / kRateMemorySeconds) : 1;
    line_.rate += weight * (recent - line_.rate);
  }
  last_draw_ = now;
  last_done_ = line_.done;
  drawn_ = true;
  // The last column stays free: writing it makes some terminals wrap.
  stream_.write("\r" + render(line_, stream_.columns() - 1) + "\x1b[K");
}

void Progress::finish() {
  if (!stream_.draws) return;
  const std::lock_guard lock(mutex_);
  if (std::exchange(line_.finished, true) || !drawn_) return;
  draw_locked(stream_.seconds());
  stream_.write("\n");
}

}  // namespace luminal::support

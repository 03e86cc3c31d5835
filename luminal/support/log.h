// Logging: short messages by level, written whole lines at a time to stderr (or a sink of the
// caller's). A message below the level costs one relaxed atomic load; nothing is formatted. Logging
// never throws and is safe from every thread, so it may be used in destructors and in workers.
#pragma once

#include <fmt/core.h>

#include <atomic>
#include <functional>
#include <mutex>
#include <optional>
#include <string_view>
#include <utility>

namespace luminal::support {

/// Severity, least first. kOff is a level to set, not to log at.
enum class LogLevel : int { kTrace, kDebug, kInfo, kWarn, kError, kOff };

/// "trace", "debug", "info", "warn", "error" or "off".
std::string_view to_string(LogLevel level);
/// Reads what to_string wrote.
std::optional<LogLevel> parse_log_level(std::string_view text);

namespace internal {
inline constexpr int kLevelUnread = -1;  // below every level: the first message reads LUMINAL_LOG
inline std::atomic<int> log_level_now{kLevelUnread};
bool log_enabled_slow(LogLevel level) noexcept;
void write_log(LogLevel level, fmt::string_view format, fmt::format_args args) noexcept;
}  // namespace internal

/// Whether a message of this level would be written. Ask before computing something expensive only
/// to log it.
inline bool log_enabled(LogLevel level) noexcept {
  const int now = internal::log_level_now.load(std::memory_order_relaxed);
  if (static_cast<int>(level) < now) return false;
  return internal::log_enabled_slow(level);
}

/// Logs a message formatted by fmt.
template <typename... Args>
void log(LogLevel level, fmt::format_string<Args...> format, Args&&... args) noexcept {
  if (log_enabled(level)) internal::write_log(level, format, fmt::make_format_args(args...));
}

/// For following a single step closely.
template <typename... Args>
void log_trace(fmt::format_string<Args...> format, Args&&... args) noexcept {
  log(LogLevel::kTrace, format, std::forward<Args>(args)...);
}
/// For the developers of the library.
template <typename... Args>
void log_debug(fmt::format_string<Args...> format, Args&&... args) noexcept {
  log(LogLevel::kDebug, format, std::forward<Args>(args)...);
}
/// What a curious user wants to know.
template <typename... Args>
void log_info(fmt::format_string<Args...> format, Args&&... args) noexcept {
  log(LogLevel::kInfo, format, std::forward<Args>(args)...);
}
/// Something is not as the user would want it, and the work goes on.
template <typename... Args>
void log_warn(fmt::format_string<Args...> format, Args&&... args) noexcept {
  log(LogLevel::kWarn, format, std::forward<Args>(args)...);
}
/// Something failed that nobody is there to catch.
template <typename... Args>
void log_error(fmt::format_string<Args...> format, Args&&... args) noexcept {
  log(LogLevel::kError, format, std::forward<Args>(args)...);
}

/// The level in force: LUMINAL_LOG unless set since.
LogLevel log_level() noexcept;
/// Sets the level for the whole process.
void set_log_level(LogLevel level) noexcept;

/// Receives every message that passes the level, one call at a time.
using LogSink = std::function<void(LogLevel level, std::string_view message)>;

/// Sends messages to another sink, and optionally at another level, while it lives. They nest.
class ScopedLogSink {
 public:
  explicit ScopedLogSink(LogSink sink, std::optional<LogLevel> level = std::nullopt);
  ~ScopedLogSink();
  ScopedLogSink(const ScopedLogSink&) = delete;
  ScopedLogSink& operator=(const ScopedLogSink&) = delete;

 private:
  LogSink previous_sink_;
  LogLevel previous_level_;
};

/// Guards stderr, so that log lines and progress bars do not run into each other. Whoever leaves an
/// unfinished line there sets `line_open`; whoever writes next clears that line first.
struct StderrLine {
  std::mutex mutex;
  bool line_open = false;
};
/// The one of this process.
StderrLine& stderr_line() noexcept;

}  // namespace luminal::support

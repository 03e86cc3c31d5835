#include "luminal/support/log.h"

#include <array>
#include <cstdio>
#include <exception>
#include <string>
#include <utility>

#include "luminal/support/env.h"

namespace luminal::support {
namespace {

constexpr std::array<std::string_view, 6> kLevelNames{"trace", "debug", "info",
                                                      "warn",  "error", "off"};

/// Never destroyed, so that destructors of other static objects may log.
struct Output {
  std::recursive_mutex mutex;  // recursive: a sink that logs must not lock itself out
  LogSink sink;                // empty: stderr
};

Output& output() noexcept {
  static Output* const kOutput = new Output;
  return *kOutput;
}

void write_to_stderr(LogLevel level, std::string_view message) {
  std::string line = fmt::format("[luminal {}] {}\n", to_string(level), message);
  StderrLine& shared = stderr_line();
  const std::lock_guard lock(shared.mutex);
  if (shared.line_open) line.insert(0, "\r\x1b[K");
  shared.line_open = false;
  std::fwrite(line.data(), 1, line.size(), stderr);
  std::fflush(stderr);
}

void deliver(LogLevel level, std::string_view message) {
  Output& out = output();
  const std::lock_guard lock(out.mutex);
  if (out.sink)
    out.sink(level, message);
  else
    write_to_stderr(level, message);
}

/// Reads LUMINAL_LOG. A bad environment is reported here and thrown to whoever reads it next; a log
/// call itself must not throw.
void read_level() noexcept {
  LogLevel level = LogLevel::kWarn;
  std::string problem;
  try {
    level = parse_log_level(environment().text(EnvVar::kLog)).value_or(LogLevel::kWarn);
  } catch (const std::exception& error) {
    problem = error.what();
  }
  int unread = internal::kLevelUnread;
  const bool first =
      internal::log_level_now.compare_exchange_strong(unread, static_cast<int>(level));
  if (first && !problem.empty())
    internal::write_log(LogLevel::kWarn, "{}", fmt::make_format_args(problem));
}

}  // namespace

std::string_view to_string(LogLevel level) { return kLevelNames[static_cast<std::size_t>(level)]; }

std::optional<LogLevel> parse_log_level(std::string_view text) {
  for (std::size_t i = 0; i < kLevelNames.size(); ++i)
    if (kLevelNames[i] == text) return static_cast<LogLevel>(i);
  return std::nullopt;
}

namespace internal {

bool log_enabled_slow(LogLevel level) noexcept {
  return level != LogLevel::kOff && level >= log_level();
}

void write_log(LogLevel level, fmt::string_view format, fmt::format_args args) noexcept {
  try {
    deliver(level, fmt::vformat(format, args));
  } catch (...) {
    // A sink that throws, or no memory for the message: there is nobody left to tell.
    std::fputs("[luminal error] a log message was lost\n", stderr);
  }
}

}  // namespace internal

LogLevel log_level() noexcept {
  if (internal::log_level_now.load(std::memory_order_relaxed) == internal::kLevelUnread)
    read_level();
  return static_cast<LogLevel>(internal::log_level_now.load(std::memory_order_relaxed));
}

void set_log_level(LogLevel level) noexcept {
  internal::log_level_now.store(static_cast<int>(level), std::memory_order_relaxed);
}

ScopedLogSink::ScopedLogSink(LogSink sink, std::optional<LogLevel> level)
    : previous_level_(log_level()) {
  Output& out = output();
  const std::lock_guard lock(out.mutex);
  previous_sink_ = std::exchange(out.sink, std::move(sink));
  if (level) set_log_level(*level);
}

ScopedLogSink::~ScopedLogSink() {
  Output& out = output();
  const std::lock_guard lock(out.mutex);
  out.sink = std::move(previous_sink_);
  set_log_level(previous_level_);
}

StderrLine& stderr_line() noexcept {
  static StderrLine* const kLine = new StderrLine;
  return *kLine;
}

}  // namespace luminal::support

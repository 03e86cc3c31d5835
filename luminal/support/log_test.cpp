#include "luminal/support/log.h"

#include <gtest/gtest.h>

#include <string>
#include <thread>
#include <vector>

namespace luminal::support {
namespace {

struct Lines {
  std::vector<std::string> lines;
  LogSink sink() {
    return [this](LogLevel level, std::string_view message) {
      lines.push_back(std::string(to_string(level)) + ": " + std::string(message));
    };
  }
};

/// A value that counts how often it is formatted.
struct Counted {
  int* formatted;
};

}  // namespace
}  // namespace luminal::support

template <>
struct fmt::formatter<luminal::support::Counted> {
  constexpr auto parse(format_parse_context& context) { return context.begin(); }
  auto format(const luminal::support::Counted& value, format_context& context) const {
    ++*value.formatted;
    return fmt::format_to(context.out(), "counted");
  }
};

namespace luminal::support {
namespace {

TEST(Log, MessagesAreFormattedAndCarryTheirLevel) {
  Lines got;
  ScopedLogSink scope(got.sink(), LogLevel::kTrace);
  log_trace("t {}", 1);
  log_debug("d {:.1f}", 2.0);
  log_info("i {}", "x");
  log_warn("w");
  log_error("e {} {}", 1, 2);
  EXPECT_EQ(got.lines, (std::vector<std::string>{"trace: t 1", "debug: d 2.0", "info: i x",
                                                 "warn: w", "error: e 1 2"}));
}

TEST(Log, MessagesBelowTheLevelAreNotEvenFormatted) {
  Lines got;
  ScopedLogSink scope(got.sink(), LogLevel::kWarn);
  int formatted = 0;
  log_info("{}", Counted{&formatted});
  EXPECT_EQ(formatted, 0);
  EXPECT_TRUE(got.lines.empty());
  log_warn("{}", Counted{&formatted});
  EXPECT_EQ(formatted, 1);
  EXPECT_EQ(got.lines, (std::vector<std::string>{"warn: counted"}));
}

TEST(Log, OffSilencesEverything) {
  Lines got;
  ScopedLogSink scope(got.sink(), LogLevel::kOff);
  log_error("lost");
  log(LogLevel::kOff, "not a level to log at");
  EXPECT_TRUE(got.lines.empty());
  EXPECT_FALSE(log_enabled(LogLevel::kError));
  EXPECT_FALSE(log_enabled(LogLevel::kOff));
}

TEST(Log, ScopesNestAndRestoreSinkAndLevel) {
  Lines outer, inner;
  const LogLevel before = log_level();
  {
    ScopedLogSink first(outer.sink(), LogLevel::kInfo);
    {
      ScopedLogSink second(inner.sink(), LogLevel::kError);
      log_info("dropped");
      log_error("to inner");
    }
    EXPECT_EQ(log_level(), LogLevel::kInfo);
    log_info("to outer");
  }
  EXPECT_EQ(log_level(), before);
  EXPECT_EQ(inner.lines, (std::vector<std::string>{"error: to inner"}));
  EXPECT_EQ(outer.lines, (std::vector<std::string>{"info: to outer"}));
}

TEST(Log, LevelsReadBack) {
  for (int i = 0; i <= static_cast<int>(LogLevel::kOff); ++i) {
    const auto level = static_cast<LogLevel>(i);
    EXPECT_EQ(parse_log_level(to_string(level)), level);
  }
  EXPECT_FALSE(parse_log_level("loud"));
  EXPECT_FALSE(parse_log_level(""));
}

TEST(Log, LinesFromManyThreadsArriveWhole) {
  Lines got;
  {
    ScopedLogSink scope(got.sink(), LogLevel::kInfo);
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t)
      threads.emplace_back([t] {
        for (int i = 0; i < 200; ++i) log_info("thread {} message {}", t, i);
      });
    for (std::thread& thread : threads) thread.join();
  }
  EXPECT_EQ(got.lines.size(), 800u);
  for (const std::string& line : got.lines) EXPECT_EQ(line.find("info: thread "), 0u) << line;
}

TEST(Log, StderrLinesNameTheLibraryAndTheLevel) {
  testing::internal::CaptureStderr();
  log_error("disk {} is full", 3);
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "[luminal error] disk 3 is full\n");
}

TEST(Log, AnUnfinishedLineOnStderrIsClearedFirst) {
  testing::internal::CaptureStderr();
  stderr_line().line_open = true;
  log_error("message");
  EXPECT_FALSE(stderr_line().line_open);
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "\r\x1b[K[luminal error] message\n");
}

TEST(Log, ASinkMayLogAndMayThrow) {
  int depth = 0;
  {
    ScopedLogSink scope(
        [&](LogLevel, std::string_view) {
          if (++depth < 3) log_error("again");
        },
        LogLevel::kInfo);
    log_error("first");
    EXPECT_EQ(depth, 3);
  }
  testing::internal::CaptureStderr();
  {
    ScopedLogSink scope([](LogLevel, std::string_view) { throw 1; });
    EXPECT_NO_THROW(log_error("first"));
  }
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "[luminal error] a log message was lost\n");
}

}  // namespace
}  // namespace luminal::support

#include "luminal/support/progress.h"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

#include "luminal/support/log.h"
#include "luminal/support/text.h"

namespace luminal::support {
namespace {

/// A terminal with a clock that only moves when told.
struct FakeTerminal {
  std::vector<std::string> writes;
  double now = 100;
  int width = 80;

  ProgressStream stream(bool draws = true) {
    return {.write = [this](std::string_view text) { writes.emplace_back(text); },
            .draws = draws,
            .columns = [this] { return width; },
            .seconds = [this] { return now; }};
  }
  /// The text of the last drawing, without what moves the cursor.
  std::string shown() const {
    std::string text = writes.empty() ? "" : writes.back();
    if (text.starts_with('\r')) text.erase(0, 1);
    if (text.ends_with("\x1b[K")) text.erase(text.size() - 3);
    return text;
  }
};

TEST(Progress, DrawsLabelBarCountsRateAndTimeLeft) {
  FakeTerminal terminal;
  Progress progress("search", 1000, terminal.stream());
  terminal.now += 10;
  progress.set_done(250);
  EXPECT_EQ(terminal.shown(),
            "search [======>                     ]  25% 250/1000 25.0/s left 0:30");
}

TEST(Progress, OfATimeIsHowMuchOfItIsOver) {
  FakeTerminal terminal;
  Progress progress("search", std::nullopt, terminal.stream());
  progress.set_budget(20);
  terminal.now += 5;
  progress.set_status("best 94.2 us, first plan 97.1; 12 tried, 1 rejected");
  EXPECT_EQ(terminal.shown(),
            "search  25% of 20 s best 94.2 us, first plan 97.1; 12 tried, 1 rejected");
  terminal.now += 2;
  progress.finish();
  ASSERT_GE(terminal.writes.size(), 2U);
  terminal.writes.pop_back();
  EXPECT_TRUE(terminal.shown().starts_with("search 100% in 0:07 best 94.2 us"));
}

TEST(Progress, OfATimeThatWasCutShortIsNotAllOfIt) {
  FakeTerminal terminal;
  Progress progress("search", std::nullopt, terminal.stream());
  progress.set_budget(20);
  terminal.now += 5;
  progress.set_status("best 94.2 us");
  progress.set_interrupted();
  progress.finish();
  ASSERT_GE(terminal.writes.size(), 2U);
  terminal.writes.pop_back();
  EXPECT_TRUE(terminal.shown().starts_with("search [=>        ]  25% in 0:05")) << terminal.shown();
}

TEST(Progress, IsSilentWhenNotOnATerminal) {
  FakeTerminal terminal;
  {
    Progress progress("search", 10, terminal.stream(false));
    for (int i = 0; i < 10; ++i) {
      terminal.now += 1;
      progress.advance();
      progress.set_status("x");
    }
    progress.finish();
  }
  EXPECT_TRUE(terminal.writes.empty());
}

TEST(Progress, DrawsAtMostTenTimesASecond) {
  FakeTerminal terminal;
  Progress progress("search", 100000, terminal.stream());
  for (int i = 0; i < 2000; ++i) {
    terminal.now += 0.001;
    progress.advance();
  }
  EXPECT_GE(terminal.writes.size(), 18u);
  EXPECT_LE(terminal.writes.size(), 20u);
}

TEST(Progress, QuickWorkLeavesNoTrace) {
  FakeTerminal terminal;
  {
    Progress progress("search", 10, terminal.stream());
    for (int i = 0; i < 10; ++i) progress.advance();
    terminal.now += 0.05;
  }
  EXPECT_TRUE(terminal.writes.empty());
}

TEST(Progress, DestructionShowsTheFinalStateAndEndsTheLine) {
  FakeTerminal terminal;
  {
    Progress progress("search", 10, terminal.stream());
    terminal.now += 1;
    progress.advance(3);
    terminal.now += 1;
    progress.set_done(10);
    progress.set_status("done");
  }
  ASSERT_EQ(terminal.writes.size(), 4u);
  EXPECT_EQ(terminal.writes.back(), "\n");
  terminal.writes.pop_back();
  EXPECT_EQ(terminal.shown(),
            "search [============================] 100% 10/10 5.0/s in 0:02 done");
}

TEST(Progress, FinishingTwiceEndsTheLineOnce) {
  FakeTerminal terminal;
  {
    Progress progress("search", 10, terminal.stream());
    terminal.now += 1;
    progress.advance();
    progress.finish();
    progress.finish();
    terminal.now += 1;
    progress.advance();
  }
  EXPECT_EQ(terminal.writes.size(), 3u);
  EXPECT_EQ(terminal.writes.back(), "\n");
}

TEST(Progress, AnUnknownTotalShowsCountAndTime) {
  FakeTerminal terminal;
  Progress progress("rules", std::nullopt, terminal.stream());
  terminal.now += 100;
  progress.set_done(250000);
  EXPECT_EQ(terminal.shown(), "rules 250000 2.5k/s in 1:40");
  terminal.now += 1;
  progress.set_total(500000);
  EXPECT_NE(terminal.shown().find(" 50% 250000/500000"), std::string::npos) << terminal.shown();
}

TEST(Progress, TheRateFollowsAChangeOfPace) {
  FakeTerminal terminal;
  Progress progress("search", 100000, terminal.stream());
  for (int i = 0; i < 20; ++i) {
    terminal.now += 1;
    progress.advance(100);
  }
  for (int i = 0; i < 20; ++i) {
    terminal.now += 1;
    progress.advance(10);
  }
  // The overall mean is 55/s; what counts is the 10/s of the last seconds.
  EXPECT_NE(terminal.shown().find(" 11.6/s "), std::string::npos) << terminal.shown();
}

TEST(Progress, NeverWiderThanTheTerminal) {
  const ProgressLine line{.label = "a label",
                          .status = "a status text that is rather long and has ünicode in it",
                          .done = 123,
                          .total = 456,
                          .rate = 7.5,
                          .elapsed_seconds = 3};
  for (int columns = 0; columns < 150; ++columns)
    EXPECT_LE(utf8_length(render(line, columns)), static_cast<std::size_t>(columns)) << columns;
  EXPECT_EQ(render(line, 36), "a label  26% 123/456 7.5/s left 0:44");
  EXPECT_EQ(render(line, 45), "a label [>     ]  26% 123/456 7.5/s left 0:44");
  EXPECT_EQ(render(line, 12), "a label  ...");
  EXPECT_NE(render(line, 149).find("ünicode in it"), std::string::npos);
}

TEST(Progress, StatusCannotBreakTheLine) {
  const ProgressLine line{.label = "a\nb", .status = "x\r\n\x1b[2Jy", .done = 1};
  const std::string text = render(line, 80);
  EXPECT_EQ(text.find_first_of("\r\n\x1b"), std::string::npos);
}

TEST(Progress, OddTotalsAreNoTrouble) {
  EXPECT_NE(render({.label = "l", .done = 0, .total = 0}, 80).find("100% 0/0"), std::string::npos);
  EXPECT_NE(render({.label = "l", .done = 9, .total = 5, .rate = 1}, 80).find("100% 9/5"),
            std::string::npos);
  EXPECT_NE(render({.label = "l", .done = 999, .total = 1000}, 80).find(" 99% "),
            std::string::npos);
  EXPECT_NE(render({.label = "l", .done = 0, .total = 1000, .rate = 1e-9}, 80).find("left >99h"),
            std::string::npos);
  EXPECT_NE(render({.label = "l", .total = 7322, .rate = 2}, 80).find("left 1:01:01"),
            std::string::npos);
}

TEST(Progress, ManyThreadsMayAdvanceIt) {
  FakeTerminal terminal;
  std::atomic<double> clock = 0;
  ProgressStream stream = terminal.stream();
  stream.seconds = [&] { return clock.load(); };
  {
    Progress progress("search", 4000, stream);
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t)
      threads.emplace_back([&] {
        for (int i = 0; i < 1000; ++i) {
          progress.advance();
          clock = clock + 0.01;
          progress.set_status("working");
        }
      });
    for (std::thread& thread : threads) thread.join();
  }
  terminal.writes.pop_back();
  EXPECT_NE(terminal.shown().find("100% 4000/4000"), std::string::npos) << terminal.shown();
}

TEST(Progress, ALogLineTakesThePlaceOfTheBar) {
  testing::internal::CaptureStderr();
  {
    ProgressStream stream = ProgressStream::standard_error();
    double now = 0;
    stream.draws = true;
    stream.seconds = [&] { return now; };
    stream.columns = [] { return 40; };
    Progress progress("work", std::nullopt, stream);
    now = 1;
    progress.advance();
    log_error("oh");
  }
  EXPECT_EQ(testing::internal::GetCapturedStderr(),
            "\rwork 1 1.0/s in 0:01\x1b[K"
            "\r\x1b[K[luminal error] oh\n"
            "\rwork 1 1.0/s in 0:01\x1b[K\n");
  EXPECT_FALSE(stderr_line().line_open);
}

}  // namespace
}  // namespace luminal::support

#include "luminal/search/interrupt.h"

#include <gtest/gtest.h>

#include <csignal>

namespace luminal::search {
namespace {

/// Programs in the background of a script ignore interrupts, and so do their children.
class InterruptWatches : public testing::Test {
 protected:
  ~InterruptWatches() override { std::signal(SIGINT, before_); }

 private:
  void (*before_)(int) = std::signal(SIGINT, SIG_DFL);
};

TEST_F(InterruptWatches, TheFirstInterruptRaisesTheFlag) {
  const InterruptWatch watch;
  EXPECT_FALSE(InterruptWatch::was_interrupted());
  std::raise(SIGINT);
  EXPECT_TRUE(InterruptWatch::was_interrupted());
}

TEST_F(InterruptWatches, ANewWatchHasSeenNothing) {
  {
    const InterruptWatch watch;
    std::raise(SIGINT);
  }
  const InterruptWatch watch;
  EXPECT_FALSE(InterruptWatch::was_interrupted());
}

TEST_F(InterruptWatches, TheSecondInterruptEndsTheProcess) {
  EXPECT_EXIT(
      {
        const InterruptWatch watch;
        std::raise(SIGINT);
        std::raise(SIGINT);
      },
      testing::KilledBySignal(SIGINT), "");
}

TEST_F(InterruptWatches, AHandlerOfTheProgramsOwnStays) {
  static int seen;
  seen = 0;
  const auto before = std::signal(SIGINT, [](int) { ++seen; });
  {
    const InterruptWatch outer;
    const InterruptWatch inner;
    std::raise(SIGINT);
    EXPECT_FALSE(InterruptWatch::was_interrupted());
  }
  std::raise(SIGINT);
  EXPECT_EQ(seen, 2);
  std::signal(SIGINT, before);
}

TEST_F(InterruptWatches, AfterTheLastWatchAnInterruptEndsTheProcess) {
  EXPECT_EXIT(
      {
        { const InterruptWatch watch; }
        std::raise(SIGINT);
      },
      testing::KilledBySignal(SIGINT), "");
}

}  // namespace
}  // namespace luminal::search

#include "luminal/search/interrupt.h"

#include <gtest/gtest.h>

#include <csignal>

namespace luminal::search {
namespace {

TEST(InterruptWatch, TheFirstInterruptRaisesTheFlag) {
  const InterruptWatch watch;
  EXPECT_FALSE(InterruptWatch::was_interrupted());
  std::raise(SIGINT);
  EXPECT_TRUE(InterruptWatch::was_interrupted());
}

TEST(InterruptWatch, ANewWatchHasSeenNothing) {
  {
    const InterruptWatch watch;
    std::raise(SIGINT);
  }
  const InterruptWatch watch;
  EXPECT_FALSE(InterruptWatch::was_interrupted());
}

TEST(InterruptWatch, TheSecondInterruptEndsTheProcess) {
  EXPECT_EXIT(
      {
        const InterruptWatch watch;
        std::raise(SIGINT);
        std::raise(SIGINT);
      },
      testing::KilledBySignal(SIGINT), "");
}

TEST(InterruptWatch, AHandlerOfTheProgramsOwnStays) {
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

TEST(InterruptWatch, AfterTheLastWatchAnInterruptEndsTheProcess) {
  EXPECT_EXIT(
      {
        { const InterruptWatch watch; }
        std::raise(SIGINT);
      },
      testing::KilledBySignal(SIGINT), "");
}

}  // namespace
}  // namespace luminal::search

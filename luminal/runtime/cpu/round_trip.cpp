#include "luminal/runtime/cpu/round_trip.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <vector>

#include "luminal/runtime/cpu/thread_team.h"
#include "luminal/support/stats.h"

namespace luminal::runtime {
namespace {

using Clock = std::chrono::steady_clock;

/// What two threads write to in turn, each on a line that no other is fetched together with.
struct Words {
  alignas(128) std::atomic<int> call{0};
  alignas(128) std::atomic<int> answer{0};
};

/// Waits until a word has a value. Functions of a team must not wait for each other: one thread may
/// run both. So waiting ends, and that is no answer.
bool comes(const std::atomic<int>& word, int value) {
  constexpr int kSpinsPerLook = 64;
  constexpr auto kLongest = std::chrono::microseconds(200);
  const Clock::time_point begin = Clock::now();
  do {
    for (int i = 0; i < kSpinsPerLook; ++i)
      if (word.load(std::memory_order_acquire) == value) return true;
  } while (Clock::now() - begin < kLongest);
  return false;
}

/// Of the first thread and one other.
double seconds_to(ThreadTeam& team, int other) {
  constexpr int kTurns = 30;
  Words words;
  double seconds = 0;
  team.run([&words, &seconds, other](int thread) {
    if (thread == 0) {
      if (!comes(words.answer, 1)) return;
      const Clock::time_point begin = Clock::now();
      for (int turn = 2; turn <= kTurns + 1; ++turn) {
        words.call.store(turn, std::memory_order_release);
        if (!comes(words.answer, turn)) return;
      }
      seconds = std::chrono::duration<double>(Clock::now() - begin).count() / kTurns;
    } else if (thread == other) {
      words.answer.store(1, std::memory_order_release);
      for (int turn = 2; turn <= kTurns + 1; ++turn) {
        if (!comes(words.call, turn)) return;
        words.answer.store(turn, std::memory_order_release);
      }
    }
  });
  return seconds;
}

/// Of the thread that is furthest away in this trial; 0 if one does not answer.
double longest_of_all(ThreadTeam& team) {
  double longest = 0;
  for (int other = 1; other < team.size(); ++other) {
    const double seconds = seconds_to(team, other);
    if (seconds == 0) return 0;
    longest = std::max(longest, seconds);
  }
  return longest;
}

}  // namespace

double round_trip_seconds(ThreadTeam& team) {
  constexpr size_t kTrials = 5;
  constexpr int kMostFailures = 5;
  if (team.size() == 1) return 0;
  // Where a worker is it would be waited for in vain.
  const CallerPlace place(team.size());
  std::vector<double> trials;
  for (int failures = 0; trials.size() < kTrials && failures < kMostFailures;) {
    const double seconds = longest_of_all(team);
    if (seconds > 0)
      trials.push_back(seconds);
    else
      ++failures;
  }
  return trials.empty() ? 0 : support::median(trials);
}

}  // namespace luminal::runtime

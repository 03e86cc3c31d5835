// Whether a way is really quicker than the first one. Times of a few rounds say who looks quicker;
// who is to replace the first has to win a duel: both run in pairs, the order changing from pair to
// pair, loaded anew several times, since where data comes to lie in memory favours one or the other
// for as long as it lies there: caches hold pages of some addresses better than those of others.
#pragma once

#include <functional>
#include <vector>

#include "luminal/search/measure.h"
#include "luminal/support/stats.h"

namespace luminal::search {

/// How long a duel goes on.
struct DuelOptions {
  double seconds = 1.5;      ///< for all loads together, about
  int loads = 7;             ///< how often both are loaded anew
  int least_pairs = 7;       ///< of all loads together
  int most_pairs = 9;        ///< of one load
  double sample_us = 2000;   ///< quick ways run several times for one sample
  double least_gain = 0.02;  ///< what is quicker by less is as good as equal
  int threads = 0;           ///< that a way runs on; 0: as many as a team has by default
  bool give_up = true;       ///< a load ends when the second has lost too many pairs to win
  /// Microseconds since whenever. Null: the machine's clock.
  std::function<double()> clock = nullptr;
  /// Whether other work was in the way so far, so that who won may lose without it. Null: none.
  std::function<bool()> disturbed = nullptr;
};

/// One run of each of two ways, one after the other.
struct Pair {
  double first_us = 0.0;
  double second_us = 0.0;
  double ratio() const { return second_us / first_us; }
};

/// What pairs say.
struct Verdict {
  double ratio = 1.0;                       ///< the median of second over first
  support::Interval interval = {1.0, 1.0};  ///< of the median, with 98 % confidence
  bool quicker = false;                     ///< the second, in all loads but one of seven
  bool disturbed = false;                   ///< so much that nobody knows
};

/// Loads a way anew and gives what runs it. What the function has loaded before may be gone then,
/// but for the other way of the same duel.
using LoadWay = std::function<std::function<void()>(size_t way)>;

/// Pairs of two functions that are loaded.
std::vector<Pair> time_pairs(const std::function<void()>& first,
                             const std::function<void()>& second, const DuelOptions& options = {});

/// Judges the pairs of each load.
Verdict judge(const std::vector<std::vector<Pair>>& loads, double least_gain);

/// Lets ways that look quicker than the first, the quickest first, fight it until one wins. The
/// times of those who did become what the pairs say; who did not win is no quicker by its time.
void settle_by_duels(Measured& measured, const LoadWay& load, const DuelOptions& options = {});

}  // namespace luminal::search

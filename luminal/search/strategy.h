// What to try next. A strategy sees the ways of a space and what is known of some of them, and
// names others; it keeps nothing between calls, so that a search which goes on from a database does
// what one that was never interrupted would have done.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "luminal/search/measurement.h"
#include "luminal/search/space.h"

namespace luminal::search {

/// What is known of one way.
struct Trial {
  std::string schedule;  ///< its text
  Measurement result;    ///< what became of it
};

/// The strategies there are.
enum class StrategyKind : uint8_t {
  kCostModel,   ///< what the space begins with and what is near it, in the order of the cost model
  kLocalMoves,  ///< what it begins with, then one choice after the other from the best ways so far
  kEvolution,   ///< the same, then mixtures of good ways, some with a choice changed
  kRandom,      ///< anything, by chance: what the others have to beat
};

/// See above.
class Strategy {
 public:
  virtual ~Strategy() = default;
  /// At most `count` ways that differ from each other and from the trials (Space::identity), the
  /// most promising first; none if there is nothing left to try. Equal arguments give equal
  /// answers, whatever the order of the trials.
  virtual std::vector<std::string> propose(const Space& space, const std::vector<Trial>& trials,
                                           size_t count, uint64_t seed) const = 0;
};

/// The strategy of a kind.
std::unique_ptr<Strategy> make_strategy(StrategyKind kind);

/// "cost model", "local moves", "evolution" or "random".
std::string_view to_string(StrategyKind kind);

}  // namespace luminal::search

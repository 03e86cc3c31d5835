// The ways in which one kernel may be computed, as a strategy sees them: texts, of which nothing is
// known but which are near to which. What they mean is between the space and whoever builds them.
#pragma once

#include <cstdint>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "luminal/support/hash.h"

namespace luminal::search {

/// Draws numbers that are the same with every library.
class Random {
 public:
  explicit Random(uint64_t seed) : engine_(support::hash_combine(seed, 0x5eed)) {}  ///< repeatable
  /// One of 0 ... count - 1.
  size_t below(size_t count) { return static_cast<size_t>(engine_() % count); }
  /// True one time in `times`.
  bool one_in(size_t times) { return below(times) == 0; }

 private:
  std::mt19937_64 engine_;
};

/// See above. What it gives depends on its arguments alone.
class Space {
 public:
  virtual ~Space() = default;
  /// Ways worth trying whatever else is known: the first is the one that is used without search.
  /// Never empty.
  virtual const std::vector<std::string>& starts() const = 0;
  /// Ways that differ from one in a single choice. Nothing for texts that name none of the space.
  virtual std::vector<std::string> neighbours(const std::string& schedule) const = 0;
  /// A way whose choices are each of the one or of the other; nothing if the two are not of a kind.
  virtual std::optional<std::string> crossed(const std::string& one, const std::string& other,
                                             Random& random) const = 0;
  /// Equal for ways that come to the same: a choice may make no difference beside some others.
  /// Empty for texts that name no way.
  virtual std::string identity(const std::string& schedule) const { return schedule; }
  /// Microseconds that the cost model expects of a way, to be compared with those of others.
  /// Nothing: it has no opinion.
  virtual std::optional<double> cost(const std::string& /*schedule*/) const { return std::nullopt; }
};

}  // namespace luminal::search

#include "luminal/search/strategy.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <set>

namespace luminal::search {
namespace {

/// Ways that were tried, and what a call has named so far.
class Proposal {
 public:
  Proposal(const Space& space, const std::vector<Trial>& trials, size_t count)
      : space_(space), count_(count) {
    for (const Trial& trial : trials) {
      tried_.insert(trial.schedule);
      seen_.insert(space.identity(trial.schedule));
    }
  }
  bool is_full() const { return result_.size() >= count_; }
  bool add(const std::string& schedule) {
    if (is_full() || tried_.contains(schedule)) return false;
    const std::string identity = space_.identity(schedule);
    if (identity.empty() || !seen_.insert(identity).second) return false;
    result_.push_back(schedule);
    return true;
  }
  void add_all(const std::vector<std::string>& schedules) {
    for (const std::string& each : schedules) add(each);
  }
  std::vector<std::string> take() { return std::move(result_); }

 private:
  const Space& space_;
  size_t count_;
  std::set<std::string> tried_;
  std::set<std::string> seen_;  // identities
  std::vector<std::string> result_;
};

/// The best ways that count, the quickest first.
std::vector<std::string> quickest(const std::vector<Trial>& trials, size_t count) {
  std::vector<std::pair<double, std::string>> times;
  for (const Trial& trial : trials)
    if (const auto* timing = std::get_if<Timing>(&trial.result))
      times.emplace_back(timing->median_us, trial.schedule);
  std::sort(times.begin(), times.end());
  if (times.size() > count) times.resize(count);
  std::vector<std::string> result;
  for (auto& [time, schedule] : times) result.push_back(std::move(schedule));
  return result;
}

/// Where to look from: the best ways, and where the default does not count beside the best one what
/// is near it, since the cost model had reasons for it. Where nothing counts, whatever the space
/// begins with.
std::vector<std::string> origins(const Space& space, const std::vector<Trial>& trials,
                                 size_t count) {
  std::vector<std::string> result = quickest(trials, count);
  const auto is_rejected = [&](const std::string& way) {
    return std::ranges::any_of(trials, [&](const Trial& trial) {
      const auto* rejected = std::get_if<Rejected>(&trial.result);
      return trial.schedule == way && rejected != nullptr &&
             rejected->why != Rejected::Why::kInterrupted;
    });
  };
  if (result.empty())
    std::ranges::copy_if(space.starts(), std::back_inserter(result), is_rejected);
  else if (is_rejected(space.starts().front()))
    result.insert(result.begin() + 1, space.starts().front());
  return result;
}

/// What a call draws from: the seed and how much is known, so that later calls draw anew.
Random random_for(uint64_t seed, const std::vector<Trial>& trials) {
  return Random(support::hash_combine(seed, trials.size()));
}

void shuffle(std::vector<std::string>& schedules, Random& random) {
  for (size_t k = schedules.size(); k > 1; --k)
    std::swap(schedules[k - 1], schedules[random.below(k)]);
}

class CostModelOnly : public Strategy {
 public:
  std::vector<std::string> propose(const Space& space, const std::vector<Trial>& trials,
                                   size_t count, uint64_t /*seed*/) const override {
    Proposal proposal(space, trials, count);
    proposal.add(space.starts().front());
    proposal.add_all(ranked(space));
    return proposal.take();
  }

 private:
  /// What the space begins with and what is near, the cheapest first. The model sees no difference
  /// between many ways: those stay in the order of the space, its beginnings first.
  static std::vector<std::string> ranked(const Space& space) {
    std::vector<std::pair<double, std::string>> ways;
    for (const std::string& start : space.starts())
      ways.emplace_back(space.cost(start).value_or(0.0), start);
    // Without an opinion on others there is no reason to try them.
    for (const std::string& start : space.starts())
      for (std::string& way : space.neighbours(start))
        if (const auto cost = space.cost(way)) ways.emplace_back(*cost, std::move(way));
    std::stable_sort(ways.begin(), ways.end(),
                     [](const auto& a, const auto& b) { return a.first < b.first; });
    std::vector<std::string> result;
    for (auto& [cost, way] : ways) result.push_back(std::move(way));
    return result;
  }
};

class LocalMoves : public Strategy {
 public:
  std::vector<std::string> propose(const Space& space, const std::vector<Trial>& trials,
                                   size_t count, uint64_t seed) const override {
    // Beyond the best, so that one choice that pays only with another is still found.
    constexpr size_t kFrom = 3;
    Proposal proposal(space, trials, count);
    proposal.add_all(space.starts());
    Random random = random_for(seed, trials);
    for (const std::string& from : origins(space, trials, kFrom)) {
      if (proposal.is_full()) break;
      std::vector<std::string> moves = space.neighbours(from);
      shuffle(moves, random);
      proposal.add_all(moves);
    }
    return proposal.take();
  }
};

class Evolution : public Strategy {
 public:
  std::vector<std::string> propose(const Space& space, const std::vector<Trial>& trials,
                                   size_t count, uint64_t seed) const override {
    constexpr size_t kPopulation = 8;
    constexpr size_t kDraws = 40;  // of which some name what is known
    Proposal proposal(space, trials, count);
    proposal.add_all(space.starts());
    const std::vector<std::string> population = origins(space, trials, kPopulation);
    if (population.empty()) return proposal.take();
    Random random = random_for(seed, trials);
    // The better of two: good ways have more children.
    const auto parent = [&] {
      return population[std::min(random.below(population.size()), random.below(population.size()))];
    };
    for (size_t draw = 0; draw < kDraws * count && !proposal.is_full(); ++draw) {
      const std::string mother = parent();
      std::string child = space.crossed(mother, parent(), random).value_or(mother);
      if (child == mother || random.one_in(2)) {
        const std::vector<std::string> changed = space.neighbours(child);
        if (!changed.empty()) child = changed[random.below(changed.size())];
      }
      proposal.add(child);
    }
    return proposal.take();
  }
};

class RandomWalks : public Strategy {
 public:
  std::vector<std::string> propose(const Space& space, const std::vector<Trial>& trials,
                                   size_t count, uint64_t seed) const override {
    constexpr size_t kDraws = 40;
    constexpr size_t kSteps = 12;
    Proposal proposal(space, trials, count);
    if (trials.empty()) proposal.add(space.starts().front());
    Random random = random_for(seed, trials);
    for (size_t draw = 0; draw < kDraws * count && !proposal.is_full(); ++draw) {
      std::string way = space.starts()[random.below(space.starts().size())];
      for (size_t steps = random.below(kSteps + 1); steps > 0; --steps) {
        const std::vector<std::string> next = space.neighbours(way);
        if (next.empty()) break;
        way = next[random.below(next.size())];
      }
      proposal.add(way);
    }
    return proposal.take();
  }
};

constexpr std::array<std::string_view, 4> kNames = {"cost model", "local moves", "evolution",
                                                    "random"};

}  // namespace

std::string_view to_string(StrategyKind kind) { return kNames[static_cast<size_t>(kind)]; }

std::unique_ptr<Strategy> make_strategy(StrategyKind kind) {
  switch (kind) {
    case StrategyKind::kCostModel:
      return std::make_unique<CostModelOnly>();
    case StrategyKind::kLocalMoves:
      return std::make_unique<LocalMoves>();
    case StrategyKind::kEvolution:
      return std::make_unique<Evolution>();
    case StrategyKind::kRandom:
      break;
  }
  return std::make_unique<RandomWalks>();
}

}  // namespace luminal::search

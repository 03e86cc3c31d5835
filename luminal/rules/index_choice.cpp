#include "luminal/rules/index_choice.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace luminal::rules {
namespace {

constexpr int64_t kImpossible = std::numeric_limits<int64_t>::max() / 8;
constexpr uint32_t kNoAlternative = std::numeric_limits<uint32_t>::max();
/// Of programs of equal cost the one with fewer nodes is better, and x - 1 better than x + (-1): a
/// node costs a little too, and a negative number a little more.
constexpr int64_t kUnit = 64, kNodeCost = 1, kNegativeCost = 2;
/// Every round changes something for the better; more than a few are rare.
constexpr int kMaxRounds = 32;
/// Classes that cost more than this are worth a search of their own.
constexpr int64_t kExpensive = 4;

class Chooser {
 public:
  explicit Chooser(const IndexChoices& choices)
      : choices_(choices),
        chosen_(choices.classes.size(), kNoAlternative),
        visited_(choices.classes.size(), 0) {
    for (const IndexClass& entry : choices.classes) {
      auto& costs = costs_.emplace_back();
      bool divides = false;
      for (const IndexAlternative& alternative : entry.alternatives) {
        costs.push_back(own_cost(alternative, entry.value));
        divides |= index_cost_of(alternative) > kExpensive;
      }
      if (divides) expensive_.push_back(static_cast<uint32_t>(costs_.size() - 1));
    }
  }

  std::optional<IndexProgram> choose() {
    choose_trees({});
    for (const uint32_t root : choices_.roots)
      if (chosen_[root] == kNoAlternative) return std::nullopt;
    share_expensive_classes();
    for (int round = 0; round < kMaxRounds && improve(); ++round) {
    }
    return build();
  }

 private:
  int64_t index_cost_of(const IndexAlternative& alternative) const {
    std::array<Expr, 3> operands;
    const auto used = alternative.used_operands();
    for (size_t k = 0; k < used.size(); ++k) operands[k] = choices_.classes[used[k]].value;
    return index_cost(alternative.op, std::span(operands.data(), used.size()));
  }

  int64_t own_cost(const IndexAlternative& alternative, const Expr& value) const {
    const bool negative = value.constant_value().value_or(0) < 0;
    return kUnit * index_cost_of(alternative) + (negative ? kNegativeCost : kNodeCost);
  }

  /// The cheapest tree of each class, where using a prepaid class costs nothing. Without prepaid
  /// classes no cycle is ever cheapest; with them total() finds it.
  void choose_trees(const std::vector<bool>& prepaid) {
    std::vector<int64_t> best(choices_.classes.size(), kImpossible);
    std::fill(chosen_.begin(), chosen_.end(), kNoAlternative);
    for (bool changed = true; changed;) {
      changed = false;
      for (uint32_t c = 0; c < best.size(); ++c) {
        const auto& alternatives = choices_.classes[c].alternatives;
        for (uint32_t a = 0; a < alternatives.size(); ++a) {
          int64_t cost = costs_[c][a];
          for (const uint32_t operand : alternatives[a].used_operands())
            cost += prepaid.empty() || !prepaid[operand] ? best[operand] : 0;
          if (cost >= best[c]) continue;
          best[c] = cost;
          chosen_[c] = a;
          changed = true;
        }
      }
    }
  }

  /// Divisions decide the cost, and one that is shared may change the best way of many classes at
  /// once: tries, one by one, which of them to take as given.
  void share_expensive_classes() {
    std::vector<bool> prepaid(choices_.classes.size(), false);
    std::vector<uint32_t> best_choice = chosen_;
    int64_t best = total();
    for (bool improved = true; improved;) {
      improved = false;
      for (const uint32_t c : expensive_) {
        prepaid[c] = !prepaid[c];
        choose_trees(prepaid);
        if (const int64_t cost = total(); cost < best) {
          best = cost;
          best_choice = chosen_;
          improved = true;
        } else {
          prepaid[c] = !prepaid[c];
        }
      }
    }
    chosen_ = std::move(best_choice);
  }

  /// The cost of what is chosen below a class and not counted yet; kImpossible for a cycle.
  int64_t count(uint32_t c) {
    if (visited_[c] == done_) return 0;
    if (visited_[c] == done_ - 1 || chosen_[c] == kNoAlternative) return kImpossible;
    visited_[c] = done_ - 1;
    order_.push_back(c);
    int64_t cost = costs_[c][chosen_[c]];
    for (const uint32_t operand : choices_.classes[c].alternatives[chosen_[c]].used_operands())
      cost = std::min(kImpossible, cost + count(operand));
    visited_[c] = done_;
    return cost;
  }

  int64_t total() {
    done_ += 2;
    order_.clear();
    int64_t cost = 0;
    for (const uint32_t root : choices_.roots) cost = std::min(kImpossible, cost + count(root));
    return cost;
  }

  /// Tries every other way for every class in use and keeps what makes the whole cheaper.
  bool improve() {
    int64_t best = total();
    const std::vector<uint32_t> in_use = order_;
    bool improved = false;
    for (const uint32_t c : in_use) {
      for (uint32_t a = 0; a < choices_.classes[c].alternatives.size(); ++a) {
        const uint32_t before = std::exchange(chosen_[c], a);
        const int64_t cost = total();
        if (cost < best) {
          best = cost;
          improved = true;
        } else {
          chosen_[c] = before;
        }
      }
    }
    return improved;
  }

  IndexProgram build() {
    IndexProgram program;
    std::vector<IndexId> built(choices_.classes.size(), kNoAlternative);
    for (const uint32_t root : choices_.roots) program.add_output(build(program, built, root));
    return program;
  }

  IndexId build(IndexProgram& program, std::vector<IndexId>& built, uint32_t c) {
    if (built[c] != kNoAlternative) return built[c];
    const IndexAlternative& alternative = choices_.classes[c].alternatives[chosen_[c]];
    std::array<IndexId, 3> operands{};
    for (size_t k = 0; k < alternative.used_operands().size(); ++k)
      operands[k] = build(program, built, alternative.operands[k]);
    return built[c] = program.add(alternative.op, operands, choices_.classes[c].value);
  }

  const IndexChoices& choices_;
  std::vector<uint32_t> chosen_;  // per class
  std::vector<std::vector<int64_t>> costs_;
  std::vector<uint32_t> expensive_;  // classes that a division can compute
  std::vector<uint64_t> visited_;    // done_: counted, done_ - 1: on the path
  std::vector<uint32_t> order_;
  uint64_t done_ = 0;
};

}  // namespace

std::optional<IndexProgram> choose_program(const IndexChoices& choices) {
  return Chooser(choices).choose();
}

}  // namespace luminal::rules

// Spaces and workbenches of the tests: ways are points of a grid, and how long one takes is a
// formula. Nothing is built and no clock is read.
#pragma once

#include <fmt/format.h>

#include <cmath>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "luminal/search/tuner.h"

namespace luminal::search {

/// Ways "x,y" with both from 0 to size - 1; the default is "0,0". Neighbours are one step away.
class GridSpace : public Space {
 public:
  explicit GridSpace(int size, std::vector<std::string> starts = {"0,0"})
      : size_(size), starts_(std::move(starts)) {}

  static std::pair<int, int> point(const std::string& schedule) {
    return {std::stoi(schedule), std::stoi(schedule.substr(schedule.find(',') + 1))};
  }
  static std::string text(int x, int y) { return fmt::format("{},{}", x, y); }

  const std::vector<std::string>& starts() const override { return starts_; }
  std::vector<std::string> neighbours(const std::string& schedule) const override {
    const auto [x, y] = point(schedule);
    std::vector<std::string> result;
    for (const auto& [dx, dy] : {std::pair{-1, 0}, {1, 0}, {0, -1}, {0, 1}})
      if (x + dx >= 0 && x + dx < size_ && y + dy >= 0 && y + dy < size_)
        result.push_back(text(x + dx, y + dy));
    return result;
  }
  std::optional<std::string> crossed(const std::string& one, const std::string& other,
                                     Random& random) const override {
    const auto [x, y] = point(one);
    const auto [u, v] = point(other);
    return text(random.one_in(2) ? x : u, random.one_in(2) ? y : v);
  }

 private:
  int size_;
  std::vector<std::string> starts_;
};

/// Gives what a function says, and counts what was asked for.
class FormulaBench : public Workbench {
 public:
  using Formula = std::function<Measurement(const std::string&)>;
  explicit FormulaBench(Formula formula) : formula_(std::move(formula)) {}
  /// A bowl whose bottom, 10 us, is at (x, y).
  static FormulaBench bowl(int x, int y) {
    return FormulaBench([=](const std::string& schedule) -> Measurement {
      const auto [a, b] = GridSpace::point(schedule);
      return Timing{10.0 + std::pow(a - x, 2) + std::pow(b - y, 2), 0.01, 20};
    });
  }

  Tried try_out(const std::vector<std::string>& schedules) override {
    Tried tried;
    for (const std::string& each : schedules) {
      ++times_tried[each];
      Measurement result = formula_(each);
      if (auto* timing = std::get_if<Timing>(&result)) timing->median_us *= slowness;
      tried.results.push_back(std::move(result));
    }
    tried.unreliable = batches < disturbed;
    ++batches;
    return tried;
  }

  std::map<std::string, int> times_tried;
  int batches = 0;
  int disturbed = 0;      ///< so many batches say that they are unreliable
  double slowness = 1.0;  ///< of the machine

 private:
  Formula formula_;
};

}  // namespace luminal::search

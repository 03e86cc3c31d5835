#include "luminal/search/calibration.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace luminal::search {
namespace {

using kernel::Machine;

constexpr std::array<std::pair<std::string_view, double Machine::*>, 7> kConstants = {{
    {"launch_us", &Machine::launch_us},
    {"pass_us", &Machine::pass_us},
    {"memory_bytes", &Machine::memory_bytes},
    {"cache_bytes", &Machine::cache_bytes},
    {"vector_flops", &Machine::vector_flops},
    {"matrix_flops", &Machine::matrix_flops},
    {"transcendental_flops", &Machine::transcendental_flops},
}};

double estimated(const TimedWork& timed, const Machine& machine) {
  return kernel::microseconds(timed.work, machine);
}

/// The mean of squared logarithms of estimate over time.
double error_of(std::span<const TimedWork> kernels, const Machine& machine) {
  double sum = 0;
  for (const TimedWork& timed : kernels) {
    const double ratio = std::log(estimated(timed, machine) / timed.measured_us);
    sum += ratio * ratio;
  }
  return kernels.empty() ? 0 : sum / static_cast<double>(kernels.size());
}

/// The place of each value in the order of all; equal values share the middle of theirs.
std::vector<double> ranks(const std::vector<double>& values) {
  std::vector<size_t> order(values.size());
  for (size_t k = 0; k < order.size(); ++k) order[k] = k;
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) { return values[a] < values[b]; });
  std::vector<double> result(values.size());
  for (size_t begin = 0; begin < order.size();) {
    size_t end = begin;
    while (end < order.size() && values[order[end]] == values[order[begin]]) ++end;
    for (size_t k = begin; k < end; ++k)
      result[order[k]] = (static_cast<double>(begin) + static_cast<double>(end) - 1) / 2;
    begin = end;
  }
  return result;
}

}  // namespace

std::span<const std::pair<std::string_view, double Machine::*>> machine_constants() {
  return kConstants;
}

double rank_correlation(const std::vector<double>& a, const std::vector<double>& b) {
  if (a.size() < 2) return 1;
  const std::vector<double> x = ranks(a);
  const std::vector<double> y = ranks(b);
  const double mean = (static_cast<double>(a.size()) - 1) / 2;
  double products = 0;
  double squares_x = 0;
  double squares_y = 0;
  for (size_t k = 0; k < x.size(); ++k) {
    products += (x[k] - mean) * (y[k] - mean);
    squares_x += (x[k] - mean) * (x[k] - mean);
    squares_y += (y[k] - mean) * (y[k] - mean);
  }
  return squares_x == 0 || squares_y == 0 ? 0 : products / std::sqrt(squares_x * squares_y);
}

double pairs_in_order(const std::vector<double>& guesses, const std::vector<double>& times) {
  constexpr double kDiffer = 1.1;
  double right = 0;
  double all = 0;
  for (size_t i = 0; i < times.size(); ++i)
    for (size_t j = 0; j < times.size(); ++j) {
      if (!(times[i] > kDiffer * times[j])) continue;
      ++all;
      right += guesses[i] > guesses[j] ? 1 : guesses[i] == guesses[j] ? 0.5 : 0;
    }
  return all == 0 ? 1 : right / all;
}

ModelQuality quality_of(std::span<const TimedWork> kernels, const Machine& machine) {
  std::vector<double> guesses;
  std::vector<double> times;
  for (const TimedWork& timed : kernels) {
    guesses.push_back(estimated(timed, machine));
    times.push_back(timed.measured_us);
  }
  return {rank_correlation(guesses, times), std::exp(std::sqrt(error_of(kernels, machine))),
          pairs_in_order(guesses, times), kernels.size()};
}

Machine fitted(std::span<const TimedWork> kernels, Machine machine, int rounds) {
  double best = error_of(kernels, machine);
  for (const double factor : {2.0, 1.4, 1.15}) {
    bool improved = true;
    for (int round = 0; improved && round < rounds; ++round) {
      improved = false;
      for (const auto& [name, constant] : kConstants)
        for (const double step : {factor, 1 / factor}) {
          Machine other = machine;
          other.*constant *= step;
          const double error = error_of(kernels, other);
          if (error >= best * 0.999) continue;
          best = error;
          machine = other;
          improved = true;
        }
    }
  }
  return machine;
}

}  // namespace luminal::search

#include "luminal/search/measurement.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace luminal::search {
namespace {

constexpr std::array<std::string_view, 7> kWhys = {
    "compile", "resources", "wrong result", "crash", "out of bounds", "timeout", "interrupted"};

/// How far the median may be from the truth, about.
double doubt_us(const Timing& timing) {
  return timing.spread_us / std::sqrt(std::max(timing.samples, 1));
}

}  // namespace

double noise_us(const Timing& standard, const Timing& other) {
  constexpr double kLeastGain = 0.02;
  return std::max(kLeastGain * standard.median_us, doubt_us(standard) + doubt_us(other));
}

bool is_fault(Rejected::Why why) {
  using Why = Rejected::Why;
  return why != Why::kResources && why != Why::kTimeout && why != Why::kInterrupted;
}

std::string_view to_string(Rejected::Why why) { return kWhys[static_cast<size_t>(why)]; }

std::optional<Rejected::Why> parse_why(std::string_view text) {
  for (size_t k = 0; k < kWhys.size(); ++k)
    if (kWhys[k] == text) return static_cast<Rejected::Why>(k);
  return std::nullopt;
}

std::string to_string(const Measurement& measurement) {
  if (const auto* rejected = std::get_if<Rejected>(&measurement))
    return fmt::format("rejected ({}): {}", to_string(rejected->why), rejected->detail);
  const auto& timing = std::get<Timing>(measurement);
  return fmt::format("{:.2f} us +- {:.2f} ({} samples{})", timing.median_us, timing.spread_us,
                     timing.samples, timing.disturbed ? ", disturbed" : "");
}

}  // namespace luminal::search

#include "benchmarks/bench_options.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "luminal/support/error.h"
#include "luminal/support/text.h"

namespace luminal::benchmarks {

double seconds_of(const std::string& name, const std::string& text, double least) {
  const auto seconds = support::parse_double(text);
  if (!seconds || !std::isfinite(*seconds) || *seconds < least)
    throw UserError("bench", "{} takes a number of seconds of at least {}, got '{}'", name, least,
                    text);
  return *seconds;
}

bool is_on(const std::string& name, const std::string& text) {
  if (text != "on" && text != "off")
    throw UserError("bench", "{} is on or off, got '{}'", name, text);
  return text == "on";
}

void check_device(const std::string& device) {
  if (device != "cpu")
    throw UserError("bench", "there is no device '{}'; --device cpu is what can be measured",
                    device);
}

std::vector<std::string> filtered(const std::vector<std::string>& names, const std::string& text) {
  std::vector<std::string> result;
  std::copy_if(names.begin(), names.end(), std::back_inserter(result),
               [&](const std::string& name) { return name.find(text) != std::string::npos; });
  if (!result.empty()) return result;
  std::string all;
  for (const std::string& name : names) all += "\n  " + name;
  throw UserError("bench", "no case has '{}' in its name; there are{}", text, all);
}

}  // namespace luminal::benchmarks

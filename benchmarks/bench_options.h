// What the programs of the suites have in common: options that are read the same way and refused
// before anything is measured.
#pragma once

#include <string>
#include <vector>

namespace luminal::benchmarks {

/// A number of seconds that option `name` was given; `least` is allowed. UserError for anything
/// else.
double seconds_of(const std::string& name, const std::string& text, double least = 0);

/// Whether option `name` is on; UserError for all but "on" and "off".
bool is_on(const std::string& name, const std::string& text);

/// UserError for devices that cannot be measured.
void check_device(const std::string& device);

/// The names that have this text, in order. UserError with all there are if none has it.
std::vector<std::string> filtered(const std::vector<std::string>& names, const std::string& text);

}  // namespace luminal::benchmarks

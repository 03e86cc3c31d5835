// How two texts differ, line by line.
#pragma once

#include <string>

namespace luminal::golden {

/// Lines of `before` that went, marked "- ", and of `after` that came, "+ ", with two lines around
/// each; "" if the texts are equal.
std::string line_diff(const std::string& before, const std::string& after);

}  // namespace luminal::golden

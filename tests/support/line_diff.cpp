#include "line_diff.h"

#include <algorithm>
#include <sstream>
#include <vector>

namespace luminal::golden {
namespace {

using Lines = std::vector<std::string>;

Lines lines_of(const std::string& text) {
  Lines lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

/// length[i][j]: how many lines the texts from i and from j on have in common, in order.
std::vector<std::vector<int>> common_lengths(const Lines& a, const Lines& b) {
  std::vector<std::vector<int>> length(a.size() + 1, std::vector<int>(b.size() + 1, 0));
  for (size_t i = a.size(); i-- > 0;)
    for (size_t j = b.size(); j-- > 0;)
      length[i][j] =
          a[i] == b[j] ? length[i + 1][j + 1] + 1 : std::max(length[i + 1][j], length[i][j + 1]);
  return length;
}

/// Every line with its mark.
Lines marked(const Lines& a, const Lines& b) {
  const auto length = common_lengths(a, b);
  Lines result;
  size_t i = 0, j = 0;
  while (i < a.size() || j < b.size()) {
    if (i < a.size() && j < b.size() && a[i] == b[j]) {
      result.push_back("  " + a[i++]);
      ++j;
    } else if (i < a.size() && (j == b.size() || length[i + 1][j] >= length[i][j + 1])) {
      result.push_back("- " + a[i++]);
    } else {
      result.push_back("+ " + b[j++]);
    }
  }
  return result;
}

}  // namespace

std::string line_diff(const std::string& before, const std::string& after) {
  constexpr size_t kAround = 2;
  const Lines lines = marked(lines_of(before), lines_of(after));
  std::vector<bool> shown(lines.size(), false);
  for (size_t k = 0; k < lines.size(); ++k) {
    if (lines[k][0] == ' ') continue;
    const size_t begin = k < kAround ? 0 : k - kAround;
    std::fill(shown.begin() + static_cast<ptrdiff_t>(begin),
              shown.begin() + static_cast<ptrdiff_t>(std::min(lines.size(), k + kAround + 1)),
              true);
  }
  std::string text;
  bool gap = false;
  for (size_t k = 0; k < lines.size(); ++k) {
    if (shown[k]) text += (gap ? "  ...\n" : "") + lines[k] + "\n";
    gap = !shown[k];
  }
  return text;
}

}  // namespace luminal::golden

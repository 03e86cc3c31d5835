#include "luminal/support/text.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>

namespace luminal::support {
namespace {

constexpr std::string_view kWhiteSpace = " \t\n\r\f\v";

char to_lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

bool is_continuation(char c) { return (static_cast<unsigned char>(c) & 0xc0) == 0x80; }

// The first `count` characters of a UTF-8 text.
std::string_view utf8_prefix(std::string_view text, std::size_t count) {
  std::size_t bytes = 0;
  while (bytes < text.size() && (count > 0 || is_continuation(text[bytes]))) {
    if (!is_continuation(text[bytes])) --count;
    ++bytes;
  }
  return text.substr(0, bytes);
}

// from_chars reads "-5" but not "+5".
std::string_view without_plus(std::string_view text) {
  if (text.size() > 1 && text[0] == '+' && text[1] != '-') text.remove_prefix(1);
  return text;
}

// Whether a well-formed decimal number is nearer to zero than one is; told from its digits alone,
// so that no magnitude is too much.
bool is_below_one(std::string_view number) {
  const std::size_t e = std::min(number.find_first_of("eE"), number.size());
  const std::string_view mantissa = number.substr(0, e);
  const auto point = static_cast<std::int64_t>(std::min(mantissa.find('.'), e));
  const auto first = static_cast<std::int64_t>(mantissa.find_first_of("123456789"));
  if (e == number.size()) return first > point;
  const std::string_view exponent = number.substr(e + 1);
  if (const auto value = parse_int64(exponent); value && std::abs(*value) < (std::int64_t{1} << 62))
    return point - first + *value < 1;
  return exponent.starts_with('-');
}

}  // namespace

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  for (;;) {
    const std::size_t end = text.find(separator);
    parts.push_back(text.substr(0, end));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

std::vector<std::string_view> split_words(std::string_view text) {
  std::vector<std::string_view> words;
  for (;;) {
    const std::size_t begin = text.find_first_not_of(kWhiteSpace);
    if (begin == std::string_view::npos) return words;
    text.remove_prefix(begin);
    const std::size_t end = std::min(text.find_first_of(kWhiteSpace), text.size());
    words.push_back(text.substr(0, end));
    text.remove_prefix(end);
  }
}

std::vector<std::string_view> split_lines(std::string_view text) {
  std::vector<std::string_view> lines;
  if (text.empty()) return lines;
  lines = split(text, '\n');
  if (lines.back().empty()) lines.pop_back();
  for (std::string_view& line : lines)
    if (line.ends_with('\r')) line.remove_suffix(1);
  return lines;
}

std::string_view trim(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(kWhiteSpace);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(kWhiteSpace) - begin + 1);
}

std::optional<std::int64_t> parse_int64(std::string_view text) {
  text = without_plus(text);
  std::int64_t value = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || stop != end) return std::nullopt;
  return value;
}

std::optional<double> parse_double(std::string_view text) {
  text = without_plus(text);
  double value = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (stop != end || text.empty()) return std::nullopt;
  if (error == std::errc()) return value;
  if (error != std::errc::result_out_of_range) return std::nullopt;
  // Too small for a double is zero, too large is refused; the library reports both alike.
  if (!is_below_one(text)) return std::nullopt;
  return text.starts_with('-') ? -0.0 : 0.0;
}

std::size_t edit_distance(std::string_view left, std::string_view right) {
  const std::size_t columns = right.size() + 1;
  // Three rows of the table suffice: a swap looks two rows back.
  std::vector<std::size_t> before(columns), above(columns), row(columns);
  for (std::size_t j = 0; j < columns; ++j) row[j] = j;
  for (std::size_t i = 1; i <= left.size(); ++i) {
    std::swap(before, above);
    std::swap(above, row);
    row[0] = i;
    for (std::size_t j = 1; j < columns; ++j) {
      const char l = to_lower(left[i - 1]), r = to_lower(right[j - 1]);
      row[j] = std::min({above[j] + 1, row[j - 1] + 1, above[j - 1] + (l == r ? 0 : 1)});
      if (i > 1 && j > 1 && l == to_lower(right[j - 2]) && to_lower(left[i - 2]) == r)
        row[j] = std::min(row[j], before[j - 2] + 1);
    }
  }
  return row.back();
}

std::optional<std::string> closest_match(std::string_view name,
                                         std::span<const std::string> candidates) {
  const std::string* best = nullptr;
  // A third of the letters may be wrong; for one or two letters, only their case.
  std::size_t best_distance = name.size() / 3 + 1;
  for (const std::string& candidate : candidates) {
    const std::size_t distance = edit_distance(name, candidate);
    if (distance >= best_distance) continue;
    best = &candidate;
    best_distance = distance;
  }
  if (best == nullptr) return std::nullopt;
  return *best;
}

std::string did_you_mean(std::string_view name, std::span<const std::string> candidates) {
  const auto match = closest_match(name, candidates);
  return match ? fmt::format("; did you mean \"{}\"?", *match) : std::string();
}

std::string did_you_mean(std::string_view name,
                         std::initializer_list<std::string_view> candidates) {
  return did_you_mean(name, std::vector<std::string>(candidates.begin(), candidates.end()));
}

std::string escape_html(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (char c : text) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      case '\'':
        out += "&#39;";
        break;
      default:
        out += c;
    }
  }
  return out;
}

std::string escape_dot(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (char c : text) {
    if (c == '\r') continue;
    if (c == '"' || c == '\\') out += '\\';
    if (c == '\n')
      out += "\\n";
    else
      out += c;
  }
  return out;
}

std::string escape_json(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (char c : text) {
    switch (c) {
      case '"':
        out += "\\\"";
        break;
      case '\\':
        out += "\\\\";
        break;
      case '\n':
        out += "\\n";
        break;
      case '\r':
        out += "\\r";
        break;
      case '\t':
        out += "\\t";
        break;
      default:
        if (static_cast<unsigned char>(c) < 0x20)
          out += fmt::format("\\u{:04x}", static_cast<unsigned>(c));
        else
          out += c;
    }
  }
  return out;
}

std::string ellipsize(std::string_view text, std::size_t columns) {
  if (utf8_length(text) <= columns) return std::string(text);
  constexpr std::string_view kDots = "...";
  if (columns <= kDots.size()) return std::string(kDots.substr(0, columns));
  return std::string(utf8_prefix(text, columns - kDots.size())) + std::string(kDots);
}

std::size_t utf8_length(std::string_view text) {
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return !is_continuation(c); }));
}

}  // namespace luminal::support

// Small helpers for text: splitting and joining, strict number parsing, "did you mean" suggestions
// and escaping for the formats we write. All of them work on bytes and leave UTF-8 intact.
#pragma once

#include <fmt/core.h>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <iterator>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace luminal::support {

/// The parts between separators, empty ones included: "a,,b" has three, "" has one.
std::vector<std::string_view> split(std::string_view text, char separator);
/// The runs of characters between white space; none of them is empty.
std::vector<std::string_view> split_words(std::string_view text);
/// The lines of a text without their ends ("\n" or "\r\n"); a final line end starts no new line.
std::vector<std::string_view> split_lines(std::string_view text);

/// The text without white space at both ends (ASCII: space, \t \n \r \f \v).
std::string_view trim(std::string_view text);

/// The elements of a range, each formatted by fmt, with a separator between them.
template <typename Range>
std::string join(const Range& range, std::string_view separator) {
  std::string out;
  bool first = true;
  for (const auto& element : range) {
    if (!first) out += separator;
    first = false;
    fmt::format_to(std::back_inserter(out), "{}", element);
  }
  return out;
}

/// As above, with a function that turns each element into something fmt can format.
template <typename Range, typename Function>
requires(!std::convertible_to<Function, std::string_view>) std::string
    join(const Range& range, std::string_view separator, Function function) {
  std::string out;
  bool first = true;
  for (const auto& element : range) {
    if (!first) out += separator;
    first = false;
    fmt::format_to(std::back_inserter(out), "{}", function(element));
  }
  return out;
}

/// Reads a whole decimal number with an optional sign. Nothing if the text is empty, holds anything
/// else (white space too) or the number does not fit in 64 bits.
std::optional<std::int64_t> parse_int64(std::string_view text);
/// Reads a whole floating-point number, "inf" and "nan" included. Nothing if the text is anything
/// else or the number overflows.
std::optional<double> parse_double(std::string_view text);

/// How many insertions, deletions, substitutions and swaps of neighbours turn one text into the
/// other (optimal string alignment). ASCII case does not count.
std::size_t edit_distance(std::string_view left, std::string_view right);

/// The candidate nearest to a misspelt name, if one is near enough to be meant; the first on ties.
std::optional<std::string> closest_match(std::string_view name,
                                         std::span<const std::string> candidates);
/// `; did you mean "softmax"?`, or nothing: made to be put at the end of an error message.
std::string did_you_mean(std::string_view name, std::span<const std::string> candidates);
/// The same for candidates written in place.
std::string did_you_mean(std::string_view name, std::initializer_list<std::string_view> candidates);

/// Text for HTML elements and quoted attributes.
std::string escape_html(std::string_view text);
/// Text for a double-quoted string of Graphviz; a line end becomes \n.
std::string escape_dot(std::string_view text);
/// Text for a JSON string, without the quotes around it.
std::string escape_json(std::string_view text);

/// Shortens a text to at most `columns` characters, with "..." in place of what is lost. Never cuts
/// inside a UTF-8 character.
std::string ellipsize(std::string_view text, std::size_t columns);
/// How many characters (UTF-8 code points) a text has.
std::size_t utf8_length(std::string_view text);

}  // namespace luminal::support

// How explanations are put for a terminal: lines of 120 columns, paragraphs that hang below their
// lead, and numbers with the unit in which they are short.
#pragma once

#include <fmt/format.h>

#include <string>
#include <utility>

namespace luminal::compiler {

/// "17.2 MB".
std::string size_text(double bytes);
/// "3.1 G" of operations.
std::string count_text(double count);
/// "12.5 us", "3 ms".
std::string time_text(double microseconds);
/// "45 %"; nothing of nothing.
std::string percent(double part, double whole);
/// "1 kernel", "2 kernels".
std::string plural(size_t count, const std::string& what);
/// The text, with ".." for what is beyond so many bytes.
std::string cut_to(std::string text, size_t width);

/// Lines one after the other, without blanks at their ends.
class TextLines {
 public:
  /// Adds a line.
  template <typename... Args>
  void line(fmt::format_string<Args...> format, Args&&... args) {
    add(fmt::format(format, std::forward<Args>(args)...));
  }

  /// Adds a paragraph: further lines are indented like its first word after `lead`.
  void wrapped(const std::string& lead, const std::string& text);
  /// Adds lines that are made already.
  void append(const std::string& lines) { text_ += lines; }
  /// All of them.
  std::string take() { return std::move(text_); }

 private:
  void add(std::string line);

  std::string text_;
};

}  // namespace luminal::compiler

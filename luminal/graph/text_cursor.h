// The reader under the text form: walks over the characters of a text, takes words, numbers,
// quoted strings and expressions, and turns whatever does not fit into an error with line and
// column.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace luminal::graph {

/// The text in double quotes, with \" \\ \n \r \t and \xNN for what cannot stand in a line.
std::string quoted(std::string_view text);

/// A letter or underscore, then letters, digits and underscores (ASCII).
bool is_identifier(std::string_view text);

/// A position in a text. Spaces, tabs and comments are skipped before everything that is taken;
/// the end of a line is not.
class TextCursor {
 public:
  explicit TextCursor(std::string_view text) : text_(text) {}

  /// The next character that is not blank, or '\0' at the end of the text.
  char peek();
  bool at_line_end();
  bool at_end();
  /// Moves past ends of lines, blanks and comments.
  void skip_lines();

  /// True if this text comes next.
  bool next_is(std::string_view token);
  /// Takes this text if it comes next.
  bool take(std::string_view token);
  /// Takes this text or fails.
  void expect(std::string_view token);
  /// Fails unless nothing but blanks is left in this line; moves to the next one.
  void expect_line_end();

  /// Takes this word if it comes next and is not the beginning of a longer one.
  bool take_word(std::string_view word);
  /// An identifier, or fails saying that `what` was expected.
  std::string word(std::string_view what);
  /// Letters, digits and underscores in any order: what follows a % sign.
  std::string label();
  std::string quoted_string(std::string_view what);
  int64_t integer(std::string_view what);
  double real(std::string_view what);
  /// A run of letters, digits, '+', '-' and '.': one value of some dtype.
  std::string_view value(std::string_view what);
  /// The text of one symbolic expression. It ends where an operand is followed by a word, a comma,
  /// a closing bracket or the end of the line.
  std::string_view expression(std::string_view what);

  size_t position() const { return position_; }
  /// After blanks: where the next thing starts.
  size_t next_position();
  /// Throws UserError "line L, column C: expected ..., found ...".
  [[noreturn]] void fail_expected(std::string_view what);
  /// Throws UserError "line L, column C: ..." for the given position.
  [[noreturn]] void fail_at(size_t position, std::string_view message) const;

 private:
  void skip_blanks();
  std::string found() const;

  std::string_view text_;
  size_t position_ = 0;
};

}  // namespace luminal::graph

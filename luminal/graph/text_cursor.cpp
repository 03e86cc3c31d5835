#include "luminal/graph/text_cursor.h"

#include <algorithm>
#include <charconv>

#include "luminal/support/error.h"

namespace luminal::graph {
namespace {

// Character classes of our own: those of <cctype> depend on the locale.
bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool is_word_char(char c) { return is_letter(c) || is_digit(c); }

/// Deep nesting is refused, so that a parser that recurses cannot run out of stack.
constexpr int kMaxNesting = 100;

int hex_digit(char c) {
  if (is_digit(c)) return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

}  // namespace

std::string quoted(std::string_view text) {
  std::string result = "\"";
  for (char c : text) {
    const auto code = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\')
      result += {'\\', c};
    else if (c == '\n')
      result += "\\n";
    else if (c == '\r')
      result += "\\r";
    else if (c == '\t')
      result += "\\t";
    else if (code < 0x20 || code == 0x7f)
      result += fmt::format("\\x{:02x}", code);
    else
      result += c;
  }
  return result + "\"";
}

bool is_identifier(std::string_view text) {
  return !text.empty() && is_letter(text[0]) && std::all_of(text.begin(), text.end(), is_word_char);
}

void TextCursor::skip_blanks() {
  while (position_ < text_.size()) {
    const char c = text_[position_];
    if (c == ' ' || c == '\t' || c == '\r') {
      ++position_;
    } else if (c == '#') {
      position_ = std::min(text_.find('\n', position_), text_.size());
    } else {
      return;
    }
  }
}

void TextCursor::skip_lines() {
  while (!at_end() && peek() == '\n') ++position_;
}

char TextCursor::peek() {
  skip_blanks();
  return position_ < text_.size() ? text_[position_] : '\0';
}

bool TextCursor::at_end() {
  skip_blanks();
  return position_ >= text_.size();
}

bool TextCursor::at_line_end() { return at_end() || text_[position_] == '\n'; }

size_t TextCursor::next_position() {
  skip_blanks();
  return position_;
}

bool TextCursor::next_is(std::string_view token) {
  skip_blanks();
  return text_.substr(position_, token.size()) == token;
}

bool TextCursor::take(std::string_view token) {
  if (!next_is(token)) return false;
  position_ += token.size();
  return true;
}

void TextCursor::expect(std::string_view token) {
  if (!take(token)) fail_expected(fmt::format("'{}'", token));
}

void TextCursor::expect_line_end() {
  if (!at_line_end()) fail_expected("the end of the line");
  if (!at_end()) ++position_;
}

bool TextCursor::take_word(std::string_view word) {
  if (!next_is(word)) return false;
  const size_t end = position_ + word.size();
  if (end < text_.size() && is_word_char(text_[end])) return false;
  position_ = end;
  return true;
}

std::string TextCursor::word(std::string_view what) {
  if (!is_letter(peek())) fail_expected(what);
  return label();
}

std::string TextCursor::label() {
  if (!is_word_char(peek())) fail_expected("a label of letters and digits");
  const size_t begin = position_;
  while (position_ < text_.size() && is_word_char(text_[position_])) ++position_;
  return std::string(text_.substr(begin, position_ - begin));
}

std::string TextCursor::quoted_string(std::string_view what) {
  const size_t begin = next_position();
  if (peek() != '"') fail_expected(fmt::format("{} in double quotes", what));
  ++position_;
  std::string result;
  for (;;) {
    if (position_ >= text_.size() || text_[position_] == '\n')
      fail_at(begin, "the string that begins here has no closing quote in its line");
    const char c = text_[position_++];
    if (c == '"') return result;
    if (c != '\\') {
      result += c;
      continue;
    }
    const char escape = position_ < text_.size() ? text_[position_++] : '\0';
    if (escape == '"' || escape == '\\') {
      result += escape;
    } else if (escape == 'n') {
      result += '\n';
    } else if (escape == 'r') {
      result += '\r';
    } else if (escape == 't') {
      result += '\t';
    } else if (escape == 'x' && position_ + 1 < text_.size() && hex_digit(text_[position_]) >= 0 &&
               hex_digit(text_[position_ + 1]) >= 0) {
      result +=
          static_cast<char>(hex_digit(text_[position_]) * 16 + hex_digit(text_[position_ + 1]));
      position_ += 2;
    } else {
      fail_at(position_ - 1, "expected one of \\\" \\\\ \\n \\r \\t \\xNN in a string");
    }
  }
}

int64_t TextCursor::integer(std::string_view what) {
  skip_blanks();
  int64_t result = 0;
  const char* begin = text_.data() + position_;
  const auto [end, error] = std::from_chars(begin, text_.data() + text_.size(), result);
  if (error != std::errc{}) fail_expected(what);
  position_ += static_cast<size_t>(end - begin);
  return result;
}

double TextCursor::real(std::string_view what) {
  const size_t begin = next_position();
  const std::string_view token = value(what);
  double result = 0.0;
  const auto [end, error] = std::from_chars(token.data(), token.data() + token.size(), result);
  if (error == std::errc{} && end == token.data() + token.size()) return result;
  position_ = begin;
  fail_expected(what);
}

std::string_view TextCursor::value(std::string_view what) {
  skip_blanks();
  const size_t begin = position_;
  auto belongs = [](char c) { return is_word_char(c) || c == '+' || c == '-' || c == '.'; };
  while (position_ < text_.size() && belongs(text_[position_])) ++position_;
  if (position_ == begin) fail_expected(what);
  return text_.substr(begin, position_ - begin);
}

std::string_view TextCursor::expression(std::string_view what) {
  skip_blanks();
  const size_t begin = position_;
  size_t end = begin;
  int nesting = 0;
  int prefixes = 0;  // unary operators in a row; they nest as brackets do
  bool operand_expected = true;
  while (!at_line_end()) {
    const char c = text_[position_];
    if (is_word_char(c)) {
      if (!operand_expected) break;
      while (position_ < text_.size() && is_word_char(text_[position_])) ++position_;
      operand_expected = false;
      prefixes = 0;
    } else if (c == '(') {
      ++nesting;
      ++position_;
      operand_expected = true;
    } else if (c == ')' || c == ',') {
      if (nesting == 0) break;
      if (c == ')') --nesting;
      ++position_;
      operand_expected = c == ',';
    } else if (std::string_view("+-*/%<>=!&|").find(c) != std::string_view::npos) {
      // The arrow of a view, not a minus and a comparison.
      if (nesting == 0 && text_.substr(position_, 2) == "->") break;
      if (operand_expected) ++prefixes;
      ++position_;
      operand_expected = true;
    } else {
      break;
    }
    end = position_;
    if (nesting + prefixes > kMaxNesting) fail_at(begin, "the expression is nested too deeply");
  }
  position_ = end;
  if (begin == end) fail_expected(what);
  return text_.substr(begin, end - begin);
}

std::string TextCursor::found() const {
  if (position_ >= text_.size()) return "the end of the text";
  if (text_[position_] == '\n') return "the end of the line";
  size_t end = position_ + 1;
  if (is_word_char(text_[position_]))
    while (end < text_.size() && end - position_ < 24 && is_word_char(text_[end])) ++end;
  return quoted(text_.substr(position_, end - position_));
}

void TextCursor::fail_expected(std::string_view what) {
  skip_blanks();
  fail_at(position_, fmt::format("expected {}, found {}", what, found()));
}

void TextCursor::fail_at(size_t position, std::string_view message) const {
  const std::string_view before = text_.substr(0, position);
  const auto line = std::count(before.begin(), before.end(), '\n') + 1;
  const size_t line_begin = before.rfind('\n') + 1;  // npos + 1 is 0
  throw UserError("parse_text", "line {}, column {}: {}", line, position - line_begin + 1, message);
}

}  // namespace luminal::graph

// S-expressions: the lexical level of the language. Reading is iterative and bounds the nesting, so
// that no later stage, which may recurse over the tree, can run out of stack.
#pragma once

#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "luminal/egraph/span.h"

namespace luminal::egraph {

/// A literal of the text; monostate is the Unit literal `()`.
using Literal = std::variant<std::monostate, bool, int64_t, double, std::string>;

/// Nesting deeper than this is refused with a parse error.
inline constexpr uint32_t kMaxNesting = 4000;

/// One node: a literal, a word, or a list.
struct Sexp {
  enum class Kind { kLiteral, kWord, kList };
  Kind kind = Kind::kList;
  Span span;
  Literal literal;
  std::string word;
  std::vector<Sexp> items;

  bool is_list() const { return kind == Kind::kList; }
  bool is_word() const { return kind == Kind::kWord; }
  bool is_word(std::string_view text) const { return is_word() && word == text; }
  /// A word that opens an option group, such as `:ruleset`.
  bool is_option() const { return is_word() && !word.empty() && word[0] == ':'; }
};

/// Reads every S-expression of a file. Throws ProgramError (parse).
std::vector<Sexp> read_sexps(const SourceFile& file);

/// How a literal is written: strings quoted, floats with a decimal point.
std::string literal_text(const Literal& literal);
/// A float in plain decimal notation, always with a decimal point (`NaN`, `inf`, `-inf` aside).
std::string float_text(double value);
/// A float the way `to-string` gives it: scientific notation outside [1e-5, 1e16).
std::string float_debug_text(double value);
/// A string between quotes, with `\n \t \\ \"` escaped.
std::string quoted(std::string_view text);

}  // namespace luminal::egraph

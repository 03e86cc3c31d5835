// What goes wrong with a program: its text, its types, or its run. The kinds differ because `(fail
// …)` accepts only errors of a run; a program that does not parse or type-check is wrong as a
// whole, and a command that was stopped neither failed nor succeeded.
#pragma once

#include <string>
#include <string_view>

#include "luminal/egraph/span.h"
#include "luminal/support/error.h"

namespace luminal::egraph {

/// An error of an egglog program.
class ProgramError : public UserError {
 public:
  enum class Kind { kParse, kType, kRun, kStopped };

  ProgramError(Kind kind, const Span& span, std::string_view message)
      : ProgramError(kind, span.file == nullptr ? std::string(message)
                                                : fmt::format("{}\n{}", span.describe(), message)) {
  }
  ProgramError(Kind kind, const std::string& text)
      : UserError(operation_of(kind), "{}", text), kind_(kind), text_(text) {}

  /// Which stage refused.
  Kind kind() const { return kind_; }
  /// The message without the name of the stage, as the command line prints it.
  const std::string& text() const { return text_; }

 private:
  static constexpr std::string_view operation_of(Kind kind) {
    if (kind == Kind::kParse) return "egglog parse";
    return kind == Kind::kType ? "egglog type check" : "egglog run";
  }

  Kind kind_;
  std::string text_;
};

/// The three kinds, ready to throw with a formatted message.
template <typename... Args>
ProgramError parse_error(const Span& span, fmt::format_string<Args...> format, Args&&... args) {
  return {ProgramError::Kind::kParse, span,
          "parse error: " + fmt::format(format, std::forward<Args>(args)...)};
}
template <typename... Args>
ProgramError type_error(const Span& span, fmt::format_string<Args...> format, Args&&... args) {
  return {ProgramError::Kind::kType, span, fmt::format(format, std::forward<Args>(args)...)};
}
template <typename... Args>
ProgramError run_error(const Span& span, fmt::format_string<Args...> format, Args&&... args) {
  return {ProgramError::Kind::kRun, span, fmt::format(format, std::forward<Args>(args)...)};
}

/// A name that is taken: where it was given, where it is given again, and what it is.
inline ProgramError shadowing_error(const Span& first, const Span& second, std::string_view found) {
  const std::string where = first.file == nullptr ? "" : first.describe() + "\n";
  const std::string again = second.file == nullptr ? "" : second.describe() + "\n";
  return {ProgramError::Kind::kType,
          fmt::format("{}{}Shadowing is not allowed, but found {}", where, again, found)};
}

}  // namespace luminal::egraph

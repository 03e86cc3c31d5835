// The parser's common pieces: expressions, facts, actions, schedules, and the option groups of a
// command. Shared by the two files of the parser, not meant for use elsewhere.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "luminal/egraph/ast.h"
#include "luminal/egraph/program_error.h"

namespace luminal::egraph::parsing {

/// One `:key value*` group.
struct Option {
  const Sexp* key;
  std::vector<const Sexp*> values;
};

/// The items of a command after its head, split at the first option.
struct Arguments {
  const Sexp* command;
  std::vector<const Sexp*> plain;
  std::vector<Option> options;

  /// Removes and returns the option of that name, or null. Throws if it has not `count` values.
  const Option* find(std::string_view name) const;
  /// Throws if an option is not among the known ones or comes twice.
  void allow_only(std::initializer_list<std::string_view> names) const;
};

/// Splits a command `(head plain… :option values…)`.
Arguments split_arguments(const Sexp& command);

/// Throws a parse error that names what was expected.
[[noreturn]] void expected(const Sexp& at, std::string_view what);

const std::string& as_word(const Sexp& node, std::string_view what);
const std::string& as_string(const Sexp& node, std::string_view what);
uint64_t as_count(const Sexp& node, std::string_view what);
const std::vector<Sexp>& as_list(const Sexp& node, std::string_view what);

Expr parse_expr(const Sexp& node);
/// A call `(f args…)`, as set, delete and subsume want it.
Expr parse_call(const Sexp& node);
Fact parse_fact(const Sexp& node);
std::vector<Fact> parse_fact_list(const Sexp& node);
Action parse_action(const Sexp& node);
/// Whether a command head is one of the actions allowed at top level.
bool is_action_head(std::string_view head);
Schedule parse_schedule_item(const Sexp& node);
Schedule parse_run_command(const Sexp& node);

}  // namespace luminal::egraph::parsing

// Any bytes through every entry of the parser: it must answer with a tree or a ProgramError. What
// prints as program text must read back to the same text.
#include <cstddef>
#include <cstdint>
#include <string>

#include "luminal/egraph/parser.h"
#include "luminal/egraph/program_error.h"

namespace {

using namespace luminal::egraph;

/// A broken promise of the parser ends the process, as a crash does, so that the input is kept.
void expect_same(const std::string& first, const std::string& again) {
  if (first != again) __builtin_trap();
}

void check_expression(const Expr& expr) {
  const SourceFile file{"again", to_text(expr)};
  expect_same(file.text, to_text(parse_expression(file)));
}

void check_command(const Command& command) {
  std::string text;
  if (const auto* rule = std::get_if<RuleDecl>(&command.body)) text = to_text(*rule);
  if (const auto* rewrite = std::get_if<RewriteDecl>(&command.body)) text = to_text(*rewrite);
  if (const auto* sort = std::get_if<SortDecl>(&command.body)) text = to_text(*sort);
  if (const auto* function = std::get_if<FunctionDecl>(&command.body)) text = to_text(*function);
  if (const auto* action = std::get_if<Action>(&command.body)) text = to_text(*action);
  if (text.empty()) return;
  const SourceFile file{"again", text};
  const std::vector<Command> again = parse_program(file);
  if (again.size() != 1 || again[0].body.index() != command.body.index()) __builtin_trap();
}

template <typename Parse>
void attempt(const Parse& parse) {
  try {
    parse();
  } catch (const ProgramError&) {
    return;  // a refusal is an answer
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const SourceFile file{"fuzz", std::string(reinterpret_cast<const char*>(data), size)};
  std::vector<Command> commands;
  attempt([&] { commands = parse_program(file); });
  for (const Command& command : commands) check_command(command);
  attempt([&] { parse_facts(file); });
  attempt([&] { parse_schedule(file); });
  std::optional<Expr> expr;
  attempt([&] { expr = parse_expression(file); });
  if (expr) check_expression(*expr);
  return 0;
}

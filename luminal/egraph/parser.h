// Text to commands. The parser checks the shape of every command and option and says what it
// expected; it knows nothing of names or types.
#pragma once

#include <vector>

#include "luminal/egraph/ast.h"

namespace luminal::egraph {

/// All commands of a file, in order. Throws ProgramError (parse).
std::vector<Command> parse_program(const SourceFile& file);
/// One expression, such as the argument of a typed call that mixes in text.
Expr parse_expression(const SourceFile& file);
/// A list of facts `(…) (= …)`.
std::vector<Fact> parse_facts(const SourceFile& file);
/// A list of schedules, taken as a sequence.
Schedule parse_schedule(const SourceFile& file);

}  // namespace luminal::egraph

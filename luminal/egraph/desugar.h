// Surface forms to core forms: datatypes become sorts and constructors, rewrites become rules,
// unnamed rules get their own text as name, and `_` becomes a fresh variable each time.
#pragma once

#include <vector>

#include "luminal/egraph/ast.h"

namespace luminal::egraph {

/// The core commands a command stands for, in order.
std::vector<Command> desugar(Command command);

/// The rules a rewrite stands for: one, or two for a birewrite.
std::vector<RuleDecl> desugar_rewrite(const RewriteDecl& rewrite);

/// Gives a rule a name if it has none, and every `_` a name of its own.
RuleDecl desugar_rule(RuleDecl rule);

/// Gives every `_` of the facts a name of its own, as check and :until need it.
void name_wildcards(std::vector<Fact>& facts);

}  // namespace luminal::egraph

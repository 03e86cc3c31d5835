// Types by constraint solving: every call is one of its possible signatures, and what is known of
// arguments and result rules out alternatives until one is left. The result is a tree in which
// every call names its table or primitive; lower.h turns it into what the engine runs.
#pragma once

#include <string>
#include <vector>

#include "luminal/egraph/ast.h"
#include "luminal/egraph/database.h"

namespace luminal::egraph {

/// An expression with its sort and its callee known.
struct TypedExpr {
  enum class Kind : uint8_t { kVariable, kGlobal, kLiteral, kFunction, kPrimitive };
  Kind kind = Kind::kLiteral;
  SortId sort = kNone;
  uint32_t type_variable = 0;  // of the solver, while it runs
  uint32_t variable = kNone;   // index into TypedRule::variables
  uint32_t target = kNone;     // global or function
  std::shared_ptr<const Primitive> primitive;
  Value literal = kNoValue;
  const Expr* source = nullptr;
  std::vector<TypedExpr> args;
};

struct TypedFact {
  TypedExpr lhs;
  std::optional<TypedExpr> rhs;
};

struct TypedAction {
  Action::Kind kind = Action::Kind::kExpr;
  Span span;
  std::string message;
  uint32_t variable = kNone;  // of a let
  TypedExpr lhs;
  TypedExpr rhs;
};

/// Facts and actions that share variables.
struct TypedRule {
  std::vector<std::string> variables;
  std::vector<SortId> variable_sorts;
  std::vector<TypedFact> facts;
  std::vector<TypedAction> actions;
};

/// How to check: where the facts and the actions stand, and whether actions may read functions.
struct CheckMode {
  Place facts = Place::kBody;
  Place actions = Place::kHead;
  bool allow_function_lookups = false;
};

/// Types facts and actions. `old` and `new` style parameters can be given as bound variables.
/// Throws ProgramError (type).
TypedRule typecheck(Database& db, const std::vector<Fact>& facts,
                    const std::vector<Action>& actions, const CheckMode& mode,
                    const std::vector<std::pair<std::string, SortId>>& bound = {});

/// Types one expression of the top level; variables are globals only.
TypedExpr typecheck_expression(Database& db, const Expr& expr, Place place);

/// Compiles the merge of a declared function.
void compile_merge(Database& db, Function& function, const FunctionDecl& decl);

}  // namespace luminal::egraph

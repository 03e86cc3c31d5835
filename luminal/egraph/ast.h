// The program as written: expressions, facts, actions, schedules and commands, each with its span.
// Surface forms (datatype, rewrite, relation) are kept here and expanded by desugar.h.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "luminal/egraph/sexp.h"

namespace luminal::egraph {

/// A variable (or global), a literal, or a call.
struct Expr {
  enum class Kind { kVariable, kLiteral, kCall };
  Kind kind = Kind::kLiteral;
  Span span;
  std::string name;  // of the variable or the callee
  Literal literal;
  std::vector<Expr> args;
};

/// An expression from its parts, for programs built in C++.
Expr make_variable(std::string name, Span span = {});
Expr make_literal(Literal literal, Span span = {});
Expr make_call(std::string name, std::vector<Expr> args, Span span = {});

/// `(= lhs rhs)`, or `lhs` alone when rhs is absent.
struct Fact {
  Span span;
  Expr lhs;
  std::optional<Expr> rhs;
};

/// One step of a rule's head or of the top level.
struct Action {
  enum class Kind { kLet, kSet, kUnion, kDelete, kSubsume, kPanic, kExpr };
  Kind kind = Kind::kExpr;
  Span span;
  std::string text;  // the variable of a let, the message of a panic
  Expr lhs;          // the value of a let, the call of set, delete and subsume
  Expr rhs;          // the value of a set, the second side of a union
};

/// A rule in full: the only form the engine runs.
struct RuleDecl {
  Span span;
  std::vector<Fact> facts;
  std::vector<Action> actions;
  std::string ruleset;
  std::string name;  // never empty after desugaring
  bool naive = false;
  bool unsafe_seminaive = false;
  bool include_subsumed = false;
};

/// `(rewrite …)` or `(birewrite …)`.
struct RewriteDecl {
  Span span;
  Expr lhs;
  Expr rhs;
  std::vector<Fact> conditions;
  std::string ruleset;
  std::string name;
  bool subsume = false;
  bool both_ways = false;
};

/// `(sort S)` or `(sort S (Presort args…))`.
struct SortDecl {
  Span span;
  std::string name;
  std::string presort;
  std::vector<Expr> presort_args;
};

/// What a table is for; decides its merge and whether it can be extracted.
enum class FunctionKind { kConstructor, kRelation, kFunction };

/// `(constructor …)`, `(relation …)` or `(function …)`.
struct FunctionDecl {
  Span span;
  std::string name;
  FunctionKind kind = FunctionKind::kConstructor;
  std::vector<std::string> inputs;
  std::string output;
  std::optional<uint64_t> cost;
  bool unextractable = false;
  bool hidden = false;
  std::optional<Expr> merge;  // functions: absent means :no-merge
};

/// `(datatype S variants…)`, and the entries of `(datatype* …)`.
struct DatatypeDecl {
  struct Entry {
    SortDecl sort;
    std::vector<FunctionDecl> variants;
  };
  Span span;
  std::vector<Entry> entries;
};

struct RulesetDecl {
  Span span;
  std::string name;
  bool combined = false;
  std::vector<std::string> members;
};

/// What to run and how often.
struct Schedule {
  enum class Kind { kRun, kSaturate, kSequence, kRepeat };
  Kind kind = Kind::kSequence;
  Span span;
  std::string ruleset;      // of a run; "" is the default ruleset
  std::vector<Fact> until;  // of a run
  uint64_t times = 0;       // of a repeat
  std::vector<Schedule> children;
};

struct RunCommand {
  Schedule schedule;
};
struct CheckCommand {
  std::vector<Fact> facts;
};
struct ProveCommand {};
struct ExtractCommand {
  Expr expr;
  std::optional<Expr> variants;
};
struct PrintSizeCommand {
  std::string function;  // "" prints all tables
};
struct PrintFunctionCommand {
  std::string function;
  std::optional<uint64_t> limit;
  std::string file;
  bool csv = false;
};
struct PrintStatsCommand {
  std::string file;
};
struct InputCommand {
  std::string function;
  std::string file;
};
struct OutputCommand {
  std::string file;
  std::vector<Expr> exprs;
};
struct IncludeCommand {
  std::string file;
};
struct PushCommand {
  uint64_t count = 1;
};
struct PopCommand {
  uint64_t count = 1;
};
struct Command;
struct FailCommand {
  std::shared_ptr<Command> inner;
};

/// One command of a program.
struct Command {
  Span span;
  std::variant<SortDecl, FunctionDecl, DatatypeDecl, RulesetDecl, RuleDecl, RewriteDecl, Action,
               RunCommand, CheckCommand, ProveCommand, ExtractCommand, PrintSizeCommand,
               PrintFunctionCommand, PrintStatsCommand, InputCommand, OutputCommand, IncludeCommand,
               PushCommand, PopCommand, FailCommand>
      body;
};

/// Program text of each form; what it gives parses back to the same form.
std::string to_text(const Expr& expr);
/// The same for messages: names that desugaring made are shown as they stood in the text.
std::string as_written(Expr expr);
std::string as_written(const std::string& name);
std::string as_written(const Fact& fact);
std::string to_text(const Fact& fact);
std::string to_text(const Action& action);
std::string to_text(const RuleDecl& rule);
std::string to_text(const RewriteDecl& rewrite);
std::string to_text(const Schedule& schedule);
std::string to_text(const SortDecl& sort);
std::string to_text(const FunctionDecl& function);
std::string to_text(const RulesetDecl& ruleset);
/// Facts separated by blanks, without parentheses around them.
std::string to_text(const std::vector<Fact>& facts);

}  // namespace luminal::egraph

// What the engine runs: a query (atoms over slots) and a program (instructions over slots). Both
// are compiled once from typed expressions and never name sorts or source text again.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "luminal/egraph/primitive.h"
#include "luminal/egraph/value.h"

namespace luminal::egraph {

/// A slot (variable) or a constant.
struct Term {
  bool is_constant = false;
  uint32_t word = 0;  // slot number, or the value

  static Term slot(uint32_t number) { return {false, number}; }
  static Term constant(Value value) { return {true, value}; }
  bool operator==(const Term&) const = default;
};

/// "This table holds a row with these columns": keys, then the value.
struct TableAtom {
  FunctionId function;
  std::vector<Term> terms;
};

/// "This primitive maps these inputs to this output."
struct PrimitiveAtom {
  std::shared_ptr<const Primitive> primitive;
  std::vector<Term> inputs;
  Term output;
};

/// A conjunction of atoms.
struct Query {
  uint32_t num_slots = 0;
  std::vector<TableAtom> atoms;
  std::vector<PrimitiveAtom> primitives;
  bool include_subsumed = false;
  /// Slots that something after the query reads; others need not be told apart.
  std::vector<bool> needed;
  /// The same as a list: the values that make up a match, in the order the program takes them.
  std::vector<uint32_t> outputs;
  /// Names of slots, for reports; empty where the slot has none in the text.
  std::vector<std::string> names;
  /// What the query is about: the value of its first fact that calls a table, else of its first.
  Term root = Term::constant(kNoValue);
};

/// One step of a program. Arguments are `count` terms from `first` in Program::terms.
struct Instruction {
  enum class Op : uint8_t {
    kLookupOrInsert,  // constructor call: the row's id, a fresh one if there is no row
    kLookup,          // function call: the row's value; no row is an error
    kPrimitive,       // no value is an error
    kInsert,          // constructor row with a given id (the last argument)
    kSet,             // function row with a given value (the last argument)
    kUnion,
    kDelete,
    kSubsume,
    kPanic
  };
  Op op;
  uint32_t target = 0;  // function, primitive index or message index
  uint32_t first = 0;
  uint32_t count = 0;
  uint32_t result = 0;  // slot written
};

/// Straight-line code. The first slots are given by the match.
struct Program {
  uint32_t num_slots = 0;
  std::vector<Instruction> code;
  std::vector<Term> terms;
  std::vector<std::shared_ptr<const Primitive>> primitives;
  std::vector<std::string> messages;
  std::vector<std::string> error_sites;  // one per instruction: what to say when it has no value
};

struct QueryPlan;  // matcher.h
struct RuleDecl;   // ast.h

/// A rule ready to run. It never moves: the plan points at the query.
struct CompiledRule {
  std::string name;
  std::string ruleset;
  std::shared_ptr<const RuleDecl> source;
  Query query;
  Program program;
  std::shared_ptr<const QueryPlan> plan;
  bool naive = false;
  /// Every primitive of the body is a filter: several threads may match it at once.
  bool parallel = true;
};

}  // namespace luminal::egraph

// The state of an e-graph: sorts, tables, rules and the union-find, all values, so that push is a
// copy and pop is an assignment. Base values live outside, shared by all copies.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "luminal/egraph/container_store.h"
#include "luminal/egraph/function.h"
#include "luminal/egraph/primitive.h"
#include "luminal/egraph/program_error.h"
#include "luminal/egraph/rule_ir.h"
#include "luminal/egraph/sort.h"

namespace luminal::egraph {

/// A rule, when it last ran, and what it did.
struct RuleState {
  std::shared_ptr<const CompiledRule> rule;
  Epoch last_run = 0;
  bool has_run = false;
  uint64_t matches = 0;
  uint64_t rows_visited = 0;
  uint64_t runs = 0;
  double seconds = 0;
};

/// A set of rules, or a set of rulesets.
struct Ruleset {
  std::string name;
  bool combined = false;
  std::vector<RuleId> rules;
  std::vector<std::string> members;
  std::unordered_map<std::string, RuleId> by_name;
  // Totals over all iterations.
  uint64_t iterations = 0;
  double search_seconds = 0;
  double merge_seconds = 0;
  double rebuild_seconds = 0;
};

/// A `let` of the top level. It becomes a table of one row only when a rule reads it.
struct Global {
  std::string name;
  SortId sort = kNone;
  Value value = kNoValue;
  FunctionId function = kNone;
};

/// What a name stands for; sorts, functions, rulesets and globals share one namespace.
enum class NameKind : uint8_t { kSort, kFunction, kRuleset, kGlobal };

/// A name that is taken, and where it was given. Sorts of the language have no place.
struct NamedThing {
  NameKind kind;
  Span span;
  bool built_in = false;
};

/// Where a row came from, if origins are recorded.
struct RowOrigin {
  RuleId rule = kNone;  // kNone: the top level or a rebuild
  uint32_t match = kNone;
};

/// The matches that produced rows, in the order of their discovery.
struct OriginLog {
  bool enabled = false;
  std::vector<std::pair<RuleId, std::vector<Value>>> matches;
  std::vector<std::vector<uint32_t>> by_function;  // per function and row: index into matches
};

/// Everything that push saves.
struct Database {
  explicit Database(std::shared_ptr<ValueStore> shared_values);

  std::shared_ptr<ValueStore> values;
  SortRegistry sorts;
  PrimitiveRegistry primitives;
  std::vector<Function> functions;
  std::vector<Global> globals;
  std::map<std::string, Ruleset> rulesets;
  std::vector<RuleState> rules;
  std::unordered_map<std::string, NamedThing> names;
  std::unordered_map<std::string, uint32_t> function_ids;
  std::unordered_map<std::string, uint32_t> global_ids;
  UnionFind ids;
  ContainerStore containers;
  OriginLog origins;
  Epoch epoch = 1;
  uint32_t rebuilt_unions = 0;  // displaced ids already worked into the tables

  /// Id of a function or global, or kNone.
  FunctionId find_function(const std::string& name) const;
  uint32_t find_global(const std::string& name) const;
  /// Rows of all tables that print-size shows.
  uint64_t num_rows() const;

  /// The leader of an id; other values are themselves.
  Value canonical(SortId sort, Value value) {
    return sorts[sort].is_id() ? ids.find(value) : value;
  }

  // Declarations. All throw ProgramError (type) when the name is taken or a sort is unknown.
  void claim_name(const Span& span, const std::string& name, NameKind kind);
  /// Throws if a global, or a variable of a rule, must not have this name.
  void forbid_shadowing(const Span& span, const std::string& name) const;
  SortId declare_sort(const SortDecl& decl);
  FunctionId declare_function(const FunctionDecl& decl);
  void declare_ruleset(const RulesetDecl& decl);
  uint32_t declare_global(const Span& span, const std::string& name, SortId sort, Value value);
  /// The one-row table of a global, made on first use.
  FunctionId global_table(uint32_t global);
  SortId require_sort(const Span& span, const std::string& name) const;
};

}  // namespace luminal::egraph

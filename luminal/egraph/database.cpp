#include "luminal/egraph/database.h"

#include <algorithm>

#include "luminal/egraph/typecheck.h"

namespace luminal::egraph {

namespace {

/// Primitives of containers that a program may not declare, whether it has such a sort or not.
constexpr std::string_view kReserved[] = {
    "vec-empty",     "vec-of",           "vec-append",   "vec-push",    "vec-pop",
    "vec-length",    "vec-contains",     "vec-get",      "vec-set",     "vec-remove",
    "set-empty",     "vec-not-contains", "set-of",       "set-insert",  "set-remove",
    "set-get",       "set-length",       "set-contains", "set-union",   "set-diff",
    "map-empty",     "set-not-contains", "map-of",       "map-insert",  "map-get",
    "map-remove",    "map-length",       "map-contains", "unstable-fn", "unstable-app",
    "set-intersect", "map-not-contains"};

}  // namespace

Database::Database(std::shared_ptr<ValueStore> shared_values) : values(std::move(shared_values)) {
  add_base_primitives(primitives);
  for (SortId sort = 0; sort < sorts.size(); ++sort)
    names.emplace(sorts.name(sort), NamedThing{NameKind::kSort, {}, true});
  rulesets[""] = Ruleset{};
}

FunctionId Database::find_function(const std::string& name) const {
  const auto entry = function_ids.find(name);
  return entry == function_ids.end() ? kNone : entry->second;
}

uint32_t Database::find_global(const std::string& name) const {
  const auto entry = global_ids.find(name);
  return entry == global_ids.end() ? kNone : entry->second;
}

uint64_t Database::num_rows() const {
  uint64_t total = 0;
  for (const Function& function : functions)
    if (!function.hidden) total += function.table.num_live();
  return total;
}

void Database::forbid_shadowing(const Span& span, const std::string& name) const {
  const auto entry = names.find(name);
  if (entry == names.end() || entry->second.built_in) return;
  throw shadowing_error(entry->second.span, span, name);
}

void Database::claim_name(const Span& span, const std::string& name, NameKind kind) {
  const auto entry = names.find(name);
  const bool declares = kind == NameKind::kSort || kind == NameKind::kFunction;
  if (declares && entry != names.end()) {
    if (entry->second.kind == NameKind::kSort)
      throw type_error(span, "Sort {} already declared.", name);
    if (entry->second.kind == NameKind::kFunction)
      throw type_error(span, "Function already bound {}", name);
  }
  const bool reserved =
      std::find(std::begin(kReserved), std::end(kReserved), name) != std::end(kReserved);
  if (kind == NameKind::kFunction && (reserved || !primitives.overloads(name).empty()))
    throw type_error(span, "Primitive {} already declared.", name);
  forbid_shadowing(span, name);
  names.insert_or_assign(name, NamedThing{kind, span});
}

SortId Database::require_sort(const Span& span, const std::string& name) const {
  const SortId sort = sorts.find(name);
  if (sort == kNone) throw type_error(span, "Undefined sort {}", name);
  return sort;
}

namespace {

struct Presort {
  const char* name;
  SortKind kind;
  size_t num_args;
};
constexpr Presort kPresorts[] = {
    {"Vec", SortKind::kVec, 1},   {"Set", SortKind::kSet, 1},
    {"Map", SortKind::kMap, 2},   {"MultiSet", SortKind::kMultiSet, 1},
    {"Pair", SortKind::kPair, 2}, {"UnstableFn", SortKind::kFn, 2},
};

/// `(UnstableFn (A B) R)`: the list of inputs was read as a call `(A B)` or as `()`.
std::vector<SortId> fn_args(const Database& db, const SortDecl& decl) {
  std::vector<SortId> args;
  const Expr& inputs = decl.presort_args[0];
  if (inputs.kind == Expr::Kind::kCall) {
    args.push_back(db.require_sort(inputs.span, inputs.name));
    for (const Expr& more : inputs.args) args.push_back(db.require_sort(more.span, more.name));
  } else if (inputs.kind == Expr::Kind::kVariable) {
    throw type_error(decl.span,
                     "Bad arguments for presort UnstableFn: expected (UnstableFn "
                     "(<sort>*) <sort>)");
  }
  args.push_back(db.require_sort(decl.presort_args[1].span, decl.presort_args[1].name));
  return args;
}

}  // namespace

SortId Database::declare_sort(const SortDecl& decl) {
  if (decl.presort.empty()) {
    claim_name(decl.span, decl.name, NameKind::kSort);
    return sorts.add({decl.name, SortKind::kEq, {}, true, nullptr});
  }
  const auto presort = std::find_if(std::begin(kPresorts), std::end(kPresorts),
                                    [&](const Presort& p) { return decl.presort == p.name; });
  if (presort == std::end(kPresorts))
    throw type_error(decl.span, "Presort {} not found.", decl.presort);
  if (decl.presort_args.size() != presort->num_args)
    throw type_error(decl.span, "Bad arguments for presort {}: expected {}", decl.presort,
                     presort->num_args);
  Sort sort{decl.name, presort->kind, {}, false, nullptr};
  if (presort->kind == SortKind::kFn) {
    sort.args = fn_args(*this, decl);
  } else {
    for (const Expr& arg : decl.presort_args) sort.args.push_back(require_sort(arg.span, arg.name));
  }
  claim_name(decl.span, decl.name, NameKind::kSort);
  const SortId id = sorts.add(std::move(sort));
  add_container_primitives(primitives, sorts, id);
  return id;
}

FunctionId Database::declare_function(const FunctionDecl& decl) {
  Function function;
  function.name = decl.name;
  function.kind = decl.kind;
  for (const std::string& input : decl.inputs)
    function.inputs.push_back(require_sort(decl.span, input));
  if (decl.kind != FunctionKind::kRelation) function.output = require_sort(decl.span, decl.output);
  if (decl.kind == FunctionKind::kConstructor && !sorts[function.output].is_eq())
    throw type_error(decl.span, "The output type of constructor function {} must be sort",
                     decl.name);
  if (decl.kind == FunctionKind::kConstructor && !sorts[function.output].unionable)
    throw type_error(decl.span, "The output type of constructor function {} must be sort",
                     decl.name);
  claim_name(decl.span, decl.name, NameKind::kFunction);
  if (decl.kind == FunctionKind::kRelation)
    function.output = sorts.add({"relation " + decl.name, SortKind::kEq, {}, false, nullptr});
  function.cost = decl.cost.value_or(1);
  function.unextractable = decl.unextractable;
  function.hidden = decl.hidden;
  for (SortId input : function.inputs) function.has_ids |= sorts[input].is_id();
  function.has_ids |= sorts[function.output].is_id();
  function.table = Table(static_cast<uint32_t>(function.inputs.size()));
  const auto id = static_cast<FunctionId>(functions.size());
  functions.push_back(std::move(function));
  function_ids.emplace(decl.name, id);
  if (decl.kind == FunctionKind::kFunction) {
    try {
      compile_merge(*this, functions[id], decl);
    } catch (...) {  // a bad merge expression leaves no half-declared function behind
      functions.pop_back();
      function_ids.erase(decl.name);
      names.erase(decl.name);
      throw;
    }
  }
  return id;
}

void Database::declare_ruleset(const RulesetDecl& decl) {
  claim_name(decl.span, decl.name, NameKind::kRuleset);
  Ruleset ruleset;
  ruleset.name = decl.name;
  ruleset.combined = decl.combined;
  ruleset.members = decl.members;
  rulesets.emplace(decl.name, std::move(ruleset));
}

uint32_t Database::declare_global(const Span& span, const std::string& name, SortId sort,
                                  Value value) {
  claim_name(span, name, NameKind::kGlobal);
  const auto id = static_cast<uint32_t>(globals.size());
  globals.push_back({name, sort, value, kNone});
  global_ids.emplace(name, id);
  return id;
}

FunctionId Database::global_table(uint32_t global) {
  Global& entry = globals[global];
  if (entry.function != kNone) return entry.function;
  Function function;
  function.name = entry.name;
  function.kind = FunctionKind::kFunction;
  function.output = entry.sort;
  function.unextractable = true;
  function.hidden = true;
  function.merge = MergeKind::kAssert;
  function.has_ids = sorts[entry.sort].is_id();
  const Value row = canonical(entry.sort, entry.value);
  function.table.append(&row, false, epoch);
  ++epoch;  // rules that ran before must see the row as new
  entry.function = static_cast<FunctionId>(functions.size());
  functions.push_back(std::move(function));
  return entry.function;
}

}  // namespace luminal::egraph

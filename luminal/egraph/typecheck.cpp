#include "luminal/egraph/typecheck.h"

#include <unordered_map>

#include "luminal/egraph/lower.h"
#include "luminal/egraph/type_solver.h"

namespace luminal::egraph {
namespace {

SortId literal_sort(const Literal& literal) {
  if (std::holds_alternative<bool>(literal)) return kBoolSort;
  if (std::holds_alternative<int64_t>(literal)) return kI64Sort;
  if (std::holds_alternative<double>(literal)) return kF64Sort;
  if (std::holds_alternative<std::string>(literal)) return kStringSort;
  return kUnitSort;
}

class Checker {
 public:
  Checker(Database& db, const CheckMode& mode) : db_(db), mode_(mode), solver_(db) {}

  void bind(const std::string& name, SortId sort) {
    const uint32_t variable = add_variable(name);
    solver_.add_equality(variable_types_[variable], solver_.fresh(sort), kNowhere);
  }

  TypedRule run(const std::vector<Fact>& facts, const std::vector<Action>& actions) {
    rule_.facts.resize(facts.size());
    rule_.actions.resize(actions.size());
    for (size_t i = 0; i < facts.size(); ++i) {
      build(facts[i].lhs, rule_.facts[i].lhs, true);
      if (!facts[i].rhs) continue;
      build(*facts[i].rhs, rule_.facts[i].rhs.emplace(), true);
    }
    for (size_t i = 0; i < actions.size(); ++i) build(actions[i], rule_.actions[i]);
    // All nodes stand still from here on: constraints may hold their addresses.
    for (size_t i = 0; i < facts.size(); ++i) collect(rule_.facts[i], facts[i]);
    for (size_t i = 0; i < actions.size(); ++i) collect(rule_.actions[i]);
    solver_.solve();
    return finish();
  }

  TypedExpr run(const Expr& expr, Place place) {
    TypedExpr typed;
    build(expr, typed, false);
    collect(typed, place);
    solver_.solve();
    finish(typed);
    return typed;
  }

 private:
  static const Expr kNowhere;

  uint32_t add_variable(const std::string& name) {
    const auto variable = static_cast<uint32_t>(rule_.variables.size());
    rule_.variables.push_back(name);
    variable_types_.push_back(solver_.fresh());
    by_name_.emplace(name, variable);
    return variable;
  }

  void forbid_shadowing(const Span& span, const std::string& name) const {
    if (by_name_.count(name) != 0) throw type_error(span, "Variable {} was already defined", name);
    const std::string global = name[0] == '$' ? name : "$" + name;
    if (db_.find_global(global) != kNone)
      throw shadowing_error(
          db_.names.at(global).span, span,
          fmt::format("pattern variable `{}` conflicts with global `{}`", name, global));
    db_.forbid_shadowing(span, name);
  }

  void build(const Expr& expr, TypedExpr& out, bool may_bind) {
    out.source = &expr;
    if (expr.kind == Expr::Kind::kCall) {
      out.kind = TypedExpr::Kind::kFunction;
      out.type_variable = solver_.fresh();
      out.args.resize(expr.args.size());
      for (size_t i = 0; i < expr.args.size(); ++i) build(expr.args[i], out.args[i], may_bind);
    } else if (expr.kind == Expr::Kind::kLiteral) {
      out.kind = TypedExpr::Kind::kLiteral;
      out.type_variable = solver_.fresh(literal_sort(expr.literal));
      out.literal = db_.values->from_literal(expr.literal);
    } else {
      build_name(expr, out, may_bind);
    }
  }

  void build_name(const Expr& expr, TypedExpr& out, bool may_bind) {
    if (const auto known = by_name_.find(expr.name); known != by_name_.end()) {
      out.kind = TypedExpr::Kind::kVariable;
      out.variable = known->second;
    } else if (const uint32_t global = db_.find_global(expr.name); global != kNone) {
      out.kind = TypedExpr::Kind::kGlobal;
      out.target = global;
      out.type_variable = solver_.fresh(db_.globals[global].sort);
      return;
    } else if (may_bind) {
      forbid_shadowing(expr.span, expr.name);
      out.kind = TypedExpr::Kind::kVariable;
      out.variable = add_variable(expr.name);
    } else {
      throw type_error(expr.span, "Unbound symbol {}", as_written(expr.name));
    }
    out.type_variable = variable_types_[out.variable];
  }

  void build(const Action& action, TypedAction& out) {
    out.kind = action.kind;
    out.span = action.span;
    out.message = action.text;
    if (action.kind == Action::Kind::kPanic) return;
    build(action.lhs, out.lhs, false);
    if (action.kind == Action::Kind::kSet || action.kind == Action::Kind::kUnion)
      build(action.rhs, out.rhs, false);
    if (action.kind != Action::Kind::kLet) return;
    forbid_shadowing(action.span, action.text);
    out.variable = add_variable(action.text);
  }

  void collect(TypedExpr& node, Place place, bool tables_only = false) {
    for (TypedExpr& arg : node.args) collect(arg, place);
    if (node.source->kind == Expr::Kind::kCall) solver_.add_call(node, place, tables_only);
  }

  void collect(TypedFact& fact, const Fact& source) {
    collect(fact.lhs, mode_.facts);
    if (!fact.rhs) return;
    collect(*fact.rhs, mode_.facts);
    solver_.add_equality(fact.lhs.type_variable, fact.rhs->type_variable, source.lhs);
  }

  void collect(TypedAction& action) {
    if (action.kind == Action::Kind::kPanic) return;
    const bool on_row = action.kind == Action::Kind::kSet || action.kind == Action::Kind::kDelete ||
                        action.kind == Action::Kind::kSubsume;
    if (on_row) check_row_action(action);
    collect(action.lhs, mode_.actions, on_row);
    if (action.kind == Action::Kind::kLet)
      solver_.add_equality(action.lhs.type_variable, variable_types_[action.variable],
                           *action.lhs.source);
    if (action.kind != Action::Kind::kSet && action.kind != Action::Kind::kUnion) return;
    collect(action.rhs, mode_.actions);
    solver_.add_equality(action.lhs.type_variable, action.rhs.type_variable, *action.rhs.source);
  }

  void check_row_action(const TypedAction& action) const {
    const std::string& name = action.lhs.source->name;
    const FunctionId id = db_.find_function(name);
    if (id == kNone) throw type_error(action.span, "Unbound function {}", name);
    const Function& function = db_.functions[id];
    if (action.kind == Action::Kind::kSet && !function.is_function())
      throw type_error(
          action.span,
          "Cannot set constructor {}. Use `union` instead or declare {} as a function.", name,
          name);
    if (action.kind == Action::Kind::kSubsume && function.is_function())
      throw type_error(action.span, "Cannot subsume function with merge: {}", name);
  }

  void finish(TypedExpr& node) {
    node.sort = solver_.type(node.type_variable);
    if (node.sort == kNone)
      throw type_error(node.source->span, "Failed to infer a type for: {}",
                       as_written(*node.source));
    for (TypedExpr& arg : node.args) finish(arg);
  }

  /// Reading a function while its value may still change is not monotone, so heads must not.
  void forbid_lookups(const TypedExpr& node) const {
    if (node.kind == TypedExpr::Kind::kFunction && db_.functions[node.target].is_function())
      throw type_error(node.source->span,
                       "Value lookup of non-constructor function {} in rule is disallowed.",
                       node.source->name);
    for (const TypedExpr& arg : node.args) forbid_lookups(arg);
  }

  void finish(TypedAction& action) {
    if (action.kind == Action::Kind::kPanic) return;
    finish(action.lhs);
    const bool two = action.kind == Action::Kind::kSet || action.kind == Action::Kind::kUnion;
    if (two) finish(action.rhs);
    const bool on_row = action.kind == Action::Kind::kSet || action.kind == Action::Kind::kDelete ||
                        action.kind == Action::Kind::kSubsume;
    if (!mode_.allow_function_lookups) {
      if (on_row) {
        for (const TypedExpr& arg : action.lhs.args) forbid_lookups(arg);
      } else {
        forbid_lookups(action.lhs);
      }
      if (two) forbid_lookups(action.rhs);
    }
    if (action.kind != Action::Kind::kUnion) return;
    const Sort& sort = db_.sorts[action.lhs.sort];
    if (!sort.is_eq()) throw type_error(action.span, "Cannot union values of sort {}", sort.name);
    if (!sort.unionable)
      throw type_error(action.span,
                       "Cannot union values of sort {} because it is marked as non-unionable "
                       "(e.g. from a relation)",
                       sort.name);
  }

  TypedRule finish() {
    for (TypedFact& fact : rule_.facts) {
      finish(fact.lhs);
      if (fact.rhs) finish(*fact.rhs);
    }
    for (TypedAction& action : rule_.actions) finish(action);
    for (uint32_t type : variable_types_) rule_.variable_sorts.push_back(solver_.type(type));
    return std::move(rule_);
  }

  Database& db_;
  CheckMode mode_;
  TypeSolver solver_;
  TypedRule rule_;
  std::vector<uint32_t> variable_types_;
  std::unordered_map<std::string, uint32_t> by_name_;
};

const Expr Checker::kNowhere = make_literal(std::monostate{});

}  // namespace

TypedRule typecheck(Database& db, const std::vector<Fact>& facts,
                    const std::vector<Action>& actions, const CheckMode& mode,
                    const std::vector<std::pair<std::string, SortId>>& bound) {
  Checker checker(db, mode);
  for (const auto& [name, sort] : bound) checker.bind(name, sort);
  return checker.run(facts, actions);
}

TypedExpr typecheck_expression(Database& db, const Expr& expr, Place place) {
  return Checker(db, {place, place, true}).run(expr, place);
}

void compile_merge(Database& db, Function& function, const FunctionDecl& decl) {
  if (!decl.merge) {
    function.merge = MergeKind::kAssert;
    return;
  }
  function.merge_text = to_text(*decl.merge);
  if (decl.merge->kind == Expr::Kind::kVariable && decl.merge->name == "old") {
    function.merge = MergeKind::kOld;
    return;
  }
  if (decl.merge->kind == Expr::Kind::kVariable && decl.merge->name == "new") {
    function.merge = MergeKind::kNew;
    return;
  }
  function.merge = MergeKind::kProgram;
  // The merge is the head of a rule that binds `old` and `new` and yields one value.
  Action result;
  result.kind = Action::Kind::kLet;
  result.span = decl.merge->span;
  result.text = "merge result";
  result.lhs = *decl.merge;
  const std::vector<std::pair<std::string, SortId>> bound = {{"old", function.output},
                                                             {"new", function.output}};
  const std::vector<Action> actions{std::move(result)};
  const TypedRule typed = typecheck(db, {}, actions, {Place::kBody, Place::kHead, false}, bound);
  if (typed.variable_sorts.back() != function.output)
    throw type_error(decl.merge->span, " Expect expression {} to have type {}, but get type {}",
                     function.merge_text, db.sorts.name(function.output),
                     db.sorts.name(typed.variable_sorts.back()));
  lower_merge(db, typed, function);
}

}  // namespace luminal::egraph

#include "luminal/egraph/builder.h"

#include "luminal/egraph/desugar.h"

namespace luminal::egraph {
namespace {

std::vector<std::string> names_of(const std::vector<SortRef>& sorts) {
  std::vector<std::string> names;
  for (const SortRef& sort : sorts) names.push_back(sort.name);
  return names;
}

Action make_action(Action::Kind kind, Expr lhs, Expr rhs = {}, std::string text = "") {
  Action action;
  action.kind = kind;
  action.lhs = std::move(lhs);
  action.rhs = std::move(rhs);
  action.text = std::move(text);
  return action;
}

Schedule make_schedule(Schedule::Kind kind, std::vector<Schedule> children) {
  Schedule schedule;
  schedule.kind = kind;
  schedule.children = std::move(children);
  return schedule;
}

}  // namespace

Expr var(std::string name) { return make_variable(std::move(name)); }
Fact equal(Expr a, Expr b) { return {{}, std::move(a), std::move(b)}; }
Fact holds(Expr expr) { return {{}, std::move(expr), std::nullopt}; }

Action let(std::string name, Expr value) {
  return make_action(Action::Kind::kLet, std::move(value), {}, std::move(name));
}
Action set(Expr call, Expr value) {
  return make_action(Action::Kind::kSet, std::move(call), std::move(value));
}
Action unite(Expr a, Expr b) {
  return make_action(Action::Kind::kUnion, std::move(a), std::move(b));
}
Action erase(Expr call) { return make_action(Action::Kind::kDelete, std::move(call)); }
Action subsume(Expr call) { return make_action(Action::Kind::kSubsume, std::move(call)); }
Action insert(Expr call) { return make_action(Action::Kind::kExpr, std::move(call)); }
Action panic(std::string message) {
  Action action = make_action(Action::Kind::kPanic, {});
  action.text = std::move(message);
  return action;
}

Schedule run(std::string ruleset, std::vector<Fact> until) {
  Schedule schedule = make_schedule(Schedule::Kind::kRun, {});
  schedule.ruleset = std::move(ruleset);
  schedule.until = std::move(until);
  return schedule;
}
Schedule saturate(std::vector<Schedule> steps) {
  return make_schedule(Schedule::Kind::kSaturate, std::move(steps));
}
Schedule sequence(std::vector<Schedule> steps) {
  return make_schedule(Schedule::Kind::kSequence, std::move(steps));
}
Schedule repeat(uint64_t times, std::vector<Schedule> steps) {
  Schedule schedule = make_schedule(Schedule::Kind::kRepeat, std::move(steps));
  schedule.times = times;
  return schedule;
}

SortRef Builder::sort(std::string name) {
  const SortId id = egraph_.database().declare_sort({{}, name, "", {}});
  return {id, std::move(name)};
}

SortRef Builder::container(std::string name, std::string presort,
                           const std::vector<SortRef>& args) {
  SortDecl decl{{}, name, std::move(presort), {}};
  if (decl.presort == "UnstableFn" && !args.empty()) {
    // The parser reads the list of inputs `(A B)` as a call; `()` as the Unit literal.
    Expr inputs = make_literal(std::monostate{});
    for (size_t i = 0; i + 1 < args.size(); ++i) {
      if (i == 0) {
        inputs = make_call(args[i].name, {});
      } else {
        inputs.args.push_back(make_variable(args[i].name));
      }
    }
    decl.presort_args = {std::move(inputs), make_variable(args.back().name)};
  } else {
    for (const SortRef& arg : args) decl.presort_args.push_back(make_variable(arg.name));
  }
  return {egraph_.database().declare_sort(decl), std::move(name)};
}

Callable Builder::declare(FunctionDecl decl) {
  const FunctionId id = egraph_.database().declare_function(decl);
  return {std::move(decl.name), id};
}

Callable Builder::constructor(std::string name, const std::vector<SortRef>& inputs,
                              const SortRef& output, std::optional<uint64_t> cost,
                              bool unextractable) {
  FunctionDecl decl;
  decl.name = std::move(name);
  decl.inputs = names_of(inputs);
  decl.output = output.name;
  decl.cost = cost;
  decl.unextractable = unextractable;
  return declare(std::move(decl));
}

Callable Builder::relation(std::string name, const std::vector<SortRef>& inputs) {
  FunctionDecl decl;
  decl.kind = FunctionKind::kRelation;
  decl.name = std::move(name);
  decl.inputs = names_of(inputs);
  return declare(std::move(decl));
}

Callable Builder::function(std::string name, const std::vector<SortRef>& inputs,
                           const SortRef& output, std::optional<Expr> merge) {
  FunctionDecl decl;
  decl.kind = FunctionKind::kFunction;
  decl.name = std::move(name);
  decl.inputs = names_of(inputs);
  decl.output = output.name;
  decl.merge = std::move(merge);
  return declare(std::move(decl));
}

void Builder::ruleset(std::string name) {
  egraph_.database().declare_ruleset({{}, std::move(name), false, {}});
}

void Builder::combined_ruleset(std::string name, std::vector<std::string> members) {
  egraph_.database().declare_ruleset({{}, std::move(name), true, std::move(members)});
}

RuleId Builder::rule(std::vector<Fact> facts, std::vector<Action> actions, RuleOptions options) {
  RuleDecl decl;
  decl.facts = std::move(facts);
  decl.actions = std::move(actions);
  decl.ruleset = std::move(options.ruleset);
  decl.name = std::move(options.name);
  decl.naive = options.naive;
  return egraph_.add_rule(desugar_rule(std::move(decl)));
}

void Builder::rewrite(Expr from, Expr to, RuleOptions options) {
  RewriteDecl decl;
  decl.lhs = std::move(from);
  decl.rhs = std::move(to);
  decl.conditions = std::move(options.when);
  decl.ruleset = std::move(options.ruleset);
  decl.name = std::move(options.name);
  decl.subsume = options.subsume;
  for (const RuleDecl& rule : desugar_rewrite(decl)) egraph_.add_rule(rule);
}

void Builder::birewrite(Expr from, Expr to, RuleOptions options) {
  RewriteDecl decl;
  decl.lhs = std::move(from);
  decl.rhs = std::move(to);
  decl.conditions = std::move(options.when);
  decl.ruleset = std::move(options.ruleset);
  decl.name = std::move(options.name);
  decl.both_ways = true;
  for (const RuleDecl& rule : desugar_rewrite(decl)) egraph_.add_rule(rule);
}

SortRef Builder::declare_host(std::string name, std::shared_ptr<HostSortBase> host) {
  Database& db = egraph_.database();
  db.claim_name({}, name, NameKind::kSort);
  const SortId id = db.sorts.add({name, SortKind::kHost, {}, false, std::move(host)});
  return {id, std::move(name)};
}

const Builder::DeclaredHost& Builder::declared_host(std::type_index type) const {
  const auto found = hosts_.find(type);
  if (found == hosts_.end())
    throw UserError("egraph",
                    "type {} is no host sort of this builder: call host_sort for it first",
                    type.name());
  return found->second;
}

Expr Builder::host_constant(SortId sort, Value value) {
  Database& db = egraph_.database();
  // The blank keeps the name out of reach of program text.
  const std::string name = db.sorts.name(sort) + " " + std::to_string(value);
  if (db.primitives.overloads(name).empty()) {
    db.primitives.add({name,
                       {Signature::Shape::kFixed, {}, sort, 0},
                       Access::kPure,
                       true,
                       [value](Evaluator&, std::span<const Value>) { return value; }});
  }
  return make_call(name, {});
}

Callable Builder::primitive(std::string name, const std::vector<SortRef>& inputs,
                            const SortRef& output, PrimitiveBody body, NativeOptions options) {
  Signature signature;
  for (const SortRef& input : inputs) signature.inputs.push_back(input.id);
  signature.output = output.id;
  egraph_.database().primitives.add(
      {name, std::move(signature), options.access, options.is_filter, std::move(body)});
  return {std::move(name), kNone};
}

void BulkInsert::require(const Callable& table, bool is_function, size_t num_keys) const {
  const auto& functions = egraph_.database().functions;
  if (table.id >= functions.size() || functions[table.id].is_function() != is_function)
    throw UserError("egraph", "{} is no {} of this e-graph: bulk insertion cannot write it",
                    table.name, is_function ? "function" : "constructor");
  const uint32_t expected = functions[table.id].table.num_keys();
  if (num_keys != expected)
    throw UserError("egraph", "{} takes {} arguments, and bulk insertion was given {}", table.name,
                    expected, num_keys);
}

Value BulkInsert::add(const Callable& constructor, std::span<const Value> args) {
  require(constructor, false, args.size());
  return egraph_.engine().stage_constructor(constructor.id, args);
}

void BulkInsert::set(const Callable& function, std::initializer_list<Value> keys, Value value) {
  require(function, true, keys.size());
  std::vector<Value> row(keys);
  row.push_back(value);
  egraph_.engine().stage_row(function.id, row, false);
}

}  // namespace luminal::egraph

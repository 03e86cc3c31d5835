#include "luminal/egraph/egraph.h"

#include <algorithm>

#include "luminal/egraph/desugar.h"
#include "luminal/egraph/lower.h"
#include "luminal/egraph/parser.h"

namespace luminal::egraph {
namespace {

/// Every level holds a copy of the whole state.
constexpr size_t kMaxPushes = 1000;

}  // namespace

EGraph::EGraph(EGraphOptions options)
    : options_(options),
      db_(std::make_shared<ValueStore>()),
      engine_(db_),
      scheduler_(db_, engine_) {
  db_.origins.enabled = options_.record_origins;
  scheduler_.set_threads(options_.threads);
  scheduler_.set_budget(options_.budget);
}

std::string EGraph::run_program(std::string_view text, std::string_view file_name) {
  output_.clear();  // first: a program that cannot be read has printed nothing
  const SourceFile* file = sources_.add(std::string(file_name), std::string(text));
  std::vector<Command> commands = parse_program(*file);
  for (Command& command : commands) execute(std::move(command));
  return std::move(output_);
}

std::string EGraph::run_commands(const std::vector<Command>& commands) {
  output_.clear();
  for (const Command& command : commands) execute(command);
  return std::move(output_);
}

void EGraph::execute(Command command) {
  if (const auto* fail = std::get_if<FailCommand>(&command.body)) {
    execute_fail(command.span, *fail);
    return;
  }
  for (Command& core : desugar(std::move(command))) execute_core(std::move(core));
}

void EGraph::execute_fail(const Span& span, const FailCommand& fail) {
  try {
    execute(*fail.inner);
  } catch (const ProgramError& error) {
    if (error.kind() != ProgramError::Kind::kRun) throw;
    return;
  }
  throw run_error(span, "Command should have failed.");
}

void EGraph::execute_core(Command command) {
  const Span& span = command.span;
  if (auto* action = std::get_if<Action>(&command.body)) return execute_action(*action);
  if (auto* rule = std::get_if<RuleDecl>(&command.body)) return void(add_rule(std::move(*rule)));
  if (auto* sort = std::get_if<SortDecl>(&command.body)) return void(db_.declare_sort(*sort));
  if (auto* function = std::get_if<FunctionDecl>(&command.body))
    return void(db_.declare_function(*function));
  if (auto* ruleset = std::get_if<RulesetDecl>(&command.body)) return db_.declare_ruleset(*ruleset);
  if (auto* run_command = std::get_if<RunCommand>(&command.body)) {
    if (run(run_command->schedule).stop == StopReason::kCancelled)
      throw ProgramError(ProgramError::Kind::kStopped, span, "The run was interrupted");
    return;
  }
  if (auto* check_command = std::get_if<CheckCommand>(&command.body)) {
    if (check(check_command->facts)) return;
    std::string facts;
    for (const Fact& fact : check_command->facts) facts += "\n" + as_written(fact);
    throw run_error(span, "Check failed: {}", facts);
  }
  if (auto* extract = std::get_if<ExtractCommand>(&command.body))
    return execute_extract(span, *extract);
  if (auto* size = std::get_if<PrintSizeCommand>(&command.body))
    return execute_print_size(span, *size);
  if (auto* print = std::get_if<PrintFunctionCommand>(&command.body))
    return execute_print_function(span, *print);
  if (auto* include = std::get_if<IncludeCommand>(&command.body))
    return execute_include(span, *include);
  if (auto* input = std::get_if<InputCommand>(&command.body)) return execute_input(span, *input);
  if (auto* output = std::get_if<OutputCommand>(&command.body))
    return execute_output(span, *output);
  if (auto* stats = std::get_if<PrintStatsCommand>(&command.body))
    return execute_print_stats(span, *stats);
  if (auto* save = std::get_if<PushCommand>(&command.body)) {
    for (uint64_t i = 0; i < save->count; ++i) push();
    return;
  }
  if (auto* restore = std::get_if<PopCommand>(&command.body)) {
    for (uint64_t i = 0; i < restore->count; ++i) {
      if (saved_.empty()) throw run_error(span, "Tried to pop too much");
      pop();
    }
    return;
  }
  throw run_error(span,
                  "proofs are not supported: prove and prove-exists need proof mode, which "
                  "this engine does not have");
}

void EGraph::execute_action(const Action& action) {
  if (action.kind == Action::Kind::kLet) {
    if (action.text[0] != '$') complain_of_prefix(action.span, action.text, true);
    db_.forbid_shadowing(action.span, action.text);
    SortId sort = kNone;
    const Value value = evaluate(action.lhs, &sort);
    db_.declare_global(action.span, action.text, sort, value);
    return;
  }
  if (action.kind == Action::Kind::kExpr && action.lhs.kind == Expr::Kind::kCall) {
    evaluate(action.lhs);
    return;
  }
  const std::vector<Action> actions{action};
  const TypedRule typed = typecheck(db_, {}, actions, {Place::kQuery, Place::kTop, true});
  const Program program = lower_actions(db_, typed);
  try {
    engine_.execute(program, {});
  } catch (...) {
    engine_.merge();
    ++db_.epoch;
    throw;
  }
  engine_.flush();
}

Value EGraph::evaluate(const Expr& expr, SortId* sort) {
  const TypedExpr typed = typecheck_expression(db_, expr, Place::kTop);
  Term result;
  const Program program = lower_expression(db_, typed, result);
  if (sort != nullptr) *sort = typed.sort;
  try {
    engine_.execute(program, {});
  } catch (...) {
    engine_.merge();
    ++db_.epoch;
    throw;
  }
  const Value value = engine_.value_after(result);
  engine_.flush();
  return db_.canonical(typed.sort, value);
}

RuleId EGraph::add_rule(RuleDecl rule_decl) {
  const auto source = std::make_shared<const RuleDecl>(std::move(rule_decl));
  const RuleDecl& decl = *source;
  const auto found = db_.rulesets.find(decl.ruleset);
  if (found == db_.rulesets.end()) throw run_error(decl.span, "No such ruleset: {}", decl.ruleset);
  Ruleset& ruleset = found->second;
  if (ruleset.combined)
    throw run_error(decl.span,
                    "Attempted to add a rule to combined ruleset {}. Combined rulesets "
                    "may only depend on other rulesets.",
                    decl.ruleset);
  if (ruleset.by_name.count(decl.name) != 0)
    throw run_error(decl.span, "Rule already exists: {}", decl.name);
  const CheckMode mode{decl.naive ? Place::kQuery : Place::kBody,
                       decl.naive ? Place::kTop : Place::kHead,
                       decl.naive || decl.unsafe_seminaive};
  const TypedRule typed = typecheck(db_, decl.facts, decl.actions, mode);
  for (const std::string& variable : typed.variables)
    if (variable[0] == '$') complain_of_prefix(decl.span, variable, false);
  auto rule = std::make_shared<CompiledRule>();
  rule->name = decl.name;
  rule->ruleset = decl.ruleset;
  rule->source = source;
  rule->naive = decl.naive;
  lower_rule(db_, typed, GlobalUse::kTable, rule->query, rule->program);
  rule->query.include_subsumed = decl.include_subsumed;
  for (const PrimitiveAtom& atom : rule->query.primitives)
    rule->parallel &= atom.primitive->is_filter;
  rule->plan = std::make_shared<const QueryPlan>(rule->query);
  const auto id = static_cast<RuleId>(db_.rules.size());
  RuleState state;
  state.rule = std::move(rule);
  db_.rules.push_back(std::move(state));
  ruleset.rules.push_back(id);
  ruleset.by_name.emplace(decl.name, id);
  return id;
}

void EGraph::complain_of_prefix(const Span& span, const std::string& name, bool global) {
  if (options_.strict_names && global)
    throw type_error(span, "Global `{}` must start with `$`.", name);
  if (options_.strict_names)
    throw type_error(span, "Non-global variable `{}` must not start with `$`.", name);
  if (std::exchange(warned_of_prefix_, true)) return;
  const std::string where = span.file == nullptr ? "" : span.describe() + "\n";
  warnings_.push_back(fmt::format(
      "{}{} `{}` should {}start with `$`. Enable `--strict-mode` to turn this warning into an "
      "error. Suppressing additional warnings of this type.",
      where, global ? "Global" : "Non-global", name, global ? "" : "not "));
}

RunReport EGraph::run(const Schedule& schedule) {
  last_report_ = scheduler_.run(schedule);
  if (budget_reached_ == StopReason::kFinished) budget_reached_ = last_report_.stop;
  return last_report_;
}

bool EGraph::check(const std::vector<Fact>& facts) {
  const QueryAnswer answer = scheduler_.check(facts);
  if (answer.found || answer.stop == StopReason::kFinished) return answer.found;
  throw ProgramError(ProgramError::Kind::kStopped,
                     fmt::format("Check not decided: {} after {} rows: \n{}", to_text(answer.stop),
                                 answer.rows_visited, to_text(facts)));
}

void EGraph::push() {
  if (saved_.size() >= kMaxPushes)
    throw run_error({}, "pushed deeper than {} levels without a pop", kMaxPushes);
  saved_.push_back(db_);
}

void EGraph::pop() {
  if (saved_.empty()) throw ProgramError(ProgramError::Kind::kRun, "Tried to pop too much");
  db_ = std::move(saved_.back());
  saved_.pop_back();
  engine_.reset();
  extractor_.reset();
}

Extractor& EGraph::extractor() {
  if (extractor_ == nullptr || extractor_epoch_ != db_.epoch) {
    extractor_ = std::make_unique<Extractor>(db_);
    extractor_epoch_ = db_.epoch;
  }
  return *extractor_;
}

FunctionId EGraph::require_function(const Span& span, const std::string& name) const {
  const FunctionId function = db_.find_function(name);
  if (function == kNone) throw type_error(span, "Unbound function {}", name);
  return function;
}

}  // namespace luminal::egraph

#include "luminal/egraph/parse_pieces.h"

#include <algorithm>

namespace luminal::egraph::parsing {

void expected(const Sexp& at, std::string_view what) {
  throw parse_error(at.span, "expected {}", what);
}

const Option* Arguments::find(std::string_view name) const {
  for (const Option& option : options)
    if (option.key->word == name) return &option;
  return nullptr;
}

void Arguments::allow_only(std::initializer_list<std::string_view> names) const {
  for (size_t i = 0; i < options.size(); ++i) {
    const Sexp& key = *options[i].key;
    // Options for the proof encoding of the original: accepted everywhere, without effect.
    const bool internal = key.word.rfind(":internal-", 0) == 0;
    if (!internal && std::find(names.begin(), names.end(), key.word) == names.end())
      throw parse_error(key.span, "unknown option {}", key.word);
    for (size_t j = 0; j < i; ++j)
      if (options[j].key->word == key.word)
        throw parse_error(key.span, "option {} given twice", key.word);
  }
}

Arguments split_arguments(const Sexp& command) {
  Arguments result{&command, {}, {}};
  for (size_t i = 1; i < command.items.size(); ++i) {
    const Sexp& item = command.items[i];
    if (item.is_option()) {
      result.options.push_back({&item, {}});
    } else if (result.options.empty()) {
      result.plain.push_back(&item);
    } else {
      result.options.back().values.push_back(&item);
    }
  }
  return result;
}

const std::string& as_word(const Sexp& node, std::string_view what) {
  if (!node.is_word()) expected(node, what);
  return node.word;
}

const std::string& as_string(const Sexp& node, std::string_view what) {
  const auto* text = std::get_if<std::string>(&node.literal);
  if (node.kind != Sexp::Kind::kLiteral || text == nullptr) expected(node, what);
  return *text;
}

uint64_t as_count(const Sexp& node, std::string_view what) {
  const auto* number = std::get_if<int64_t>(&node.literal);
  if (node.kind != Sexp::Kind::kLiteral || number == nullptr || *number < 0) expected(node, what);
  return static_cast<uint64_t>(*number);
}

const std::vector<Sexp>& as_list(const Sexp& node, std::string_view what) {
  if (!node.is_list()) expected(node, what);
  return node.items;
}

namespace {

/// Writes in place: the frame of this recursion is what bounds the nesting a program may have.
void fill_expr(const Sexp& node, Expr& out) {
  out.span = node.span;
  if (node.kind == Sexp::Kind::kLiteral) {
    out.literal = node.literal;
    return;
  }
  if (node.is_word()) {
    out.kind = Expr::Kind::kVariable;
    out.name = node.word;
    return;
  }
  if (node.items.empty()) return;  // the Unit literal
  if (!node.items[0].is_word()) expected(node, "a call expression (function arguments…)");
  out.kind = Expr::Kind::kCall;
  out.name = node.items[0].word;
  out.args.resize(node.items.size() - 1);
  for (size_t i = 1; i < node.items.size(); ++i) fill_expr(node.items[i], out.args[i - 1]);
}

}  // namespace

Expr parse_expr(const Sexp& node) {
  Expr expr;
  fill_expr(node, expr);
  return expr;
}

Expr parse_call(const Sexp& node) {
  if (!node.is_list() || node.items.empty())
    expected(node, "a call expression (function arguments…)");
  return parse_expr(node);
}

Fact parse_fact(const Sexp& node) {
  if (node.is_list() && !node.items.empty() && node.items[0].is_word("=")) {
    if (node.items.size() != 3) expected(node, "(= <expr> <expr>)");
    return {node.span, parse_expr(node.items[1]), parse_expr(node.items[2])};
  }
  if (!node.is_list() || node.items.empty()) expected(node, "fact");
  return {node.span, parse_expr(node), std::nullopt};
}

std::vector<Fact> parse_fact_list(const Sexp& node) {
  std::vector<Fact> facts;
  for (const Sexp& item : as_list(node, "a list of facts")) facts.push_back(parse_fact(item));
  return facts;
}

bool is_action_head(std::string_view head) {
  return head == "let" || head == "set" || head == "union" || head == "delete" ||
         head == "subsume" || head == "panic";
}

Action parse_action(const Sexp& node) {
  Action action;
  action.span = node.span;
  const bool headed = node.is_list() && !node.items.empty() && node.items[0].is_word();
  const std::string_view head = headed ? std::string_view(node.items[0].word) : "";
  const auto need = [&](size_t count, std::string_view usage) {
    if (node.items.size() != count + 1) expected(node, usage);
  };
  if (head == "let") {
    need(2, "(let <name> <expr>)");
    action.kind = Action::Kind::kLet;
    action.text = as_word(node.items[1], "a name to bind");
    action.lhs = parse_expr(node.items[2]);
  } else if (head == "set") {
    need(2, "(set (<table name> <expr>*) <expr>)");
    action.kind = Action::Kind::kSet;
    action.lhs = parse_call(node.items[1]);
    action.rhs = parse_expr(node.items[2]);
  } else if (head == "union") {
    need(2, "(union <expr> <expr>)");
    action.kind = Action::Kind::kUnion;
    action.lhs = parse_expr(node.items[1]);
    action.rhs = parse_expr(node.items[2]);
  } else if (head == "delete" || head == "subsume") {
    need(1, "(delete (<table name> <expr>*)) or (subsume (<table name> <expr>*))");
    action.kind = head == "delete" ? Action::Kind::kDelete : Action::Kind::kSubsume;
    action.lhs = parse_call(node.items[1]);
  } else if (head == "panic") {
    need(1, "(panic <string>)");
    action.kind = Action::Kind::kPanic;
    action.text = as_string(node.items[1], "a message string");
  } else {
    action.lhs = parse_expr(node);
  }
  return action;
}

namespace {

/// `(run [ruleset] [:until facts…])`; `times` receives the count of the command form.
Schedule parse_run(const Sexp& node, bool command) {
  const Arguments args = split_arguments(node);
  args.allow_only({":until"});
  Schedule run;
  run.kind = Schedule::Kind::kRun;
  run.span = node.span;
  size_t next = 0;
  if (next < args.plain.size() && args.plain[next]->is_word())
    run.ruleset = args.plain[next++]->word;
  if (const Option* until = args.find(":until"))
    for (const Sexp* fact : until->values) run.until.push_back(parse_fact(*fact));
  if (!command) {
    if (next != args.plain.size()) expected(node, "(run [<ruleset>] [:until <fact>*])");
    return run;
  }
  if (next + 1 != args.plain.size()) expected(node, "(run [<ruleset>] <uint> [:until <fact>*])");
  Schedule repeat;
  repeat.kind = Schedule::Kind::kRepeat;
  repeat.span = node.span;
  repeat.times = as_count(*args.plain[next], "how many iterations to run");
  repeat.children.push_back(std::move(run));
  return repeat;
}

}  // namespace

Schedule parse_run_command(const Sexp& node) { return parse_run(node, true); }

Schedule parse_schedule_item(const Sexp& node) {
  Schedule schedule;
  schedule.span = node.span;
  if (node.is_word()) {
    schedule.kind = Schedule::Kind::kRun;
    schedule.ruleset = node.word;
    return schedule;
  }
  if (!node.is_list() || node.items.empty() || !node.items[0].is_word())
    expected(node, "a schedule: a ruleset, (run …), (saturate …), (seq …) or (repeat <n> …)");
  const std::string& head = node.items[0].word;
  size_t first = 1;
  if (head == "run") return parse_run(node, false);
  if (head == "saturate") {
    schedule.kind = Schedule::Kind::kSaturate;
  } else if (head == "seq") {
    schedule.kind = Schedule::Kind::kSequence;
  } else if (head == "repeat") {
    schedule.kind = Schedule::Kind::kRepeat;
    if (node.items.size() < 2) expected(node, "(repeat <uint> <schedule>*)");
    schedule.times = as_count(node.items[first++], "how often to repeat");
  } else {
    expected(node, "a schedule: a ruleset, (run …), (saturate …), (seq …) or (repeat <n> …)");
  }
  for (; first < node.items.size(); ++first)
    schedule.children.push_back(parse_schedule_item(node.items[first]));
  return schedule;
}

}  // namespace luminal::egraph::parsing

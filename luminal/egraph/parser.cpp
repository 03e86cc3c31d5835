#include "luminal/egraph/parser.h"

#include "luminal/egraph/parse_pieces.h"

namespace luminal::egraph {
namespace {

using parsing::Arguments;
using parsing::as_count;
using parsing::as_list;
using parsing::as_string;
using parsing::as_word;
using parsing::expected;
using parsing::Option;
using parsing::split_arguments;

void need_plain(const Arguments& args, size_t least, size_t most, std::string_view usage) {
  if (args.plain.size() < least || args.plain.size() > most) expected(*args.command, usage);
}

const Sexp& single_value(const Option& option) {
  if (option.values.size() != 1)
    throw parse_error(option.key->span, "option {} takes one value", option.key->word);
  return *option.values[0];
}

bool flag(const Arguments& args, std::string_view name) {
  const Option* option = args.find(name);
  if (option != nullptr && !option->values.empty())
    throw parse_error(option->key->span, "option {} takes no value", option->key->word);
  return option != nullptr;
}

std::string word_option(const Arguments& args, std::string_view name) {
  const Option* option = args.find(name);
  return option == nullptr ? "" : as_word(single_value(*option), "a name");
}

std::string string_option(const Arguments& args, std::string_view name) {
  const Option* option = args.find(name);
  return option == nullptr ? "" : as_string(single_value(*option), "a string");
}

std::vector<std::string> sort_names(const Sexp& node) {
  std::vector<std::string> names;
  for (const Sexp& item : as_list(node, "a list of sorts (<sort>*)"))
    names.push_back(as_word(item, "the name of a sort"));
  return names;
}

std::optional<uint64_t> cost_option(const Arguments& args) {
  const Option* option = args.find(":cost");
  if (option == nullptr) return std::nullopt;
  return as_count(single_value(*option), "a cost (a non-negative integer)");
}

SortDecl parse_sort(const Sexp& node) {
  const Arguments args = split_arguments(node);
  args.allow_only({});
  need_plain(args, 1, 2, "(sort <name>) or (sort <name> (<presort> <args>*))");
  SortDecl sort{node.span, as_word(*args.plain[0], "the name of the sort"), "", {}};
  if (args.plain.size() == 1) return sort;
  const auto& presort = as_list(*args.plain[1], "(<presort> <args>*)");
  if (presort.empty()) expected(*args.plain[1], "(<presort> <args>*)");
  sort.presort = as_word(presort[0], "the name of a presort");
  for (size_t i = 1; i < presort.size(); ++i)
    sort.presort_args.push_back(parsing::parse_expr(presort[i]));
  return sort;
}

FunctionDecl parse_variant(const Sexp& node, const std::string& sort) {
  const auto& items = as_list(node, "a variant (<constructor> <sort>*)");
  if (items.empty()) expected(node, "a variant (<constructor> <sort>*)");
  const Arguments args = split_arguments(node);
  args.allow_only({":cost", ":unextractable"});
  FunctionDecl variant;
  variant.span = node.span;
  variant.name = as_word(items[0], "the name of a constructor");
  for (const Sexp* input : args.plain)
    variant.inputs.push_back(as_word(*input, "the name of a sort"));
  variant.output = sort;
  variant.cost = cost_option(args);
  variant.unextractable = flag(args, ":unextractable");
  return variant;
}

Command parse_datatype(const Sexp& node) {
  if (node.items.size() < 2) expected(node, "(datatype <name> <variant>*)");
  DatatypeDecl::Entry entry;
  entry.sort.span = node.span;
  entry.sort.name = as_word(node.items[1], "the name of the sort");
  for (size_t i = 2; i < node.items.size(); ++i)
    entry.variants.push_back(parse_variant(node.items[i], entry.sort.name));
  return {node.span, DatatypeDecl{node.span, {std::move(entry)}}};
}

Command parse_datatypes(const Sexp& node) {
  DatatypeDecl decl{node.span, {}};
  for (size_t i = 1; i < node.items.size(); ++i) {
    const auto& items =
        as_list(node.items[i], "(<sort> <variant>*) or (sort <name> (<presort> …))");
    if (items.empty()) expected(node.items[i], "(<sort> <variant>*)");
    DatatypeDecl::Entry entry;
    if (items[0].is_word("sort") && items.size() == 3) {
      entry.sort = parse_sort(node.items[i]);
    } else {
      entry.sort.span = node.items[i].span;
      entry.sort.name = as_word(items[0], "the name of the sort");
      for (size_t j = 1; j < items.size(); ++j)
        entry.variants.push_back(parse_variant(items[j], entry.sort.name));
    }
    decl.entries.push_back(std::move(entry));
  }
  return {node.span, std::move(decl)};
}

Command parse_constructor(const Sexp& node) {
  const Arguments args = split_arguments(node);
  args.allow_only({":cost", ":unextractable", ":internal-hidden", ":internal-let",
                   ":internal-term-constructor"});
  need_plain(args, 3, 3, "(constructor <name> (<input sort>*) <output sort> [:cost <n>])");
  FunctionDecl decl;
  decl.span = node.span;
  decl.name = as_word(*args.plain[0], "the name of the constructor");
  decl.inputs = sort_names(*args.plain[1]);
  decl.output = as_word(*args.plain[2], "the output sort");
  decl.cost = cost_option(args);
  decl.unextractable = flag(args, ":unextractable");
  decl.hidden = flag(args, ":internal-hidden") || flag(args, ":internal-let");
  return {node.span, std::move(decl)};
}

Command parse_relation(const Sexp& node) {
  const Arguments args = split_arguments(node);
  args.allow_only({});
  need_plain(args, 2, 2, "(relation <name> (<input sort>*))");
  FunctionDecl decl;
  decl.span = node.span;
  decl.kind = FunctionKind::kRelation;
  decl.name = as_word(*args.plain[0], "the name of the relation");
  decl.inputs = sort_names(*args.plain[1]);
  return {node.span, std::move(decl)};
}

Command parse_function(const Sexp& node) {
  const Arguments args = split_arguments(node);
  args.allow_only({":merge", ":no-merge", ":unextractable", ":internal-hidden", ":internal-let",
                   ":internal-term-constructor"});
  need_plain(args, 3, 3,
             "(function <name> (<input sort>*) <output sort> :merge <expr> | :no-merge)");
  FunctionDecl decl;
  decl.span = node.span;
  decl.kind = FunctionKind::kFunction;
  decl.name = as_word(*args.plain[0], "the name of the function");
  decl.inputs = sort_names(*args.plain[1]);
  decl.output = as_word(*args.plain[2], "the output sort");
  decl.unextractable = flag(args, ":unextractable");
  decl.hidden = flag(args, ":internal-hidden") || flag(args, ":internal-let");
  const Option* merge = args.find(":merge");
  const bool no_merge = flag(args, ":no-merge");
  if (merge == nullptr && !no_merge)
    throw parse_error(node.span,
                      "functions are required to specify merge behaviour: give :merge <expr> or "
                      ":no-merge");
  if (merge != nullptr && no_merge)
    throw parse_error(node.span, "conflicting options :merge and :no-merge");
  if (merge != nullptr) decl.merge = parsing::parse_expr(single_value(*merge));
  return {node.span, std::move(decl)};
}

Command parse_rule(const Sexp& node) {
  const Arguments args = split_arguments(node);
  args.allow_only({":ruleset", ":name", ":naive", ":unsafe-seminaive", ":no-decomp",
                   ":internal-include-subsumed"});
  need_plain(args, 2, 2, "(rule (<fact>*) (<action>*) <option>*)");
  RuleDecl rule;
  rule.span = node.span;
  rule.facts = parsing::parse_fact_list(*args.plain[0]);
  for (const Sexp& action : as_list(*args.plain[1], "a list of actions"))
    rule.actions.push_back(parsing::parse_action(action));
  rule.ruleset = word_option(args, ":ruleset");
  rule.name = string_option(args, ":name");
  rule.naive = flag(args, ":naive");
  rule.unsafe_seminaive = flag(args, ":unsafe-seminaive");
  rule.include_subsumed = flag(args, ":internal-include-subsumed");
  if (rule.naive && rule.unsafe_seminaive)
    throw parse_error(node.span, "a rule cannot be both :naive and :unsafe-seminaive");
  return {node.span, std::move(rule)};
}

Command parse_rewrite(const Sexp& node, bool both_ways) {
  const Arguments args = split_arguments(node);
  if (both_ways) {
    args.allow_only({":when", ":ruleset", ":name"});
  } else {
    args.allow_only({":when", ":ruleset", ":name", ":subsume"});
  }
  need_plain(args, 2, 2, "(rewrite <expr> <expr> <option>*)");
  RewriteDecl rewrite;
  rewrite.span = node.span;
  rewrite.lhs = parsing::parse_expr(*args.plain[0]);
  rewrite.rhs = parsing::parse_expr(*args.plain[1]);
  if (const Option* when = args.find(":when"))
    rewrite.conditions = parsing::parse_fact_list(single_value(*when));
  rewrite.ruleset = word_option(args, ":ruleset");
  rewrite.name = string_option(args, ":name");
  rewrite.subsume = flag(args, ":subsume");
  rewrite.both_ways = both_ways;
  return {node.span, std::move(rewrite)};
}

Command parse_ruleset(const Sexp& node, bool combined) {
  if (node.items.size() < 2 || (!combined && node.items.size() != 2))
    expected(node, combined ? "(unstable-combined-ruleset <name> <ruleset>*)" : "(ruleset <name>)");
  RulesetDecl decl{node.span, as_word(node.items[1], "the name of the ruleset"), combined, {}};
  for (size_t i = 2; i < node.items.size(); ++i)
    decl.members.push_back(as_word(node.items[i], "the name of a ruleset"));
  return {node.span, std::move(decl)};
}

Command parse_print_function(const Sexp& node) {
  const Arguments args = split_arguments(node);
  args.allow_only({":file", ":mode"});
  need_plain(args, 1, 2, "(print-function <name> [<uint>] [:file <string>] [:mode default|csv])");
  PrintFunctionCommand print;
  print.function = as_word(*args.plain[0], "the name of a table");
  if (args.plain.size() == 2) print.limit = as_count(*args.plain[1], "a number of rows");
  print.file = string_option(args, ":file");
  const std::string mode = word_option(args, ":mode");
  if (!mode.empty() && mode != "default" && mode != "csv") expected(node, ":mode default or csv");
  print.csv = mode == "csv";
  return {node.span, std::move(print)};
}

Command parse_extract(const Sexp& node) {
  if (node.items.size() < 2 || node.items.size() > 3)
    expected(node, "(extract <expr> [<variants>])");
  ExtractCommand extract{parsing::parse_expr(node.items[1]), std::nullopt};
  if (node.items.size() == 3) extract.variants = parsing::parse_expr(node.items[2]);
  return {node.span, std::move(extract)};
}

uint64_t optional_count(const Sexp& node) {
  if (node.items.size() > 2) expected(node, "at most one count");
  return node.items.size() == 2 ? as_count(node.items[1], "a count") : 1;
}

Command parse_command(const Sexp& node);

Command parse_io(const Sexp& node, const std::string& head) {
  const Arguments args = split_arguments(node);
  if (head == "print-stats") {
    args.allow_only({":file"});
    need_plain(args, 0, 0, "(print-stats [:file <string>])");
    return {node.span, PrintStatsCommand{string_option(args, ":file")}};
  }
  args.allow_only({});
  if (head == "print-size") {
    need_plain(args, 0, 1, "(print-size [<name>])");
    return {node.span,
            PrintSizeCommand{args.plain.empty() ? "" : as_word(*args.plain[0], "a table name")}};
  }
  if (head == "input") {
    need_plain(args, 2, 2, "(input <name> <file>)");
    return {node.span, InputCommand{as_word(*args.plain[0], "the name of a table"),
                                    as_string(*args.plain[1], "a file name")}};
  }
  if (head == "include") {
    need_plain(args, 1, 1, "(include <file>)");
    return {node.span, IncludeCommand{as_string(*args.plain[0], "a file name")}};
  }
  need_plain(args, 2, SIZE_MAX, "(output <file> <expr>+)");
  OutputCommand output{as_string(*args.plain[0], "a file name"), {}};
  for (size_t i = 1; i < args.plain.size(); ++i)
    output.exprs.push_back(parsing::parse_expr(*args.plain[i]));
  return {node.span, std::move(output)};
}

Command parse_running(const Sexp& node, const std::string& head) {
  if (head == "run") return {node.span, RunCommand{parsing::parse_run_command(node)}};
  if (head == "run-schedule") {
    Schedule sequence;
    sequence.span = node.span;
    for (size_t i = 1; i < node.items.size(); ++i)
      sequence.children.push_back(parsing::parse_schedule_item(node.items[i]));
    return {node.span, RunCommand{std::move(sequence)}};
  }
  if (head == "check") {
    CheckCommand check;
    for (size_t i = 1; i < node.items.size(); ++i)
      check.facts.push_back(parsing::parse_fact(node.items[i]));
    return {node.span, std::move(check)};
  }
  if (head == "push") return {node.span, PushCommand{optional_count(node)}};
  if (head == "pop") return {node.span, PopCommand{optional_count(node)}};
  if (node.items.size() != 2) expected(node, "(fail <command>)");
  return {node.span, FailCommand{std::make_shared<Command>(parse_command(node.items[1]))}};
}

Command parse_command(const Sexp& node) {
  if (!node.is_list() || node.items.empty() || !node.items[0].is_word())
    expected(node, "a command (<name> …)");
  const std::string& head = node.items[0].word;
  if (parsing::is_action_head(head)) return {node.span, parsing::parse_action(node)};
  if (head == "sort") return {node.span, parse_sort(node)};
  if (head == "datatype") return parse_datatype(node);
  if (head == "datatype*") return parse_datatypes(node);
  if (head == "constructor") return parse_constructor(node);
  if (head == "relation") return parse_relation(node);
  if (head == "function") return parse_function(node);
  if (head == "rule") return parse_rule(node);
  if (head == "rewrite" || head == "birewrite") return parse_rewrite(node, head == "birewrite");
  if (head == "ruleset") return parse_ruleset(node, false);
  if (head == "unstable-combined-ruleset") return parse_ruleset(node, true);
  if (head == "extract") return parse_extract(node);
  if (head == "print-function") return parse_print_function(node);
  if (head == "prove" || head == "prove-exists") return {node.span, ProveCommand{}};
  if (head == "print-size" || head == "print-stats" || head == "input" || head == "output" ||
      head == "include")
    return parse_io(node, head);
  if (head == "run" || head == "run-schedule" || head == "check" || head == "push" ||
      head == "pop" || head == "fail")
    return parse_running(node, head);
  return {node.span, parsing::parse_action(node)};
}

const Sexp& only_sexp(const SourceFile& file, const std::vector<Sexp>& nodes) {
  if (nodes.size() != 1) {
    const Span whole{&file, 0, static_cast<uint32_t>(file.text.size())};
    throw parse_error(whole, "expected exactly one expression, got {}", nodes.size());
  }
  return nodes[0];
}

}  // namespace

std::vector<Command> parse_program(const SourceFile& file) {
  std::vector<Command> commands;
  for (const Sexp& node : read_sexps(file)) commands.push_back(parse_command(node));
  return commands;
}

Expr parse_expression(const SourceFile& file) {
  return parsing::parse_expr(only_sexp(file, read_sexps(file)));
}

std::vector<Fact> parse_facts(const SourceFile& file) {
  std::vector<Fact> facts;
  for (const Sexp& node : read_sexps(file)) facts.push_back(parsing::parse_fact(node));
  return facts;
}

Schedule parse_schedule(const SourceFile& file) {
  Schedule sequence;
  for (const Sexp& node : read_sexps(file))
    sequence.children.push_back(parsing::parse_schedule_item(node));
  return sequence;
}

}  // namespace luminal::egraph

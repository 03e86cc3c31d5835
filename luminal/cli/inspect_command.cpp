#include <fmt/ostream.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>

#include "luminal/cli/arguments.h"
#include "luminal/cli/cases.h"
#include "luminal/cli/commands.h"
#include "luminal/cli/inspection.h"
#include "luminal/cli/json_text.h"
#include "luminal/egraph/program_error.h"
#include "luminal/graph/ops.h"
#include "luminal/support/error.h"
#include "luminal/support/file.h"

namespace luminal::cli {
namespace {

using nlohmann::ordered_json;

/// What the options say.
struct InspectArguments {
  std::string graph;
  bool list = false, classes = false, rules = false, coverage = false, exact = false;
  bool json = false, times = false;
  std::string op, which, missing, at, within, rule, more_rules, dump;
};

void list_cases(bool json, std::ostream& out) {
  ordered_json rows = ordered_json::array();
  for (const Case& each : cases()) {
    if (json)
      rows.push_back({{"case", each.name}, {"what", each.what}});
    else
      fmt::print(out, "{:<14}{}\n", each.name, each.what);
  }
  if (json) print_json(rows, out);
}

/// Prints JSON or text, whichever is wanted.
template <typename Json, typename Text>
void give(const InspectArguments& arguments, std::ostream& out, Json json, Text text) {
  if (arguments.json)
    print_json(json(), out);
  else
    text();
}

/// UsageError if the graph has no such op, and none could.
void check_op(InspectedGraph& graph, const InspectArguments& arguments, const char* option,
              const std::string& op) {
  std::vector<std::string> known;
  for (const OpCount& count : count_ops(graph)) known.push_back(count.op);
  for (const graph::OpInfo& info : graph::kOps) known.emplace_back(info.name);
  for (const std::string& name : graph.constructors()) known.push_back(name);
  if (std::find(known.begin(), known.end(), op) != known.end()) return;
  const std::string near = nearest(op, known);
  throw UsageError("inspect",
                   "{} {}: the graph has no such op, nor do graphs or rules{}; `luminal inspect "
                   "{}` lists those there are",
                   option, op, near.empty() ? "" : fmt::format(", did you mean '{}'?", near),
                   arguments.graph);
}

void trace(InspectedGraph& graph, const InspectArguments& arguments, std::ostream& out) {
  if (arguments.at.empty() && arguments.within.empty())
    throw UsageError("inspect", "say where {} is missing: --at CLASS, or --within OP for the first",
                     arguments.missing);
  if (!arguments.within.empty()) check_op(graph, arguments, "--within", arguments.within);
  const FactTrace found = arguments.at.empty()
                              ? trace_first_missing(graph, arguments.missing, arguments.within)
                              : trace_fact(graph, arguments.missing, graph.find(arguments.at));
  give(
      arguments, out, [&] { return trace_json(found); }, [&] { print_trace(found, out); });
}

void ask_rule(InspectedGraph& graph, const InspectArguments& arguments, std::ostream& out) {
  if (arguments.at.empty())
    throw UsageError("inspect", "say what rule {} is asked about: --at CLASS", arguments.rule);
  const TracedRule rule = trace_rule(graph, arguments.rule, graph.find(arguments.at));
  give(
      arguments, out, [&] { return traced_rule_json(rule); },
      [&] {
        fmt::print(out, "{}\n", arguments.at);
        print_traced_rule(rule, out);
      });
}

void list_classes(InspectedGraph& graph, const InspectArguments& arguments, std::ostream& out) {
  if (!arguments.op.empty()) check_op(graph, arguments, "--op", arguments.op);
  const std::vector<egraph::Value> classes = classes_with(graph, arguments.op);
  const auto json = [&] {
    ordered_json rows = ordered_json::array();
    for (const egraph::Value place : classes) rows.push_back(class_json(graph, place));
    return rows;
  };
  give(arguments, out, json, [&] {
    print_classes(graph, classes, out);
    fmt::print(out, "{} classes\n", classes.size());
  });
}

void dump(InspectedGraph& graph, const std::string& file, std::ostream& out) {
  const std::string program = egraph::to_program(graph.database());
  if (file == "-") {
    out << program;
    return;
  }
  support::write_file_atomic(file, program, "inspect --dump");
  fmt::print(out, "{} bytes of egglog written to {}\n", program.size(), file);
}

rules::RuleOptions rule_options(const InspectArguments& arguments) {
  rules::RuleOptions options{.reassociate = !arguments.exact};
  if (!arguments.more_rules.empty()) {
    options.more_rules = support::read_file(arguments.more_rules, "inspect --more-rules");
    options.budget.seconds = 10;  // a wrong rule may find ever more
  }
  return options;
}

/// Options that do not go together, before anything is done.
void check_options(const InspectArguments& arguments) {
  const Option list{"--list", arguments.list}, dump{"--dump", !arguments.dump.empty()},
      missing{"--missing", !arguments.missing.empty()}, rule{"--rule", !arguments.rule.empty()},
      which{"--class", !arguments.which.empty()}, classes{"--classes", arguments.classes},
      op{"--op", !arguments.op.empty()}, rules{"--rules", arguments.rules},
      coverage{"--coverage", arguments.coverage};
  const Option at{"--at", !arguments.at.empty()}, within{"--within", !arguments.within.empty()},
      times{"--times", arguments.times}, json{"--json", arguments.json},
      more{"--more-rules", !arguments.more_rules.empty()}, exact{"--exact", arguments.exact};
  at_most_one("inspect", {list, dump, missing, rule, which, classes, rules, coverage});
  at_most_one("inspect", {list, dump, missing, rule, which, op, rules, coverage});
  only_with("inspect", at, {missing, rule});
  only_with("inspect", within, {missing});
  at_most_one("inspect", {at, within});
  nothing_with("inspect", list, {{"a graph", !arguments.graph.empty()}, times, more, exact});
  nothing_with("inspect", dump, {json});
  for (const Option& mode : {dump, missing, rule, which, classes, op, coverage})
    nothing_with("inspect", mode, {times});
  if (!arguments.list && arguments.graph.empty())
    throw UsageError("inspect", "name a graph file or a case; --list lists the cases");
}

void inspect(const InspectArguments& arguments, std::ostream& out) {
  check_options(arguments);
  if (arguments.list) return list_cases(arguments.json, out);
  if (!arguments.dump.empty() && arguments.dump != "-")
    support::check_writable(arguments.dump, "inspect --dump");
  const InspectionParts parts{arguments.graph, arguments.times, arguments.rules};
  InspectedGraph graph(graph_of("inspect", arguments.graph), rule_options(arguments));
  if (!arguments.dump.empty()) return dump(graph, arguments.dump, out);
  if (!arguments.missing.empty()) return trace(graph, arguments, out);
  if (!arguments.rule.empty()) return ask_rule(graph, arguments, out);
  if (!arguments.which.empty()) {
    const egraph::Value place = graph.find(arguments.which);
    return give(
        arguments, out, [&] { return class_json(graph, place); },
        [&] { print_class(graph, place, out); });
  }
  if (arguments.classes || !arguments.op.empty()) return list_classes(graph, arguments, out);
  if (arguments.rules)
    return give(
        arguments, out, [&] { return rules_json(graph, parts); },
        [&] { print_rules(graph, parts, out); });
  if (arguments.coverage)
    return give(
        arguments, out, [&] { return coverage_json(graph.simplified()); },
        [&] { print_coverage(graph.simplified(), out); });
  give(
      arguments, out, [&] { return summary_json(graph, parts); },
      [&] { print_summary(graph, parts, out); });
}

/// Errors in rules of the user's own are the user's.
void inspect_or_explain(const InspectArguments& arguments, std::ostream& out) {
  try {
    inspect(arguments, out);
  } catch (const egraph::ProgramError& error) {
    throw UserError("inspect", "{}: {}", arguments.more_rules, error.what());
  } catch (const InternalError& error) {
    if (arguments.more_rules.empty()) throw;
    throw UserError("inspect",
                    "{} has a rule that writes nodes whose parts do not fit together: {}",
                    arguments.more_rules, error.what());
  }
}

void add_options(CLI::App& command, InspectArguments& arguments) {
  command.add_option("GRAPH", arguments.graph, "A graph file, a saved plan, or a built-in case");
  command.add_flag("--list", arguments.list, "List the built-in cases");
  command.add_flag("--classes", arguments.classes, "Every class of equal tensors with its nodes");
  command.add_option("--op", arguments.op, "Only classes that have a node of this op");
  command.add_option("--class", arguments.which, "One class: %7, c123 or a name");
  command.add_flag("--rules", arguments.rules, "Every rule, also those that never matched");
  command.add_flag("--coverage", arguments.coverage, "Which op has code on which device");
  command.add_option("--missing", arguments.missing,
                     "Why a class lacks a fact such as Contract or Times");
  command.add_option("--rule", arguments.rule, "Why one rule does not match a class");
  command.add_option("--at", arguments.at, "The class that --missing and --rule ask about");
  command.add_option("--within", arguments.within,
                     "With --missing: the first class that has a node of this op and lacks it");
  command.add_option("--more-rules", arguments.more_rules, "A file with rules of your own");
  command.add_flag("--exact", arguments.exact, "Without rules that round elsewhere");
  command.add_option("--dump", arguments.dump, "Write the e-graph as egglog text (- prints it)");
  command.add_flag("--times", arguments.times, "Also what rules took, in microseconds");
  command.add_flag("--json", arguments.json, "As JSON");
}

}  // namespace

void add_inspect_command(CLI::App& app, std::ostream& out) {
  auto arguments = std::make_shared<InspectArguments>();
  CLI::App* command = app.add_subcommand("inspect", "What rules make of a graph, and why not more");
  add_options(*command, *arguments);
  command->footer(R"(
Examples:
  luminal inspect gpt-block                        a summary: ops, rules, coverage
  luminal inspect net.graph --class y              everything equal to an output
  luminal inspect mlp --op contract                the classes that are products
  luminal inspect mlp --missing Contract --at %4   the rules that would write it, and what fails
  luminal inspect mlp --more-rules my.egg --rule my-rule --at y
  luminal inspect mlp --dump mlp.egg               the e-graph as egglog text)");
  command->callback([=, &out] { inspect_or_explain(*arguments, out); });
}

}  // namespace luminal::cli

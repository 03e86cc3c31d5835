#include <fmt/ostream.h>

#include <CLI/CLI.hpp>
#include <memory>

#include "luminal/cli/cases.h"
#include "luminal/cli/commands.h"
#include "luminal/graph/pass.h"
#include "luminal/graph/text.h"
#include "luminal/support/file.h"

namespace luminal::cli {
namespace {

/// What the options say.
struct GraphArguments {
  std::string graph;
  std::string output;
  bool passes = false;
};

void write(const GraphArguments& arguments, std::ostream& out) {
  graph::Graph graph = graph_of("graph", arguments.graph);
  if (arguments.passes) graph = graph::default_passes().run(graph).graph;
  const std::string text = graph::to_text(graph);
  if (arguments.output.empty()) {
    out << text;
    return;
  }
  support::write_file_atomic(arguments.output, text, "graph");
  fmt::print(out, "{}: {} nodes; `luminal run {}` runs it\n", arguments.output, graph.size(),
             arguments.output);
}

}  // namespace

void add_graph_command(CLI::App& app, std::ostream& out) {
  auto arguments = std::make_shared<GraphArguments>();
  CLI::App* command = app.add_subcommand(
      "graph", "Write a graph in its text form: a built-in case to start from, or that of a plan");
  command->add_option("GRAPH", arguments->graph, "A built-in case, a graph file, or a saved plan")
      ->required();
  command->add_option("-o,--output", arguments->output, "The file (printed unless said)");
  command->add_flag("--passes", arguments->passes,
                    "After the passes that every compile begins with");
  command->footer(R"(
Examples:
  luminal graph mlp -o mlp.graph       a network to start from
  luminal graph net.plan               what a plan computes
  luminal graph net.graph --passes     what is left after simplifying)");
  command->callback([=, &out] { write(*arguments, out); });
}

}  // namespace luminal::cli

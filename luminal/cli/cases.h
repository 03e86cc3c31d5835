// Graphs to try the compiler on without writing one: small networks by name. Commands that take a
// graph take one of these names too.
#pragma once

#include <functional>
#include <span>
#include <string>

#include "luminal/graph/graph.h"

namespace luminal::cli {

/// A network that is built in.
struct Case {
  const char* name;
  const char* what;  ///< for people
  graph::Graph (*graph)();
};

/// All of them, by name.
std::span<const Case> cases();

/// The graph that a user names: a built-in case, a graph file in its text form, or the graph of a
/// saved plan. UserError of `operation` if it is none of them.
graph::Graph graph_of(const std::string& operation, const std::string& case_or_file);

/// The graph of a file in the text form of graphs. Errors name the operation and the file.
graph::Graph read_graph(const std::string& operation, const std::string& file);

}  // namespace luminal::cli

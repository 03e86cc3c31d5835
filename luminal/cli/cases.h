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

/// Whether a network of that name is built in; a file of the same name is ./NAME.
bool is_case(const std::string& name);

/// The graph that a user names: a built-in case, a graph file in its text form, or the graph of a
/// saved plan. UserError of `operation` if it is none of them, or computes nothing.
graph::Graph graph_of(const std::string& operation, const std::string& case_or_file);

}  // namespace luminal::cli

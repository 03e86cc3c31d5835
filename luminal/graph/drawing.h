// Pictures of a graph: text for Graphviz, and one HTML file that needs nothing else (no network, no
// libraries). Both show every node with dtype and shape, the shape on every edge as its user sees
// it, and the named definitions as nested boxes. Text that users wrote is always escaped.
#pragma once

#include <string>

#include "luminal/graph/graph.h"

namespace luminal::graph {
/// How a drawing looks.
struct DrawingOptions {
  /// Stands above the picture.
  std::string title = "graph";
};

/// A digraph in the DOT language: `dot -Tsvg graph.dot > graph.svg`.
std::string to_dot(const Graph& graph, const DrawingOptions& options = {});

/// A page to open in a browser: pan with the mouse, zoom with the wheel, search, open and close
/// named definitions, click a node for its operands, views and users. Thousands of nodes are fine:
/// large graphs open with their definitions closed.
std::string to_html(const Graph& graph, const DrawingOptions& options = {});

}  // namespace luminal::graph

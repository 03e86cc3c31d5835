// What both kinds of drawing write about a node.
#pragma once

#include <string>

#include "luminal/graph/graph.h"

namespace luminal::graph {

/// The attributes in words: "axes = 2", "value = 0.5"; empty if the op has none worth showing.
std::string attribute_text(const Node& node);

/// What stands large in the node's box: the value of a scalar, the user's name, or the op.
std::string title_text(const Node& node);

/// What stands below: the type, after the op where the title does not say it.
std::string subtitle_text(const Node& node);

/// The map of an edge if it does anything, else empty.
std::string view_text(const Edge& edge);

}  // namespace luminal::graph

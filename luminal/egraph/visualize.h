// Pictures of an e-graph: Graphviz, and one HTML page that needs nothing else.
#pragma once

#include <string>

#include "luminal/egraph/database.h"

namespace luminal::egraph {

/// A Graphviz digraph: one cluster per class, one box per node. Beyond `max_nodes` nodes the rest
/// is left out and said so.
std::string to_graphviz(Database& db, uint32_t max_nodes = 2000);
/// A page that lists classes with their nodes, linked, with a search field.
std::string to_html(Database& db, uint32_t max_nodes = 20000);

}  // namespace luminal::egraph

// Marks of repeats that a user declared: instance k of repeat "layer" takes these values and gives
// those. They are kept among the named definitions of a graph, so that passes carry them along; the
// compiler may take the marked places as the borders of repeated regions.
#pragma once

#include <optional>
#include <string>

#include "luminal/graph/graph.h"

namespace luminal::graph {

/// One value that one instance of a repeat hands on.
struct RepeatMark {
  std::string repeat;    // which repeat: its name, made unique within the graph
  int64_t instance = 0;  // 0, 1, ...
  int64_t value = 0;     // which of the values handed on
  Edge taken;            // from the instance before, or from outside
  Edge given;
};

/// Records a mark.
void add_repeat_mark(Graph& graph, const RepeatMark& mark);

/// True for definitions that are marks of a repeat.
bool is_repeat(const NamedDefinition& definition);
/// The mark that a definition is, if it is one.
std::optional<RepeatMark> repeat_mark(const NamedDefinition& definition);

}  // namespace luminal::graph

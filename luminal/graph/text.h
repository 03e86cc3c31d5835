// The readable text of a graph: one line per dim, node, output and named definition. What is
// written holds everything (constants in full, dims with their intervals, names), so that reading
// it back gives an identical graph.
//
//   # anything after a hash is a comment
//   dim seq: [1, 4096]
//   %0: f32[2, seq] = input "x"
//   %1: f32[] = constant 0.5
//   %2: f32[2, seq] = mul %0, %1[]                             # a view: every index of the source
//   %3: f32[2] = sum %2 axes=1
//   %4: f32[seq, 2] = copy %2[i1, i0] name="transposed"
//   %5: f32[seq, 2] = add %4, %4[i0 - 1, i1 if i0 - 1 in [0, seq) else 0]
//   %6: i64[seq] = iota 2*i0 + 1
//   output "y" = %5
//   output "row" = %5[seq -> i0, 1]                            # its domain is not implied
//   named %3 = row_sum(axis=1) %2
//
// An operand written alone is read whole. In brackets stand the index expressions over the axes
// i0, i1, ... of the domain, then conditions and fill if the view pads. The domain comes first,
// before an arrow, unless it is the shape of the node that reads. Labels after % may be any
// letters, digits and underscores; they are numbers when written by to_text.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "luminal/graph/graph.h"

namespace luminal::graph {

/// Takes a long constant that is kept beside the text; gives the number that stands for it.
using ConstantStore = std::function<size_t(const Array& value)>;

/// The text of a graph. Custom functions are written by name, and so are long constants if there is
/// a store for them: `constant @3`.
std::string to_text(const Graph& graph, const ConstantStore& store = {});

/// The text of an edge, its domain left out where it equals `implied_domain`: "%2[i1, i0]".
std::string to_text(const Edge& edge, const Shape& implied_domain);

/// The text of one node without its label, as in "f32[2] = sum %2 axes=1".
std::string to_text(const Node& node);

/// Functions for `custom` nodes, by name.
using CustomFunctions = std::map<std::string, std::shared_ptr<const CustomFunction>, std::less<>>;

/// Reads what to_text wrote (or a person). Throws UserError with line, column and what was
/// expected, whatever the text is. `constants` are those that a store took, by their numbers.
Graph parse_text(std::string_view text, const CustomFunctions& functions = {},
                 std::span<const Array> constants = {});

}  // namespace luminal::graph

// A graph with every float in f64, as it is or with every element that is rounded moved by a few
// units of its last place. Comparing the three says how much a result depends on where a program
// rounds.
#pragma once

#include "luminal/graph/graph.h"

namespace luminal::graph {

/// How far results are moved, in turns upward and downward.
enum class Move : uint8_t { kNone, kOneWay, kOtherWay };

/// True if the result of the node is a float that had to be rounded: not copied, chosen, or scaled
/// by a power of two.
bool is_rounded(const Graph& graph, const Node& node);

/// By how much of itself at most a result of this dtype is moved: a few times what rounding takes
/// from it, and for narrow floats, which a program need not round, that once.
double move_of(DType dtype);

/// The graph in f64. Inputs have the same names and take the same values, as f64; outputs are f64
/// where they were floats. Bits and the user's functions see the dtypes they saw before. Effects
/// become copies. Another `seed` moves results by other amounts. Besides what is_rounded names,
/// integers that a float cannot hold are moved, and what is beyond the range of a dtype without
/// infinities may become its largest value. Results of millions of elements, which need not be held
/// as a whole, are moved together.
Graph widened(const Graph& graph, Move move = Move::kNone, uint64_t seed = 0);

/// An input for a widened graph, `number` of the graph's. Values that are all small integers, which
/// graphs compare and count with, are not moved.
Array widened(const Array& value, Move move, double by, uint64_t number, uint64_t seed = 0);

}  // namespace luminal::graph

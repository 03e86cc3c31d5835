// How far native code may be from the oracle: every suite that compares the two asks here. The
// oracle computes op by op and rounds after each; native code has functions of its own, takes sums
// in another order, and keeps more of narrow floats, so some results differ in their last bits.
#pragma once

#include <optional>

#include "comparison.h"
#include "luminal/graph/graph.h"

namespace luminal::test {

/// One primitive whose result (and operand) is of this dtype: exact but for functions, which are as
/// good as vector_math.h says, and sums and products of some hundred floats, which are reordered.
Tolerance primitive_bound(graph::Op op, graph::DType dtype);

/// A function of several steps of ordinary numbers, with a result of this dtype: narrow floats are
/// computed in f32 and rounded once, so a few units in the last place. Integers are exact.
Tolerance function_bound(graph::DType dtype);

/// What a result may differ from another implementation's by, given what the oracle may.
Tolerance native_bound(Tolerance of_oracle);

/// An output of any graph: what the narrowest float on the way to it allows. Nothing where no bound
/// holds: integers made of computed floats, which may become any neighbour; products of many
/// factors, which the oracle forms in f64; and narrow floats that are not rounded where the graph
/// says, which may overflow there and not here.
std::optional<Tolerance> graph_bound(const graph::Graph& graph, const graph::Edge& output,
                                     bool round_each);

}  // namespace luminal::test

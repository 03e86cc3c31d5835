// How far native code may be from the oracle: suites of single ops and functions ask here. The
// oracle computes op by op and rounds after each; native code has functions of its own, takes sums
// in another order, and keeps more of narrow floats, so some results differ in their last bits.
// Graphs of any kind are compared by graph/expected.h, which runs the oracle several times.
#pragma once

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

}  // namespace luminal::test

// Random programs of the public interface: functions as networks use them (statistics over any
// axes, norms, products of padded operands, positions of extremes, parts replaced, convolutions) on
// each other's results, over several dtypes and dims. Random graphs of primitives seldom contain
// such a composition whole. Programs are valid by construction, but for ranges that only the dims
// of a run decide.
#pragma once

#include <map>
#include <string>

#include "luminal/graph/graph.h"
#include "luminal/graph/program.h"
#include "random.h"

namespace luminal::fuzz {

/// The graph of a seed: about `steps` functions. The first n of them depend on the seed only.
graph::Graph random_program(uint64_t seed, int steps);

/// Data for its inputs: ordinary values around 0, so that sums, norms and extremes mean something,
/// and one input in six with the special ones among them.
std::map<std::string, graph::Array> program_inputs(test::Random& random, const graph::Graph& graph,
                                                   const graph::DimValues& dims);

}  // namespace luminal::fuzz

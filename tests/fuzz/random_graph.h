// Random graphs over all primitives, dtypes and views, with symbolic dims that may be 0 or 1. They
// are valid by construction: whatever goes wrong with one is a bug of the library. The first n
// nodes depend on the seed only, so a failing graph can be cut down by asking for fewer.
#pragma once

#include <map>
#include <string>

#include "luminal/graph/graph.h"
#include "luminal/graph/program.h"
#include "random.h"

namespace luminal::fuzz {

using test::Random;

/// The graph of a seed. About `steps` ops are added to a few sources; the values nobody reads, and
/// a view of one of them, are the outputs.
graph::Graph random_graph(uint64_t seed, int steps);

/// A graph of elementwise ops of one shape on inputs and special constants: dense in what algebraic
/// rules look for, where graphs with views seldom have it.
graph::Graph random_expression(uint64_t seed, int steps);

/// Values for the dims of a graph, the ends of their intervals among them.
graph::DimValues random_dims(Random& random, const graph::Graph& graph);

/// Data for the inputs of a graph.
std::map<std::string, graph::Array> random_inputs(Random& random, const graph::Graph& graph,
                                                  const graph::DimValues& dims);

/// The function that custom nodes call: adds 1 to every byte.
std::shared_ptr<const graph::CustomFunction> byte_increment();

}  // namespace luminal::fuzz

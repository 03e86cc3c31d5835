// Algebraic identities that hold exactly: for every value of every dtype, NaN, infinities, -0 and
// wrapped integers included. What is only nearly true (1/(1/x) = x, x + 0.0 = x, a sum of sums as
// one sum of floats) is not here.
#pragma once

#include <span>
#include <string_view>

#include "luminal/graph/rewriter.h"

namespace luminal::graph {

/// One law. `apply` gives what takes the node's place, or nothing if the law says nothing about it.
struct Identity {
  std::string_view name;
  std::string_view law;
  std::optional<Edge> (*apply)(Rewriter& rewriter, const Node& node);
};

/// All laws, in the order in which they are tried.
std::span<const Identity> all_identities();

/// Applies the first law that fits to every node.
Pass identities();

/// Applies one law alone.
Pass identity_pass(const Identity& identity);

/// True if every value of `from` is a value of `to`, so that a cast and back changes nothing.
bool holds_every_value(DType to, DType from);

}  // namespace luminal::graph

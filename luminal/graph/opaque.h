// Nodes that read whole arrays and run on the host in every program: scatter, argsort, the user's
// functions, prints and comparisons. Interpreter and compiled programs share them.
#pragma once

#include <iosfwd>
#include <span>

#include "luminal/graph/index_walker.h"
#include "luminal/graph/node.h"

namespace luminal::graph {

/// The value of a scatter, argsort or barrier node. `operands` are what the operands' nodes hold,
/// one per edge; views are applied here. Effects write to `text`.
Array compute_opaque(const Node& node, std::span<const Array* const> operands,
                     const DimBindings& dims, std::ostream& text);

/// The rows (of the last axis) of a scatter's result, and some of them computed into its bytes: for
/// who has several threads.
int64_t scatter_row_count(const Node& node, const DimBindings& dims);
void scatter_rows(const Node& node, std::span<const Array* const> operands, const DimBindings& dims,
                  int64_t first_row, int64_t end_row, std::byte* result);

}  // namespace luminal::graph

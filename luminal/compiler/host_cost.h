// Steps that no kernel runs: what they take, by a model as rough as that of kernels, and why they
// are not kernels.
#pragma once

#include <string>

#include "luminal/graph/graph.h"
#include "luminal/kernel/estimate.h"

namespace luminal::compiler {

/// Microseconds of a node that is computed on the host; 0 if nobody can tell. `sorted` is how many
/// positions of each row anyone reads of a sort; 0: all.
double host_cost(const graph::Node& node, int64_t sorted, const kernel::Machine& machine,
                 const kernel::EstimateOptions& options);

/// Microseconds of reading or of copying so many bytes.
double read_cost(double bytes, const kernel::Machine& machine);
double copy_cost(double bytes, const kernel::Machine& machine);  ///< see above

/// Why a node is computed on the host, for people.
std::string why_on_host(graph::Op op);

/// Why there is no estimate of a node on the host; empty if there is one.
std::string why_no_estimate(graph::Op op);

}  // namespace luminal::compiler

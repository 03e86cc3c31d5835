// One graph, several plans: what is fused and which code a kernel gets depends on the values of the
// dims, and a plan for one token at a time is no good plan for a prompt of a thousand. With
// Options::buckets a plan is made for every combination of the values named there.
#pragma once

#include "luminal/compiler/options.h"
#include "luminal/compiler/plan.h"

namespace luminal::compiler {

/// The most plans that buckets may ask for.
inline constexpr size_t kMostBuckets = 64;

/// The plan of a graph with one variant per further bucket; just the plan if no buckets are asked
/// for. UserError if a bucket names no dim of the graph or a value that the dim cannot have.
Plan build_buckets(const graph::Graph& graph, const Options& options);

}  // namespace luminal::compiler

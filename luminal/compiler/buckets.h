// One graph, several plans: what is fused and which code a kernel gets depends on the values of the
// dims, and a plan for one token at a time is no good plan for a prompt of a thousand. With
// Options::buckets a plan is made for every combination of the values named there.
#pragma once

#include <functional>

#include "luminal/compiler/options.h"
#include "luminal/compiler/plan.h"

namespace luminal::compiler {

struct FoundDefinitions;

/// The most plans that buckets may ask for.
inline constexpr size_t kMostBuckets = 64;

/// Makes the plan of a graph for one bucket, whose values are in the options.
using BucketBuilder = std::function<Plan(const Options& options, FoundDefinitions& found)>;

/// The plan of a graph with one variant per further bucket, each made by `build`.
Plan build_buckets(const graph::Graph& graph, const Options& options, const BucketBuilder& build);

/// How many buckets the options ask for, at least 1.
size_t bucket_count(const Options& options);

/// The plan of a graph with one variant per further bucket; just the plan if no buckets are asked
/// for. UserError if a bucket names no dim of the graph or a value that the dim cannot have.
Plan build_buckets(const graph::Graph& graph, const Options& options);

}  // namespace luminal::compiler

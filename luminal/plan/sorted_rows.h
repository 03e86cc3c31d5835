// Argsort on all threads, written straight to where its result belongs: what compiled programs do
// in the place of graph/opaque.h, with its results. Long rows are sorted by the digits of their
// keys; where only the first positions are read, only those are found.
#pragma once

#include <map>

#include "luminal/graph/graph.h"
#include "luminal/graph/index_walker.h"
#include "luminal/runtime/cpu/thread_team.h"

namespace luminal::plan {

/// How many positions of each row are read of every argsort of which not all are. Those of one
/// shape have what the one needs of which most is read.
std::map<graph::NodeId, int64_t> sorted_prefixes(const graph::Graph& graph);

/// Positions that sort each row of the last axis of `values`, seen through the node's view: stable
/// both ways, NaN counts as largest. Only the first `wanted` of each row are written.
void argsort_rows(const graph::Node& node, const graph::Array& values,
                  const graph::DimBindings& dims, int64_t wanted, runtime::ThreadTeam& team,
                  int64_t* result);

}  // namespace luminal::plan

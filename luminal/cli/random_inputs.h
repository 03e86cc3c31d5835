// Data for whoever wants to run a graph and has none.
#pragma once

#include <string>

#include "luminal/graph/file_run.h"

namespace luminal::cli {

/// Who wants data: what errors are told under.
struct DataFor {
  std::string command = "run";  ///< its name
  std::string instead = {};     ///< what it offers where there can be no data
};

/// Fills the inputs that were given no data. Dims that were given no value follow from data.
/// UserError naming the input if its dims are not known, or its data fits into no memory here.
void fill_inputs(const graph::Graph& graph, uint64_t seed, graph::FileRun& run,
                 const DataFor& whom = {});

/// Every dim of the graph with a value: what is given, else one that is neither tiny nor large.
/// UsageError of the operation if a dim is given that the graph does not have.
graph::DimValues dims_for_looking(const std::string& operation, const graph::Graph& graph,
                                  graph::DimValues dims);

}  // namespace luminal::cli

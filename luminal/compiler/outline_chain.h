// Borders and what lies between them. Given nodes that may be borders (in the order of the graph),
// every node is put into the segment between the two borders where it is computed, segments are
// hashed, and runs of segments that repeat are found. Each question takes a few passes over the
// graph.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "luminal/compiler/outline_labels.h"

namespace luminal::compiler {

/// A graph cut at borders. Segment k (from 1) has what depends on border k - 1 and not on border k,
/// border k itself, and what these alone need. Segment 0 stands for everything else.
struct Segments {
  std::vector<NodeId> borders;
  /// By node.
  std::vector<uint32_t> of_node;
  /// By segment: equal for segments that look alike. 0 for segments that cannot be an instance: the
  /// border does not depend on the one before, too many values cross it, or another region is in
  /// it.
  std::vector<uint64_t> hashes;
  /// By segment: how many nodes it has, and how many values it reads from the one before.
  std::vector<size_t> sizes;
  std::vector<size_t> carried;
};

/// `taken` says which nodes belong to a region already. At most `most_carried` values may go from
/// one segment to the next.
Segments cut_at(const graph::Graph& graph, const NodeLabels& labels, std::vector<NodeId> borders,
                const std::vector<bool>& taken, size_t most_carried);

/// Segments first, first + 1, ... which repeat after `period`, `instances` times.
struct Run {
  size_t first = 0;
  size_t period = 1;
  size_t instances = 0;
  /// Nodes that need not be looked at if one instance stands for all.
  size_t saved = 0;
  /// Values that go from one instance to the next.
  size_t carried = 1;
};

/// The runs, one per place and period, those that save most first. Runs of a single segment come
/// last, the largest first: the segment before it may be alike but for its border.
std::vector<Run> find_runs(const Segments& segments, size_t longest_period = 16);

}  // namespace luminal::compiler

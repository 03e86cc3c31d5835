// Outlining: finds the parts of a graph that are there again and again (the layers of a network),
// so that rules, search and code generation see each of them once. A region is a body and its
// instances; what an instance reads from outside is carried over from the instance before, a
// parameter of its own, or the same for all. Regions are found by structure in near-linear time, or
// declared by the user, and end at narrow places, where values are stored in memory anyway.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "luminal/graph/graph.h"

namespace luminal::compiler {

using graph::NodeId;

/// How an instance comes by what it reads from outside.
enum class RegionInputKind : uint8_t {
  kCarried,    // from the instance before; the first one has it from outside
  kParameter,  // input or constant array of its own: weights, caches
  kInvariant,  // one value for all instances: masks, rotary tables, what an encoder gives
};

/// A value that a region reads from outside.
struct RegionInput {
  RegionInputKind kind = RegionInputKind::kParameter;
  /// Which node it is, by instance.
  std::vector<NodeId> nodes;
  /// Carried values: the position in the body of the instance before.
  size_t from = 0;
};

/// A part of a graph that occurs several times. Scalar constants and iotas belong to no region:
/// they are computed where they are needed.
struct Region {
  std::string name;
  /// The user said that this repeats.
  bool declared = false;
  /// instances[k][p] is the node at position p of the body in instance k. Instances are in the
  /// order in which they run, positions in an order in which a body can be computed.
  std::vector<std::vector<NodeId>> instances;
  /// The instance that stands for all. Its inputs are different nodes; those of others may
  /// coincide.
  size_t pattern = 0;
  std::vector<RegionInput> inputs;
  /// Positions whose values are read outside of their instance, ascending.
  std::vector<size_t> outputs;

  size_t body_size() const { return instances.front().size(); }
};

/// The regions of a graph. No node is in two instances.
struct Outline {
  std::vector<Region> regions;
};

/// Where a node of the graph stands.
struct RegionPlace {
  static constexpr uint32_t kOutside = UINT32_MAX;
  uint32_t region = kOutside;
  uint32_t instance = 0;
  uint32_t position = 0;

  bool inside() const { return region != kOutside; }
  bool same_instance(const RegionPlace& other) const {
    return region == other.region && instance == other.instance;
  }
};

/// By node of a graph of that many nodes.
std::vector<RegionPlace> region_places(const Outline& outline, size_t nodes);

/// What is worth outlining, and how hard to look.
struct OutlineOptions {
  /// Bodies of fewer nodes are left alone.
  size_t smallest_body = 4;
  /// So many nodes must be gone when one instance stands for all; four times as many where two
  /// values go from instance to instance, and so on.
  size_t fewest_saved = 24;
  /// An instance hands at most so many values to the next.
  size_t most_carried = 4;
  /// A body whose border is not stored in memory anyway must have so many nodes, so that cutting
  /// there costs little.
  size_t smallest_unnatural_body = 96;
  /// How far up nodes are compared to find places that may be borders.
  int radius = 3;
  /// How many kinds of borders are tried per region.
  size_t most_borders = 16;
  /// How many different bodies are looked for.
  size_t most_regions = 16;
};

/// The repeated parts of a graph, those that save most first. Declared repeats (repeat.h in
/// `tensor`) whose instances are alike are taken as they are.
Outline find_outline(const graph::Graph& graph, const OutlineOptions& options = {});

/// One paragraph per region: its instances, what goes in and what comes out.
std::string to_string(const Outline& outline, const graph::Graph& graph);

/// One sentence per law that an outline breaks; empty if all is well. The laws: instances are
/// disjoint and alike node by node; every operand of an instance is in it, is one of its inputs, or
/// is computed where it is needed; carried values come from the instance before, invariants are one
/// node, parameters are data.
std::vector<std::string> problems(const Outline& outline, const graph::Graph& graph);

}  // namespace luminal::compiler

// Instances, node by node. A run of segments that hash alike becomes a region if walking up from
// the borders in step finds the same nodes everywhere; the walk also finds what instances read from
// outside, and instances before the first segment whose border looks different.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "luminal/compiler/outline.h"
#include "luminal/compiler/outline_chain.h"

namespace luminal::compiler {

/// Finds the instances of runs, and remembers which nodes belong to accepted regions.
class RegionMatcher {
 public:
  /// Graph and labels must outlive this.
  RegionMatcher(const graph::Graph& graph, const NodeLabels& labels);

  /// The region of a run, if its instances are alike. Where `extend` is set, instances before the
  /// first one are looked for.
  std::optional<Region> match(const Segments& segments, const Run& run, bool extend);

  /// Nodes of accepted regions.
  const std::vector<bool>& taken() const { return taken_; }
  /// Marks the nodes of a region as taken.
  void accept(const Region& region);

  /// True if the values that the region carries are in memory anyway: something reads them that
  /// must (a product, a reduction, an op that no kernel looks through), or several readers share
  /// them.
  bool has_natural_border(const Region& region) const;

 private:
  struct Body;
  struct Instance;
  struct Place {
    uint32_t instance = UINT32_MAX;
    uint32_t position = 0;
    bool known() const { return instance != UINT32_MAX; }
  };

  bool walk(const Body& body, Instance& instance, size_t position, NodeId node) const;
  NodeId known_operand(const Body& body, const Instance& instance, size_t at) const;
  bool walk_side_values(const Body& body, Instance& instance) const;
  bool outputs_agree(const Body& body, const Region& region, const Instance& instance) const;
  std::optional<Instance> instance_ending_in(const Body& body,
                                             std::span<const std::pair<size_t, NodeId>> ends) const;
  bool note_places(const std::vector<Instance>& instances);
  std::optional<RegionInput> input_of(const std::vector<Instance>& instances, size_t slot) const;
  std::optional<Region> region_of(const Body& body, const std::vector<Instance>& instances);
  std::optional<Region> stored_region_of(const Body& body, std::vector<Instance> instances);
  std::optional<Instance> instance_before(const Body& body, const Region& region,
                                          const Instance& first) const;

  const graph::Graph& graph_;
  const NodeLabels& labels_;
  std::vector<std::vector<NodeId>> users_;
  std::vector<bool> taken_;
  std::vector<bool> is_output_;
  std::vector<Place> places_;        // of the instances at hand, by node
  std::vector<NodeId> placed_;       // nodes whose place is known
  std::vector<uint32_t> positions_;  // of the body at hand, by node
};

}  // namespace luminal::compiler

// Definitions that were chosen for a reduced program, copied to the whole: every instance of a
// region gets those of its body. What the rules found for a body holds in every instance, since the
// body was cut off from what stands around it.
#pragma once

#include <deque>
#include <map>
#include <optional>
#include <unordered_map>

#include "luminal/compiler/outline_reduce.h"
#include "luminal/kernel/choice.h"

namespace luminal::compiler {

/// A reduced graph's nodes and outputs in a program with choices: ids of the program.
struct ChosenPlaces {
  std::span<const NodeId> nodes;    // by node of the reduced graph
  std::span<const NodeId> outputs;  // by output of the reduced graph
};

/// An input of a region's body that is another node in every instance.
struct BodyInput {
  size_t region = 0;
  size_t input = 0;
};

/// Says how a program with choices lies in the whole one. Every node is put into the part of the
/// reduced graph it belongs to: that of the region whose inputs it is computed from as written;
/// what is made of invariants alone is the same for all instances and in no region. Definitions
/// that would read across regions, or an instance's values outside of it, are taken away. To be
/// done before the search.
void assign_parts(kernel::ChoiceProgram& program, const Outline& outline,
                  const ReducedGraph& reduced, const ChosenPlaces& places);

/// The whole program with the definitions that a reduced one has now. Ids are its own.
class ExpandedProgram : public kernel::Program {
 public:
  /// `chosen` has the parts that assign_parts gives. All of these must outlive the result, and the
  /// choices must stay.
  ExpandedProgram(const graph::Graph& graph, const Outline& outline, const ReducedGraph& reduced,
                  const kernel::Program& chosen, const ChosenPlaces& places);

  size_t size() const override { return nodes_.size(); }
  const graph::Node& node(NodeId id) const override { return nodes_[id.value]; }
  std::span<const NodeId> roots() const override { return roots_; }
  std::span<const kernel::NamedRegion> named_regions() const override { return regions_; }
  /// The node that holds output k of the graph.
  NodeId output(size_t k) const { return outputs_[k]; }
  /// Where the value of a node of the graph is: data, or what is in memory.
  NodeId place(NodeId whole) const;

  /// What a node was made from: data of the graph, or a node of the chosen program in an instance.
  struct Source {
    std::optional<NodeId> data;
    NodeId chosen = {};
    uint32_t part = 0;
    size_t instance = 0;
  };
  const Source& source(NodeId id) const { return sources_[id.value]; }

  /// By node of the chosen program: 0 if it is the same for all, else one more than the region
  /// whose instances have one each.
  uint32_t part_of(NodeId chosen) const { return chosen_.part(chosen); }
  /// What a node of the chosen program is in an instance (of the part it is in).
  NodeId in_instance(NodeId chosen, uint32_t part, size_t instance);

 private:
  struct Pending {
    NodeId id;
    uint32_t part;
    size_t instance;
  };

  void define_pending();
  NodeId value(NodeId whole);
  NodeId data(NodeId whole);
  NodeId made(NodeId chosen, uint32_t part, size_t instance);
  void name_regions();
  std::optional<NodeId> known(NodeId chosen, size_t instance) const;

  const graph::Graph& graph_;
  const Outline& outline_;
  const ReducedGraph& reduced_;
  const kernel::Program& chosen_;
  ChosenPlaces where_;
  std::vector<RegionPlace> places_;                    // by node of the whole graph
  std::vector<std::optional<NodeId>> representative_;  // by node of the whole graph
  std::unordered_map<uint32_t, BodyInput> slots_;      // by chosen node: inputs of bodies
  std::unordered_map<uint32_t, NodeId> origin_;       // by chosen node: data, and what is stood for
  std::map<std::pair<NodeId, size_t>, NodeId> made_;  // by chosen node and instance
  std::map<NodeId, NodeId> data_;                     // by node of the whole graph
  std::deque<graph::Node> nodes_;
  std::vector<Source> sources_;  // by node
  std::vector<kernel::NamedRegion> regions_;
  std::vector<Pending> pending_;
  std::vector<NodeId> roots_;
  std::vector<NodeId> outputs_;
};

}  // namespace luminal::compiler

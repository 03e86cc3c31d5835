#include "luminal/compiler/outline_reduce.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>

#include "luminal/graph/repeat.h"
#include "luminal/support/check.h"

namespace luminal::compiler {
namespace {

using graph::Edge;
using graph::Node;

class Reducer {
 public:
  Reducer(const graph::Graph& graph, const Outline& outline)
      : graph_(graph),
        outline_(outline),
        place_(region_places(outline, graph.size())),
        map_(graph.size()),
        readers_(graph.size(), kNobody),
        needed_(graph.size(), false),
        stored_(graph.size(), false) {
    for (size_t r = 0; r < outline.regions.size(); ++r) {
      const Region& region = outline.regions[r];
      for (size_t s = 0; s < region.inputs.size(); ++s)
        slots_[{r, region.inputs[s].nodes[region.pattern]}] = s;
    }
    for (NodeId id : graph.ids()) note_operands(id);
    for (const graph::Output& output : graph.outputs()) {
      needed_[output.edge.node.value] = true;
      readers_[output.edge.node.value] = kSeveral;
      names_.insert(output.name);
    }
  }

  ReducedGraph run() {
    result_.repeats.push_back(1.0);
    for (const Region& region : outline_.regions)
      result_.repeats.push_back(static_cast<double>(region.instances.size()));
    for (NodeId id : graph_.ids())
      if (stays(id)) copy(id);
    add_outputs();
    add_named();
    fill_places();
    note_reads();
    return std::move(result_);
  }

 private:
  static constexpr uint32_t kNobody = UINT32_MAX;
  static constexpr uint32_t kSeveral = UINT32_MAX - 1;  // or something outside of regions

  bool is_pattern(const RegionPlace& place) const {
    return place.instance == outline_.regions[place.region].pattern;
  }
  /// A value that the next instance takes.
  bool is_handed_on(const RegionPlace& place) const {
    if (!place.inside()) return false;
    const std::vector<RegionInput>& inputs = outline_.regions[place.region].inputs;
    return std::any_of(inputs.begin(), inputs.end(), [&](const RegionInput& input) {
      return input.kind == RegionInputKind::kCarried && input.from == place.position;
    });
  }
  /// A value that is computed in some instance and read elsewhere.
  bool crosses(NodeId value, NodeId reader) const {
    const RegionPlace& from = place_[value.value];
    return from.inside() && !from.same_instance(place_[reader.value]);
  }
  bool stays(NodeId id) const {
    const RegionPlace& place = place_[id.value];
    if (place.inside()) return is_pattern(place);
    const Node& node = graph_.node(id);
    return !(is_data_or_free(node)) || needed_[id.value];
  }
  static bool is_data_or_free(const Node& node) {
    return kernel::is_source(node) || kernel::is_free_to_compute(node);
  }

  /// What nodes that stay read; and values of the outside that instances take as carried.
  void note_operands(NodeId id) {
    const RegionPlace& place = place_[id.value];
    if (place.inside() && !is_pattern(place)) return;
    const uint32_t reader = place.inside() ? place.region : kSeveral;
    for (const Edge& edge : graph_.node(id).operands) {
      if (!crosses(edge.node, id)) needed_[edge.node.value] = true;
      uint32_t& known = readers_[edge.node.value];
      known = known == kNobody || known == reader ? reader : kSeveral;
    }
  }

  void note(NodeId reduced, NodeId original, uint32_t part) {
    LUMINAL_CHECK(reduced.value == result_.origin.size());
    result_.origin.push_back(original);
    result_.part.push_back(part);
  }

  /// The input that stands for a value computed in an instance.
  NodeId stand_in(NodeId value) {
    const auto [found, fresh] = stand_ins_.emplace(value, NodeId{});
    if (fresh) found->second = add_input(fmt::format("value {}", value.value), value);
    return found->second;
  }

  /// The input of a body that stands for what differs from instance to instance: values of the one
  /// before, and data that others read too or of which rules could see the values.
  std::optional<NodeId> slot_input(NodeId value, const RegionPlace& reader) {
    if (!reader.inside()) return std::nullopt;
    const auto slot = slots_.find({reader.region, value});
    if (slot == slots_.end()) return std::nullopt;
    const RegionInputKind kind = outline_.regions[reader.region].inputs[slot->second].kind;
    const Node& node = graph_.node(value);
    const bool apart = node.op == graph::Op::kConstant || readers_[value.value] == kSeveral;
    if (kind == RegionInputKind::kInvariant || (kind == RegionInputKind::kParameter && !apart))
      return std::nullopt;
    const auto [found, fresh] = slot_inputs_.emplace(slot->first, NodeId{});
    if (fresh)
      found->second = add_input(fmt::format("input {}.{}", reader.region, slot->second), value);
    return found->second;
  }

  NodeId add_input(std::string name, NodeId value) {
    while (graph_.find_input(name)) name += "'";
    const Node& node = graph_.node(value);
    const auto* input = std::get_if<graph::InputAttribute>(&node.attributes);
    const bool weight = node.op == graph::Op::kConstant || (input != nullptr && input->weight);
    const NodeId id = result_.graph.add_input(name, node.dtype(), node.shape(), weight);
    note(id, value, 0);
    return id;
  }

  NodeId translated(NodeId value, NodeId reader) {
    if (const auto input = slot_input(value, place_[reader.value])) return *input;
    if (crosses(value, reader)) return stand_in(value);
    LUMINAL_CHECK(map_[value.value].has_value(), "%{} was left out", value.value);
    return *map_[value.value];
  }

  void copy(NodeId id) {
    const Node& node = graph_.node(id);
    std::vector<Edge> operands;
    for (const Edge& edge : node.operands)
      operands.push_back({edge.view, translated(edge.node, id)});
    const NodeId made = result_.graph.add_like(node, std::move(operands));
    const RegionPlace& place = place_[id.value];
    note(made, id, place.inside() ? static_cast<uint32_t>(place.region + 1) : 0);
    map_[id.value] = made;
  }

  void store(NodeId id) {
    const Node& node = graph_.node(id);
    if (is_data_or_free(node) || stored_[id.value] || place_[id.value].inside()) return;
    stored_[id.value] = true;
    add_stored(id);
  }

  void add_stored(NodeId id) {
    std::string name = fmt::format("stored {}", id.value);
    while (names_.contains(name)) name += "'";
    result_.graph.add_output(name, result_.graph.whole(*map_[id.value]));
  }

  void add_outputs() {
    std::map<NodeId, std::vector<size_t>> by_node;  // outputs of patterns
    result_.outputs.resize(graph_.outputs().size());
    std::vector<size_t> nth(graph_.outputs().size());
    std::map<NodeId, size_t> seen;
    for (size_t k = 0; k < graph_.outputs().size(); ++k) {
      const graph::Output& output = graph_.outputs()[k];
      nth[k] = seen[output.edge.node]++;
      const RegionPlace& place = place_[output.edge.node.value];
      if (is_handed_on(place)) {  // who asks for it is outside of the region
        result_.outputs[k] = result_.graph.outputs().size();
        const NodeId value = stand_in(output.edge.node);
        result_.graph.add_output(output.name, {output.edge.view, value});
        continue;
      }
      if (place.inside() && !is_pattern(place)) continue;
      result_.outputs[k] = result_.graph.outputs().size();
      by_node[output.edge.node].push_back(result_.outputs[k]);
      result_.graph.add_output(output.name, {output.edge.view, *map_[output.edge.node.value]});
    }
    for (size_t k = 0; k < graph_.outputs().size(); ++k) {
      const NodeId node = graph_.outputs()[k].edge.node;
      const RegionPlace& place = place_[node.value];
      if (!place.inside() || is_pattern(place) || is_handed_on(place)) continue;
      result_.outputs[k] = by_node.at(in_pattern(node))[nth[k]];
    }
    for (const Region& region : outline_.regions) {
      for (size_t position : region.outputs) add_stored(region.instances[region.pattern][position]);
      for (const RegionInput& input : region.inputs)  // the first instance reads it from memory
        if (input.kind == RegionInputKind::kCarried) store(input.nodes[0]);
    }
  }

  /// The node of the pattern that a node of another instance corresponds to.
  NodeId in_pattern(NodeId id) const {
    const RegionPlace& place = place_[id.value];
    const Region& region = outline_.regions[place.region];
    return region.instances[region.pattern][place.position];
  }

  /// As translated(), but only what is there already.
  std::optional<NodeId> known(NodeId value, NodeId reader) const {
    const RegionPlace& place = place_[reader.value];
    if (place.inside())
      if (const auto input = slot_inputs_.find({place.region, value}); input != slot_inputs_.end())
        return input->second;
    if (!crosses(value, reader)) return map_[value.value];
    const auto found = stand_ins_.find(value);
    return found == stand_ins_.end() ? std::nullopt : std::optional(found->second);
  }

  void add_named() {
    for (const graph::NamedDefinition& definition : graph_.named()) {
      const NodeId result = definition.result.node;
      if (graph::is_repeat(definition) || !map_[result.value]) continue;
      graph::NamedDefinition moved{definition.name, definition.parameters, {}, {}};
      moved.result = {definition.result.view, *map_[result.value]};
      bool whole = true;
      for (const Edge& edge : definition.operands) {
        const std::optional<NodeId> operand = known(edge.node, result);
        whole = whole && operand.has_value();
        if (whole) moved.operands.push_back({edge.view, *operand});
      }
      if (whole) result_.graph.add_named(std::move(moved));
    }
  }

  void fill_places() {
    for (size_t r = 0; r < outline_.regions.size(); ++r) {
      const Region& region = outline_.regions[r];
      auto& places = result_.places.emplace_back();
      const std::vector<NodeId>& body = region.instances[region.pattern];
      for (size_t p = 0; p < body.size(); ++p) places[map_[body[p].value]->value] = {false, p};
      for (size_t s = 0; s < region.inputs.size(); ++s) {
        const NodeId node = region.inputs[s].nodes[region.pattern];
        if (const auto reduced = known(node, body[0])) places[reduced->value] = {true, s};
      }
    }
  }

  /// What happens outside of the reduced graph between its nodes.
  void note_reads() {
    for (const auto& [value, stand_in] : stand_ins_)
      result_.stands_for.emplace(
          stand_in.value,
          ReducedGraph::RegionValue{place_[value.value].region, *map_[in_pattern(value).value]});
    for (const Region& region : outline_.regions) {
      std::vector<NodeId>& reads = result_.reads.emplace_back();
      for (const RegionInput& input : region.inputs) {
        const NodeId node = input.nodes[0];  // of carried values, the first comes from outside
        if (input.kind == RegionInputKind::kParameter || is_data_or_free(graph_.node(node)))
          continue;
        const auto found = stand_ins_.find(node);
        if (found != stand_ins_.end())
          reads.push_back(found->second);
        else if (map_[node.value])
          reads.push_back(*map_[node.value]);
      }
    }
  }

  const graph::Graph& graph_;
  const Outline& outline_;
  ReducedGraph result_;
  std::vector<RegionPlace> place_;
  std::vector<std::optional<NodeId>> map_;  // where nodes that stay went
  std::vector<uint32_t> readers_;           // which region reads a node, among nodes that stay
  std::vector<bool> needed_;
  std::vector<bool> stored_;
  std::set<std::string> names_;                              // of outputs
  std::map<std::pair<size_t, NodeId>, size_t> slots_;        // inputs of patterns
  std::map<std::pair<size_t, NodeId>, NodeId> slot_inputs_;  // and what stands for them
  std::map<NodeId, NodeId> stand_ins_;
};

}  // namespace

ReducedGraph reduce(const graph::Graph& graph, const Outline& outline) {
  return Reducer(graph, outline).run();
}

NodeId counterpart(const Outline& outline, const ReducedGraph& reduced, NodeId id, size_t region,
                   size_t instance) {
  const auto found = reduced.places[region].find(id.value);
  if (found == reduced.places[region].end()) return reduced.origin[id.value];
  const auto& [is_input, index] = found->second;
  return is_input ? outline.regions[region].inputs[index].nodes[instance]
                  : outline.regions[region].instances[instance][index];
}

std::vector<std::optional<NodeId>> representatives(const graph::Graph& graph,
                                                   const Outline& outline,
                                                   const ReducedGraph& reduced) {
  std::vector<std::optional<NodeId>> result(graph.size());
  for (uint32_t id = 0; id < reduced.origin.size(); ++id)
    if (const NodeId original = reduced.origin[id]; !result[original.value])
      result[original.value] = NodeId{id};
  for (size_t r = 0; r < outline.regions.size(); ++r)
    for (const auto& [id, place] : reduced.places[r]) {
      if (place.is_input) continue;
      for (const std::vector<NodeId>& instance : outline.regions[r].instances)
        result[instance[place.index].value] = NodeId{id};
    }
  return result;
}

}  // namespace luminal::compiler

#include "luminal/compiler/outline_choice.h"

#include <algorithm>
#include <set>

#include "luminal/support/check.h"

namespace luminal::compiler {
namespace {

/// Nodes of the chosen program that are something else in every instance of a region.
std::unordered_map<uint32_t, BodyInput> body_inputs(const Outline& outline,
                                                    const ReducedGraph& reduced,
                                                    const ChosenPlaces& where) {
  std::unordered_map<uint32_t, BodyInput> result;
  for (size_t r = 0; r < reduced.places.size(); ++r)
    for (const auto& [id, place] : reduced.places[r])
      if (place.is_input &&
          outline.regions[r].inputs[place.index].kind != RegionInputKind::kInvariant)
        result[where.nodes[id].value] = {r, place.index};
  return result;
}

}  // namespace

void assign_parts(kernel::ChoiceProgram& program, const Outline& outline,
                  const ReducedGraph& reduced, const ChosenPlaces& places) {
  std::vector<uint32_t> parts(program.size(), 0);
  for (const auto& [id, input] : body_inputs(outline, reduced, places))
    parts[id] = static_cast<uint32_t>(input.region + 1);
  // First definitions read what comes before them.
  for (uint32_t k = 0; k < program.size(); ++k)
    for (const graph::Edge& edge : program.definition(NodeId{k}, 0).operands)
      parts[k] = std::max(parts[k], parts[edge.node.value]);
  std::vector<bool> mixed(program.size(), false);  // computed from two regions: rules joined them
  const auto is_within = [&](NodeId id, const graph::Node& node) {
    return std::all_of(node.operands.begin(), node.operands.end(), [&](const graph::Edge& edge) {
      const uint32_t part = parts[edge.node.value];
      return !mixed[edge.node.value] && (part == 0 || part == parts[id.value]);
    });
  };
  for (uint32_t k = 0; k < program.size(); ++k)
    mixed[k] = !is_within(NodeId{k}, program.definition(NodeId{k}, 0));
  program.remove_definitions(
      [&](NodeId id, const graph::Node& node) { return !is_within(id, node); });
  for (uint32_t k = 0; k < program.size(); ++k)
    program.set_part(NodeId{k}, parts[k], reduced.repeats[parts[k]]);
  for (const auto& [id, value] : reduced.stands_for) {
    std::vector<NodeId> awaited{places.nodes[value.node.value]};
    for (NodeId read : reduced.reads[value.region]) awaited.push_back(places.nodes[read.value]);
    program.set_awaited(places.nodes[id], std::move(awaited));
  }
}

ExpandedProgram::ExpandedProgram(const graph::Graph& graph, const Outline& outline,
                                 const ReducedGraph& reduced, const kernel::Program& chosen,
                                 const ChosenPlaces& places)
    : graph_(graph),
      outline_(outline),
      reduced_(reduced),
      chosen_(chosen),
      where_(places),
      places_(region_places(outline, graph.size())),
      representative_(representatives(graph, outline, reduced)) {
  slots_ = body_inputs(outline, reduced, places);
  for (uint32_t id = 0; id < reduced.graph.size(); ++id)
    if (kernel::is_source(reduced.graph.node(NodeId{id})))
      origin_.emplace(places.nodes[id].value, reduced.origin[id]);
  std::set<NodeId> known;
  const auto add_root = [&](NodeId id) {
    if (known.insert(id).second) roots_.push_back(id);
  };
  // Effects come first, in the order of the graph, each with what it says itself.
  for (NodeId id : graph.ids()) {
    if (!graph::has_effect(graph.node(id).op)) continue;
    const NodeId effect = value(id);
    nodes_[effect.value].attributes = graph.node(id).attributes;
    add_root(effect);
  }
  for (size_t k = 0; k < graph.outputs().size(); ++k) {
    const NodeId output = where_.outputs[reduced.outputs[k]];
    const RegionPlace& place = places_[graph.outputs()[k].edge.node.value];
    outputs_.push_back(in_instance(output, part_of(output), place.instance));
    add_root(outputs_.back());
  }
  // What bodies hand on is in memory.
  for (NodeId id : chosen.roots()) {
    const uint32_t part = part_of(id);
    const size_t instances = part == 0 ? 1 : outline.regions[part - 1].instances.size();
    for (size_t k = 0; k < instances; ++k) add_root(in_instance(id, part, k));
  }
  define_pending();
  name_regions();
}

NodeId ExpandedProgram::data(NodeId whole) {
  const auto [found, fresh] = data_.emplace(whole, NodeId{static_cast<uint32_t>(nodes_.size())});
  if (fresh) {
    nodes_.push_back(graph_.node(whole));
    sources_.push_back({whole, {}, 0, 0});
  }
  return found->second;
}

/// The value of a node of the whole graph.
NodeId ExpandedProgram::value(NodeId whole) {
  const RegionPlace& place = places_[whole.value];
  if (!place.inside() && kernel::is_source(graph_.node(whole))) return data(whole);
  const std::optional<NodeId>& reduced = representative_[whole.value];
  LUMINAL_CHECK(reduced.has_value(), "%{} has no representative", whole.value);
  const NodeId chosen = where_.nodes[reduced->value];
  return in_instance(chosen, part_of(chosen), place.instance);
}

NodeId ExpandedProgram::in_instance(NodeId chosen, uint32_t part, size_t instance) {
  if (part_of(chosen) == 0) {
    const auto origin = origin_.find(chosen.value);
    if (origin != origin_.end()) return value(origin->second);
    return made(chosen, 0, 0);
  }
  LUMINAL_CHECK(part_of(chosen) == part, "node {} is read across a border", chosen.value);
  const auto slot = slots_.find(chosen.value);
  if (slot == slots_.end()) return made(chosen, part, instance);
  const RegionInput& input = outline_.regions[part - 1].inputs[slot->second.input];
  return value(input.nodes[instance]);
}

NodeId ExpandedProgram::made(NodeId chosen, uint32_t part, size_t instance) {
  const auto [found, fresh] =
      made_.emplace(std::pair(chosen, instance), NodeId{static_cast<uint32_t>(nodes_.size())});
  if (fresh) {
    nodes_.push_back(chosen_.node(chosen));
    sources_.push_back({std::nullopt, chosen, part, instance});
    pending_.push_back({found->second, part, instance});
  }
  return found->second;
}

/// Operands are still those of the chosen program.
void ExpandedProgram::define_pending() {
  while (!pending_.empty()) {
    const Pending next = pending_.back();
    pending_.pop_back();
    for (size_t k = 0; k < nodes_[next.id.value].operands.size(); ++k) {
      const NodeId operand = nodes_[next.id.value].operands[k].node;
      const NodeId there =
          in_instance(operand, part_of(operand) == 0 ? 0 : next.part, next.instance);
      nodes_[next.id.value].operands[k].node = there;
    }
  }
}

/// What a node of the chosen program is in an instance, if that is there.
std::optional<NodeId> ExpandedProgram::known(NodeId chosen, size_t instance) const {
  const auto found = made_.find({chosen, part_of(chosen) == 0 ? 0 : instance});
  return found == made_.end() ? std::nullopt : std::optional(found->second);
}

/// Named definitions, with those of their nodes that are still computed.
void ExpandedProgram::name_regions() {
  for (const kernel::NamedRegion& region : chosen_.named_regions()) {
    const uint32_t part = part_of(region.result);
    const size_t instances = part == 0 ? 1 : outline_.regions[part - 1].instances.size();
    for (size_t k = 0; k < instances; ++k) {
      const std::optional<NodeId> result = known(region.result, k);
      if (!result) continue;
      kernel::NamedRegion named{*result, {}, region.definition, {}};
      for (const NodeId id : region.inside)
        if (const std::optional<NodeId> inside = known(id, k)) named.inside.push_back(*inside);
      regions_.push_back(std::move(named));
    }
  }
}

NodeId ExpandedProgram::place(NodeId whole) const {
  if (const auto found = data_.find(whole); found != data_.end()) return found->second;
  const std::optional<NodeId>& reduced = representative_[whole.value];
  LUMINAL_CHECK(reduced.has_value(), "%{} has no representative", whole.value);
  const NodeId chosen = where_.nodes[reduced->value];
  const std::optional<NodeId> id = known(chosen, places_[whole.value].instance);
  LUMINAL_CHECK(id.has_value(), "%{} is not in memory", whole.value);
  return *id;
}

}  // namespace luminal::compiler

#include "luminal/compiler/outline_match.h"

#include <algorithm>

#include "luminal/graph/query.h"
#include "luminal/kernel/program.h"

namespace luminal::compiler {
namespace {

using graph::Edge;
using graph::Node;

constexpr NodeId kUnknown{};
constexpr uint32_t kNone = UINT32_MAX;

}  // namespace

/// The instance that others are compared with.
struct RegionMatcher::Body {
  std::vector<NodeId> nodes;   // ascending
  std::vector<NodeId> inputs;  // read from outside, but not free to compute
  /// What every operand is: a position, the number of nodes plus that of an input, or kNone if it
  /// is computed where it is needed.
  std::vector<std::vector<uint32_t>> operands;

  /// `scratch` has kNone for every node, before and after.
  Body(const graph::Graph& graph, std::vector<NodeId> members, std::vector<uint32_t>& scratch)
      : nodes(std::move(members)), operands(nodes.size()) {
    for (uint32_t k = 0; k < nodes.size(); ++k) scratch[nodes[k].value] = k;
    for (size_t k = 0; k < nodes.size(); ++k)
      for (const Edge& edge : graph.node(nodes[k]).operands) {
        uint32_t& index = scratch[edge.node.value];
        if (index == kNone && !is_free(graph.node(edge.node))) {
          index = static_cast<uint32_t>(nodes.size() + inputs.size());
          inputs.push_back(edge.node);
        }
        operands[k].push_back(index);
      }
    for (const std::vector<NodeId>* list : {&nodes, &inputs})
      for (NodeId id : *list) scratch[id.value] = kNone;
  }
};

/// What stands at the positions of a body and at its inputs.
struct RegionMatcher::Instance {
  std::vector<NodeId> nodes;
  std::vector<NodeId> inputs;
};

RegionMatcher::RegionMatcher(const graph::Graph& graph, const NodeLabels& labels)
    : graph_(graph),
      labels_(labels),
      users_(graph::users(graph)),
      taken_(graph.size(), false),
      is_output_(graph.size(), false),
      places_(graph.size()),
      positions_(graph.size(), kNone) {
  for (const graph::Output& output : graph.outputs()) is_output_[output.edge.node.value] = true;
}

/// Walks up from a position of the body and a node in step; false if they differ somewhere.
bool RegionMatcher::walk(const Body& body, Instance& instance, size_t position, NodeId node) const {
  std::vector<std::pair<size_t, NodeId>> pending{{position, node}};
  while (!pending.empty()) {
    const auto [at, id] = pending.back();
    pending.pop_back();
    if (instance.nodes[at] == id) continue;
    if (instance.nodes[at] != kUnknown || taken_[id.value]) return false;
    if (!labels_.alike(body.nodes[at], id)) return false;
    instance.nodes[at] = id;
    const std::vector<Edge>& ours = graph_.node(body.nodes[at]).operands;
    const std::vector<Edge>& theirs = graph_.node(id).operands;
    for (size_t k = 0; k < ours.size(); ++k) {
      const NodeId a = ours[k].node, b = theirs[k].node;
      const uint32_t index = body.operands[at][k];
      if (index == kNone) {  // constants and iotas must have the same values
        if (a != b && labels_.history(a) != labels_.history(b)) return false;
      } else if (index < body.nodes.size()) {
        pending.push_back({index, b});
      } else {
        NodeId& known = instance.inputs[index - body.nodes.size()];
        if (known == kUnknown && graph_.node(a).type == graph_.node(b).type) known = b;
        if (known != b) return false;
      }
    }
  }
  return true;
}

/// An operand of a position of which it is known what it is in the instance, best one of its own.
NodeId RegionMatcher::known_operand(const Body& body, const Instance& instance, size_t at) const {
  NodeId input = kUnknown;
  for (const uint32_t index : body.operands[at]) {
    if (index == kNone) continue;
    if (index >= body.nodes.size())
      input = instance.inputs[index - body.nodes.size()];
    else if (instance.nodes[index] != kUnknown)
      return instance.nodes[index];
  }
  return input;
}

/// Values that the border does not need (a cache that is only written, a loss on the side): found
/// from their operands, whose places are known by then.
bool RegionMatcher::walk_side_values(const Body& body, Instance& instance) const {
  for (size_t at = 0; at < body.nodes.size(); ++at) {
    if (instance.nodes[at] != kUnknown) continue;
    const NodeId operand = known_operand(body, instance, at);
    if (operand == kUnknown) continue;  // found from below, if it is needed at all
    bool found = false;
    for (NodeId user : users_[operand.value]) {
      if (std::find(instance.nodes.begin(), instance.nodes.end(), user) != instance.nodes.end())
        continue;
      Instance attempt = instance;
      if (!walk(body, attempt, at, user)) continue;
      instance = std::move(attempt);
      found = true;
      break;
    }
    if (!found) return false;
  }
  return std::find(instance.nodes.begin(), instance.nodes.end(), kUnknown) == instance.nodes.end();
}

/// What is handed on is in memory in any case; who else asks for it does not matter.
bool RegionMatcher::outputs_agree(const Body& body, const Region& region,
                                  const Instance& instance) const {
  std::vector<bool> handed_on(body.nodes.size(), false);
  for (const RegionInput& input : region.inputs)
    if (input.kind == RegionInputKind::kCarried) handed_on[input.from] = true;
  for (size_t p = 0; p < body.nodes.size(); ++p)
    if (!handed_on[p] && !labels_.same_outputs(body.nodes[p], instance.nodes[p])) return false;
  return true;
}

std::optional<RegionMatcher::Instance> RegionMatcher::instance_ending_in(
    const Body& body, std::span<const std::pair<size_t, NodeId>> ends) const {
  Instance instance{std::vector<NodeId>(body.nodes.size()),
                    std::vector<NodeId>(body.inputs.size())};
  for (const auto& [position, node] : ends)
    if (!walk(body, instance, position, node)) return std::nullopt;
  if (!walk_side_values(body, instance)) return std::nullopt;
  return instance;
}

/// Says where every node is; false if instances overlap.
bool RegionMatcher::note_places(const std::vector<Instance>& instances) {
  for (NodeId id : placed_) places_[id.value] = {};
  placed_.clear();
  for (uint32_t k = 0; k < instances.size(); ++k)
    for (uint32_t p = 0; p < instances[k].nodes.size(); ++p) {
      const NodeId id = instances[k].nodes[p];
      if (places_[id.value].known()) return false;
      places_[id.value] = {k, p};
      placed_.push_back(id);
    }
  return true;
}

/// What kind an input is; nothing if it is none of them.
std::optional<RegionInput> RegionMatcher::input_of(const std::vector<Instance>& instances,
                                                   size_t slot) const {
  RegionInput input;
  for (const Instance& instance : instances) input.nodes.push_back(instance.inputs[slot]);
  if (places_[input.nodes[0].value].known()) return std::nullopt;
  if (std::all_of(input.nodes.begin(), input.nodes.end(),
                  [&](NodeId id) { return id == input.nodes[0]; })) {
    input.kind = RegionInputKind::kInvariant;
    return input;
  }
  const Place from = places_[input.nodes[1].value];
  if (from.known()) {
    input.kind = RegionInputKind::kCarried;
    input.from = from.position;
    for (size_t k = 1; k < instances.size(); ++k) {
      const Place there = places_[input.nodes[k].value];
      if (there.instance + 1 != k || there.position != from.position) return std::nullopt;
    }
    return input;
  }
  if (std::all_of(input.nodes.begin(), input.nodes.end(),
                  [&](NodeId id) { return is_data(graph_.node(id)); }))
    return input;
  return std::nullopt;
}

std::optional<Region> RegionMatcher::region_of(const Body& body,
                                               const std::vector<Instance>& instances) {
  if (!note_places(instances)) return std::nullopt;
  Region region;
  for (const Instance& instance : instances) region.instances.push_back(instance.nodes);
  region.pattern = instances.size() - 1;
  for (size_t slot = 0; slot < body.inputs.size(); ++slot) {
    std::optional<RegionInput> input = input_of(instances, slot);
    if (!input) return std::nullopt;
    region.inputs.push_back(std::move(*input));
  }
  for (const Instance& instance : instances)
    if (!outputs_agree(body, region, instance)) return std::nullopt;
  std::vector<bool> read(body.nodes.size(), false);
  for (NodeId id : placed_) {
    const Place& place = places_[id.value];
    if (is_output_[id.value]) read[place.position] = true;
    for (NodeId user : users_[id.value])
      if (places_[user.value].instance != place.instance) read[place.position] = true;
  }
  for (size_t p = 0; p < read.size(); ++p)
    if (read[p]) region.outputs.push_back(p);
  return region;
}

/// Bodies read what they are handed from memory, where positions and numbers never are: an instance
/// that begins with such stays outside.
std::optional<Region> RegionMatcher::stored_region_of(const Body& body,
                                                      std::vector<Instance> instances) {
  std::optional<Region> region = region_of(body, instances);
  const auto takes_free = [&](const RegionInput& input) {
    return input.kind == RegionInputKind::kCarried && is_free(graph_.node(input.nodes[0]));
  };
  if (!region || std::none_of(region->inputs.begin(), region->inputs.end(), takes_free))
    return region;
  if (instances.size() == 2) return std::nullopt;
  instances.erase(instances.begin());
  return region_of(body, instances);
}

/// The instance before the first one, whose border need not look like the others.
std::optional<RegionMatcher::Instance> RegionMatcher::instance_before(const Body& body,
                                                                      const Region& region,
                                                                      const Instance& first) const {
  std::vector<std::pair<size_t, NodeId>> ends;
  for (size_t slot = 0; slot < region.inputs.size(); ++slot)
    if (region.inputs[slot].kind == RegionInputKind::kCarried)
      ends.push_back({region.inputs[slot].from, first.inputs[slot]});
  std::optional<Instance> before = instance_ending_in(body, ends);
  if (!before || !outputs_agree(body, region, *before)) return std::nullopt;
  for (NodeId id : before->nodes)
    if (places_[id.value].known()) return std::nullopt;
  for (size_t slot = 0; slot < region.inputs.size(); ++slot) {
    const NodeId input = before->inputs[slot];
    if (places_[input.value].known()) return std::nullopt;
    switch (region.inputs[slot].kind) {
      case RegionInputKind::kCarried:
        break;
      case RegionInputKind::kParameter:
        if (!is_data(graph_.node(input))) return std::nullopt;
        break;
      case RegionInputKind::kInvariant:
        if (input != first.inputs[slot]) return std::nullopt;
        break;
    }
  }
  return before;
}

std::optional<Region> RegionMatcher::match(const Segments& segments, const Run& run, bool extend) {
  // The last instance is the pattern: the first one may be special at its border.
  const size_t to = run.first + run.period * run.instances, from = to - run.period;
  std::vector<NodeId> members;
  for (uint32_t id = 0; id < graph_.size(); ++id)
    if (segments.of_node[id] >= from && segments.of_node[id] < to) members.push_back(NodeId{id});
  const Body body(graph_, std::move(members), positions_);
  const auto end = static_cast<size_t>(
      std::lower_bound(body.nodes.begin(), body.nodes.end(), segments.borders[to - 1]) -
      body.nodes.begin());
  std::vector<Instance> instances;
  // A single segment has the one before it for company.
  for (size_t k = run.instances == 1 ? 0 : 1; k <= run.instances; ++k) {
    const NodeId border = segments.borders[run.first + k * run.period - 1];
    const std::pair<size_t, NodeId> ends[] = {{end, border}};
    std::optional<Instance> instance = instance_ending_in(body, ends);
    if (!instance) return std::nullopt;
    instances.push_back(std::move(*instance));
  }
  if (!extend) return stored_region_of(body, std::move(instances));
  const std::optional<Region> region = region_of(body, instances);
  if (!region) return std::nullopt;
  std::vector<Instance> earlier;  // the last of them comes first
  while (std::optional<Instance> before =
             instance_before(body, *region, earlier.empty() ? instances.front() : earlier.back())) {
    for (uint32_t p = 0; p < before->nodes.size(); ++p) {
      places_[before->nodes[p].value] = {0, p};  // only whether it is known matters here
      placed_.push_back(before->nodes[p]);
    }
    earlier.push_back(std::move(*before));
  }
  std::reverse(earlier.begin(), earlier.end());
  std::move(instances.begin(), instances.end(), std::back_inserter(earlier));
  return stored_region_of(body, std::move(earlier));
}

void RegionMatcher::accept(const Region& region) {
  for (const std::vector<NodeId>& instance : region.instances)
    for (NodeId id : instance) taken_[id.value] = true;
}

bool RegionMatcher::has_natural_border(const Region& region) const {
  const auto stores = [&](NodeId reader, NodeId value) {
    const Node& node = graph_.node(reader);
    if (kernel::is_opaque(node) || graph::is_reduction(node.op)) return true;
    for (const Edge& edge : node.operands)  // read again and again, as a product reads its rows
      if (edge.node == value && !edge.view.broadcast_axes().empty()) return true;
    return false;
  };
  for (const RegionInput& input : region.inputs) {
    if (input.kind != RegionInputKind::kCarried) continue;
    const NodeId value = input.nodes[1];
    const std::vector<NodeId>& readers = users_[value.value];
    const bool natural =
        readers.size() > 1 || kernel::is_opaque(graph_.node(value)) ||
        std::any_of(readers.begin(), readers.end(), [&](NodeId id) { return stores(id, value); });
    if (!natural) return false;
  }
  return true;
}

}  // namespace luminal::compiler

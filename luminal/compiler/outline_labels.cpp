#include "luminal/compiler/outline_labels.h"

#include "luminal/graph/repeat.h"
#include "luminal/kernel/program.h"
#include "luminal/support/hash.h"

namespace luminal::compiler {
namespace {

using graph::Node;
using support::hash_combine;

/// What of an op's attributes makes a difference to code.
struct AttributeHash {
  support::Hasher& hasher;
  void operator()(const std::monostate&) const {}
  void operator()(const graph::InputAttribute& input) const { hasher.add(input.weight); }
  void operator()(const graph::ConstantAttribute& constant) const {
    if (constant.value.size() == 1) constant.value.at(0).add_to(hasher);
  }
  void operator()(const graph::IotaAttribute& iota) const { hasher.add(iota.value.hash()); }
  void operator()(const graph::ReduceAttribute& reduce) const { hasher.add(reduce.axes); }
  void operator()(const graph::ScatterAttribute& scatter) const { hasher.add(scatter.mode); }
  void operator()(const graph::ArgSortAttribute& sort) const { hasher.add(sort.descending); }
  void operator()(const graph::PrintAttribute&) const {}
  void operator()(const graph::DiffAttribute&) const {}
  void operator()(const graph::CustomAttribute& custom) const { hasher.add(custom.function->name); }
};

bool alike_attributes(const Node& a, const Node& b) {
  switch (a.op) {
    case graph::Op::kInput:
      return a.attribute<graph::InputAttribute>().weight ==
             b.attribute<graph::InputAttribute>().weight;
    case graph::Op::kPrint:
    case graph::Op::kDiff:
      return true;
    case graph::Op::kConstant:
      return a.attribute<graph::ConstantAttribute>().value.size() != 1 ||
             a.attributes == b.attributes;
    default:
      return a.attributes == b.attributes;
  }
}

uint64_t label_of(const Node& node, uint64_t facts) {
  support::Hasher hasher;
  hasher.add(node.op).add(node.dtype()).add(facts);
  for (const graph::Expr& extent : node.shape()) hasher.add(extent.hash());
  for (const graph::Edge& edge : node.operands) edge.view.add_to(hasher);
  std::visit(AttributeHash{hasher}, node.attributes);
  return hasher.finish64();
}

void add_fact(uint64_t& facts, const std::string& text, const graph::View& view) {
  support::Hasher hasher(facts);
  hasher.add(text);
  view.add_to(hasher);
  facts = hasher.finish64();
}

}  // namespace

bool is_free(const Node& node) { return kernel::is_free_to_compute(node); }
bool is_data(const Node& node) { return kernel::is_source(node); }

NodeLabels::NodeLabels(const graph::Graph& graph)
    : graph_(graph), facts_(graph.size(), 0), outputs_(graph.size(), 0) {
  for (const graph::NamedDefinition& definition : graph.named())
    if (!graph::is_repeat(definition))
      add_fact(facts_[definition.result.node.value], to_string(definition), definition.result.view);
  for (const graph::Output& output : graph.outputs())
    add_fact(outputs_[output.edge.node.value], "output", output.edge.view);
  labels_.reserve(graph.size());
  histories_.reserve(graph.size());
  for (NodeId id : graph.ids()) {
    const Node& node = graph.node(id);
    labels_.push_back(label_of(node, facts_[id.value]));
    uint64_t history = labels_.back();
    for (const graph::Edge& edge : node.operands)
      history = hash_combine(history, histories_[edge.node.value]);
    histories_.push_back(history);
  }
}

bool NodeLabels::alike(NodeId a, NodeId b) const {
  if (label(a) != label(b) || facts_[a.value] != facts_[b.value]) return false;
  const Node& first = graph_.node(a);
  const Node& second = graph_.node(b);
  if (first.op != second.op || first.type != second.type ||
      first.operands.size() != second.operands.size())
    return false;
  for (size_t k = 0; k < first.operands.size(); ++k)
    if (first.operands[k].view != second.operands[k].view) return false;
  return alike_attributes(first, second);
}

std::vector<uint64_t> NodeLabels::neighbourhoods(int radius) const {
  std::vector<uint64_t> current = labels_;
  std::vector<uint64_t> next(current.size());
  for (int step = 0; step < radius; ++step) {
    for (NodeId id : graph_.ids()) {
      uint64_t hash = labels_[id.value];
      for (const graph::Edge& edge : graph_.node(id).operands)
        hash = hash_combine(hash, current[edge.node.value]);
      next[id.value] = hash;
    }
    current.swap(next);
  }
  return current;
}

}  // namespace luminal::compiler

#include "luminal/rules/read_choices.h"

#include <algorithm>
#include <optional>

#include "luminal/support/check.h"
#include "luminal/support/error.h"

namespace luminal::rules {

using graph::Edge;
using graph::Node;
using graph::Op;

namespace {

Op op_named(const std::string& name) {
  const std::optional<Op> op = graph::op_from_name(name);
  LUMINAL_CHECK(op.has_value(), "a rule made the op {}, which there is none of", name);
  return *op;
}

Node node_of(Op op, const TensorType& type, graph::Attributes attributes = {}) {
  Node node;
  node.op = op;
  node.type = type;
  node.attributes = std::move(attributes);
  return node;
}

bool same_definition(const Node& a, const Node& b) {
  if (a.op != b.op || a.operands.size() != b.operands.size()) return false;
  if (a.attributes != b.attributes) return false;
  if (a.operands == b.operands) return true;
  return graph::info(a.op).commutative && a.operands[0] == b.operands[1] &&
         a.operands[1] == b.operands[0];
}

bool reads(const Node& node, kernel::NodeId id) {
  return std::any_of(node.operands.begin(), node.operands.end(),
                     [&](const Edge& edge) { return edge.node == id; });
}

}  // namespace

ChoiceReader::ChoiceReader(TensorEGraph& egraph, const kernel::GraphProgram& source,
                           size_t graph_size)
    : egraph_(egraph), source_(source), graph_size_(graph_size) {
  collect_edges();
  collect_candidates();
  collect_copies();
  drop_implied_edges();
  place_graph_nodes();
  place_new_classes();
}

void ChoiceReader::collect_edges() {
  egraph_.for_each_edge([&](const Value* row) {
    edges_[egraph_.leader(row[2])].push_back({row[0], egraph_.leader(row[1])});
  });
  egraph_.for_each_operand([&](const Value* row) {
    operands_[egraph_.leader(row[2])] = {egraph_.leader(row[0]), egraph_.leader(row[1])};
  });
}

std::vector<egraph::Value> ChoiceReader::operand_edges(Value list) const {
  std::vector<Value> edges;
  for (auto at = operands_.find(list); at != operands_.end(); at = operands_.find(list)) {
    edges.push_back(at->second.first);
    list = at->second.second;
  }
  return edges;
}

// Copies come last: where a class has another node, that one is what it is.
void ChoiceReader::collect_candidates() {
  TensorHost& host = egraph_.host();
  const auto type = [&](Value word) -> const TensorType& { return host.get<TensorType>(word); };
  const auto op = [&](Value word) { return op_named(egraph_.text(word)); };
  const auto add = [&](Value id, Node node, std::vector<Value> edges) {
    for (Value& edge : edges) edge = egraph_.leader(edge);
    candidates_[egraph_.leader(id)].push_back({std::move(node), std::move(edges)});
  };
  egraph_.for_each(TensorOp::kLeaf, [&](const Value* row) {
    const Head& head = host.get<Head>(row[0]);
    add(row[2], node_of(head.op, type(row[1]), head.attributes), {});
  });
  egraph_.for_each(TensorOp::kBinary, [&](const Value* row) {
    add(row[4], node_of(op(row[0]), type(row[1])), {row[2], row[3]});
  });
  egraph_.for_each(TensorOp::kSelect, [&](const Value* row) {
    add(row[4], node_of(Op::kSelect, type(row[0])), {row[1], row[2], row[3]});
  });
  egraph_.for_each(TensorOp::kReduce, [&](const Value* row) {
    const graph::ReduceAttribute axes{static_cast<int>(egraph_.number(row[2]))};
    add(row[4], node_of(op(row[0]), type(row[1]), axes), {row[3]});
  });
  egraph_.for_each(TensorOp::kGather, [&](const Value* row) {
    add(row[3], node_of(Op::kGather, type(row[0])), {row[1], row[2]});
  });
  egraph_.for_each(TensorOp::kOther, [&](const Value* row) {
    const Head& head = host.get<Head>(row[0]);
    add(row[3], node_of(head.op, type(row[1]), head.attributes),
        operand_edges(egraph_.leader(row[2])));
  });
  for (const bool copies : {false, true})
    egraph_.for_each(TensorOp::kUnary, [&](const Value* row) {
      if ((op(row[0]) == Op::kCopy) == copies)
        add(row[3], node_of(op(row[0]), type(row[1])), {row[2]});
    });
}

void ChoiceReader::collect_copies() {
  for (const auto& [tensor, list] : candidates_)
    for (const Candidate& candidate : list)
      if (candidate.node.op == Op::kCopy)
        for (const Seen& seen : edges_.at(candidate.edges[0])) copies_[tensor].push_back(seen);
}

/// An edge to x is no choice of its own if another edge leads to a copy of x: whether the copy is
/// read or looked through is decided by the cut.
bool ChoiceReader::is_implied(const Seen& edge, const std::vector<Seen>& others) const {
  TensorHost& host = egraph_.host();
  for (const Seen& other : others) {
    const auto copies = copies_.find(other.tensor);
    if (other == edge || copies == copies_.end()) continue;
    for (const Seen& copy : copies->second) {
      if (copy.tensor != edge.tensor || other.tensor == edge.tensor) continue;
      const std::optional<View> view =
          View::compose(host.get<Access>(copy.view).view, host.get<Access>(other.view).view);
      if (view && *view == host.get<Access>(edge.view).view) return true;
    }
  }
  return false;
}

/// True for a copy of just what the edge sees. Read whole or through a view (there are some if
/// values repeat along an axis) it is the same, and nothing to compute the copy from.
bool ChoiceReader::is_own_copy(const Seen& seen, Value edge) const {
  const auto found = candidates_.find(seen.tensor);
  if (found == candidates_.end()) return false;
  return std::any_of(found->second.begin(), found->second.end(), [&](const Candidate& candidate) {
    return candidate.node.op == Op::kCopy && candidate.edges[0] == edge;
  });
}

void ChoiceReader::drop_implied_edges() {
  for (auto& [edge, list] : edges_) {
    if (list.size() == 1) continue;
    std::vector<Seen> others, kept;
    for (const Seen& seen : list)
      if (!is_own_copy(seen, edge)) others.push_back(seen);
    for (const Seen& seen : others)
      if (!is_implied(seen, others)) kept.push_back(seen);
    if (kept.empty()) continue;
    implied_[edge] = std::move(list);
    list = std::move(kept);
  }
}

// A value found equal to an earlier one shares its place. Copies made for outputs keep their own,
// and so do outputs that turn out to be inputs or constants: somebody must write them.
void ChoiceReader::place_graph_nodes() {
  const std::set<NodeId> roots(source_.roots().begin(), source_.roots().end());
  for (uint32_t k = 0; k < source_.size(); ++k) {
    const NodeId id{k};
    const NodeId place = place_.try_emplace(egraph_.class_of(id), id).first->second;
    const Node& node = source_.node(place);
    const bool is_data = kernel::is_source(node) || kernel::is_free_to_compute(node);
    const bool keeps_own = k >= graph_size_ || (is_data && roots.contains(id));
    place_of_node_.push_back(keeps_own ? id : place);
  }
}

std::vector<Edge> ChoiceReader::edges_of(Value edge, bool with_implied) const {
  std::vector<Edge> result;
  const std::map<Value, std::vector<Seen>>& edges = with_implied ? implied_ : edges_;
  const auto list = edges.find(edge);
  if (list == edges.end()) return result;
  for (const Seen& seen : list->second) {
    const auto place = place_.find(seen.tensor);
    if (place == place_.end()) continue;
    result.push_back({egraph_.host().get<Access>(seen.view).view, place->second});
  }
  return result;
}

std::optional<std::vector<Edge>> ChoiceReader::first_edges(const Candidate& candidate,
                                                           bool with_implied) {
  std::vector<Edge> operands;
  for (const Value edge : candidate.edges) {
    std::vector<Edge> edges = edges_of(edge);
    if (edges.empty() && with_implied) edges = edges_of(edge, true);
    if (edges.empty()) return std::nullopt;
    operands.push_back(std::move(edges[0]));
  }
  return operands;
}

// A class gets a place when all that one of its nodes reads has one, so first definitions read
// earlier places only and cannot be cyclic. Two copies of one value may each be what implies that
// the other one reads it: where nothing else has a place, implied edges do.
void ChoiceReader::place_new_classes() {
  while (place_some(false) || place_some(true)) {
  }
}

bool ChoiceReader::place_some(bool with_implied) {
  bool found = false;
  for (const auto& [tensor, list] : candidates_) {
    if (place_.contains(tensor)) continue;
    for (const Candidate& candidate : list) {
      const std::optional<std::vector<Edge>> operands = first_edges(candidate, with_implied);
      if (!operands) continue;
      place_[tensor] = NodeId{static_cast<uint32_t>(source_.size() + new_nodes_.size())};
      Node node = candidate.node;
      node.operands = *operands;
      new_nodes_.push_back({tensor, std::move(node)});
      if (with_implied) return true;
      found = true;
      break;
    }
  }
  return found;
}

void ChoiceReader::expect_complete() const {
  const auto expect = [&](Value tensor, std::string_view kind, std::string_view name) {
    if (!place_.contains(egraph_.leader(tensor)))
      throw UserError("rules",
                      "nothing computes a value that rules made, {} {}; a rule must say "
                      "what it is in primitives",
                      kind, name);
  };
  for (const auto& [tensor, list] : candidates_)
    expect(tensor, "the result of", graph::name(list[0].node.op));
  egraph_.for_each(TensorOp::kName,
                   [&](const Value* row) { expect(row[4], "named", egraph_.text(row[0])); });
  egraph_.for_each(TensorOp::kContract, [&](const Value* row) { expect(row[4], "a", "Contract"); });
  egraph_.for_each(TensorOp::kConcat, [&](const Value* row) { expect(row[4], "a", "Concat"); });
}

void ChoiceReader::add_definition(Choices& choices, NodeId id, Node node) {
  kernel::ChoiceProgram& program = choices.program;
  if (reads(node, id)) return;
  for (size_t k = 0; k < program.definitions(id); ++k)
    if (same_definition(program.definition(id, k), node)) return;
  program.add(id, std::move(node));
}

/// All nodes of a class. Of the ways to read a node's operands those are taken that change one
/// operand, and the one that changes all: their product is large and buys nothing, since operands
/// are chosen again where they are read.
void ChoiceReader::add_definitions(Choices& choices, NodeId id, Value tensor) {
  const Node& written = choices.program.definition(id, 0);
  if (kernel::is_source(written) || kernel::is_free_to_compute(written)) return;
  const TensorType type = written.type;
  for (const Candidate& candidate : candidates_[tensor]) {
    if (candidate.node.type != type) continue;
    std::vector<std::vector<Edge>> ways;
    for (const Value edge : candidate.edges) ways.push_back(edges_of(edge));
    if (std::any_of(ways.begin(), ways.end(), [](const auto& list) { return list.empty(); }))
      continue;
    Node node = candidate.node;
    for (const std::vector<Edge>& list : ways) node.operands.push_back(list[0]);
    const Node first = node;
    add_definition(choices, id, node);
    for (size_t k = 0; k < ways.size(); ++k)
      for (size_t way = 1; way < ways[k].size(); ++way) {
        node = first;
        node.operands[k] = ways[k][way];
        add_definition(choices, id, node);
      }
    node = first;
    for (size_t k = 0; k < ways.size(); ++k) node.operands[k] = ways[k].back();
    add_definition(choices, id, std::move(node));
  }
}

Choices ChoiceReader::read() {
  const auto place_of = [&](NodeId id) { return place_of_node_[id.value]; };
  std::vector<NodeId> roots;
  for (const NodeId root : source_.roots())
    if (std::find(roots.begin(), roots.end(), place_of(root)) == roots.end())
      roots.push_back(place_of(root));
  Choices choices{{source_.size() + new_nodes_.size(), std::move(roots)}, {}, {}, {}, {}};
  for (uint32_t id = 0; id < source_.size(); ++id) {
    Node node = source_.node(NodeId{id});
    for (Edge& edge : node.operands) edge.node = place_of(edge.node);
    choices.program.add(NodeId{id}, std::move(node));
  }
  for (size_t k = 0; k < new_nodes_.size(); ++k)
    choices.program.add(NodeId{static_cast<uint32_t>(source_.size() + k)}, new_nodes_[k].second);
  for (const auto& [tensor, id] : place_) add_definitions(choices, id, tensor);
  add_output_copies(choices);
  choices.place.assign(place_of_node_.begin(),
                       place_of_node_.begin() + static_cast<std::ptrdiff_t>(graph_size_));
  for (const kernel::NamedRegion& region : source_.named_regions()) {
    kernel::NamedRegion placed{place_of(region.result), {}, region.definition, {}};
    for (const NodeId id : region.operands) placed.operands.push_back(place_of(id));
    for (const NodeId id : region.inside)
      if (place_of(id) != placed.result) placed.inside.push_back(place_of(id));
    choices.program.add_region(std::move(placed));
  }
  add_names(choices);
  add_joint_choices(choices);
  return choices;
}

/// An output that is equal to another value is also a copy of that one.
void ChoiceReader::add_output_copies(Choices& choices) {
  for (uint32_t k = 0; k < source_.size(); ++k) {
    const NodeId id{k}, place = place_.at(egraph_.class_of(id));
    if (place_of_node_[k] != id || place == id) continue;
    Node copy = node_of(Op::kCopy, source_.node(id).type);
    copy.operands = {{View::identity(copy.type.shape), place}};
    add_definition(choices, id, std::move(copy));
  }
}

/// Values that pay only if several readers choose them together: joined siblings, which all their
/// members must read, and the parts of a value, which is not computed any more only if nobody reads
/// the whole.
void ChoiceReader::add_joint_choices(Choices& choices) const {
  kernel::ChoiceProgram& program = choices.program;
  std::map<NodeId, std::map<NodeId, size_t>> readers;  // by what is read: reader and definition
  std::map<NodeId, std::set<NodeId>> first_readers;
  for (uint32_t id = 0; id < program.size(); ++id) {
    const NodeId reader{id};
    for (const Edge& edge : program.definition(reader, 0).operands)
      first_readers[edge.node].insert(reader);
    for (size_t k = 1; k < program.definitions(reader); ++k)
      for (const Edge& edge : program.definition(reader, k).operands)
        readers[edge.node].try_emplace(reader, k);
  }
  for (const auto& [read, users] : readers)
    if (read.value >= source_.size() && users.size() > 1) {
      std::vector<kernel::Pick> picks;
      for (const auto& [user, definition] : users) picks.push_back({user, definition});
      program.add_joint_choice(std::move(picks));
    }
  for (const auto& [read, users] : first_readers) {
    if (users.size() < 2) continue;
    std::vector<kernel::Pick> picks;
    for (const NodeId user : users)
      for (size_t k = 1; k < program.definitions(user); ++k)
        if (!reads(program.definition(user, k), read)) {
          picks.push_back({user, k});
          break;
        }
    if (picks.size() == users.size()) program.add_joint_choice(std::move(picks));
  }
}

void ChoiceReader::add_names(Choices& choices) {
  egraph_.for_each(TensorOp::kName, [&](const Value* row) {
    const auto place = place_.find(egraph_.leader(row[4]));
    if (place == place_.end()) return;
    graph::NamedDefinition name{
        egraph_.text(row[0]),
        egraph_.host().get<Parameters>(row[1]).values,
        {},
        {View::identity(egraph_.host().get<TensorType>(row[2]).shape), place->second}};
    for (const Value edge : operand_edges(egraph_.leader(row[3]))) {
      const std::vector<Edge> edges = edges_of(edge);
      if (edges.empty()) return;
      name.operands.push_back(edges[0]);
    }
    choices.names.push_back(std::move(name));
  });
}

}  // namespace luminal::rules

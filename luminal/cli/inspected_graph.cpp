#include "luminal/cli/inspected_graph.h"

#include <algorithm>
#include <cctype>

#include "luminal/cli/arguments.h"
#include "luminal/egraph/explain.h"
#include "luminal/graph/text.h"
#include "luminal/support/check.h"

namespace luminal::cli {

using egraph::NodeRef;
using egraph::SortId;
using egraph::Value;

namespace {

/// What a constructor is called where ops are.
std::string lowered(std::string name) {
  std::transform(name.begin(), name.end(), name.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return name;
}

}  // namespace

InspectedGraph::InspectedGraph(graph::Graph written, const rules::RuleOptions& options)
    : written_(std::move(written)), passes_(graph::default_passes().run(written_)), egraph_(true) {
  const kernel::GraphProgram program(passes_.graph);
  egraph_.add(program, passes_.graph.named());
  report_ = egraph_.saturate(options);
  tensor_ = sort("Tensor");
  edge_ = sort("Edge");
  operands_ = sort("Operands");
  find_names();
  find_readers();
}

SortId InspectedGraph::sort(const char* name) {
  const egraph::SortRegistry& sorts = database().sorts;
  for (SortId id = 0; id < sorts.size(); ++id)
    if (sorts.name(id) == name) return id;
  throw InternalError(fmt::format("the rule files declare no sort {}", name));
}

void InspectedGraph::find_names() {
  const graph::Graph& graph = passes_.graph;
  for (const graph::NodeId id : graph.ids()) {
    const Value place = egraph_.class_of(id);
    if (first_node_.emplace(place, id.value).second)
      classes_.push_back(place);
    else
      called_[place].push_back("%" + std::to_string(id.value));
    const graph::Node& node = graph.node(id);
    if (const auto* input = std::get_if<graph::InputAttribute>(&node.attributes))
      called_[place].push_back(input->name);
    else if (!node.name.empty())
      called_[place].push_back(node.name);
  }
  const kernel::GraphProgram program(graph);
  for (size_t k = 0; k < graph.outputs().size(); ++k)
    called_[egraph_.class_of(program.output(k))].push_back(graph.outputs()[k].name);
  for (const Value place : egraph::classes_of(database(), tensor_))
    if (!first_node_.contains(place)) classes_.push_back(place);
}

template <typename Visit>
void InspectedGraph::for_each_edge(const NodeRef& node, Visit visit) {
  egraph::Database& db = database();
  const egraph::Function& function = db.functions[node.function];
  for (size_t c = 0; c < function.inputs.size(); ++c) {
    const Value argument = function.table.row(node.row)[c];
    if (function.inputs[c] == edge_) visit(argument);
    if (function.inputs[c] != operands_) continue;
    for (Value list = argument;;) {
      const std::vector<NodeRef> cells = egraph::nodes_of(db, operands_, list);
      const egraph::Function& cell = db.functions[cells.at(0).function];
      if (cell.inputs.empty()) break;
      const Value* row = cell.table.row(cells[0].row);
      visit(row[0]);
      list = row[1];
    }
  }
}

void InspectedGraph::find_readers() {
  for (const Value place : classes_)
    for (const NodeRef& node : nodes(place))
      for (const Value operand : operands(node)) {
        std::vector<Value>& readers = readers_[operand];
        if (readers.empty() || readers.back() != place) readers.push_back(place);
      }
}

std::string InspectedGraph::label(Value tensor) {
  tensor = egraph_.leader(tensor);
  const auto node = first_node_.find(tensor);
  return node == first_node_.end() ? "c" + std::to_string(tensor)
                                   : "%" + std::to_string(node->second);
}

std::vector<std::string> InspectedGraph::called(Value tensor) {
  return called_[egraph_.leader(tensor)];
}

std::string InspectedGraph::type_text(Value tensor) {
  const NodeRef node = nodes(tensor).at(0);
  const egraph::Function& function = database().functions[node.function];
  for (size_t c = 0; c < function.inputs.size(); ++c)
    if (database().sorts.name(function.inputs[c]) == "Type")
      return value_text(function.inputs[c], function.table.row(node.row)[c]);
  return "";
}

Value InspectedGraph::find(const std::string& which) {
  for (const Value place : classes_) {
    if (label(place) == which || "c" + std::to_string(place) == which) return place;
    const std::vector<std::string>& names = called_[place];
    if (std::find(names.begin(), names.end(), which) != names.end()) return place;
  }
  throw UsageError("inspect",
                   "there is no class '{}'; it can be a node after passes (%7), a class (c123), or "
                   "the name of an input, a value or an output; --classes lists them",
                   which);
}

std::vector<NodeRef> InspectedGraph::nodes(Value tensor) {
  return egraph::nodes_of(database(), tensor_, tensor);
}

std::vector<Value> InspectedGraph::readers(Value tensor) { return readers_[tensor]; }

std::vector<Value> InspectedGraph::operands(const NodeRef& node) {
  std::vector<Value> result;
  for_each_edge(node, [&](Value edge) {
    for (const Seen& seen : told_ways(edge, class_of(node)))
      if (std::find(result.begin(), result.end(), seen.tensor) == result.end())
        result.push_back(seen.tensor);
  });
  return result;
}

Value InspectedGraph::class_of(const NodeRef& node) {
  const egraph::Function& function = database().functions[node.function];
  return egraph_.leader(function.table.row(node.row)[function.inputs.size()]);
}

std::vector<InspectedGraph::Seen> InspectedGraph::ways_of(Value edge) {
  std::vector<Seen> result;
  for (const NodeRef& see : egraph::nodes_of(database(), edge_, edge)) {
    const Value* row = database().functions[see.function].table.row(see.row);
    result.push_back({row[0], row[1]});
  }
  LUMINAL_CHECK(!result.empty(), "an edge that reads nothing");
  return result;
}

/// Equal ways say the same, so that one is enough. But a value that is a part of another one is
/// seen as that part or as itself, and that it is itself says nothing.
std::vector<InspectedGraph::Seen> InspectedGraph::told_ways(Value edge, Value own) {
  const std::vector<Seen> all = ways_of(edge);
  std::vector<Seen> others;
  for (const Seen& seen : all)
    if (egraph_.leader(seen.tensor) != own) others.push_back(seen);
  return others.empty() || others.size() == all.size() ? std::vector{all[0]} : others;
}

std::string InspectedGraph::seen_text(const Seen& seen) {
  const graph::View& view = egraph_.host().get<rules::Access>(seen.view).view;
  const std::string as_node = graph::to_text({view, graph::NodeId{0}}, view.domain());
  return label(seen.tensor) + as_node.substr(std::string("%0").size());
}

std::string InspectedGraph::edge_text(Value edge, Value own) {
  std::string text;
  for (const Seen& seen : told_ways(edge, own))
    text += (text.empty() ? "" : " or ") + seen_text(seen);
  return text;
}

std::string InspectedGraph::value_text(SortId sort, Value value) {
  if (sort == egraph::kNone) return "?";
  if (sort == tensor_) return label(value);
  if (sort == edge_) return seen_text(ways_of(value)[0]);
  return egraph::value_text(database(), sort, value);
}

std::string InspectedGraph::text(const NodeRef& node) {
  const egraph::Function& function = database().functions[node.function];
  const Value own = class_of(node);
  std::string result = "(" + function.name;
  bool has_list = false;
  for (size_t c = 0; c < function.inputs.size(); ++c) {
    const Value argument = function.table.row(node.row)[c];
    const SortId sort = function.inputs[c];
    if (sort == operands_)
      has_list = true;
    else
      result += " " + (sort == edge_ ? edge_text(argument, own) : value_text(sort, argument));
  }
  if (has_list) for_each_edge(node, [&](Value edge) { result += " " + edge_text(edge, own); });
  return result + ")";
}

std::string InspectedGraph::op(const NodeRef& node) {
  const egraph::Function& function = database().functions[node.function];
  const Value first = function.table.row(node.row)[0];
  const std::string& sort = database().sorts.name(function.inputs.at(0));
  if (sort == "String") return egraph_.text(first);
  if (sort == "Head") return std::string(name(egraph_.host().get<rules::Head>(first).op));
  return lowered(function.name);
}

std::vector<std::string> InspectedGraph::constructors() {
  std::vector<std::string> result;
  for (const egraph::Function& function : database().functions)
    if (function.kind == egraph::FunctionKind::kConstructor && function.output == tensor_)
      result.push_back(lowered(function.name));
  return result;
}

std::string InspectedGraph::rule(const NodeRef& node) {
  const egraph::CompiledRule* rule = egraph::writer_of(database(), node);
  return rule == nullptr ? "" : rule->name;
}

}  // namespace luminal::cli

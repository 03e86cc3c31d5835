#include "luminal/egraph/view.h"

#include <algorithm>
#include <map>

#include "luminal/egraph/report.h"

namespace luminal::egraph {

std::vector<NodeRef> nodes_of(Database& db, SortId sort, Value id) {
  std::vector<NodeRef> nodes;
  id = db.ids.find(id);
  for (FunctionId f = 0; f < db.functions.size(); ++f) {
    Function& function = db.functions[f];
    if (function.is_function() || function.output != sort) continue;
    const RowIndex& index = function.table.index(function.table.num_keys());
    for (const uint32_t row : index.rows(id))
      if (function.table.live(row)) nodes.push_back({f, row});
  }
  return nodes;
}

std::vector<NodeRef> parents_of(Database& db, Value id) {
  std::vector<NodeRef> nodes;
  id = db.ids.find(id);
  for (FunctionId f = 0; f < db.functions.size(); ++f) {
    Function& function = db.functions[f];
    if (function.is_function()) continue;
    std::vector<uint32_t> rows;
    for (uint32_t c = 0; c < function.inputs.size(); ++c) {
      if (!db.sorts[function.inputs[c]].is_id()) continue;
      for (const uint32_t row : function.table.index(c).rows(id))
        if (function.table.live(row)) rows.push_back(row);
    }
    std::sort(rows.begin(), rows.end());
    rows.erase(std::unique(rows.begin(), rows.end()), rows.end());
    for (const uint32_t row : rows) nodes.push_back({f, row});
  }
  return nodes;
}

std::vector<Value> classes_of(const Database& db, SortId sort) {
  std::vector<Value> classes;
  for (const Function& function : db.functions) {
    if (function.is_function() || function.output != sort) continue;
    for (uint32_t row = 0; row < function.table.end_row(); ++row)
      if (function.table.live(row)) classes.push_back(function.table.value(row));
  }
  std::sort(classes.begin(), classes.end());
  classes.erase(std::unique(classes.begin(), classes.end()), classes.end());
  return classes;
}

uint32_t SerializedGraph::class_index(Value id) const {
  const auto at = std::lower_bound(class_ids.begin(), class_ids.end(), id);
  if (at == class_ids.end() || *at != id) return kNone;
  return static_cast<uint32_t>(at - class_ids.begin());
}

namespace {

struct FoundNode {
  Value id;
  SortId sort;
  NodeRef node;  // function kNone: the container `id`
};

std::vector<FoundNode> find_nodes(Database& db) {
  std::vector<FoundNode> found;
  for (FunctionId f = 0; f < db.functions.size(); ++f) {
    const Function& function = db.functions[f];
    if (function.is_function() || function.unextractable || function.hidden) continue;
    for (uint32_t row = 0; row < function.table.end_row(); ++row)
      if (function.table.live(row))
        found.push_back({function.table.value(row), function.output, {f, row}});
  }
  for (Value id = 0; id < db.ids.size(); ++id)
    if (db.ids.find(id) == id && db.containers.contains(id))
      found.push_back({id, db.containers.sort_of(id), {}});
  std::stable_sort(found.begin(), found.end(),
                   [](const FoundNode& a, const FoundNode& b) { return a.id < b.id; });
  return found;
}

void add_children(Database& db, const FoundNode& found, SerializedGraph& graph,
                  std::map<std::pair<SortId, Value>, uint32_t>& literals) {
  const auto add = [&](SortId sort, Value value) {
    if (db.sorts[sort].is_id()) {
      graph.children.push_back(graph.class_index(value));
      return;
    }
    const auto next = static_cast<uint32_t>(graph.literals.size());
    const auto [entry, fresh] = literals.try_emplace({sort, value}, next);
    if (fresh) graph.literals.push_back({sort, value});
    graph.children.push_back(entry->second | SerializedGraph::kLiteralBit);
  };
  if (found.node.function == kNone) {
    db.containers.for_each_element(db.sorts, found.id, add);
    return;
  }
  const Function& function = db.functions[found.node.function];
  const Value* row = function.table.row(found.node.row);
  for (size_t c = 0; c < function.inputs.size(); ++c) add(function.inputs[c], row[c]);
}

}  // namespace

SerializedGraph serialize(Database& db) {
  SerializedGraph graph;
  const std::vector<FoundNode> found = find_nodes(db);
  for (uint32_t n = 0; n < found.size(); ++n) {
    if (n > 0 && found[n].id == found[n - 1].id) continue;
    graph.class_ids.push_back(found[n].id);
    graph.class_sorts.push_back(found[n].sort);
    graph.class_nodes.push_back(n);
  }
  graph.class_nodes.push_back(static_cast<uint32_t>(found.size()));
  std::map<std::pair<SortId, Value>, uint32_t> literals;
  for (const FoundNode& one : found) {
    const bool is_row = one.node.function != kNone;
    graph.node_function.push_back(one.node.function);
    graph.node_row.push_back(is_row ? one.node.row : one.id);
    graph.node_cost.push_back(is_row ? db.functions[one.node.function].cost : 0);
    graph.node_subsumed.push_back(
        is_row && db.functions[one.node.function].table.subsumed(one.node.row) ? 1 : 0);
    graph.node_children.push_back(static_cast<uint32_t>(graph.children.size()));
    add_children(db, one, graph, literals);
  }
  graph.node_children.push_back(static_cast<uint32_t>(graph.children.size()));
  for (const Global& global : db.globals) {
    if (!db.sorts[global.sort].is_id()) continue;
    const uint32_t root = graph.class_index(db.ids.find(global.value));
    if (root == kNone) continue;
    graph.roots.push_back(root);
    graph.root_names.push_back(global.name);
  }
  return graph;
}

std::string to_json(Database& db) {
  const SerializedGraph graph = serialize(db);
  const auto class_name = [&](uint32_t index) {
    return fmt::format("{}-{}", db.sorts.name(graph.class_sorts[index]), graph.class_ids[index]);
  };
  const auto literal_name = [&](uint32_t index) {
    return fmt::format("{}-{}", db.sorts.name(graph.literals[index].sort),
                       graph.literals[index].value);
  };
  const auto node_name = [&](uint32_t node) { return fmt::format("n{}", node); };
  std::string text = "{\"nodes\":{";
  const char* comma = "";
  uint32_t owner = 0;
  for (uint32_t n = 0; n < graph.num_nodes(); ++n) {
    while (graph.class_nodes[owner + 1] <= n) ++owner;
    const bool is_row = graph.node_function[n] != kNone;
    const std::string op = is_row ? db.functions[graph.node_function[n]].name
                                  : db.sorts.name(graph.class_sorts[owner]);
    std::string children;
    for (uint32_t c = graph.node_children[n]; c < graph.node_children[n + 1]; ++c) {
      const uint32_t child = graph.children[c];
      std::string name = "missing";  // a class whose only nodes cannot be extracted
      if (child != kNone && (child & SerializedGraph::kLiteralBit) != 0) {
        name = literal_name(child & ~SerializedGraph::kLiteralBit);
      } else if (child != kNone) {
        name = node_name(graph.class_nodes[child]);
      }
      children += (children.empty() ? "" : ",") + json_quoted(name);
    }
    text += fmt::format(
        "{}{}:{{\"op\":{},\"children\":[{}],\"eclass\":{},\"cost\":{},\"subsumed\":{}}}", comma,
        json_quoted(node_name(n)), json_quoted(op), children, json_quoted(class_name(owner)),
        graph.node_cost[n], graph.node_subsumed[n] != 0);
    comma = ",";
  }
  for (uint32_t l = 0; l < graph.literals.size(); ++l) {
    const auto& literal = graph.literals[l];
    text += fmt::format(
        "{}{}:{{\"op\":{},\"children\":[],\"eclass\":{},\"cost\":1,\"subsumed\":false}}", comma,
        json_quoted(literal_name(l)), json_quoted(value_text(db, literal.sort, literal.value)),
        json_quoted(literal_name(l)));
    comma = ",";
  }
  text += "},\"root_eclasses\":[";
  for (size_t r = 0; r < graph.roots.size(); ++r)
    text += (r == 0 ? "" : ",") + json_quoted(class_name(graph.roots[r]));
  text += "],\"class_data\":{";
  for (uint32_t c = 0; c < graph.num_classes(); ++c) {
    std::string lets;
    for (size_t r = 0; r < graph.roots.size(); ++r)
      if (graph.roots[r] == c) lets += (lets.empty() ? "" : ",") + json_quoted(graph.root_names[r]);
    text += fmt::format("{}{}:{{\"type\":{},\"let\":[{}]}}", c == 0 ? "" : ",",
                        json_quoted(class_name(c)),
                        json_quoted(db.sorts.name(graph.class_sorts[c])), lets);
  }
  return text + "}}\n";
}

}  // namespace luminal::egraph

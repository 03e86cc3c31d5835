#include <map>

#include "luminal/graph/drawing.h"
#include "luminal/graph/drawing_text.h"
#include "luminal/graph/named_groups.h"
#include "luminal/support/text.h"

namespace luminal::graph {

namespace {

using support::escape_dot;

// Fill colours by what an op does.
std::string_view color_of(Op op) {
  switch (info(op).op_class) {
    case OpClass::kSource:
      return "#dcecfb";
    case OpClass::kElementwise:
      return "#ffffff";
    case OpClass::kReduction:
      return "#fbe6cf";
    case OpClass::kIndexing:
      return "#e9dffa";
    case OpClass::kBarrier:
      return "#fbdada";
  }
  return "#ffffff";
}

class DotWriter {
 public:
  explicit DotWriter(const Graph& graph) : graph_(graph), groups_(named_groups(graph)) {
    for (size_t k = 0; k < groups_.groups.size(); ++k)
      inner_groups_[groups_.groups[k].parent].push_back(static_cast<int>(k));
    for (uint32_t id = 0; id < graph.size(); ++id)
      nodes_in_[groups_.group_of_node[id]].push_back({id});
  }

  std::string write(const std::string& title) {
    text_ = "digraph luminal {\n";
    text_ += fmt::format("  label=\"{}\"; labelloc=t; fontname=\"Helvetica\"; rankdir=TB;\n",
                         escape_dot(title));
    text_ += "  node [shape=box, style=\"rounded,filled\", fontname=\"Helvetica\", fontsize=11];\n";
    text_ += "  edge [fontname=\"Helvetica\", fontsize=9, color=\"#667085\"];\n";
    write_group(NamedGroups::kNone, "  ");
    for (NodeId id : graph_.ids())
      for (const Edge& edge : graph_.node(id).operands)
        write_edge(edge, fmt::format("n{}", id.value));
    for (size_t k = 0; k < graph_.outputs().size(); ++k) write_output(graph_.outputs()[k], k);
    return text_ + "}\n";
  }

 private:
  void write_group(int group, const std::string& indent) {
    for (NodeId id : nodes_in_[group]) {
      const Node& node = graph_.node(id);
      text_ += fmt::format("{}n{} [label=\"{}\\n{}\", tooltip=\"{}\", fillcolor=\"{}\"];\n", indent,
                           id.value, escape_dot(title_text(node)), escape_dot(subtitle_text(node)),
                           escape_dot(fmt::format("%{} {}", id.value, attribute_text(node))),
                           color_of(node.op));
    }
    for (int inner : inner_groups_[group]) {
      const std::string& label = groups_.groups[static_cast<size_t>(inner)].label;
      text_ += fmt::format("{}subgraph cluster_{} {{\n", indent, inner);
      text_ += fmt::format("{}  label=\"{}\"; style=\"rounded,filled\"; fillcolor=\"#10182808\";\n",
                           indent, escape_dot(label));
      write_group(inner, indent + "  ");
      text_ += indent + "}\n";
    }
  }

  void write_edge(const Edge& edge, const std::string& to) {
    const std::string view = view_text(edge);
    text_ += fmt::format("  n{} -> {} [label=\"{}\", edgetooltip=\"{}\"{}];\n", edge.node.value, to,
                         escape_dot(to_string(edge.view.domain())),
                         escape_dot(view.empty() ? "whole" : view),
                         view.empty() ? "" : ", style=dashed");
  }

  void write_output(const Output& output, size_t k) {
    text_ += fmt::format("  out{} [label=\"{}\", shape=ellipse, fillcolor=\"#d7f5e3\"];\n", k,
                         escape_dot(output.name));
    write_edge(output.edge, fmt::format("out{}", k));
  }

  const Graph& graph_;
  NamedGroups groups_;
  std::map<int, std::vector<int>> inner_groups_;
  std::map<int, std::vector<NodeId>> nodes_in_;
  std::string text_;
};

}  // namespace

std::string to_dot(const Graph& graph, const DrawingOptions& options) {
  return DotWriter(graph).write(options.title);
}

}  // namespace luminal::graph

#include "luminal/egraph/visualize.h"

#include <algorithm>

#include "luminal/egraph/report.h"
#include "luminal/egraph/view.h"

namespace luminal::egraph {
namespace {

std::string html_escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '<') {
      out += "&lt;";
    } else if (c == '>') {
      out += "&gt;";
    } else if (c == '&') {
      out += "&amp;";
    } else if (c == '"') {
      out += "&quot;";
    } else {
      out += c;
    }
  }
  return out;
}

std::string head_of(const Database& db, const SerializedGraph& graph, uint32_t owner,
                    uint32_t node) {
  const FunctionId function = graph.node_function[node];
  return function == kNone ? db.sorts.name(graph.class_sorts[owner]) : db.functions[function].name;
}

bool is_literal(uint32_t child) { return (child & SerializedGraph::kLiteralBit) != 0; }

std::string literal_of(const Database& db, const SerializedGraph& graph, uint32_t child) {
  if (child == kNone) return "?";
  const auto& literal = graph.literals[child & ~SerializedGraph::kLiteralBit];
  return value_text(db, literal.sort, literal.value);
}

/// Names of globals that are this class.
std::string names_of_class(const SerializedGraph& graph, uint32_t owner) {
  std::string names;
  for (size_t r = 0; r < graph.roots.size(); ++r)
    if (graph.roots[r] == owner) names += " " + graph.root_names[r];
  return names;
}

}  // namespace

std::string to_graphviz(Database& db, uint32_t max_nodes) {
  const SerializedGraph graph = serialize(db);
  std::string text = "digraph egraph {\n  compound=true; rankdir=TB; node [shape=box];\n";
  std::string edges;
  for (uint32_t c = 0; c < graph.num_classes() && graph.class_nodes[c] < max_nodes; ++c) {
    const uint32_t last = std::min(graph.class_nodes[c + 1], max_nodes);
    text +=
        fmt::format("  subgraph cluster_{} {{\n    style=dashed; label={};\n", c,
                    json_quoted(db.sorts.name(graph.class_sorts[c]) + names_of_class(graph, c)));
    for (uint32_t n = graph.class_nodes[c]; n < last; ++n) {
      std::string label = head_of(db, graph, c, n);
      for (uint32_t i = graph.node_children[n]; i < graph.node_children[n + 1]; ++i) {
        const uint32_t child = graph.children[i];
        if (is_literal(child)) {
          label += " " + literal_of(db, graph, child);
        } else if (graph.class_nodes[child] < max_nodes) {
          edges +=
              fmt::format("  n{} -> n{} [lhead=cluster_{}];\n", n, graph.class_nodes[child], child);
        }
      }
      text += fmt::format("    n{} [label={}{}];\n", n, json_quoted(label),
                          graph.node_subsumed[n] != 0 ? ", style=dotted" : "");
    }
    text += "  }\n";
  }
  if (graph.num_nodes() > max_nodes)
    text += fmt::format("  more [shape=plaintext, label=\"{} more nodes\"];\n",
                        graph.num_nodes() - max_nodes);
  return text + edges + "}\n";
}

std::string to_html(Database& db, uint32_t max_nodes) {
  const SerializedGraph graph = serialize(db);
  std::string text =
      "<!doctype html><meta charset=\"utf-8\"><title>e-graph</title><style>"
      "body{font:14px monospace;margin:2em}table{border-collapse:collapse}"
      "td{border:1px solid #ccc;padding:4px 8px;vertical-align:top}.s{color:#999}"
      ":target{background:#ffd}a{text-decoration:none}</style>"
      "<input id=q placeholder=\"find a node\" size=40 oninput=\"for(const r of "
      "document.querySelectorAll('tr'))r.hidden=!r.textContent.includes(this.value)\">";
  text +=
      fmt::format("<p>{} classes, {} nodes</p><table>\n", graph.num_classes(), graph.num_nodes());
  for (uint32_t c = 0; c < graph.num_classes() && graph.class_nodes[c] < max_nodes; ++c) {
    text += fmt::format("<tr id=c{0}><td>{1}-{2}{3}</td><td>", c,
                        html_escaped(db.sorts.name(graph.class_sorts[c])), graph.class_ids[c],
                        html_escaped(names_of_class(graph, c)));
    for (uint32_t n = graph.class_nodes[c]; n < graph.class_nodes[c + 1]; ++n) {
      text += fmt::format("<div{}>({}", graph.node_subsumed[n] != 0 ? " class=s" : "",
                          html_escaped(head_of(db, graph, c, n)));
      for (uint32_t i = graph.node_children[n]; i < graph.node_children[n + 1]; ++i) {
        const uint32_t child = graph.children[i];
        text += is_literal(child)
                    ? " " + html_escaped(literal_of(db, graph, child))
                    : fmt::format(" <a href=#c{}>{}-{}</a>", child,
                                  html_escaped(db.sorts.name(graph.class_sorts[child])),
                                  graph.class_ids[child]);
      }
      text += ")</div>";
    }
    text += "</td></tr>\n";
  }
  return text + "</table>\n";
}

}  // namespace luminal::egraph

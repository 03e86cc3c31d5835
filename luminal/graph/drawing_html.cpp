#include "luminal/graph/drawing.h"
#include "luminal/graph/drawing_page.h"
#include "luminal/graph/drawing_text.h"
#include "luminal/graph/named_groups.h"
#include "luminal/support/text.h"

namespace luminal::graph {

namespace {

// A JSON string. "<" is written as an escape, so that no text can end the script it stands in.
std::string json(std::string_view text) {
  std::string result = "\"";
  for (char c : support::escape_json(text)) {
    if (c == '<')
      result += "\\u003c";
    else
      result += c;
  }
  return result + "\"";
}

std::string_view class_name(OpClass op_class) {
  switch (op_class) {
    case OpClass::kSource:
      return "source";
    case OpClass::kElementwise:
      return "elementwise";
    case OpClass::kReduction:
      return "reduction";
    case OpClass::kIndexing:
      return "indexing";
    case OpClass::kBarrier:
      return "barrier";
  }
  return "elementwise";
}

std::string edge_json(const Edge& edge) {
  return fmt::format("{{\"node\":{},\"shape\":{},\"view\":{}}}", edge.node.value,
                     json(to_string(edge.view.domain())), json(view_text(edge)));
}

std::string node_json(const Node& node, int group) {
  std::string operands;
  for (const Edge& edge : node.operands)
    operands += (operands.empty() ? "" : ",") + edge_json(edge);
  const bool is_input = node.op == Op::kInput;
  return fmt::format(
      "{{\"op\":{},\"class\":{},\"title\":{},\"subtitle\":{},\"type\":{},\"name\":{},"
      "\"attributes\":{},\"group\":{},\"operands\":[{}]}}",
      json(name(node.op)), json(is_input ? "input" : class_name(info(node.op).op_class)),
      json(title_text(node)), json(subtitle_text(node)), json(to_string(node.type)),
      json(node.name), json(attribute_text(node)), group, operands);
}

// Outputs are drawn as nodes after all others.
std::string output_json(const Graph& graph, const Output& output) {
  const TensorType type{graph.node(output.edge.node).dtype(), output.edge.view.domain()};
  return fmt::format(
      "{{\"op\":\"output\",\"class\":\"output\",\"title\":{},\"subtitle\":{},\"type\":{},"
      "\"name\":{},\"attributes\":\"\",\"group\":-1,\"operands\":[{}]}}",
      json(output.name), json("output " + to_string(type)), json(to_string(type)),
      json(output.name), edge_json(output.edge));
}

std::string graph_json(const Graph& graph, const DrawingOptions& options) {
  const NamedGroups groups = named_groups(graph);
  std::string text = "{\"title\":" + json(options.title) + ",\n\"nodes\":[";
  const char* separator = "\n";
  for (NodeId id : graph.ids()) {
    text += separator + node_json(graph.node(id), groups.group_of_node[id.value]);
    separator = ",\n";
  }
  for (const Output& output : graph.outputs()) {
    text += separator + output_json(graph, output);
    separator = ",\n";
  }
  text += "],\n\"groups\":[";
  separator = "\n";
  for (const NamedGroups::Group& group : groups.groups) {
    const NamedDefinition& definition = graph.named()[group.definition];
    text += fmt::format("{}{{\"label\":{},\"parent\":{},\"result\":{}}}", separator,
                        json(group.label), group.parent, definition.result.node.value);
    separator = ",\n";
  }
  return text + "]}";
}

}  // namespace

std::string to_html(const Graph& graph, const DrawingOptions& options) {
  std::string page = "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n";
  page += "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n";
  page += "<title>" + support::escape_html(options.title) + "</title>\n<style>";
  page += kDrawingStyle;
  page += "</style>\n</head>\n<body>";
  page += kDrawingBody;
  page += "<script type=\"application/json\" id=\"graph-data\">" + graph_json(graph, options);
  page += "</script>\n<script>";
  page += kDrawingLayoutScript;
  page += "</script>\n<script>";
  page += kDrawingViewerScript;
  page += "</script>\n</body>\n</html>\n";
  return page;
}

}  // namespace luminal::graph

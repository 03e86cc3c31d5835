#include "luminal/graph/drawing.h"

#include <gtest/gtest.h>

#include <cctype>
#include <string>

namespace luminal::graph {
namespace {

// How often a text occurs.
size_t count(std::string_view text, std::string_view part) {
  size_t found = 0;
  for (size_t at = text.find(part); at != std::string_view::npos; at = text.find(part, at + 1))
    ++found;
  return found;
}

bool holds(std::string_view text, std::string_view part) { return count(text, part) > 0; }

// True if quotes are closed, braces balance outside of them, and no string spans lines.
bool is_well_formed_dot(std::string_view text) {
  int depth = 0;
  bool quoted = false;
  for (size_t k = 0; k < text.size(); ++k) {
    if (quoted && text[k] == '\\') {
      ++k;
    } else if (text[k] == '"') {
      quoted = !quoted;
    } else if (quoted ? text[k] == '\n' : text[k] == '}' && --depth < 0) {
      return false;
    } else if (!quoted && text[k] == '{') {
      ++depth;
    }
  }
  return depth == 0 && !quoted && text.starts_with("digraph ");
}

// Reads over one JSON value; throws nothing, fails by not reaching the end.
class JsonReader {
 public:
  explicit JsonReader(std::string_view text) : text_(text) {}
  bool reads_all() {
    const bool read = value();
    space();
    return read && text_.empty();
  }

 private:
  void space() {
    while (!text_.empty() && std::isspace(static_cast<unsigned char>(text_.front())))
      text_.remove_prefix(1);
  }
  bool take(char c) {
    space();
    if (text_.empty() || text_.front() != c) return false;
    text_.remove_prefix(1);
    return true;
  }
  bool string() {
    if (!take('"')) return false;
    for (size_t k = 0; k < text_.size(); ++k) {
      if (static_cast<unsigned char>(text_[k]) < 0x20) return false;
      if (text_[k] == '\\') {
        ++k;
      } else if (text_[k] == '"') {
        text_.remove_prefix(k + 1);
        return true;
      }
    }
    return false;
  }
  bool number() {
    space();
    const size_t end = text_.find_first_not_of("-0123456789");
    if (end == 0) return false;
    text_.remove_prefix(end);
    return true;
  }
  bool list(char close, bool keyed) {
    if (take(close)) return true;
    do {
      if (keyed && !(string() && take(':'))) return false;
      if (!value()) return false;
    } while (take(','));
    return take(close);
  }
  bool value() {
    if (take('{')) return list('}', true);
    if (take('[')) return list(']', false);
    return string() || number();
  }

  std::string_view text_;
};

// The JSON that a page carries.
std::string_view data_of(std::string_view page) {
  constexpr std::string_view kBegin = "<script type=\"application/json\" id=\"graph-data\">";
  const size_t begin = page.find(kBegin) + kBegin.size();
  return page.substr(begin, page.find("</script>", begin) - begin);
}

// softmax(x + bias) with one transposed operand, a symbolic dim and two nested names.
Graph example() {
  Graph graph;
  const Expr seq = Expr::variable("seq", {1, 128});
  const NodeId x = graph.add_input("x", DType::kF32, {4, seq});
  const NodeId bias = graph.add_input("bias", DType::kF32, {seq, 4});
  const Edge transposed{View::identity({seq, 4}).permute(std::vector{1, 0}), bias};
  const NodeId sum = graph.add(Op::kAdd, {graph.whole(x), transposed});
  const NodeId top = graph.add(Op::kReduceMax, {graph.whole(sum)}, ReduceAttribute{1});
  const Edge spread{View::identity({4}).insert_axis(1, seq), top};
  const NodeId half = graph.add_constant(Scalar::of(DType::kF32, 0.5));
  const Edge halves{View().expand({4, seq}), half};
  const NodeId scaled = graph.add(Op::kMul, {spread, halves});
  graph.add_named({"center", {{"axis", int64_t{1}}}, {graph.whole(sum)}, graph.whole(scaled)});
  graph.add_named({"whole", {}, {graph.whole(x), transposed}, graph.whole(scaled)});
  graph.add_output("y", graph.whole(scaled));
  return graph;
}

// Names that would end a string, a tag, a label or a script if they were not escaped.
constexpr const char* kNasty = "a\"b\\c\n</script><script>alert(1)</script>&{}";

Graph nasty() {
  Graph graph;
  const NodeId x = graph.add_input(kNasty, DType::kF32, {2});
  const NodeId y = graph.add(Op::kExp, {graph.whole(x)});
  graph.set_name(y, kNasty);
  graph.add_named({kNasty, {{"mode", std::string(kNasty)}}, {graph.whole(x)}, graph.whole(y)});
  graph.add_output(kNasty, graph.whole(y));
  return graph;
}

TEST(DotDrawing, HasOneNodePerNodeAndOutputAndOneEdgePerOperand) {
  const Graph graph = example();
  const std::string dot = to_dot(graph, {.title = "example"});
  EXPECT_TRUE(is_well_formed_dot(dot));
  EXPECT_EQ(count(dot, "fillcolor=") - count(dot, "subgraph"), graph.size() + 1);
  EXPECT_EQ(count(dot, " -> "), 6u + count(dot, ") -> ("));  // those in views are no edges
  EXPECT_TRUE(holds(dot, "label=\"example\""));
  EXPECT_TRUE(holds(dot, "n2 -> n3 "));
  EXPECT_TRUE(holds(dot, "n5 -> out0 "));
}

TEST(DotDrawing, ShowsTypesInNodesAndShapesOnEdges) {
  const std::string dot = to_dot(example());
  EXPECT_TRUE(holds(dot, "[label=\"x\\ninput f32[4, seq]\""));
  EXPECT_TRUE(holds(dot, "[label=\"0.5\\nf32[]\""));
  EXPECT_TRUE(holds(dot, "[label=\"reduce_max\\nf32[4]\", tooltip=\"%3 last 1 axis reduced\""));
  EXPECT_TRUE(holds(dot, "n0 -> n2 [label=\"[4, seq]\", edgetooltip=\"whole\"]"));
  EXPECT_TRUE(holds(
      dot, "n1 -> n2 [label=\"[4, seq]\", edgetooltip=\"(i0, i1) -> (i1, i0)\", style=dashed]"));
}

TEST(DotDrawing, NestsNamedDefinitions) {
  const std::string dot = to_dot(example());
  const size_t outer = dot.find("label=\"whole()\""), inner = dot.find("label=\"center(axis=1)\"");
  ASSERT_NE(outer, std::string::npos);
  ASSERT_NE(inner, std::string::npos);
  EXPECT_LT(outer, inner);
  EXPECT_TRUE(holds(dot, "\n    subgraph cluster_1 {\n"));  // indented: inside cluster_0
  EXPECT_TRUE(holds(dot, "\n      n5 [label=\"mul\\n"));
  EXPECT_TRUE(holds(dot, "\n    n2 [label=\"add\\n"));
  EXPECT_TRUE(holds(dot, "\n  n0 [label=\"x\\n"));
}

TEST(DotDrawing, EscapesWhatUsersWrote) {
  const std::string dot = to_dot(nasty(), {.title = kNasty});
  EXPECT_TRUE(is_well_formed_dot(dot));
  EXPECT_FALSE(holds(dot, "a\"b"));
  EXPECT_EQ(count(dot, "a\\\"b\\\\c\\n</script>"), 7u);
}

TEST(DotDrawing, AnEmptyGraphIsAnEmptyDigraph) {
  const std::string dot = to_dot(Graph());
  EXPECT_TRUE(is_well_formed_dot(dot));
  EXPECT_FALSE(holds(dot, "->"));
}

TEST(HtmlDrawing, CarriesTheGraphAsJson) {
  const Graph graph = example();
  const std::string page = to_html(graph, {.title = "example"});
  const std::string_view data = data_of(page);
  EXPECT_TRUE(JsonReader(data).reads_all()) << data;
  EXPECT_EQ(count(data, "{\"op\":"), graph.size() + 1);
  EXPECT_EQ(count(data, "{\"node\":"), 6u);
  EXPECT_TRUE(holds(data, "{\"node\":1,\"shape\":\"[4, seq]\",\"view\":\"(i0, i1) -> (i1, i0)\"}"));
  EXPECT_TRUE(holds(data, "{\"node\":0,\"shape\":\"[4, seq]\",\"view\":\"\"}"));
  EXPECT_TRUE(holds(data, "{\"label\":\"whole()\",\"parent\":-1,\"result\":5}"));
  EXPECT_TRUE(holds(data, "{\"label\":\"center(axis=1)\",\"parent\":0,\"result\":5}"));
  EXPECT_TRUE(holds(data, "\"op\":\"output\",\"class\":\"output\",\"title\":\"y\""));
}

TEST(HtmlDrawing, NeedsNothingButItself) {
  const std::string page = to_html(example());
  for (const char* reference : {"http:", "https:", "src=", "href=", "@import", "url(", "fetch("})
    EXPECT_FALSE(holds(page, reference)) << reference;
  EXPECT_TRUE(page.starts_with("<!doctype html>"));
  EXPECT_TRUE(page.ends_with("</html>\n"));
  EXPECT_EQ(count(page, "<script"), count(page, "</script>"));
}

TEST(HtmlDrawing, EveryElementThatTheScriptAsksForExists) {
  const std::string page = to_html(example());
  size_t asked = 0;
  for (size_t at = page.find("byId(\""); at != std::string::npos;
       at = page.find("byId(\"", at + 1)) {
    const size_t begin = at + 6;
    const std::string id = page.substr(begin, page.find('"', begin) - begin);
    EXPECT_TRUE(holds(page, "id=\"" + id + "\"")) << id;
    ++asked;
  }
  EXPECT_GT(asked, 5u);
}

TEST(HtmlDrawing, EscapesWhatUsersWrote) {
  const std::string page = to_html(nasty(), {.title = kNasty});
  EXPECT_TRUE(JsonReader(data_of(page)).reads_all());
  EXPECT_FALSE(holds(page, "<script>alert"));
  EXPECT_EQ(count(page, "<script"), 3u);
  EXPECT_TRUE(holds(page, "<title>a&quot;b\\c\n&lt;/script&gt;&lt;script&gt;alert(1)"));
  EXPECT_TRUE(holds(page, "a\\\"b\\\\c\\n\\u003c/script>\\u003cscript>alert(1)"));
}

TEST(HtmlDrawing, AnEmptyGraphIsAPageToo) {
  const std::string page = to_html(Graph());
  EXPECT_TRUE(JsonReader(data_of(page)).reads_all());
  EXPECT_TRUE(holds(data_of(page), "\"nodes\":[],"));
}

TEST(HtmlDrawing, AttributesAreSaidInWords) {
  Graph graph;
  const NodeId positions = graph.add_iota(DType::kI64, {8}, 2 * Expr::axis(0, 8) + 1);
  const NodeId base = graph.add_input("base", DType::kF32, {16});
  const NodeId updates = graph.add_input("updates", DType::kF32, {8});
  graph.add(Op::kScatter, {graph.whole(base), graph.whole(positions), graph.whole(updates)},
            ScatterAttribute{ScatterMode::kAdd});
  graph.add(Op::kArgSort, {graph.whole(base)}, ArgSortAttribute{true});
  graph.add(Op::kPrint, {graph.whole(base)}, PrintAttribute{"here"});
  graph.add(Op::kDiff, {graph.whole(base)}, DiffAttribute{"base.npy", 0.5, 0.25});
  graph.add_constant(Array(DType::kF32, {3}));
  const std::string page = to_html(graph);
  for (const char* words :
       {"value = 2*i0 + 1", "mode = add", "\"descending\"", "label = here",
        "file = base.npy, atol = 0.5, rtol = 0.25", "3 values", "name = updates"})
    EXPECT_TRUE(holds(data_of(page), words)) << words;
}

TEST(HtmlDrawing, ThousandsOfNodesAndNamesAreFine) {
  Graph graph;
  NodeId at = graph.add_input("x", DType::kF32, {8});
  for (int layer = 0; layer < 1500; ++layer) {
    const NodeId begin = at;
    for (Op op : {Op::kExp, Op::kSin, Op::kTanh}) at = graph.add(op, {graph.whole(at)});
    graph.add_named({"layer", {{"index", int64_t{layer}}}, {graph.whole(begin)}, graph.whole(at)});
  }
  const std::string page = to_html(graph);
  EXPECT_TRUE(JsonReader(data_of(page)).reads_all());
  EXPECT_EQ(count(data_of(page), "{\"op\":"), 4501u);
  EXPECT_EQ(count(data_of(page), "{\"label\":"), 1500u);
  EXPECT_TRUE(is_well_formed_dot(to_dot(graph)));
}

}  // namespace
}  // namespace luminal::graph

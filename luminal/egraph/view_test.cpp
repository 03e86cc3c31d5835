#include "luminal/egraph/view.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "luminal/egraph/builder.h"
#include "luminal/egraph/egraph.h"
#include "luminal/egraph/explain.h"
#include "luminal/egraph/parser.h"
#include "luminal/egraph/visualize.h"

namespace luminal::egraph {
namespace {

const char* const kProgram =
    "(datatype M (Num i64) (Var String) (Add M M) (Neg M :cost 3))"
    "(sort Ms (Vec M)) (constructor List (Ms) M) (relation seen (M)) "
    "(function weight (M) i64 :merge (max old new)) (ruleset extra)"
    "(rewrite (Add a b) (Add b a)) (rewrite (Neg (Neg a)) a :subsume :ruleset extra)"
    "(rule ((= e (Add a _))) ((seen e) (set (weight e) 2)) :name \"mark\")"
    "(let $x (Add (Num 1) (Var \"y\"))) (let $n (Neg (Neg (Num 1)))) (let $l (List (vec-of $x $n)))"
    "(run 3) (run extra 2)";

TEST(View, ListsNodesAndParentsOfAClass) {
  EGraph egraph;
  egraph.run_program(kProgram);
  Database& db = egraph.database();
  const SortId sort = db.sorts.find("M");
  const Value x = db.canonical(sort, db.globals[0].value);
  EXPECT_EQ(nodes_of(db, sort, x).size(), 2u);
  const Value one = db.canonical(sort, db.globals[1].value);
  EXPECT_EQ(parents_of(db, one).size(), 3u);  // two Adds and the inner Neg
  EXPECT_EQ(classes_of(db, sort).size(), 5u);
}

TEST(Serialization, ArraysDescribeEveryNode) {
  EGraph egraph;
  egraph.run_program(kProgram);
  const SerializedGraph graph = serialize(egraph.database());
  ASSERT_EQ(graph.class_nodes.size(), graph.num_classes() + 1);
  ASSERT_EQ(graph.node_children.size(), graph.num_nodes() + 1);
  EXPECT_TRUE(std::is_sorted(graph.class_ids.begin(), graph.class_ids.end()));
  EXPECT_EQ(graph.root_names, (std::vector<std::string>{"$x", "$n", "$l"}));
  for (const uint32_t child : graph.children) {
    if ((child & SerializedGraph::kLiteralBit) != 0) {
      EXPECT_LT(child & ~SerializedGraph::kLiteralBit, graph.literals.size());
    } else {
      EXPECT_LT(child, graph.num_classes());
    }
  }
}

TEST(Serialization, JsonNamesOperatorsRootsAndTypes) {
  EGraph egraph;
  egraph.run_program(kProgram);
  const std::string json = to_json(egraph.database());
  for (const char* part : {"\"op\":\"Add\"", "\"root_eclasses\":[\"M-", "\"type\":\"M\"",
                           "\"op\":\"\\\"y\\\"\"", "\"let\":[\"$x\"]", "\"subsumed\":true"})
    EXPECT_NE(json.find(part), std::string::npos) << part;
}

TEST(ToProgram, BuildsTheSameEGraphAgain) {
  EGraph original, copy;
  original.run_program(kProgram);
  const std::string dump = to_program(original.database());
  copy.run_program(dump);
  EXPECT_EQ(copy.run_program("(print-size)"), original.run_program("(print-size)")) << dump;
  const char* const more = "(Add (Num 7) (Num 8)) (run 2) (run extra 1) (print-size) (extract $n)";
  EXPECT_EQ(copy.run_program(more), original.run_program(more));
}

TEST(ToProgram, WritesADumpThatWasReadBack) {
  EGraph original, copy, copy_of_copy;
  original.run_program(kProgram);
  copy.run_program(to_program(original.database()));
  copy_of_copy.run_program(to_program(copy.database()));
  const char* const more = "(print-size) (extract $n)";
  EXPECT_EQ(copy_of_copy.run_program(more), original.run_program(more));
}

/// A value of the host whose text is no program, and not its own alone.
struct Length {
  int64_t meters = 0;
  int64_t millimeters = 0;
  bool operator==(const Length&) const = default;
};
std::string text_of(const Length& length) { return fmt::format("{} \"m\"", length.meters); }

}  // namespace
}  // namespace luminal::egraph

template <>
struct std::hash<luminal::egraph::Length> {
  size_t operator()(const luminal::egraph::Length& length) const noexcept {
    return static_cast<size_t>(length.meters * 1000 + length.millimeters);
  }
};

namespace luminal::egraph {
namespace {

Length length_of(int64_t meters, int64_t millimeters) { return {meters, millimeters}; }
int64_t meters_of(const Length& length) { return length.meters; }
bool is_long(const Length& length) { return length.meters > 5; }

TEST(ToProgram, ValuesAndPrimitivesOfTheHostRunWhereThereAreNone) {
  EGraph original;
  Builder builder(original);
  builder.host_sort<Length>("Length");
  builder.native("length", &length_of);
  builder.native("meters", &meters_of);
  builder.predicate("is-long", &is_long);
  original.run_program(
      "(datatype Pole (Wood Length) (Steel Length)) (relation heavy (Pole i64))"
      "(rule ((= p (Steel l)) (is-long l) (= m (meters l))) ((heavy p m) (Wood (length m 1))))"
      "(Steel (length 7 0)) (Steel (length 7 1)) (Steel (length 2 0)) (run 3)");
  const std::string dump = to_program(original.database());
  EGraph copy;
  copy.run_program(dump);
  EXPECT_EQ(copy.run_program("(print-size Steel) (print-size Wood) (print-size heavy)"),
            original.run_program("(print-size Steel) (print-size Wood) (print-size heavy)"))
      << dump;
  EXPECT_NE(dump.find(R"((host-Length 0 "7 \"m\""))"), std::string::npos) << dump;
  copy.run_program("(run 3)");  // rules that ask the host find nothing new
  EXPECT_EQ(copy.run_program("(print-size heavy)"), original.run_program("(print-size heavy)"));
}

TEST(ToProgram, KeepsCombinedRulesetsWhateverTheirMembersAre) {
  EGraph egraph;
  egraph.run_program(
      "(unstable-combined-ruleset outer inner) (unstable-combined-ruleset inner later)"
      "(unstable-combined-ruleset one other) (unstable-combined-ruleset other one)");
  EXPECT_EQ(to_program(egraph.database()),
            "(unstable-combined-ruleset inner later)\n(unstable-combined-ruleset outer inner)\n"
            "(unstable-combined-ruleset one other)\n(unstable-combined-ruleset other one)\n");
}

TEST(Pictures, ContainEveryClassAndSayWhatWasLeftOut) {
  EGraph egraph;
  egraph.run_program(kProgram);
  const std::string dot = to_graphviz(egraph.database());
  EXPECT_NE(dot.find("digraph"), std::string::npos);
  EXPECT_NE(dot.find("Num 1"), std::string::npos);
  EXPECT_NE(dot.find("style=dotted"), std::string::npos);
  EXPECT_NE(to_graphviz(egraph.database(), 3).find("more nodes"), std::string::npos);
  const std::string html = to_html(egraph.database());
  EXPECT_NE(html.find("<a href=#c"), std::string::npos);
  EXPECT_NE(html.find("&quot;y&quot;"), std::string::npos);
}

Expr expression(EGraph& egraph, const std::string& text) {
  return parse_expression(*egraph.sources().add("query", text));
}

TEST(Why, NamesTheRuleAndTheMatch) {
  EGraph egraph({.threads = 1, .print_costs = false, .record_origins = true, .budget = {}});
  egraph.run_program(
      "(relation edge (i64 i64)) (relation path (i64 i64))"
      "(rule ((edge x y)) ((path x y)) :name \"edges are paths\")"
      "(rule ((path x y) (edge y z)) ((path x z)) :name \"paths grow\")"
      "(edge 1 2) (edge 2 3) (run 3)");
  EXPECT_EQ(why(egraph, expression(egraph, "(path 1 2)")),
            "(path 1 2) was written by rule edges are paths, matched with x = 1, y = 2");
  EXPECT_EQ(why(egraph, expression(egraph, "(path 1 3)")),
            "(path 1 3) was written by rule paths grow, matched with x = 1, z = 3");
  EXPECT_EQ(why(egraph, expression(egraph, "(edge 1 2)")),
            "(edge 1 2) was written by the top level");
  EXPECT_THROW(why(egraph, expression(egraph, "(path 9 9)")), ProgramError);
}

TEST(WhyNot, NamesTheConditionThatFails) {
  EGraph egraph;
  egraph.run_program(
      "(datatype M (Num i64) (Add M M) (Neg M) (Seen)) (relation big (M))"
      "(rule ((= e (Add a b)) (= a (Neg c)) (big c)) ((union e c)) :name \"cancel\")"
      "(big (Num 9)) (let $s (Add (Neg (Num 1)) (Num 2))) (let $t (Add (Num 1) (Num 2)))"
      "(let $u (Add (Neg (Num 9)) (Num 2)))");
  const Mismatch far = why_not(egraph, "", "cancel", expression(egraph, "$s"));
  EXPECT_FALSE(far.matches);
  EXPECT_NE(far.failed_atom.find("(big c)"), std::string::npos) << far.text;
  const Mismatch near = why_not(egraph, "", "cancel", expression(egraph, "$t"));
  EXPECT_NE(near.failed_atom.find("(Neg c)"), std::string::npos) << near.text;
  EXPECT_TRUE(why_not(egraph, "", "cancel", expression(egraph, "$u")).matches);
  EXPECT_THROW(why_not(egraph, "", "no such rule", expression(egraph, "$u")), ProgramError);
}

TEST(WhyNot, BeginsWithTheTermAndCountsWhatHoldsForIt) {
  // There is one Exp, which no product has as a factor. A search that began with it, as the
  // condition with the fewest rows, would say that the term is no product.
  EGraph egraph;
  egraph.run_program(
      "(datatype M (Num i64) (Exp M) (Mul M M)) (relation never (M))"
      "(rule ((= y (Mul p q)) (!= p q) (= p (Exp a)) (= q (Exp b))) ((union y a)) :name \"exps\")"
      "(rule ((= y (Mul p q)) (never q)) ((union y p)) :name \"nothing\")"
      "(let $y (Mul (Num 1) (Num 2))) (union $y (Mul (Num 2) (Num 3)))"
      "(union $y (Mul (Num 3) (Num 4))) (Exp (Num 5))");
  const Mismatch exps = why_not(egraph, "", "exps", expression(egraph, "$y"));
  EXPECT_EQ(exps.text, "rule exps does not match $y: after 2 of 4 conditions, (= p (Exp a)) fails");
  std::vector<std::string> bound;
  for (const Binding& binding : exps.bound) bound.push_back(binding.variable);
  EXPECT_EQ(bound, (std::vector<std::string>{"y", "p", "q"}));
  // A table without rows fails no sooner than its turn comes.
  EXPECT_EQ(why_not(egraph, "", "nothing", expression(egraph, "$y")).text,
            "rule nothing does not match $y: after 1 of 2 conditions, (never q) fails");
}

TEST(WhyNot, AsksForTheWholePatternOfARewrite) {
  EGraph egraph;
  egraph.run_program(
      "(datatype M (Num i64) (Add M M) (Mul M M))"
      "(rewrite (Mul (Add a b) (Num 1)) (Add a b) :when ((!= a b)) :name \"one\")"
      "(Mul (Add (Num 3) (Num 3)) (Num 1)) (Mul (Num 5) (Num 1))"
      "(Mul (Add (Num 3) (Num 5)) (Num 1)) (Mul (Add (Num 3) (Num 5)) (Num 5))");
  const auto ask = [&](const char* term) {
    return why_not(egraph, "", "one", expression(egraph, term));
  };
  EXPECT_TRUE(ask("(Mul (Add (Num 3) (Num 5)) (Num 1))").matches);
  EXPECT_EQ(ask("(Mul (Add (Num 3) (Num 3)) (Num 1))").failed_atom, "(!= a b)");
  EXPECT_NE(ask("(Mul (Num 5) (Num 1))").failed_atom.find("(Add a b)"), std::string::npos);
  EXPECT_FALSE(ask("(Mul (Add (Num 3) (Num 5)) (Num 5))").matches);
  EXPECT_FALSE(ask("(Num 1)").matches);
}

TEST(WhyNot, TakesRowsOfRelationsAndRefusesOtherSorts) {
  EGraph egraph;
  egraph.run_program(
      "(relation edge (i64 i64)) (relation far (i64))"
      "(rule ((< 0 x) (edge x y) (far y)) ((far x)) :name \"spread\") (edge 1 2) (edge 0 2)");
  const auto ask = [&](const char* term) {
    return why_not(egraph, "", "spread", expression(egraph, term));
  };
  EXPECT_NE(ask("(edge 1 2)").failed_atom.find("(far y)"), std::string::npos);
  egraph.run_program("(far 2)");
  EXPECT_TRUE(ask("(edge 1 2)").matches);
  EXPECT_EQ(ask("(edge 0 2)").failed_atom, "(< 0 x)");
  EXPECT_THROW(ask("5"), ProgramError);
}

TEST(Why, AndWhyNotInsertNothing) {
  EGraph egraph({.record_origins = true, .budget = {}});
  egraph.run_program(
      "(datatype M (Num i64) (Add M M)) (rewrite (Add a b) (Add b a) :name \"swap\")"
      "(Add (Num 1) (Num 2)) (run 1)");
  const std::string before = egraph.run_program("(print-size)");
  EXPECT_NE(why(egraph, expression(egraph, "(Add (Num 2) (Num 1))")).find("rule swap"),
            std::string::npos);
  EXPECT_THROW(why(egraph, expression(egraph, "(Add (Num 7) (Num 1))")), ProgramError);
  EXPECT_THROW(why_not(egraph, "", "swap", expression(egraph, "(Add (Num 8) (Num 1))")),
               ProgramError);
  EXPECT_THROW(why_not(egraph, "", "swap", expression(egraph, "(Add x (Num 1))")), ProgramError);
  EXPECT_EQ(egraph.run_program("(print-size)"), before);
}

}  // namespace
}  // namespace luminal::egraph

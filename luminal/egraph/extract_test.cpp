#include "luminal/egraph/extract.h"

#include <gtest/gtest.h>

#include "luminal/egraph/dag_extract.h"
#include "luminal/egraph/egraph.h"
#include "luminal/egraph/parser.h"

namespace luminal::egraph {
namespace {

const char* const kMath =
    "(datatype M (Num i64) (Var String) (Add M M) (Mul M M) (Neg M :cost 5) (Hidden M "
    ":unextractable))";

struct Fixture {
  explicit Fixture(const std::string& text) { egraph.run_program(text); }
  std::pair<SortId, Value> global(const std::string& name) {
    Database& db = egraph.database();
    const Global& found = db.globals[db.find_global(name)];
    return {found.sort, db.canonical(found.sort, found.value)};
  }
  EGraph egraph;
};

TEST(Extractor, PrefersTheCheaperNodeAndCountsBaseValues) {
  Fixture f(std::string(kMath) +
            "(let $x (Neg (Var \"a\"))) (union $x (Mul (Num -1) (Var \"a\")))");
  const auto [sort, value] = f.global("$x");
  const auto best = f.egraph.extractor().best(sort, value);
  ASSERT_TRUE(best);
  EXPECT_EQ(best->cost, 5u);
  EXPECT_EQ(f.egraph.extractor().terms().text(best->term), "(Mul (Num -1) (Var \"a\"))");
}

TEST(Extractor, NeverChoosesACycle) {
  Fixture f(std::string(kMath) + "(let $x (Var \"a\")) (union $x (Add $x $x))");
  const auto [sort, value] = f.global("$x");
  EXPECT_EQ(f.egraph.extractor().best(sort, value)->cost, 2u);
}

TEST(Extractor, SkipsUnextractableAndForbiddenNodes) {
  Fixture f(std::string(kMath) + "(let $x (Hidden (Num 1))) (let $y (Num 1)) (union $y (Num 2))");
  const auto [sort, hidden] = f.global("$x");
  EXPECT_FALSE(f.egraph.extractor().best(sort, hidden));
  Database& db = f.egraph.database();
  const FunctionId num = db.find_function("Num");
  ExtractOptions options;
  options.forbidden = [&](const NodeRef& node) {
    return node.function == num && db.values->i64(db.functions[num].table.row(node.row)[0]) == 1;
  };
  Extractor restricted(db, options);
  EXPECT_EQ(restricted.terms().text(restricted.best(sort, f.global("$y").second)->term), "(Num 2)");
}

TEST(Extractor, UsesTheGivenCosts) {
  Fixture f(std::string(kMath) + "(let $x (Num 1)) (union $x (Var \"one\"))");
  Database& db = f.egraph.database();
  const FunctionId num = db.find_function("Num");
  ExtractOptions options;
  options.node_cost = [&](const NodeRef& node) { return node.function == num ? 100 : 1; };
  Extractor extract(db, options);
  const auto [sort, value] = f.global("$x");
  EXPECT_EQ(extract.terms().text(extract.best(sort, value)->term), "(Var \"one\")");
}

TEST(Extractor, CostsSaturateInsteadOfWrappingAround) {
  std::string text = std::string(kMath) + "(let $x0 (Num 1))";
  for (int i = 1; i <= 70; ++i) text += fmt::format("(let $x{} (Add $x{} $x{}))", i, i - 1, i - 1);
  Fixture f(text);
  const auto [sort, value] = f.global("$x70");
  EXPECT_EQ(*f.egraph.extractor().cost(sort, value), UINT64_MAX);
  const auto best = f.egraph.extractor().best(sort, value);
  EXPECT_THROW(f.egraph.extractor().terms().text(best->term), ProgramError);
}

TEST(Extractor, HandlesVeryDeepTermsWithoutRecursion) {
  EGraph egraph;
  egraph.run_program("(datatype L (Nil) (Cons i64 L))");
  Database& db = egraph.database();
  const FunctionId nil = db.find_function("Nil"), cons = db.find_function("Cons");
  Value list = egraph.engine().stage_constructor(nil, {});
  for (Value i = 0; i < 200000; ++i) {
    const Value args[] = {i, list};
    list = egraph.engine().stage_constructor(cons, args);
  }
  egraph.engine().flush();
  const auto best = egraph.extractor().best(db.sorts.find("L"), list);
  ASSERT_TRUE(best);
  EXPECT_EQ(best->cost, 400001u);
  EXPECT_EQ(egraph.extractor().terms().text(best->term).substr(0, 13), "(Cons 199999 ");
}

DagChoice dag(Fixture& f, const std::string& name, uint64_t exact_steps) {
  Database& db = f.egraph.database();
  const SerializedGraph graph = serialize(db);
  const uint32_t root = graph.class_index(f.global(name).second);
  DagOptions options;
  options.exact_steps = exact_steps;
  const std::vector<uint32_t> roots{root};
  return extract_dag(graph, roots, options).value();
}

/// Sharing makes the two-fold use of one dear node cheaper than two middling ones.
const char* const kSharing =
    "(datatype M (Leaf i64 :cost 10) (A M :cost 6) (B M :cost 6) (Both M M :cost 1) (S M :cost 8))"
    "(let $l (Leaf 1)) (let $p (A $l)) (let $q (B $l)) (union $p (S (S $l))) (union $q (S (S $l)))"
    "(let $r (Both $p $q))";

TEST(DagExtraction, PaysForSharedNodesOnce) {
  Fixture f(
      "(datatype M (Leaf i64 :cost 10) (Both M M :cost 1)) (let $l (Leaf 1)) (let $r (Both $l "
      "$l))");
  const DagChoice choice = dag(f, "$r", 0);
  EXPECT_EQ(choice.cost, 11u);
}

TEST(DagExtraction, ExactSearchIsNeverWorseThanTheHeuristic) {
  Fixture f(kSharing);
  const DagChoice greedy = dag(f, "$r", 0), exact = dag(f, "$r", 1000000);
  EXPECT_TRUE(exact.optimal);
  EXPECT_LE(exact.cost, greedy.cost);
  EXPECT_FALSE(greedy.optimal);
}

TEST(DagExtraction, FindsSharingThatTreeCostsHide) {
  // By tree cost (P x) and (Q x) win with 5 each; the common node W at 7 serves both.
  Fixture f(
      "(datatype M (X :cost 0) (P M :cost 5) (Q M :cost 5) (W M :cost 7) (F M :cost 0) (G M :cost "
      "0)"
      " (Pair2 M M :cost 0))"
      "(let $p (P (X))) (let $q (Q (X))) (union $p (F (W (X)))) (union $q (G (W (X))))"
      "(let $r (Pair2 $p $q))");
  const DagChoice exact = dag(f, "$r", 1000000);
  EXPECT_EQ(exact.cost, 7u);
  EXPECT_TRUE(exact.optimal);
}

TEST(DagExtraction, StopsAtItsStepLimit) {
  Fixture f(kSharing);
  EXPECT_FALSE(dag(f, "$r", 1).optimal);
}

TEST(DagExtraction, RespectsForbiddenNodes) {
  Fixture f("(datatype M (N i64 :cost 1) (K i64 :cost 9)) (let $x (N 1)) (union $x (K 1))");
  Database& db = f.egraph.database();
  const SerializedGraph graph = serialize(db);
  const FunctionId cheap = db.find_function("N");
  DagOptions options;
  options.forbidden = [&](uint32_t node) { return graph.node_function[node] == cheap; };
  const std::vector<uint32_t> roots{graph.class_index(f.global("$x").second)};
  EXPECT_EQ(extract_dag(graph, roots, options)->cost, 9u);
  options.forbidden = [](uint32_t) { return true; };
  EXPECT_FALSE(extract_dag(graph, roots, options));
}

}  // namespace
}  // namespace luminal::egraph

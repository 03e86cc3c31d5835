#include "luminal/egraph/builder.h"

#include <gtest/gtest.h>

#include "luminal/egraph/view.h"

namespace luminal::egraph {
namespace {

struct Shape {
  int64_t rows = 0;
  int64_t columns = 0;
  bool operator==(const Shape&) const = default;
};
std::string text_of(const Shape& shape) { return fmt::format("{}x{}", shape.rows, shape.columns); }

}  // namespace

template <>
struct HostTraits<Shape> {
  static size_t hash(const Shape& shape) {
    return static_cast<size_t>(shape.rows * 31 + shape.columns);
  }
  static bool equal(const Shape& a, const Shape& b) { return a == b; }
  static std::string to_text(const Shape& shape) { return text_of(shape); }
};

namespace {

std::optional<Shape> product_shape(Shape a, Shape b) {
  if (a.columns != b.rows) return std::nullopt;
  return Shape{a.rows, b.columns};
}
Shape transposed(Shape shape) { return {shape.columns, shape.rows}; }
bool is_square(Shape shape) { return shape.rows == shape.columns; }
int64_t twice(int64_t value) { return 2 * value; }

TEST(Builder, BuildsTheSameRulesAsText) {
  EGraph typed, textual;
  Builder b(typed);
  const SortRef math = b.sort("Math");
  const Callable num = b.constructor("Num", {Builder::i64()}, math);
  const Callable add = b.constructor("Add", {math, math}, math);
  const Callable plus{"+"};
  const Expr x = var("x"), y = var("y"), i = var("i"), j = var("j");
  b.rewrite(add(x, y), add(y, x));
  b.rewrite(add(num(i), num(j)), num(plus(i, j)));
  typed.evaluate(add(num(1), add(num(2), num(3))));
  typed.run(repeat(4, {run()}));
  textual.run_program(
      "(datatype Math (Num i64) (Add Math Math)) (rewrite (Add x y) (Add y x))"
      "(rewrite (Add (Num i) (Num j)) (Num (+ i j))) (Add (Num 1) (Add (Num 2) (Num 3))) (run 4)");
  EXPECT_EQ(typed.run_program("(print-size)"), textual.run_program("(print-size)"));
  EXPECT_TRUE(typed.check({equal(add(num(1), add(num(2), num(3))), num(6))}));
}

TEST(Builder, MixesWithParsedRules) {
  EGraph egraph;
  egraph.run_program("(relation edge (i64 i64)) (edge 1 2) (edge 2 3)");
  Builder b(egraph);
  const Callable path = b.relation("path", {Builder::i64(), Builder::i64()});
  const Callable edge{"edge", egraph.database().find_function("edge")};
  b.rule({holds(edge(var("x"), var("y")))}, {egraph::insert(path(var("x"), var("y")))});
  egraph.run_program("(rule ((path x y) (edge y z)) ((path x z))) (run 5) (check (path 1 3))");
  EXPECT_EQ(egraph.run_program("(print-size path)"), "3\n");
}

TEST(Builder, RulesetsSchedulesAndFunctions) {
  EGraph egraph;
  Builder b(egraph);
  const Callable edge = b.relation("edge", {Builder::i64(), Builder::i64()});
  const Callable least{"min"}, plus{"+"};
  const Callable distance =
      b.function("distance", {Builder::i64()}, Builder::i64(), least(var("old"), var("new")));
  b.ruleset("walk");
  b.rule({equal(var("d"), distance(var("a"))), holds(edge(var("a"), var("b")))},
         {set(distance(var("b")), plus(var("d"), 1))},
         {.ruleset = "walk", .name = "step", .when = {}});
  for (int64_t i = 0; i < 10; ++i) egraph.evaluate(edge(i, (i + 1) % 10));
  egraph.run_program("(set (distance 0) 0)");
  const RunReport report = egraph.run(saturate({run("walk")}));
  EXPECT_TRUE(report.updated);
  EXPECT_TRUE(egraph.check({equal(distance(9), to_expr(9))}));
  EXPECT_EQ(report.matches, 10u);
}

TEST(Builder, CombinedRulesetsAndNodesThatAreNeverExtracted) {
  EGraph egraph;
  Builder b(egraph);
  const SortRef sort = b.sort("S");
  const Callable leaf = b.constructor("Leaf", {Builder::i64()}, sort, 10);
  const Callable hidden = b.constructor("Hidden", {}, sort, 1, true);
  b.ruleset("one");
  b.ruleset("two");
  b.combined_ruleset("both", {"one", "two"});
  b.rule({holds(leaf(1))}, {egraph::insert(leaf(2))}, {.ruleset = "one", .name = "a", .when = {}});
  b.rule({holds(leaf(2))}, {unite(leaf(2), hidden())}, {.ruleset = "two", .name = "b", .when = {}});
  egraph.evaluate(leaf(1));
  egraph.run(saturate({run("both")}));
  EXPECT_EQ(egraph.run_program("(extract (Hidden))"), "(Leaf 2)\n");
  EXPECT_EQ(Builder::big_int().name, "BigInt");
  EXPECT_EQ(Builder::big_rat().name, "BigRat");
}

TEST(EGraph, LeadingZerosOfBigIntegersAreDecimal) {
  EGraph egraph;
  egraph.run_program(R"((check (= (from-string "-0009") (bigint -9))))");
  egraph.run_program(R"((check (= (from-string "+010") (bigint 10))))");
}

TEST(EGraph, SaysThatARunReachedItsBudget) {
  EGraph egraph({.budget = {.iterations = 5}});
  const std::string program =
      "(relation R (i64)) (R 0) (rule ((R x)) ((R (+ x 1)))) (run-schedule (saturate (run)))";
  egraph.run_program(program + "(run 1)");
  EXPECT_EQ(egraph.budget_reached(), StopReason::kIterations);
  EGraph unlimited;
  unlimited.run_program("(relation R (i64)) (R 0) (run 3)");
  EXPECT_EQ(unlimited.budget_reached(), StopReason::kFinished);
}

TEST(HostSorts, CarryValuesThroughRules) {
  EGraph egraph;
  Builder b(egraph);
  const SortRef shape_sort = b.host_sort<Shape>("Shape");
  const SortRef tensor = b.sort("Tensor");
  const Callable input = b.constructor("Input", {Builder::string(), shape_sort}, tensor);
  const Callable matmul = b.constructor("MatMul", {tensor, tensor}, tensor);
  const Callable transpose = b.constructor("Transpose", {tensor}, tensor);
  const Callable shape = b.function("shape", {tensor}, shape_sort);
  const Callable square = b.relation("square", {tensor});
  const Callable multiply = b.native("multiply-shapes", product_shape);
  const Callable flip = b.native("flip-shape", transposed);
  const Callable check_square = b.predicate("is-square", is_square);
  const Expr x = var("x"), y = var("y"), t = var("t"), s = var("s"), u = var("u"), v = var("v");
  b.rule({equal(t, input(var("name"), s))}, {set(shape(t), s)});
  b.rule({equal(t, matmul(x, y)), equal(s, shape(x)), equal(u, shape(y)), equal(v, multiply(s, u))},
         {set(shape(t), v)});
  b.rule({equal(t, transpose(x)), equal(s, shape(x))}, {set(shape(t), flip(s))});
  b.rule({equal(s, shape(t)), holds(check_square(s))}, {egraph::insert(square(t))});
  const Expr a = input("a", b.constant(Shape{2, 3}));
  egraph.evaluate(matmul(a, transpose(a)));
  egraph.evaluate(matmul(a, a));  // has no shape: the inner dims differ
  egraph.run(saturate({run()}));
  EXPECT_TRUE(egraph.check({equal(shape(matmul(a, transpose(a))), b.constant(Shape{2, 2}))}));
  EXPECT_TRUE(egraph.check({holds(square(matmul(a, transpose(a))))}));
  EXPECT_FALSE(egraph.check({equal(var("any"), shape(matmul(a, a)))}));
  EXPECT_NE(egraph.run_program("(print-function shape)").find("2x2"), std::string::npos);
}

TEST(HostSorts, ATypeThatWasNotDeclaredIsNamedInTheError) {
  EGraph egraph;
  Builder b(egraph);
  try {
    b.constant(Shape{1, 2});
    FAIL() << "a host type was used before its sort";
  } catch (const UserError& error) {
    EXPECT_NE(std::string(error.what()).find("call host_sort for it first"), std::string::npos);
  }
}

TEST(Builder, PanicStopsARunWithItsMessage) {
  EGraph egraph;
  Builder b(egraph);
  const Callable seen = b.relation("seen", {Builder::i64()});
  b.rule({holds(seen(var("x")))}, {panic("seen one")});
  egraph.evaluate(seen(1));
  try {
    egraph.run(run());
    FAIL() << "the panic was not raised";
  } catch (const ProgramError& error) {
    EXPECT_EQ(error.text(), "Panic: seen one");
  }
}

TEST(HostSorts, InternEqualValuesOnce) {
  HostSort<Shape> shapes;
  EXPECT_EQ(shapes.intern({1, 2}), shapes.intern({1, 2}));
  EXPECT_NE(shapes.intern({1, 2}), shapes.intern({2, 1}));
  EXPECT_EQ(shapes.to_text(shapes.intern({4, 5})), "4x5");
}

TEST(Natives, OverBaseSortsWorkInText) {
  EGraph egraph;
  Builder b(egraph);
  b.native("twice", twice);
  EXPECT_EQ(egraph.run_program("(extract (twice 21))"), "42\n");
}

TEST(BulkInsert, SharesEqualTermsAndCommitsThemTogether) {
  EGraph egraph;
  Builder b(egraph);
  const SortRef list = b.sort("List");
  const Callable nil = b.constructor("Nil", {}, list);
  const Callable cons = b.constructor("Cons", {Builder::i64(), list}, list);
  BulkInsert bulk(egraph);
  Value first = bulk.add(nil, {}), second = bulk.add(nil, {});
  for (int64_t i = 0; i < 1000; ++i) {
    first = bulk.add(cons, {bulk.i64(i), first});
    second = bulk.add(cons, {bulk.i64(i), second});
  }
  bulk.commit();
  EXPECT_EQ(first, second);
  EXPECT_EQ(egraph.run_program("(print-size)"), "((Cons 1000)\n (Nil 1))\n");
  EXPECT_EQ(nodes_of(egraph.database(), list.id, first).size(), 1u);
}

TEST(BulkInsert, RefusesOtherTablesAndWrongNumbersOfArguments) {
  EGraph egraph;
  Builder b(egraph);
  const SortRef list = b.sort("List");
  const Callable cons = b.constructor("Cons", {Builder::i64(), list}, list);
  const Callable length = b.function("length", {list}, Builder::i64());
  BulkInsert bulk(egraph);
  const auto message = [](const auto& act) -> std::string {
    try {
      act();
    } catch (const UserError& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_NE(message([&] { bulk.add(cons, {bulk.i64(1)}); }).find("Cons takes 2 arguments"),
            std::string::npos);
  EXPECT_NE(message([&] { bulk.add(length, {0}); }).find("length is no constructor"),
            std::string::npos);
  EXPECT_NE(message([&] { bulk.add(Callable{"+"}, {}); }).find("+ is no constructor"),
            std::string::npos);
  EXPECT_NE(message([&] { bulk.set(length, {}, 0); }).find("length takes 1 arguments"),
            std::string::npos);
  EXPECT_NE(message([&] {
              bulk.set(cons, {0, 0}, 0);
            }).find("Cons is no function"),
            std::string::npos);
  bulk.commit();
  EXPECT_EQ(egraph.run_program("(print-size)"), "((Cons 0)\n (length 0))\n");
}

}  // namespace
}  // namespace luminal::egraph

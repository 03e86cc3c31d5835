#include "luminal/egraph/scheduler.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <random>
#include <thread>

#include "luminal/egraph/builder.h"
#include "luminal/egraph/egraph.h"
#include "luminal/egraph/report.h"

namespace luminal::egraph {
namespace {

const char* const kEndless =
    "(datatype N (Z) (S N)) (rule ((= n (S m))) ((S n))) (rewrite (S n) (S (S n))) (S (Z))"
    "(relation grow (i64)) (rule ((grow n)) ((grow (+ n 1)))) (grow 0)";

TEST(Budget, OfIterationsEndsARunWithAReason) {
  EGraph egraph;
  egraph.run_program(kEndless);
  egraph.set_budget({.iterations = 7, .rows = 0, .seconds = 0});
  const RunReport report = egraph.run(saturate({run()}));
  EXPECT_EQ(report.stop, StopReason::kIterations);
  EXPECT_EQ(report.iterations, 7u);
  EXPECT_EQ(to_text(report.stop), "iteration budget used up");
}

TEST(Budget, OfRowsAndTimeEndARun) {
  EGraph egraph;
  egraph.run_program(kEndless);
  egraph.set_budget({.iterations = 0, .rows = 200, .seconds = 0});
  EXPECT_EQ(egraph.run(saturate({run()})).stop, StopReason::kRows);
  egraph.set_budget({.iterations = 0, .rows = 0, .seconds = 0.02});
  EXPECT_EQ(egraph.run(saturate({run()})).stop, StopReason::kTime);
}

TEST(Budget, CutsASingleExplosiveIterationShort) {
  EGraph egraph;
  egraph.run_program("(relation n (i64)) (relation q (i64 i64 i64 i64))");
  std::string facts;
  for (int i = 0; i < 200; ++i) facts += fmt::format("(n {})", i);
  egraph.run_program(facts + "(rule ((n a) (n b) (n c) (n d)) ((q a b c d)))");
  egraph.set_budget({.iterations = 0, .rows = 10000, .seconds = 0});
  const RunReport report = egraph.run(run());
  EXPECT_EQ(report.stop, StopReason::kRows);
  EXPECT_LE(egraph.database().num_rows(), 10300u);
}

/// Five unrelated atoms and a test that never holds: rows without end, and no match.
const char* const kHopeless = "(n a) (n b) (n c) (n d) (n e) (< (+ a (+ b (+ c (+ d e)))) 0)";

void add_numbers(EGraph& egraph, int count) {
  std::string text = "(relation n (i64))";
  for (int i = 0; i < count; ++i) text += fmt::format("(n {})", i);
  egraph.run_program(text);
}

std::string error_of(EGraph& egraph, const std::string& text) {
  try {
    egraph.run_program(text);
  } catch (const ProgramError& error) {
    return error.text();
  }
  return "";
}

TEST(Budget, EndsASearchWithoutMatches) {
  EGraph egraph;
  add_numbers(egraph, 1000);
  egraph.run_program(fmt::format("(relation done ()) (rule ({}) ((done)))", kHopeless));
  egraph.set_budget({.iterations = 0, .rows = 0, .seconds = 0.02});
  EXPECT_EQ(egraph.run(run()).stop, StopReason::kTime);
  EXPECT_FALSE(egraph.database().rules.at(0).has_run) << "the rule must stay due";
}

TEST(Budget, LeavesACheckUndecidedWhichIsNoFailure) {
  EGraph egraph;
  add_numbers(egraph, 1000);
  egraph.set_budget({.iterations = 0, .rows = 0, .seconds = 0.02});
  const std::string check = fmt::format("(check {})", kHopeless);
  EXPECT_EQ(error_of(egraph, check).find("Check not decided: time budget used up after "), 0u);
  EXPECT_NE(error_of(egraph, "(fail " + check + ")").find("Check not decided"), std::string::npos)
      << "fail accepts only commands that failed";
  EXPECT_EQ(error_of(egraph, "(check (n 5)) (fail (check (n -5)))"), "");
}

TEST(Budget, EndsAnUntilThatTakesTooLong) {
  EGraph egraph;
  add_numbers(egraph, 1000);
  egraph.run_program("(relation m (i64)) (rule ((m x)) ((m (+ x 1)))) (m 0)");
  egraph.set_budget({.iterations = 0, .rows = 0, .seconds = 0.02});
  egraph.run_program(fmt::format("(run 100 :until {})", kHopeless));
  EXPECT_EQ(egraph.last_report().stop, StopReason::kTime);
  EXPECT_EQ(egraph.last_report().iterations, 0u);
}

TEST(Budget, EndsACyclicSearchByVariable) {
  EGraph egraph;
  add_numbers(egraph, 1000);
  egraph.set_join_method(JoinMethod::kByVariable);
  egraph.set_budget({.iterations = 0, .rows = 0, .seconds = 0.02});
  EXPECT_NE(error_of(egraph, fmt::format("(check {})", kHopeless)).find("not decided"),
            std::string::npos);
}

TEST(Budget, DoesNotOutliveTheTimeWhileActionsRun) {
  EGraph egraph;
  add_numbers(egraph, 30);
  egraph.run_program(
      "(relation q (i64 i64 i64 i64)) (rule ((n a) (n b) (n c) (n d)) ((q a b c d)))");
  egraph.set_budget({.iterations = 0, .rows = 0, .seconds = 0.001});
  EXPECT_EQ(egraph.run(run()).stop, StopReason::kTime);
  const uint64_t rows = egraph.database().num_rows();
  EXPECT_LT(rows, 30u * 30 * 30 * 30);
  egraph.set_budget({});
  EXPECT_EQ(egraph.run(saturate({run()})).stop, StopReason::kFinished);
  EXPECT_EQ(egraph.database().num_rows(), 30u + 30 * 30 * 30 * 30);
}

/// Takes a millisecond, as a primitive that computes with ever larger values may.
bool is_slow(int64_t number) {
  std::this_thread::sleep_for(std::chrono::milliseconds(1));
  return number >= 0;
}
int64_t slow_next(int64_t number) { return is_slow(number) ? number + 1 : 0; }

TEST(Budget, CountsTheTimeOfPrimitivesAlthoughRowsAreFew) {
  for (const JoinMethod method : {JoinMethod::kByAtom, JoinMethod::kByVariable}) {
    EGraph egraph;
    Builder(egraph).predicate("is-slow", &is_slow);
    add_numbers(egraph, 1000);
    egraph.run_program("(relation q (i64)) (rule ((n a) (is-slow a)) ((q a)))");
    egraph.set_join_method(method);
    egraph.set_budget({.iterations = 0, .rows = 0, .seconds = 0.02});
    const RunReport report = egraph.run(run());
    EXPECT_EQ(report.stop, StopReason::kTime);
    EXPECT_LT(report.matches, 1000u);
  }
}

TEST(Budget, CountsTheTimeOfPrimitivesInActions) {
  EGraph egraph;
  Builder(egraph).native("slow-next", &slow_next);
  add_numbers(egraph, 1000);
  egraph.run_program("(relation q (i64)) (rule ((n a)) ((q (slow-next a))))");
  egraph.set_budget({.iterations = 0, .rows = 0, .seconds = 0.02});
  EXPECT_EQ(egraph.run(run()).stop, StopReason::kTime);
  EXPECT_LT(egraph.database().num_rows(), 2000u);
}

TEST(Cancelling, EndsRunsAndChecks) {
  EGraph egraph;
  add_numbers(egraph, 1000);
  std::atomic<bool> cancelled{true};
  egraph.set_cancel_flag(&cancelled);
  EXPECT_NE(error_of(egraph, fmt::format("(check {})", kHopeless)).find("interrupted"),
            std::string::npos);
  EXPECT_EQ(egraph.run(saturate({run()})).stop, StopReason::kCancelled);
  EXPECT_NE(error_of(egraph, "(run 1)").find("The run was interrupted"), std::string::npos);
  cancelled = false;
  EXPECT_EQ(error_of(egraph, "(run 1) (check (n 3))"), "");
}

TEST(Reports, CountMatchesAndRowsPerRule) {
  EGraph egraph;
  egraph.run_program(
      "(relation e (i64 i64)) (relation p (i64 i64)) (rule ((e x y)) ((p x y)) :name \"copy\")"
      "(e 1 2) (e 2 3) (run 2)");
  const RuleState& rule = egraph.database().rules.at(0);
  EXPECT_EQ(rule.matches, 2u);
  EXPECT_GE(rule.rows_visited, 2u);
  EXPECT_NE(profile_text(egraph.database()).find("Rule copy"), std::string::npos);
  EXPECT_NE(profile_json(egraph.database()).find("\"matches\":2"), std::string::npos);
}

/// A program large enough for threads to be used.
std::string busy_program(const std::vector<std::string>& rules) {
  std::string text =
      "(datatype M (Num i64) (Add M M) (Mul M M)) (relation e (i64 i64)) (relation p (i64 i64))"
      "(relation t (i64 i64 i64)) (relation s (i64 i64))";
  for (const std::string& rule : rules) text += rule;
  std::mt19937 random(5);
  for (int i = 0; i < 400; ++i) text += fmt::format("(e {} {})", random() % 200, random() % 200);
  for (int i = 0; i < 60; ++i)
    text += fmt::format("(Add (Num {}) (Mul (Num {}) (Num {})))", i, i % 7, i % 5);
  return text + "(run 6) (print-size) (extract (Add (Num 3) (Mul (Num 3) (Num 3))))";
}

std::vector<std::string> busy_rules() {
  return {"(rule ((e x y)) ((p x y)))",
          "(rule ((p x y) (e y z)) ((p x z)))",
          "(rule ((e x y) (e y z) (e z x)) ((t x y z)))",
          "(rule ((p x y) (!= x y) (e y x)) ((s x y)))",
          "(rewrite (Add a b) (Add b a))",
          "(rewrite (Mul a b) (Mul b a))",
          "(rewrite (Mul (Num a) (Num b)) (Num (* a b)))",
          "(rewrite (Add (Num a) (Num b)) (Num (+ a b)))"};
}

TEST(Determinism, ThreadsDoNotChangeTheResult) {
  const std::string text = busy_program(busy_rules());
  std::string expected, rows;
  for (const uint32_t threads : {1u, 2u, 3u}) {
    EGraph egraph(
        {.threads = threads, .print_costs = false, .record_origins = false, .budget = {}});
    const std::string output = egraph.run_program(text);
    const std::string table = egraph.run_program("(print-function p) (print-function Add)");
    if (threads == 1) expected = output, rows = table;
    EXPECT_EQ(output, expected) << threads;
    EXPECT_EQ(table, rows) << threads;
  }
}

TEST(Determinism, RuleOrderDoesNotChangeSizesOrCosts) {
  std::mt19937 random(17);
  std::vector<std::string> rules = busy_rules();
  EGraph first({.threads = 1, .print_costs = true, .record_origins = false, .budget = {}});
  const std::string expected = first.run_program(busy_program(rules));
  for (int round = 0; round < 5; ++round) {
    std::shuffle(rules.begin(), rules.end(), random);
    EGraph egraph({.threads = 1, .print_costs = true, .record_origins = false, .budget = {}});
    EXPECT_EQ(egraph.run_program(busy_program(rules)), expected);
  }
}

// An index of several columns knows that U has two rows here; the 41 rows of either column alone,
// looked at here and there, seem to have none. One thread may build such an index, two may not.
TEST(Threads, DoNotChangeTheOrderOfMatches) {
  std::string program =
      "(sort W) (constructor P (i64 i64 i64) W) (relation S (i64 i64)) (relation T (i64 i64))"
      "(relation U (i64 i64 i64)) (relation V (i64 i64)) (relation J (i64))";
  for (int y = 0; y < 6; ++y) {
    program += fmt::format("(S 0 {})", y);
    for (int z = 0; z < 100; ++z) program += fmt::format("(T {} {})", y, z);
  }
  for (int k = 0; k < 40; ++k) {
    if (k == 1 || k == 3) program += fmt::format("(U 1 2 {})", 500 + k);
    program += fmt::format("(U 1 {0} 0) (U {0} 2 0)", 1000 + k);
  }
  for (int z = 0; z < 5000; ++z) program += fmt::format("(V 501 {0}) (V 503 {0})", z);
  for (int i = 0; i < 10000; ++i) program += fmt::format("(J {})", i);
  program +=
      "(rule ((S x y) (T y z) (U 1 2 w) (V w z)) ((P y w z))) (rule ((J x) (S x x)) ((S x x)))"
      "(run 1) (print-function P 2000)";
  EGraph one({.threads = 1, .budget = {}}), two({.threads = 2, .budget = {}});
  EXPECT_EQ(one.run_program(program), two.run_program(program));
}

TEST(EGraphOutput, OfAFailedProgramIsNotThatOfTheNext) {
  EGraph egraph;
  EXPECT_THROW(egraph.run_program("(extract 7) (check (= 1 2))"), ProgramError);
  EXPECT_EQ(egraph.output_before_error(), "7\n");
  EXPECT_THROW(egraph.run_program("(extract"), ProgramError);
  EXPECT_EQ(egraph.output_before_error(), "");
}

}  // namespace
}  // namespace luminal::egraph

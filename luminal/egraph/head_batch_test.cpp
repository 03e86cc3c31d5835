#include "luminal/egraph/head_batch.h"

#include <gtest/gtest.h>

#include "luminal/egraph/egraph.h"

namespace luminal::egraph {
namespace {

/// A program with `count` items, more than one batch of matches.
std::string items(int count) {
  std::string text = "(datatype T (Leaf i64) (Wrap T) (Pair T T)) (relation item (i64))\n";
  for (int i = 0; i < count; ++i) text += "(item " + std::to_string(i) + ")";
  return text;
}

TEST(HeadBatch, MatchesOfOneBatchShareTheTermsTheyMake) {
  EGraph egraph;
  egraph.run_program(items(100) +
                     "(rule ((item n)) ((Pair (Wrap (Leaf 7)) (Wrap (Leaf n))))) (run 1)");
  EXPECT_EQ(egraph.run_program("(print-size Leaf) (print-size Wrap) (print-size Pair)"),
            "100\n100\n100\n");
}

TEST(HeadBatch, ARowThatOneMatchInsertsIsFoundByTheNextAsATerm) {
  // Item n writes Wrap(Leaf n) = Leaf n-1's class and names Wrap(Leaf n-1): whichever comes first,
  // there is one row per key and congruence joins the rest.
  EGraph egraph;
  egraph.run_program(items(70) + R"(
    (rule ((item n) (> n 0)) ((let before (Leaf (- n 1))) (union before (Wrap (Leaf n)))))
    (rule ((= w (Leaf n)) (= v (Wrap w))) ((union w v)))
    (rule ((item n) (= l (Leaf n))) ((union l (Wrap l)) (Pair (Wrap l) (Wrap (Wrap l)))))
    (run-schedule (saturate (run))))");
  EXPECT_EQ(egraph.run_program("(print-size Leaf) (print-size Wrap) (print-size Pair)"),
            "70\n1\n1\n");
  EXPECT_NO_THROW(egraph.run_program("(check (= (Leaf 0) (Leaf 69)))"));
}

TEST(HeadBatch, LeavesHeadsThatCanFailToRunMatchByMatch) {
  // The third match fails: what the first two wrote stays, and nothing of the fourth.
  EGraph egraph;
  egraph.run_program(
      "(relation item (i64)) (relation out (i64)) (item 4) (item 2) (item 0) (item 1)"
      "(rule ((item n)) ((out (/ 8 n))))");
  EXPECT_THROW(egraph.run_program("(run 1)"), ProgramError);
  EXPECT_EQ(egraph.run_program("(print-size out)"), "2\n");
}

TEST(HeadBatch, FitsHeadsOfLookupsInsertionsAndUnionsUpToItsSize) {
  using Op = Instruction::Op;
  Program program;
  EXPECT_FALSE(HeadBatch::fits(program));
  program.code.assign(HeadBatch::kMaxSteps, {Op::kLookupOrInsert, 0, 0, 2, 0});
  EXPECT_TRUE(HeadBatch::fits(program));
  program.code[3].op = Op::kUnion;
  program.code[4].op = Op::kInsert;
  EXPECT_TRUE(HeadBatch::fits(program));
  program.code[5].count = HeadBatch::kMaxColumns + 1;
  EXPECT_FALSE(HeadBatch::fits(program));
  program.code[5].count = 1;
  for (const Op op :
       {Op::kLookup, Op::kPrimitive, Op::kSet, Op::kDelete, Op::kSubsume, Op::kPanic}) {
    program.code[5].op = op;
    EXPECT_FALSE(HeadBatch::fits(program));
  }
  program.code[5].op = Op::kInsert;
  program.code.push_back(program.code[0]);
  EXPECT_FALSE(HeadBatch::fits(program));
}

}  // namespace
}  // namespace luminal::egraph

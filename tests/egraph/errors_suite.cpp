// One bad program per row, and a part of the message it must be refused with. Programs refused by
// the parser or the type checker must not run at all; errors of a run must be accepted by `fail`.
#include <gtest/gtest.h>

#include "luminal/egraph/egraph.h"

namespace luminal::egraph {
namespace {

using Kind = ProgramError::Kind;

struct BadProgram {
  const char* name;
  Kind kind;
  const char* text;
  const char* message;
};

const BadProgram kBadPrograms[] = {
    {"UnclosedList", Kind::kParse, "(sort A", "missing )"},
    {"StrayParenthesis", Kind::kParse, "(sort A))", "unexpected )"},
    {"UnclosedString", Kind::kParse, "(include \"abc", "string is missing end quote"},
    {"UnknownEscape", Kind::kParse, R"((include "a\q"))", "unrecognized escape"},
    {"BareWord", Kind::kParse, "sort", "expected a command"},
    {"UnknownOption", Kind::kParse, "(constructor f () A :colour 3)", "unknown option :colour"},
    {"OptionTwice", Kind::kParse, "(rule () () :name \"a\" :name \"b\")", "given twice"},
    {"FunctionWithoutMerge", Kind::kParse, "(function f () i64)", "merge behaviour"},
    {"ConflictingMerge", Kind::kParse, "(function f () i64 :merge old :no-merge)", "conflicting"},
    {"NaiveAndUnsafe", Kind::kParse, "(rule () () :naive :unsafe-seminaive)", "cannot be both"},
    {"NegativeRun", Kind::kParse, "(run -1)", "how many iterations"},
    {"SetOfAVariable", Kind::kParse, "(set x 3)", "call expression"},
    {"UndefinedSort", Kind::kType, "(constructor f (B) A)", "Undefined sort B"},
    {"SortTwice", Kind::kType, "(sort A) (sort A)", "Sort A already declared."},
    {"FunctionTwice", Kind::kType, "(relation r ()) (relation r ())", "Function already bound r"},
    {"SortAndFunctionShareANamespace", Kind::kType, "(sort A) (relation A ())",
     "Sort A already declared."},
    {"PresortUnknown", Kind::kType, "(sort A (Tree i64))", "Presort Tree not found."},
    {"PresortArity", Kind::kType, "(sort A (Map i64))", "Bad arguments for presort Map"},
    {"ConstructorOfABaseSort", Kind::kType, "(constructor f () i64)", "must be sort"},
    {"UnboundFunction", Kind::kType, "(check (g 1))", "Unbound function g"},
    {"UnboundSymbolInHead", Kind::kType, "(relation r (i64)) (rule () ((r x)))",
     "Unbound symbol x"},
    {"Arity", Kind::kType, "(relation r (i64)) (r 1 2)",
     "Arity mismatch, expected 1 args: (r 1 2)"},
    {"ArgumentType", Kind::kType, "(relation r (i64)) (r \"a\")",
     "Expect expression \"a\" to have type i64, but get type String"},
    {"NoOverloadFits", Kind::kType, "(check (= 1 (+ 1 1.0)))", "All alternative definitions"},
    {"EqualityOfTwoSorts", Kind::kType, "(check (= 1 \"a\"))", "to have type"},
    {"UngroundedPair", Kind::kType, "(relation r (i64)) (rule ((= x y) (r 1)) ())", ""},
    {"UngroundedInput", Kind::kType, "(rule ((= x (+ y 1))) ())", "ungrounded"},
    {"UngroundedUnderOrder", Kind::kType, "(relation r (i64)) (rule ((r x) (< y x)) ())",
     "Variable y is ungrounded"},
    {"LetTwice", Kind::kType, "(let a 1) (let a 2)", "but found a"},
    {"PatternVariableNamedLikeAGlobal", Kind::kType,
     "(relation r (i64)) (let $x 1) (rule ((r x)) ())", "Shadowing is not allowed"},
    {"PatternVariableNamedLikeAFunction", Kind::kType, "(relation r (i64)) (rule ((r r)) ())",
     "Shadowing is not allowed, but found r"},
    {"HeadLetShadowsBody", Kind::kType, "(relation r (i64)) (rule ((r x)) ((let x 2)))",
     "Variable x was already defined"},
    {"LookupInHead", Kind::kType,
     "(function f (i64) i64 :no-merge) (relation r (i64)) (rule ((r x)) ((r (f x))))",
     "Value lookup of non-constructor function f"},
    {"LookupInRewrite", Kind::kType,
     "(datatype M (N i64)) (function f (i64) M :no-merge) (rewrite (N x) (f x))",
     "Value lookup of non-constructor function f"},
    {"LookupInMerge", Kind::kType, "(function f () i64 :no-merge) (function g () i64 :merge (f))",
     "Value lookup"},
    {"MergeOfAnotherType", Kind::kType, "(function g () i64 :merge \"a\")", "to have type i64"},
    {"SetAConstructor", Kind::kType, "(datatype M (N i64)) (set (N 1) (N 2))",
     "Cannot set constructor N"},
    {"SetARelation", Kind::kType, "(relation r (i64)) (set (r 1) ())", "Cannot set constructor r"},
    {"SetAPrimitive", Kind::kType, "(set (+ 1 1) 2)", "Unbound function +"},
    {"SubsumeAFunction", Kind::kType, "(function f () i64 :no-merge) (subsume (f))",
     "Cannot subsume function with merge: f"},
    {"UnionOfIntegers", Kind::kType, "(union 1 2)", "Cannot union values of sort i64"},
    {"UnionOfRelations", Kind::kType, "(relation r ()) (union (r) (r))", "Cannot union values"},
    {"WritingPrimitiveInABody", Kind::kType,
     "(datatype M (N i64)) (sort Ms (Vec M)) (relation r (Ms)) (rule ((r v) (vec-union v v)) ())",
     "Unbound function vec-union"},
    {"FunctionValueOfWrongType", Kind::kType,
     "(datatype M (N i64)) (sort F (UnstableFn (M) M)) (let f (unstable-fn \"N\"))",
     "No function of that name fits"},
    {"CannotInfer", Kind::kType, "(sort A (Vec i64)) (sort B (Vec String)) (let x (vec-empty))",
     "Failed to infer a type"},
    {"CheckFails", Kind::kRun, "(check (= 1 2))", "Check failed"},
    {"PopTooMuch", Kind::kRun, "(pop)", "Tried to pop too much"},
    {"NoSuchRuleset", Kind::kRun, "(run nothing 1)", "No such ruleset: nothing"},
    {"RuleOfNoRuleset", Kind::kRun, "(rule () () :ruleset nothing)", "No such ruleset: nothing"},
    {"RuleOfCombinedRuleset", Kind::kRun,
     "(ruleset a) (unstable-combined-ruleset b a) (rule () () :ruleset b)",
     "Attempted to add a rule to combined ruleset b"},
    {"RuleTwice", Kind::kRun, "(relation r ()) (rule ((r)) ()) (rule ((r)) ())",
     "Rule already exists"},
    {"Panic", Kind::kRun, "(panic \"stop here\")", "Panic: stop here"},
    {"PanicInARule", Kind::kRun, "(relation r ()) (r) (rule ((r)) ((panic \"met r\"))) (run 1)",
     "Panic: met r"},
    {"IllegalMerge", Kind::kRun, "(function f () i64 :no-merge) (set (f) 1) (set (f) 2)",
     "Illegal merge attempted for function f"},
    {"MissingRow", Kind::kRun, "(function f (i64) i64 :no-merge) (extract (f 1))",
     "lookup of function f failed"},
    {"PrimitiveWithoutValue", Kind::kRun, "(let x (/ 1 0))", "call of primitive / failed"},
    {"NothingToExtract", Kind::kRun,
     "(datatype M (N i64)) (let x (N 1)) (delete (N 1)) (extract x)",
     "Unable to find any valid extraction"},
    {"MissingInclude", Kind::kRun, "(include \"no/such/file.egg\")", "IO error"},
    {"IncludeOfAFolder", Kind::kRun, "(include \"/\")", "IO error: /: Is a directory"},
    {"InputOfAFolder", Kind::kRun, "(relation r (i64)) (input r \"/\")", "Is a directory"},
    {"StatsIntoNoFolder", Kind::kRun, "(print-stats :file \"no/such/stats.json\")", "IO error"},
    {"OutputToAFullDisk", Kind::kRun, "(output \"/dev/full\" 1)", "No space left"},
    {"MissingInput", Kind::kRun, "(relation r (i64)) (input r \"no/such/file.tsv\")", "IO error"},
    {"Proofs", Kind::kRun, "(prove (= 1 1))", "proofs are not supported"},
    {"FailThatDoesNotFail", Kind::kRun, "(fail (check (= 1 1)))", "Command should have failed."},
};

class Errors : public ::testing::TestWithParam<BadProgram> {};

TEST_P(Errors, AreReportedWithTheirCause) {
  EGraph egraph;
  try {
    egraph.run_program(GetParam().text);
    FAIL() << "accepted: " << GetParam().text;
  } catch (const ProgramError& error) {
    EXPECT_EQ(error.kind(), GetParam().kind) << error.what();
    EXPECT_NE(std::string(error.what()).find(GetParam().message), std::string::npos)
        << error.what();
  }
}

TEST_P(Errors, LeaveAnEGraphThatStillWorks) {
  EGraph egraph;
  EXPECT_THROW(egraph.run_program(GetParam().text), ProgramError);
  EXPECT_EQ(egraph.run_program("(relation after (i64)) (after 1) (print-size after)"), "1\n");
}

INSTANTIATE_TEST_SUITE_P(BadPrograms, Errors, ::testing::ValuesIn(kBadPrograms),
                         [](const auto& test) { return std::string(test.param.name); });

TEST(ErrorSpans, SayLineColumnAndFile) {
  EGraph egraph;
  try {
    egraph.run_program("(sort A)\n  (relation r (B))", "demo.egg");
    FAIL();
  } catch (const ProgramError& error) {
    EXPECT_NE(error.text().find("In 2:3-18 of demo.egg: (relation r (B))"), std::string::npos)
        << error.text();
  }
}

TEST(Fail, AcceptsOnlyErrorsOfARun) {
  EGraph egraph;
  EXPECT_THROW(egraph.run_program("(fail (check (nothing)))"), ProgramError);
  EXPECT_NO_THROW(egraph.run_program("(fail (check (= 1 2)))"));
}

}  // namespace
}  // namespace luminal::egraph

// The whole text of an error, spans included: one bad program per row. Where the language has an
// original, these are its words; no message names what the engine made up itself.
#include <gtest/gtest.h>

#include "luminal/egraph/egraph.h"

namespace luminal::egraph {
namespace {

struct Message {
  const char* name;
  const char* program;
  const char* text;
};

const Message kMessages[] = {
    // Names that are taken.
    {"VariableNamedLikeAFunction", "(relation r (i64))\n(rule ((r r)) ())",
     "In 1:1-18 of program: (relation r (i64))\nIn 2:11-11 of program: r\n"
     "Shadowing is not allowed, but found r"},
    {"VariableNamedLikeASort", "(relation r (i64)) (sort S)\n(rule ((r S)) ())",
     "In 1:20-27 of program: (sort S)\nIn 2:11-11 of program: S\n"
     "Shadowing is not allowed, but found S"},
    {"VariableNamedLikeARuleset", "(relation r (i64)) (ruleset s)\n(check (r s))",
     "In 1:20-30 of program: (ruleset s)\nIn 2:11-11 of program: s\n"
     "Shadowing is not allowed, but found s"},
    {"VariableNamedLikeAGlobal", "(relation r (i64)) (let $x 1)\n(rule ((r x)) ())",
     "In 1:20-29 of program: (let $x 1)\nIn 2:11-11 of program: x\n"
     "Shadowing is not allowed, but found pattern variable `x` conflicts with global `$x`"},
    {"LetOfARuleNamedLikeAGlobal", "(relation r (i64)) (let $g 1)\n(rule ((r x)) ((let g 1)))",
     "In 1:20-29 of program: (let $g 1)\nIn 2:16-24 of program: (let g 1)\n"
     "Shadowing is not allowed, but found pattern variable `g` conflicts with global `$g`"},
    {"LetOfARuleNamedLikeAFunction", "(relation r (i64))\n(rule ((r x)) ((let r 1)))",
     "In 1:1-18 of program: (relation r (i64))\nIn 2:16-24 of program: (let r 1)\n"
     "Shadowing is not allowed, but found r"},
    {"LetOfARuleNamedLikeItsVariable", "(relation r (i64))\n(rule ((r x)) ((let x 2)))",
     "In 2:16-24 of program: (let x 2)\nVariable x was already defined"},
    {"GlobalTwice", "(let $a 1)\n(let $a 2)",
     "In 1:1-10 of program: (let $a 1)\nIn 2:1-10 of program: (let $a 2)\n"
     "Shadowing is not allowed, but found $a"},
    {"GlobalNamedLikeARelation", "(relation r ())\n(let r 1)",
     "In 1:1-15 of program: (relation r ())\nIn 2:1-9 of program: (let r 1)\n"
     "Shadowing is not allowed, but found r"},
    {"RelationNamedLikeAGlobal", "(let $r 1)\n(relation $r ())",
     "In 1:1-10 of program: (let $r 1)\nIn 2:1-16 of program: (relation $r ())\n"
     "Shadowing is not allowed, but found $r"},
    {"RulesetTwice", "(ruleset r)\n(ruleset r)",
     "In 1:1-11 of program: (ruleset r)\nIn 2:1-11 of program: (ruleset r)\n"
     "Shadowing is not allowed, but found r"},
    {"SortNamedLikeARuleset", "(ruleset A)\n(sort A)",
     "In 1:1-11 of program: (ruleset A)\nIn 2:1-8 of program: (sort A)\n"
     "Shadowing is not allowed, but found A"},
    {"SortTwice", "(sort A) (sort A)", "In 1:10-17 of program: (sort A)\nSort A already declared."},
    {"RelationNamedLikeASort", "(sort A) (relation A ())",
     "In 1:10-24 of program: (relation A ())\nSort A already declared."},
    {"RelationNamedLikeABuiltInSort", "(relation i64 ())",
     "In 1:1-17 of program: (relation i64 ())\nSort i64 already declared."},
    {"SortNamedLikeARelation", "(relation A ()) (sort A)",
     "In 1:17-24 of program: (sort A)\nFunction already bound A"},
    {"FunctionTwice", "(relation r ()) (relation r ())",
     "In 1:17-31 of program: (relation r ())\nFunction already bound r"},
    {"FunctionNamedLikeAPrimitive", "(relation + (i64))",
     "In 1:1-18 of program: (relation + (i64))\nPrimitive + already declared."},
    {"FunctionNamedLikeAContainerPrimitive", "(function map-get (i64) i64 :no-merge)",
     "In 1:1-38 of program: (function map-get (i64) i64 :no-merge)\n"
     "Primitive map-get already declared."},

    // Names that mean nothing.
    {"UngroundedInput", "(rule ((= x (+ y 1))) ())",
     "In 1:16-16 of program: y\nVariable y is ungrounded"},
    {"UngroundedGuard", "(relation r (i64)) (rule ((r x) (< y x)) ())",
     "In 1:36-36 of program: y\nVariable y is ungrounded"},
    {"UngroundedCondition", "(datatype E (A i64)) (rewrite (A x) (A x) :when ((= y (+ x z))))",
     "In 1:60-60 of program: z\nVariable z is ungrounded"},
    {"UngroundedRewrite", "(datatype E (A) (B E)) (rewrite x (B x))",
     "In 1:33-33 of program: x\nVariable x is ungrounded"},
    {"UngroundedWildcard", "(datatype E (A) (B E)) (rewrite _ (B (A)))",
     "In 1:33-33 of program: _\nVariable _ is ungrounded"},
    {"UnboundWildcardInAHead", "(relation r (i64)) (rule ((r x)) ((r _)))",
     "In 1:38-38 of program: _\nUnbound symbol _"},
    {"UnboundWildcardInARewrite", "(datatype E (A) (B E)) (rewrite (A) (B _))",
     "In 1:40-40 of program: _\nUnbound symbol _"},
    {"UnboundWildcardAtTheTop", "(relation r (i64)) (r _)",
     "In 1:23-23 of program: _\nUnbound symbol _"},
    {"UnboundSymbol", "(datatype E (A) (B E)) (rewrite (A) (B x))",
     "In 1:40-40 of program: x\nUnbound symbol x"},
    {"WildcardsWithoutType", "(rule ((= _ _)) ())",
     "In 1:11-11 of program: _\nFailed to infer a type for: _"},
    {"UnboundFunction", "(delete (nosuch 1))",
     "In 1:1-19 of program: (delete (nosuch 1))\nUnbound function nosuch"},
    {"UndefinedSort", "(constructor f (B) A)",
     "In 1:1-21 of program: (constructor f (B) A)\nUndefined sort B"},
    {"PresortUnknown", "(sort A (Tree i64))",
     "In 1:1-19 of program: (sort A (Tree i64))\nPresort Tree not found."},

    // Types.
    {"ArgumentOfAnotherSort", "(relation r (i64)) (r \"a\")",
     "In 1:23-25 of program: \"a\"\n Expect expression \"a\" to have type i64, but get type "
     "String"},
    {"SidesOfAnEqualityDiffer", "(check (= 1 \"a\"))",
     "In 1:11-11 of program: 1\n Expect expression 1 to have type i64, but get type String"},
    {"SidesOfARewriteDiffer", "(datatype E (A)) (rewrite (A) 3)",
     "In 1:31-31 of program: 3\n Expect expression 3 to have type E, but get type i64"},
    {"MergeOfAnotherSort", "(function f () i64 :merge \"a\")",
     "In 1:27-29 of program: \"a\"\n Expect expression \"a\" to have type i64, but get type "
     "String"},
    {"Arity", "(relation r (i64)) (r 1 2)",
     "In 1:20-26 of program: (r 1 2)\nArity mismatch, expected 1 args: (r 1 2)"},
    {"EveryOverloadFails", "(check (= 1 (xor 1 true)) (= 2 (to-string true)))",
     "In 1:18-18 of program: 1\n Expect expression 1 to have type bool, but get type i64"},
    {"AllAlternativesFail", "(extract (to-f64 \"a\"))",
     "All alternative definitions considered failed\n"
     "  In 1:18-20 of program: \"a\"\n"
     " Expect expression \"a\" to have type i64, but get type String\n"
     "  In 1:18-20 of program: \"a\"\n"
     " Expect expression \"a\" to have type BigRat, but get type String"},
    {"ConstructorOfABaseSort", "(constructor f () i64)",
     "In 1:1-22 of program: (constructor f () i64)\n"
     "The output type of constructor function f must be sort"},
    {"LookupInAHead",
     "(function f (i64) i64 :no-merge) (relation r (i64)) (rule ((r x)) ((r (f x))))",
     "In 1:71-75 of program: (f x)\n"
     "Value lookup of non-constructor function f in rule is disallowed."},
    {"SetOfAConstructor", "(datatype E (A)) (set (A) 1)",
     "In 1:18-28 of program: (set (A) 1)\n"
     "Cannot set constructor A. Use `union` instead or declare A as a function."},
    {"SubsumeOfAFunction", "(function f () i64 :no-merge) (subsume (f))",
     "In 1:31-43 of program: (subsume (f))\nCannot subsume function with merge: f"},
    {"UnionOfNumbers", "(union 1 2)",
     "In 1:1-11 of program: (union 1 2)\nCannot union values of sort i64"},
    {"UnionOfRelations", "(relation r (i64)) (union (r 1) (r 2))",
     "In 1:20-38 of program: (union (r 1) (r 2))\nCannot union values of sort relation r because "
     "it is marked as non-unionable (e.g. from a relation)"},

    // Text.
    {"FactOfAVariable", "(check x)", "In 1:8-8 of program: x\nparse error: expected fact"},
    {"FactOfALiteral", "(rule (true) ())",
     "In 1:8-11 of program: true\nparse error: expected fact"},
    {"FactOfNothing", "(check ())", "In 1:8-9 of program: ()\nparse error: expected fact"},
    {"StrayParenthesis", ")", "In 1:1-1 of program: )\nparse error: unexpected )"},
    {"UnknownEscape", "(extract \"a\\q\")",
     "In 1:12-13 of program: \\q\nparse error: unrecognized escape character q"},

    // Runs.
    {"CheckOfTwoFacts", "(relation r (i64)) (check (r 1) (= (r 2) _))",
     "In 1:20-44 of program: (check (r 1) (= (r 2) _))\nCheck failed: \n(r 1)\n(= (r 2) _)"},
    {"FailOfWhatSucceeds", "(fail (check (= 1 1)))",
     "In 1:1-22 of program: (fail (check (= 1 1)))\nCommand should have failed."},
    {"PopOfNothing", "(pop)", "In 1:1-5 of program: (pop)\nTried to pop too much"},
    {"NoSuchRuleset", "(rule () () :ruleset foo)",
     "In 1:1-25 of program: (rule () () :ruleset foo)\nNo such ruleset: foo"},
    {"NoSuchMember", "(unstable-combined-ruleset c zz) (run c 1)", "No such ruleset: zz"},
    {"RuleOfACombinedRuleset",
     "(ruleset a) (unstable-combined-ruleset c a) (rule () () :ruleset c)",
     "In 1:45-67 of program: (rule () () :ruleset c)\nAttempted to add a rule to combined ruleset "
     "c. Combined rulesets may only depend on other rulesets."},
    {"Panic", "(rule () ((panic \"no\"))) (run 1)", "Panic: no"},
    {"IllegalMerge", "(function f () i64 :no-merge) (set (f) 1) (set (f) 2)",
     "Illegal merge attempted for function f"},
    {"NoValueForAPrimitive", "(relation r (i64)) (r 0) (rule ((r x)) ((r (/ 1 x)))) (run 1)",
     "In 1:44-50 of program: (/ 1 x)\n"
     "call of primitive / failed: it has no value for its arguments"},
    {"NoRowToLookUp", "(function f (i64) i64 :no-merge) (extract (f 1))",
     "In 1:43-47 of program: (f 1)\nlookup of function f failed: no row for its arguments"},
    {"NothingToExtract", "(datatype E (A :unextractable)) (extract (A))",
     "In 1:33-45 of program: (extract (A))\nextraction failure: \"Unable to find any valid "
     "extraction (likely due to subsume or delete)\""},
    {"FileThatIsNotThere", "(include \"no/such/file.egg\")",
     "In 1:1-28 of program: (include \"no/such/file.egg\")\n"
     "IO error: no/such/file.egg: No such file or directory"},
};

class Messages : public ::testing::TestWithParam<Message> {};

TEST_P(Messages, SayWhatTheyShould) {
  EGraph egraph;
  try {
    egraph.run_program(GetParam().program);
    FAIL() << "the program ran: " << GetParam().program;
  } catch (const ProgramError& error) {
    EXPECT_EQ(error.text(), GetParam().text);
  }
}

INSTANTIATE_TEST_SUITE_P(Programs, Messages, ::testing::ValuesIn(kMessages),
                         [](const auto& test) { return test.param.name; });

// Names that look taken but are free.
TEST(Names, OfBuiltInSortsPrimitivesAndStrippedGlobalsAreFreeWhereTheyCannotBeMistaken) {
  for (const char* program :
       {"(relation r (i64)) (rule ((r i64)) ((r 1)))", "(relation r (i64)) (rule ((r +)) ())",
        "(let $x 1) (let x 2)", "(let x 1) (let $x 2)", "(let $r 1) (relation r (i64))",
        "(let $A 1) (sort A)", "(sort +)", "(let + 3) (extract +)",
        "(relation r (i64)) (unstable-combined-ruleset c a) (ruleset a) (run c 1)"}) {
    EGraph egraph;
    EXPECT_NO_THROW(egraph.run_program(program)) << program;
  }
}

TEST(Names, WithoutTheirPrefixAreWarnedOfOnce) {
  EGraph egraph;
  egraph.run_program("(let x 1) (let y 2)");
  EXPECT_EQ(egraph.take_warnings(),
            std::vector<std::string>{
                "In 1:1-9 of program: (let x 1)\nGlobal `x` should start with `$`. Enable "
                "`--strict-mode` to turn this warning into an error. Suppressing additional "
                "warnings of this type."});
  EXPECT_TRUE(egraph.take_warnings().empty());
}

TEST(Names, OfVariablesThatLookLikeGlobalsAreWarnedOf) {
  EGraph egraph;
  egraph.run_program("(relation r (i64)) (rule ((r $x)) ())");
  EXPECT_EQ(egraph.take_warnings(),
            std::vector<std::string>{
                "In 1:20-37 of program: (rule ((r $x)) ())\nNon-global `$x` should not start with "
                "`$`. Enable `--strict-mode` to turn this warning into an error. Suppressing "
                "additional warnings of this type."});
}

TEST(Names, AreRefusedWithoutTheirPrefixInStrictMode) {
  const auto message = [](const char* program) -> std::string {
    EGraphOptions options;
    options.strict_names = true;
    EGraph egraph(options);
    try {
      egraph.run_program(program);
    } catch (const ProgramError& error) {
      return error.text();
    }
    return "";
  };
  EXPECT_EQ(message("(let x 1)"),
            "In 1:1-9 of program: (let x 1)\nGlobal `x` must start with `$`.");
  EXPECT_EQ(message("(relation r (i64)) (rule ((r $x)) ())"),
            "In 1:20-37 of program: (rule ((r $x)) ())\nNon-global variable `$x` must not start "
            "with `$`.");
  EXPECT_EQ(message("(relation r (i64)) (let $x 1) (rule ((r $x)) ((r 2)))"), "");
}

}  // namespace
}  // namespace luminal::egraph

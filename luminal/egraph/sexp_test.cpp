#include "luminal/egraph/sexp.h"

#include <gtest/gtest.h>

#include <cmath>

#include "luminal/egraph/parser.h"
#include "luminal/egraph/program_error.h"

namespace luminal::egraph {
namespace {

Sexp read_one(const std::string& text) {
  static SourceMap sources;
  auto nodes = read_sexps(*sources.add("test", text));
  EXPECT_EQ(nodes.size(), 1u) << text;
  return nodes.at(0);
}

TEST(Sexp, NumbersAreClassifiedLikeTheOriginalDoes) {
  EXPECT_EQ(std::get<int64_t>(read_one("-12").literal), -12);
  EXPECT_EQ(std::get<int64_t>(read_one("+12").literal), 12);
  EXPECT_EQ(std::get<double>(read_one("1.").literal), 1.0);
  EXPECT_EQ(std::get<double>(read_one(".5").literal), 0.5);
  EXPECT_EQ(std::get<double>(read_one("1e5").literal), 1e5);
  EXPECT_TRUE(std::isnan(std::get<double>(read_one("NaN").literal)));
  EXPECT_EQ(std::get<double>(read_one("-inf").literal), -INFINITY);
  EXPECT_TRUE(read_one("9223372036854775808").kind == Sexp::Kind::kLiteral);  // a float then
  for (const char* word : {"infinity", "nan", "1e999", "+-1", "-", ".", "1e", "0x10", "e5"})
    EXPECT_TRUE(read_one(word).is_word(word)) << word;
}

TEST(Sexp, CommentsAndUnicodeSpaceSeparate) {
  const Sexp list = read_one("(a ; comment )\n b\u00a0c\u2003d)");
  ASSERT_EQ(list.items.size(), 4u);
  EXPECT_TRUE(list.items[3].is_word("d"));
}

TEST(Sexp, StringsKnowFourEscapes) {
  EXPECT_EQ(std::get<std::string>(read_one(R"("a\n\t\\\"b")").literal), "a\n\t\\\"b");
  EXPECT_THROW(read_one(R"("\r")"), ProgramError);
}

TEST(Sexp, DeepNestingIsRefusedAndDoesNotOverflowTheStack) {
  EXPECT_THROW(read_one(std::string(2000000, '(')), ProgramError);
  const std::string deep = std::string(kMaxNesting - 1, '(') + std::string(kMaxNesting - 1, ')');
  EXPECT_NO_THROW(read_one(deep));
}

TEST(FloatText, AlwaysHasAPoint) {
  EXPECT_EQ(float_text(1), "1.0");
  EXPECT_EQ(float_text(-0.5), "-0.5");
  EXPECT_EQ(float_text(1e-7), "0.0000001");
  EXPECT_EQ(float_text(1e21), "1000000000000000000000.0");
  EXPECT_EQ(float_text(0.1), "0.1");
  EXPECT_EQ(float_debug_text(1e21), "1e21");
  EXPECT_EQ(float_debug_text(1.5e-7), "1.5e-7");
  EXPECT_EQ(float_debug_text(100), "100.0");
}

TEST(Parser, WhatIsPrintedParsesBackToTheSame) {
  SourceMap sources;
  const std::string text =
      "(rule ((= x (f \"a\\n\" 1 2.5)) (r x true)) ((let y (g x)) (set (h y) 3) (union x y) "
      "(delete (r x)) (subsume (g x)) (panic \"no\") (r x)) :ruleset rs :name \"n\" :naive)";
  const auto commands = parse_program(*sources.add("test", text));
  const RuleDecl& rule = std::get<RuleDecl>(commands.at(0).body);
  EXPECT_EQ(to_text(rule), text);
}

}  // namespace
}  // namespace luminal::egraph

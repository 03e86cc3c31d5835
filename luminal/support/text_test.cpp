#include "luminal/support/text.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "luminal/support/small_vector.h"

namespace luminal::support {
namespace {

using Views = std::vector<std::string_view>;

TEST(Text, SplitKeepsEmptyParts) {
  EXPECT_EQ(split("a,b,c", ','), (Views{"a", "b", "c"}));
  EXPECT_EQ(split("a,,b,", ','), (Views{"a", "", "b", ""}));
  EXPECT_EQ(split("", ','), (Views{""}));
  EXPECT_EQ(split(",", ','), (Views{"", ""}));
}

TEST(Text, WordsAreNeverEmpty) {
  EXPECT_EQ(split_words("  one\ttwo \n three "), (Views{"one", "two", "three"}));
  EXPECT_EQ(split_words(""), Views{});
  EXPECT_EQ(split_words(" \t"), Views{});
}

TEST(Text, LinesEndWithEitherLineEnd) {
  EXPECT_EQ(split_lines("a\r\nb\n\nc"), (Views{"a", "b", "", "c"}));
  EXPECT_EQ(split_lines("a\n"), (Views{"a"}));
  EXPECT_EQ(split_lines("\n"), (Views{""}));
  EXPECT_EQ(split_lines(""), Views{});
}

TEST(Text, TrimTakesBothEnds) {
  EXPECT_EQ(trim("  a b \n"), "a b");
  EXPECT_EQ(trim("a"), "a");
  EXPECT_EQ(trim(" \t\r\n"), "");
  EXPECT_EQ(trim(""), "");
}

TEST(Text, JoinFormatsEveryElement) {
  EXPECT_EQ(join(SmallVector<std::int64_t, 4>{2, 3, 4}, ", "), "2, 3, 4");
  EXPECT_EQ(join(std::vector<std::string>{"a"}, "-"), "a");
  EXPECT_EQ(join(std::vector<int>{}, "-"), "");
  EXPECT_EQ(join(std::vector<int>{1, 2}, " x ", [](int v) { return v * 10; }), "10 x 20");
}

TEST(Text, IntegersAreReadStrictly) {
  EXPECT_EQ(parse_int64("0"), 0);
  EXPECT_EQ(parse_int64("-17"), -17);
  EXPECT_EQ(parse_int64("+17"), 17);
  EXPECT_EQ(parse_int64("9223372036854775807"), std::numeric_limits<std::int64_t>::max());
  EXPECT_EQ(parse_int64("-9223372036854775808"), std::numeric_limits<std::int64_t>::min());
  for (const char* bad : {"", " 1", "1 ", "1.0", "0x10", "--1", "+-1", "+", "-", "1e3",
                          "9223372036854775808", "-9223372036854775809"})
    EXPECT_FALSE(parse_int64(bad)) << bad;
}

TEST(Text, DoublesAreReadStrictly) {
  EXPECT_EQ(parse_double("1.5"), 1.5);
  EXPECT_EQ(parse_double("-2e3"), -2000.0);
  EXPECT_EQ(parse_double("+.5"), 0.5);
  EXPECT_EQ(parse_double("-inf"), -std::numeric_limits<double>::infinity());
  EXPECT_TRUE(std::isnan(parse_double("nan").value()));
  EXPECT_EQ(parse_double("4.9406564584124654e-324"), std::numeric_limits<double>::denorm_min());
  EXPECT_TRUE(std::signbit(parse_double("-1e-400").value()));
  const std::string zeros(400, '0'), huge_exponent(30, '9');
  EXPECT_EQ(parse_double("0." + zeros + "1"), 0.0);
  EXPECT_EQ(parse_double("1e-" + huge_exponent), 0.0);
  EXPECT_FALSE(parse_double("1" + zeros + ".0"));
  EXPECT_FALSE(parse_double("1e" + huge_exponent));
  EXPECT_FALSE(parse_double("0.01e400"));
  for (const char* bad : {"", "1.5x", " 1", "1e400", "-1e400", "+-1", "e5", "0x1p3"})
    EXPECT_FALSE(parse_double(bad)) << bad;
}

TEST(Text, EditDistanceCountsEverySingleEdit) {
  EXPECT_EQ(edit_distance("", ""), 0u);
  EXPECT_EQ(edit_distance("", "abc"), 3u);
  EXPECT_EQ(edit_distance("abc", ""), 3u);
  EXPECT_EQ(edit_distance("kitten", "sitting"), 3u);
  EXPECT_EQ(edit_distance("softmax", "sotfmax"), 1u);
  EXPECT_EQ(edit_distance("ReLU", "relu"), 0u);
  EXPECT_EQ(edit_distance("abcdef", "badcfe"), 3u);
}

TEST(Text, SuggestionsAreNearOrAbsent) {
  const std::vector<std::string> ops{"softmax", "log_softmax", "sum", "matmul"};
  EXPECT_EQ(closest_match("sofmax", ops), "softmax");
  EXPECT_EQ(closest_match("Matmul", ops), "matmul");
  EXPECT_EQ(closest_match("mat_mul", ops), "matmul");
  EXPECT_EQ(closest_match("convolution", ops), std::nullopt);
  EXPECT_EQ(closest_match("x", ops), std::nullopt);
  EXPECT_EQ(closest_match("", ops), std::nullopt);
  EXPECT_EQ(did_you_mean("smu", ops), "; did you mean \"sum\"?");
  EXPECT_EQ(did_you_mean("qqq", {"sum", "max"}), "");
  EXPECT_EQ(did_you_mean("maxx", {"sum", "max"}), "; did you mean \"max\"?");
}

TEST(Text, TiesGoToTheFirstCandidate) {
  EXPECT_EQ(closest_match("cat", std::vector<std::string>{"car", "bat"}), "car");
}

TEST(Text, HtmlIsEscapedForElementsAndAttributes) {
  EXPECT_EQ(escape_html("<a href=\"x\">&'</a>"),
            "&lt;a href=&quot;x&quot;&gt;&amp;&#39;&lt;/a&gt;");
}

TEST(Text, DotIsEscapedForQuotedStrings) {
  EXPECT_EQ(escape_dot("a \"b\" \\l\r\nc"), "a \\\"b\\\" \\\\l\\nc");
}

TEST(Text, JsonEscapesControlCharactersAndKeepsUtf8) {
  EXPECT_EQ(escape_json("\"\\\n\r\t"), "\\\"\\\\\\n\\r\\t");
  EXPECT_EQ(escape_json(std::string_view("\x01\x1f\0", 3)), "\\u0001\\u001f\\u0000");
  EXPECT_EQ(escape_json("π≈3/1"), "π≈3/1");
}

TEST(Text, EllipsizeCutsBetweenCharacters) {
  EXPECT_EQ(ellipsize("short", 5), "short");
  EXPECT_EQ(ellipsize("longer", 5), "lo...");
  EXPECT_EQ(ellipsize("longer", 2), "..");
  EXPECT_EQ(ellipsize("longer", 0), "");
  EXPECT_EQ(ellipsize("ππππππ", 5), "ππ...");
  EXPECT_EQ(ellipsize("πππππ", 5), "πππππ");
  EXPECT_EQ(utf8_length("aπ→"), 3u);
}

}  // namespace
}  // namespace luminal::support

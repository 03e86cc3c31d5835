// C text, run by a small calculator with the semantics of C: / and % truncate towards zero. What it
// computes must be what the expression denotes, so that no plain operator stands where it is wrong.
#include <gtest/gtest.h>

#include <cctype>
#include <string_view>

#include "luminal/symbolic/test_util.h"
#include "luminal/symbolic/text.h"

namespace luminal::symbolic {
namespace {

// Evaluates the text; undefined operations in the sense of C set `failed`.
class Calculator {
 public:
  Calculator(std::string_view text, const Values& values) : text_(text), values_(values) {}

  int64_t compute() {
    const int64_t result = comparison();
    EXPECT_EQ(position_, text_.size()) << "left over in " << text_;
    return result;
  }
  bool failed = false;

 private:
  bool accept(std::string_view token) {
    while (position_ < text_.size() && text_[position_] == ' ') ++position_;
    if (!text_.substr(position_).starts_with(token)) return false;
    position_ += token.size();
    return true;
  }

  int64_t comparison() {
    const int64_t left = sum();
    if (accept(">=")) return left >= sum();
    if (accept("<=")) return left <= sum();
    if (accept("==")) return left == sum();
    if (accept("!=")) return left != sum();
    if (accept("<")) return left < sum();
    if (accept(">")) return left > sum();
    return left;
  }

  int64_t sum() {
    int64_t left = product();
    while (true) {
      if (accept("+")) {
        left += product();
      } else if (accept("-")) {
        left -= product();
      } else {
        return left;
      }
    }
  }

  int64_t product() {
    int64_t left = unary();
    while (true) {
      const bool quotient = accept("/"), remainder = !quotient && accept("%");
      if (!quotient && !remainder) {
        if (!accept("*")) return left;
        left *= unary();
        continue;
      }
      const int64_t right = unary();
      failed = failed || right == 0;
      if (failed) return 0;
      left = quotient ? left / right : left % right;
    }
  }

  int64_t unary() {
    if (accept("-")) return -unary();
    if (accept("(")) return closed(comparison());
    if (accept("floor_div(")) {
      const auto [a, b] = pair();
      failed = failed || b == 0;
      if (failed) return 0;
      return a / b - (a % b != 0 && (a < 0) != (b < 0));
    }
    if (accept("min(")) {
      const auto [a, b] = pair();
      return std::min(a, b);
    }
    if (accept("max(")) {
      const auto [a, b] = pair();
      return std::max(a, b);
    }
    return word();
  }

  int64_t closed(int64_t value) {
    EXPECT_TRUE(accept(")")) << "character " << position_ << " of " << text_;
    return value;
  }

  std::pair<int64_t, int64_t> pair() {
    const int64_t first = comparison();
    EXPECT_TRUE(accept(",")) << text_;
    return {first, closed(comparison())};
  }

  int64_t word() {
    const size_t start = position_;
    while (position_ < text_.size() && std::isalnum(static_cast<unsigned char>(text_[position_])))
      ++position_;
    const std::string word(text_.substr(start, position_ - start));
    if (word.empty()) {
      ADD_FAILURE() << "character " << position_ << " of " << text_;
      position_ = text_.size();
      return 0;
    }
    return std::isdigit(static_cast<unsigned char>(word[0])) ? std::stoll(word) : values_.at(word);
  }

  std::string_view text_;
  const Values& values_;
  size_t position_ = 0;
};

TEST(CText, ComputesTheValueWithTruncatingOperators) {
  int compared = 0;
  for_random_trees(4, 5000, [&](const Tree& tree, const Expr& expr, RandomTrees& trees) {
    const std::string text = c_text(expr);
    for (int k = 0; k < 6; ++k) {
      const auto values = trees.values();
      const auto expected = values ? tree.evaluate(*values) : std::nullopt;
      if (!expected) continue;
      Calculator calculator(text, *values);
      const int64_t actual = calculator.compute();
      ASSERT_FALSE(calculator.failed) << tree.text() << "\n" << text;
      ASSERT_EQ(actual, *expected) << tree.text() << "\n" << text;
      ++compared;
    }
  });
  EXPECT_GT(compared, 10000);
}

}  // namespace
}  // namespace luminal::symbolic

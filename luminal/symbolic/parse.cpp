// A recursive-descent parser of the readable text; each precedence level is one function.
#include <algorithm>
#include <cctype>
#include <charconv>
#include <limits>

#include "luminal/support/error.h"
#include "luminal/symbolic/node.h"
#include "luminal/symbolic/text.h"

namespace luminal::symbolic {
namespace {

constexpr int kMaxDepth = 256;

class Parser {
 public:
  Parser(std::string_view text, const Resolver& resolve) : text_(text), resolve_(resolve) {}

  Expr parse() {
    const Expr result = disjunction();
    skip_space();
    if (position_ != text_.size())
      fail(position_, fmt::format("expected an operator or the end, found '{}'", text_[position_]));
    return result;
  }

 private:
  [[noreturn]] void fail(size_t position, const std::string& message) const {
    // Of a long text the part around the position.
    constexpr size_t kAround = 40;
    const size_t begin = position > kAround ? position - kAround : 0;
    const std::string_view part = text_.substr(begin, 2 * kAround);
    throw UserError("parse", "\"{}{}{}\", character {}: {}", begin > 0 ? "..." : "", part,
                    begin + part.size() < text_.size() ? "..." : "", position + 1, message);
  }

  void skip_space() {
    while (position_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[position_])))
      ++position_;
  }

  bool accept(std::string_view token) {
    skip_space();
    if (!text_.substr(position_).starts_with(token)) return false;
    position_ += token.size();
    return true;
  }

  void expect(std::string_view token) {
    if (accept(token)) return;
    if (position_ == text_.size())
      fail(position_, fmt::format("expected '{}' before the end", token));
    fail(position_, fmt::format("expected '{}', found '{}'", token, text_[position_]));
  }

  // Errors of the operations get the position of the operator.
  template <typename Operation>
  Expr apply(size_t position, Operation operation) const {
    try {
      return operation();
    } catch (const UserError& error) {
      fail(position, error.what());
    }
  }

  Expr disjunction() {
    Expr left = conjunction();
    for (size_t at = position_; accept("||"); at = position_) {
      const Expr right = conjunction();
      left = apply(at, [&] { return logical_or(left, right); });
    }
    return left;
  }

  Expr conjunction() {
    Expr left = equality();
    for (size_t at = position_; accept("&&"); at = position_) {
      const Expr right = equality();
      left = apply(at, [&] { return logical_and(left, right); });
    }
    return left;
  }

  Expr equality() {
    Expr left = relation();
    while (true) {
      const size_t at = position_;
      const bool same = accept("==");
      if (!same && !accept("!=")) return left;
      const Expr right = relation();
      left = apply(at, [&] { return same ? equal(left, right) : not_equal(left, right); });
    }
  }

  Expr relation() {
    using Compare = Expr (*)(const Expr&, const Expr&);
    static constexpr std::pair<std::string_view, Compare> kRelations[] = {
        {"<=", less_equal}, {">=", greater_equal}, {"<", less}, {">", greater}};
    Expr left = sum();
    while (true) {
      const size_t at = position_;
      const auto* found = std::find_if(std::begin(kRelations), std::end(kRelations),
                                       [&](const auto& entry) { return accept(entry.first); });
      if (found == std::end(kRelations)) return left;
      const Expr right = sum();
      left = apply(at, [&] { return found->second(left, right); });
    }
  }

  Expr sum() {
    Expr left = product();
    while (true) {
      const size_t at = position_;
      const bool plus = accept("+");
      if (!plus && !accept("-")) return left;
      const Expr right = product();
      left = apply(at, [&] { return plus ? left + right : left - right; });
    }
  }

  Expr product() {
    Expr left = unary();
    while (true) {
      skip_space();
      const size_t at = position_;
      const char op = at < text_.size() ? text_[at] : '\0';
      if (op != '*' && op != '/' && op != '%') return left;
      ++position_;
      const Expr right = unary();
      left = apply(at, [&] {
        if (op == '*') return left * right;
        return op == '/' ? floor_div(left, right) : mod(left, right);
      });
    }
  }

  Expr unary() {
    skip_space();
    const size_t at = position_;
    if (++depth_ > kMaxDepth) fail(at, "too deeply nested");
    Expr result;
    if (accept("-")) {
      skip_space();
      // Part of the number, because -9223372036854775808 fits and its magnitude does not.
      result = at_digit() ? number(true) : negated(at);
    } else if (!text_.substr(position_).starts_with("!=") && accept("!")) {
      const Expr operand = unary();
      result = apply(at, [&] { return logical_not(operand); });
    } else {
      result = primary();
    }
    --depth_;
    return result;
  }

  Expr negated(size_t at) {
    const Expr operand = unary();
    return apply(at, [&] { return -operand; });
  }

  bool at_digit() const {
    return position_ < text_.size() && std::isdigit(static_cast<unsigned char>(text_[position_]));
  }

  Expr number(bool negative) {
    const size_t start = position_;
    while (at_digit()) ++position_;
    const std::string digits =
        (negative ? "-" : "") + std::string(text_.substr(start, position_ - start));
    int64_t value = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    if (error != std::errc())
      fail(start, fmt::format("the number {} does not fit into 64 bits", digits));
    return value;
  }

  Expr primary() {
    skip_space();
    if (position_ == text_.size()) fail(position_, "expected a value before the end");
    if (at_digit()) return number(false);
    if (accept("(")) {
      const Expr inner = disjunction();
      expect(")");
      return inner;
    }
    const size_t start = position_;
    while (position_ < text_.size() &&
           (std::isalnum(static_cast<unsigned char>(text_[position_])) || text_[position_] == '_'))
      ++position_;
    if (position_ == start) fail(start, fmt::format("expected a value, found '{}'", text_[start]));
    const std::string_view name = text_.substr(start, position_ - start);
    if (accept("(")) return call(name, start);
    if (const auto symbol = resolve_(name)) return *symbol;
    fail(start, fmt::format("the name \"{}\" is unknown", name));
  }

  std::vector<Expr> arguments() {
    std::vector<Expr> list;
    if (accept(")")) return list;
    do {
      list.push_back(disjunction());
    } while (accept(","));
    expect(")");
    return list;
  }

  Expr call(std::string_view function, size_t start) {
    const std::vector<Expr> list = arguments();
    const bool folds = function == "min" || function == "max";
    const bool binary = function == "floor_div" || function == "ceil_div" || function == "mod";
    if (!folds && !binary && function != "select")
      fail(start, fmt::format("the function \"{}\" is unknown", function));
    const size_t arity = function == "select" ? 3 : 2;
    if (list.size() < arity || (!folds && list.size() > arity))
      fail(start, fmt::format("{} takes {}{} arguments, not {}", function, arity,
                              folds ? " or more" : "", list.size()));
    return apply(start, [&] {
      if (function == "floor_div") return floor_div(list[0], list[1]);
      if (function == "ceil_div") return ceil_div(list[0], list[1]);
      if (function == "mod") return mod(list[0], list[1]);
      if (function == "select") return select(list[0], list[1], list[2]);
      if (function == "min") return minimum_of(list);
      std::vector<Expr> negated;
      for (const Expr& expr : list) negated.push_back(-expr);
      return -minimum_of(negated);
    });
  }

  std::string_view text_;
  const Resolver& resolve_;
  size_t position_ = 0;
  int depth_ = 0;
};

}  // namespace

Expr parse(std::string_view text, const Resolver& resolve) { return Parser(text, resolve).parse(); }

Expr parse(std::string_view text, std::span<const Expr> symbols) {
  return parse(text, [symbols](std::string_view name) -> std::optional<Expr> {
    for (const Expr& symbol : symbols) {
      if (symbol.name() == name) return symbol;
    }
    return std::nullopt;
  });
}

}  // namespace luminal::symbolic

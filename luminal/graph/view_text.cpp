// The text of a view and back: "(i0, i1) -> (i1, i0 - 1) where 0 <= i0 - 1 < n else 0.5".
#include <charconv>
#include <string>
#include <string_view>
#include <vector>

#include "luminal/graph/view.h"
#include "luminal/support/error.h"

namespace luminal::graph {

namespace {

constexpr std::string_view kArrow = " -> ", kWhere = " where ", kElse = " else ";

template <typename List>
std::string tuple_text(const List& exprs) {
  std::string text = "(";
  for (size_t k = 0; k < exprs.size(); ++k) {
    if (k > 0) text += ", ";
    text += symbolic::to_string(exprs[k]);
  }
  return text + ")";
}

// Comparisons inside a condition stand in parentheses, so that its own two stay the only ones.
std::string operand_text(const Expr& expr) {
  const std::string text = symbolic::to_string(expr);
  return text.find_first_of("<>=!&|") == std::string::npos ? text : "(" + text + ")";
}

[[noreturn]] void fail(std::string_view text, std::string_view what) {
  throw UserError("view", "cannot read \"{}\": {}", text, what);
}

// Splits at a separator that stands outside of all parentheses.
std::vector<std::string_view> split_outside_parentheses(std::string_view text,
                                                        std::string_view separator) {
  std::vector<std::string_view> parts;
  int depth = 0;
  size_t begin = 0;
  for (size_t k = 0; k < text.size(); ++k) {
    if (text[k] == '(') ++depth;
    if (text[k] == ')') --depth;
    if (depth == 0 && text.substr(k).starts_with(separator)) {
      parts.push_back(text.substr(begin, k - begin));
      begin = k + separator.size();
      k = begin - 1;
    }
  }
  parts.push_back(text.substr(begin));
  return parts;
}

// "(a, b)" as its elements.
std::vector<std::string_view> tuple_elements(std::string_view whole, std::string_view text) {
  if (text.size() < 2 || text.front() != '(' || text.back() != ')')
    fail(whole, "expected a list in parentheses");
  text = text.substr(1, text.size() - 2);
  if (text.empty()) return {};
  return split_outside_parentheses(text, ", ");
}

// The axis that "i<k>" names in a domain.
std::optional<Expr> find_axis(std::string_view name, const Shape& domain) {
  size_t id = 0;
  if (name.size() < 2 || name.front() != 'i') return std::nullopt;
  const auto [end, error] = std::from_chars(name.data() + 1, name.data() + name.size(), id);
  if (error != std::errc() || end != name.data() + name.size() || id >= domain.size())
    return std::nullopt;
  return Expr::axis(static_cast<int64_t>(id), domain[id]);
}

}  // namespace

std::string View::to_string() const {
  std::string text = "(";
  for (int k = 0; k < rank(); ++k) text += fmt::format("{}i{}", k > 0 ? ", " : "", k);
  text += ")";
  text += kArrow;
  text += tuple_text(index_);
  for (size_t k = 0; k < conditions_.size(); ++k)
    text += fmt::format("{}0 <= {} < {}", k == 0 ? kWhere : ", ",
                        operand_text(conditions_[k].value), operand_text(conditions_[k].extent));
  if (!conditions_.empty()) text += fmt::format("{}{}", kElse, fill_.to_string());
  return text;
}

View View::parse(std::string_view text, Shape source, Shape domain, DType fill_dtype,
                 const symbolic::Resolver& resolve) {
  const auto parse_expr = [&](std::string_view part) {
    return symbolic::parse(part, [&](std::string_view name) {
      const std::optional<Expr> axis = find_axis(name, domain);
      return axis ? axis : resolve(name);
    });
  };
  const std::vector<std::string_view> sides = split_outside_parentheses(text, kArrow);
  if (sides.size() != 2) fail(text, "expected (axes) -> (index)");
  const std::vector<std::string_view> names = tuple_elements(text, sides[0]);
  for (size_t k = 0; k < names.size(); ++k)
    if (names[k] != fmt::format("i{}", k)) fail(text, "the axes must be i0, i1, ... in order");
  if (names.size() != domain.size())
    fail(text, fmt::format("{} axes for the domain {}", names.size(), graph::to_string(domain)));

  const std::vector<std::string_view> map = split_outside_parentheses(sides[1], kWhere);
  if (map.size() > 2) fail(text, "more than one \"where\"");
  std::vector<Expr> index;
  for (std::string_view element : tuple_elements(text, map[0]))
    index.push_back(parse_expr(element));
  if (index.size() != source.size())
    fail(text, fmt::format("{} index expressions for the source {}", index.size(),
                           graph::to_string(source)));
  if (map.size() == 1) return View(std::move(source), std::move(domain), std::move(index));

  const std::vector<std::string_view> padding = split_outside_parentheses(map[1], kElse);
  if (padding.size() != 2) fail(text, "expected conditions, then \"else\" and the fill");
  std::vector<Condition> conditions;
  for (std::string_view part : split_outside_parentheses(padding[0], ", ")) {
    constexpr std::string_view kFromZero = "0 <= ";
    const std::vector<std::string_view> bounds = split_outside_parentheses(part, " < ");
    if (bounds.size() != 2 || !bounds[0].starts_with(kFromZero))
      fail(text, fmt::format("\"{}\" is no condition 0 <= value < extent", part));
    conditions.push_back({parse_expr(bounds[0].substr(kFromZero.size())), parse_expr(bounds[1])});
  }
  return View(std::move(source), std::move(domain), std::move(index), std::move(conditions),
              Scalar::parse(fill_dtype, padding[1]));
}

}  // namespace luminal::graph

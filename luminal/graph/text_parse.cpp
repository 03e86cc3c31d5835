
#include "luminal/graph/text.h"
#include "luminal/graph/text_cursor.h"
#include "luminal/graph/verify.h"
#include "luminal/symbolic/text.h"

namespace luminal::graph {
namespace {

int hex_value(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return -1;
}

/// The axis number of "i3"; nothing for other names.
std::optional<size_t> axis_number(std::string_view name) {
  if (name.size() < 2 || name.size() > 4 || name[0] != 'i') return std::nullopt;
  size_t number = 0;
  for (char c : name.substr(1)) {
    if (c < '0' || c > '9') return std::nullopt;
    number = number * 10 + static_cast<size_t>(c - '0');
  }
  return number;
}

/// Reads one text, line by line, into a graph.
class Parser {
 public:
  Parser(std::string_view text, const CustomFunctions& functions, std::span<const Array> constants)
      : cursor_(text), functions_(functions), constants_(constants) {}

  /// Reads the text; verifies the graph after every line if asked to, so that the error names it.
  Graph run(bool verify_each_line) {
    for (cursor_.skip_lines(); !cursor_.at_end(); cursor_.skip_lines()) {
      const size_t begin = cursor_.next_position();
      statement();
      cursor_.expect_line_end();
      if (!verify_each_line) continue;
      for (const std::string& problem : problems(graph_)) cursor_.fail_at(begin, problem);
    }
    return std::move(graph_);
  }

 private:
  /// Errors of what we call become errors of the text at `position`.
  template <typename Function>
  auto at(size_t position, Function function) {
    try {
      return function();
    } catch (const UserError& error) {
      cursor_.fail_at(position, error.what());
    }
  }

  void statement() {
    if (cursor_.take("%")) return node();
    if (cursor_.take_word("dim")) return dim();
    if (cursor_.take_word("output")) return output();
    if (cursor_.take_word("named")) return named();
    cursor_.fail_expected("a line that begins with 'dim', '%', 'output' or 'named'");
  }

  // dim seq: [1, 4096]

  void dim() {
    const size_t begin = cursor_.next_position();
    const std::string dim_name = cursor_.word("the name of a dim");
    cursor_.expect(":");
    cursor_.expect("[");
    symbolic::Interval interval;
    interval.lo = bound();
    cursor_.expect(",");
    interval.hi = bound();
    cursor_.expect("]");
    if (interval.lo > interval.hi) cursor_.fail_at(begin, "the interval of the dim is empty");
    Expr variable = at(begin, [&] { return Expr::variable(dim_name, interval); });
    if (!dims_.emplace(dim_name, variable).second)
      cursor_.fail_at(begin, fmt::format("the dim '{}' is declared already", dim_name));
  }

  int64_t bound() {
    if (cursor_.take_word("inf")) return symbolic::Interval::kPosInf;
    if (cursor_.take("-inf")) return symbolic::Interval::kNegInf;
    return cursor_.integer("a bound: an integer, inf or -inf");
  }

  // Expressions, shapes, types

  /// Over the axes of `domain` and the declared dims.
  Expr expression(const Shape& domain, std::string_view what) {
    const size_t begin = cursor_.next_position();
    const std::string_view text = cursor_.expression(what);
    return at(begin, [&] {
      return symbolic::parse(text,
                             [&](std::string_view symbol) { return resolve(symbol, domain); });
    });
  }

  std::optional<Expr> resolve(std::string_view symbol, const Shape& domain) const {
    if (std::optional<size_t> axis = axis_number(symbol)) {
      if (*axis >= domain.size()) return std::nullopt;
      return Expr::axis(static_cast<int64_t>(*axis), domain[*axis]);
    }
    auto found = dims_.find(symbol);
    if (found == dims_.end()) return std::nullopt;
    return found->second;
  }

  /// Expressions separated by commas until `end` comes, which is not taken.
  std::vector<Expr> expressions(const Shape& domain, std::string_view what, std::string_view end) {
    std::vector<Expr> list;
    if (cursor_.next_is(end)) return list;
    do {
      list.push_back(expression(domain, what));
    } while (cursor_.take(","));
    return list;
  }

  Shape shape() {
    cursor_.expect("[");
    const size_t begin = cursor_.next_position();
    const std::vector<Expr> extents = expressions({}, "an extent or ']'", "]");
    cursor_.expect("]");
    for (const Expr& extent : extents)
      if (extent.bounds().hi < 0) cursor_.fail_at(begin, "an extent is negative");
    return Shape(extents.begin(), extents.end());
  }

  TensorType type() {
    const size_t begin = cursor_.next_position();
    const std::string word = cursor_.word("a dtype");
    const std::optional<DType> dtype = dtype_from_name(word);
    if (!dtype) cursor_.fail_at(begin, fmt::format("expected a dtype, found '{}'", word));
    return {*dtype, shape()};
  }

  // Edges: %3, %3[i1, i0], %3[2, seq -> i1, i0 if i1 - 1 in [0, seq) else 0]

  /// `implied` is the domain where the text gives none; null if it must be given.
  Edge edge(const Shape* implied) {
    const size_t begin = cursor_.next_position();
    cursor_.expect("%");
    const std::string label = cursor_.label();
    auto found = labels_.find(label);
    if (found == labels_.end())
      cursor_.fail_at(begin, fmt::format("%{} is not defined before this line", label));
    if (!cursor_.take("[")) return graph_.whole(found->second);
    Edge result{view(graph_.node(found->second), implied), found->second};
    cursor_.expect("]");
    return result;
  }

  View view(const Node& source, const Shape* implied) {
    const size_t begin = cursor_.next_position();
    Shape domain;
    if (std::optional<Shape> written = written_domain()) {
      domain = std::move(*written);
    } else if (implied != nullptr) {
      domain = *implied;
    } else {
      cursor_.fail_at(begin, "expected the domain of the view and '->' here");
    }
    // The source of rank 0 has no index; a word that follows is the 'if' of its conditions.
    std::vector<Expr> index;
    if (!source.shape().empty()) index = expressions(domain, "an index expression or ']'", "]");
    if (index.size() != source.shape().size())
      cursor_.fail_at(begin,
                      fmt::format("expected {} index expressions for the source {}, found {}",
                                  source.shape().size(), to_string(source.type), index.size()));
    std::vector<Condition> conditions;
    Scalar fill;
    if (cursor_.take_word("if")) {
      do {
        conditions.push_back(condition(domain));
      } while (cursor_.take_word("and"));
      if (!cursor_.take_word("else")) cursor_.fail_expected("'and' or 'else' and a fill");
      fill = scalar(source.dtype());
    }
    return at(begin, [&] {
      return View(source.shape(), std::move(domain), std::move(index), std::move(conditions), fill);
    });
  }

  /// What stands before an arrow; if there is no arrow, nothing is taken.
  std::optional<Shape> written_domain() {
    const TextCursor before = cursor_;
    bool has_arrow = cursor_.next_is("->");
    if (!has_arrow && !cursor_.next_is("]")) {
      do {
        cursor_.expression("an expression");
      } while (cursor_.take(","));
      has_arrow = cursor_.next_is("->");
    }
    cursor_ = before;
    if (!has_arrow) return std::nullopt;
    const std::vector<Expr> extents = expressions({}, "an extent", "->");
    cursor_.expect("->");
    return Shape(extents.begin(), extents.end());
  }

  Condition condition(const Shape& domain) {
    Condition result;
    result.value = expression(domain, "a condition");
    if (!cursor_.take_word("in")) cursor_.fail_expected("'in [0, extent)' after the value");
    cursor_.expect("[");
    cursor_.expect("0");
    cursor_.expect(",");
    result.extent = expression({}, "the extent of a condition");
    cursor_.expect(")");
    return result;
  }

  std::vector<Edge> edges(const Shape* implied) {
    std::vector<Edge> list;
    if (cursor_.peek() != '%') return list;
    do {
      list.push_back(edge(implied));
    } while (cursor_.take(","));
    return list;
  }

  // Values

  Scalar scalar(DType dtype) {
    const size_t begin = cursor_.next_position();
    const std::string_view text = cursor_.value(fmt::format("a value of {}", dtype));
    return at(begin, [&] { return Scalar::parse(dtype, text); });
  }

  Array constant(const TensorType& type) {
    const size_t begin = cursor_.next_position();
    Extents extents;
    for (const Expr& extent : type.shape) {
      if (!extent.is_constant())
        cursor_.fail_at(begin, fmt::format("a constant cannot have the extent {}", extent));
      extents.push_back(*extent.constant_value());
    }
    if (cursor_.take_word("hex")) {
      std::vector<std::byte> bytes = hex_bytes();
      return at(begin, [&] { return Array(type.dtype, extents, std::move(bytes)); });
    }
    if (cursor_.take("@")) return stored(type.dtype, extents, begin);
    return listed(type.dtype, extents, begin);
  }

  Array stored(DType dtype, const Extents& extents, size_t begin) {
    const int64_t number = cursor_.integer("the number of a constant");
    if (number < 0 || number >= static_cast<int64_t>(constants_.size()))
      cursor_.fail_at(begin, fmt::format("there is no constant @{}; {} are given to parse_text",
                                         number, constants_.size()));
    const Array& value = constants_[static_cast<size_t>(number)];
    if (value.dtype() != dtype || value.extents() != extents)
      cursor_.fail_at(begin, fmt::format("the constant @{} is {}{}", number, value.dtype(),
                                         graph::to_string(value.extents())));
    return value;
  }

  Array listed(DType dtype, const Extents& extents, size_t begin) {
    std::vector<Scalar> values;
    if (extents.empty()) {
      values.push_back(scalar(dtype));
    } else {
      cursor_.expect("[");
      while (cursor_.peek() != ']') {
        values.push_back(scalar(dtype));
        if (!cursor_.take(",")) break;
      }
      cursor_.expect("]");
    }
    const int64_t count = at(begin, [&] { return element_count(extents); });
    if (count != static_cast<int64_t>(values.size()))
      cursor_.fail_at(begin, fmt::format("expected {} values, found {}", count, values.size()));
    Array result(dtype, extents);
    for (int64_t i = 0; i < count; ++i) result.set(i, values[static_cast<size_t>(i)]);
    return result;
  }

  std::vector<std::byte> hex_bytes() {
    const size_t begin = cursor_.next_position();
    const std::string digits = cursor_.quoted_string("hexadecimal bytes");
    std::vector<std::byte> bytes(digits.size() / 2);
    for (size_t i = 0; i < digits.size(); ++i)
      if (hex_value(digits[i]) < 0 || digits.size() % 2 != 0)
        cursor_.fail_at(begin, "expected pairs of the digits 0-9 and a-f");
    for (size_t i = 0; i < bytes.size(); ++i)
      bytes[i] =
          static_cast<std::byte>(hex_value(digits[2 * i]) * 16 + hex_value(digits[2 * i + 1]));
    return bytes;
  }

  // Nodes: %3: f32[2] = sum %2 axes=1 name="total"

  void node() {
    const size_t begin = cursor_.next_position();
    const std::string label = cursor_.label();
    if (labels_.contains(label))
      cursor_.fail_at(begin, fmt::format("%{} is defined already", label));
    cursor_.expect(":");
    const size_t type_begin = cursor_.next_position();
    const TensorType given = type();
    cursor_.expect("=");
    const NodeId id = definition(given);
    if (graph_.node(id).type != given)
      cursor_.fail_at(type_begin, fmt::format("the type is given as {} but follows as {}",
                                              to_string(given), to_string(graph_.node(id).type)));
    if (cursor_.take_word("name")) {
      cursor_.expect("=");
      graph_.set_name(id, cursor_.quoted_string("a name"));
    }
    labels_.emplace(label, id);
  }

  NodeId definition(const TensorType& type) {
    const size_t begin = cursor_.next_position();
    const std::string word = cursor_.word("an op");
    const std::optional<Op> op = op_from_name(word);
    if (!op) cursor_.fail_at(begin, fmt::format("expected an op, found '{}'", word));
    switch (*op) {
      case Op::kInput: {
        const bool weight = cursor_.take_word("weight");
        std::string input = cursor_.quoted_string("the name of the input");
        return at(begin, [&] { return graph_.add_input(input, type.dtype, type.shape, weight); });
      }
      case Op::kConstant:
        return graph_.add_constant(constant(type));
      case Op::kIota: {
        const Expr value = expression(type.shape, "an expression of the axes");
        return at(begin, [&] { return graph_.add_iota(type.dtype, type.shape, value); });
      }
      case Op::kCustom: {
        auto function = custom_function();
        std::vector<Edge> operands = edges(&type.shape);
        return at(begin, [&] { return graph_.add_custom(function, std::move(operands), type); });
      }
      default:
        return operation(*op, type, begin);
    }
  }

  /// Ops that have operands and whose type is checked against the given one.
  NodeId operation(Op op, const TensorType& type, size_t begin) {
    Attributes attributes;
    if (op == Op::kPrint) attributes = PrintAttribute{cursor_.quoted_string("a label")};
    if (op == Op::kDiff) attributes = DiffAttribute{cursor_.quoted_string("a file"), 0, 0};
    std::vector<Edge> operands = edges(&type.shape);
    if (is_reduction(op)) {
      expect_key("axes");
      const int64_t axes = cursor_.integer("a number of axes");
      if (axes < 0 || axes > 1000) cursor_.fail_at(begin, "the number of axes is out of range");
      attributes = ReduceAttribute{static_cast<int>(axes)};
    } else if (op == Op::kScatter) {
      expect_key("mode");
      attributes = ScatterAttribute{scatter_mode()};
    } else if (op == Op::kArgSort) {
      expect_key("descending");
      attributes = ArgSortAttribute{boolean()};
    } else if (op == Op::kDiff) {
      auto& diff = std::get<DiffAttribute>(attributes);
      expect_key("atol");
      diff.absolute_tolerance = cursor_.real("a number");
      expect_key("rtol");
      diff.relative_tolerance = cursor_.real("a number");
    }
    return at(begin, [&] {
      if (op != Op::kCast && op != Op::kBitcast)
        return graph_.add(op, std::move(operands), std::move(attributes));
      if (operands.size() != 1)
        throw UserError(name(op), "takes 1 operands, got {}", operands.size());
      return graph_.add_cast(op, std::move(operands[0]), type.dtype);
    });
  }

  void expect_key(std::string_view key) {
    if (!cursor_.take_word(key)) cursor_.fail_expected(fmt::format("'{}='", key));
    cursor_.expect("=");
  }

  bool boolean() {
    if (cursor_.take_word("true")) return true;
    if (cursor_.take_word("false")) return false;
    cursor_.fail_expected("true or false");
  }

  ScatterMode scatter_mode() {
    const size_t begin = cursor_.next_position();
    const std::string word = cursor_.word("a scatter mode");
    for (ScatterMode mode : {ScatterMode::kSet, ScatterMode::kAdd, ScatterMode::kMul,
                             ScatterMode::kMax, ScatterMode::kMin})
      if (name(mode) == word) return mode;
    cursor_.fail_at(begin, fmt::format("expected a scatter mode, found '{}'", word));
  }

  std::shared_ptr<const CustomFunction> custom_function() {
    const size_t begin = cursor_.next_position();
    const std::string function = cursor_.quoted_string("the name of a function");
    auto found = functions_.find(function);
    if (found == functions_.end() || !found->second)
      cursor_.fail_at(begin, fmt::format("there is no custom function named '{}'; give it to "
                                         "parse_text in its map of functions",
                                         function));
    return found->second;
  }

  // output "y" = %3

  void output() {
    const size_t begin = cursor_.next_position();
    const std::string output_name = cursor_.quoted_string("the name of an output");
    cursor_.expect("=");
    Edge value = edge(nullptr);
    at(begin, [&] { graph_.add_output(output_name, std::move(value)); });
  }

  // named %5 = softmax(axis=1, mode="fast", shape=[1, 2], amount={seq}) %1, %2

  void named() {
    NamedDefinition definition;
    const size_t begin = cursor_.next_position();
    definition.result = edge(nullptr);
    cursor_.expect("=");
    definition.name = word_or_string("the name of the definition");
    cursor_.expect("(");
    while (cursor_.peek() != ')') {
      const size_t key_begin = cursor_.next_position();
      std::string key = word_or_string("a parameter or ')'");
      cursor_.expect("=");
      if (!definition.parameters.emplace(key, named_value()).second)
        cursor_.fail_at(key_begin, fmt::format("the parameter '{}' is given twice", key));
      if (!cursor_.take(",")) break;
    }
    cursor_.expect(")");
    definition.operands = edges(nullptr);
    at(begin, [&] { graph_.add_named(std::move(definition)); });
  }

  std::string word_or_string(std::string_view what) {
    return cursor_.peek() == '"' ? cursor_.quoted_string(what) : cursor_.word(what);
  }

  NamedValue named_value() {
    if (cursor_.peek() == '"') return cursor_.quoted_string("a string");
    if (cursor_.take_word("true")) return true;
    if (cursor_.take_word("false")) return false;
    if (cursor_.take("{")) {
      const Expr value = expression({}, "an expression");
      cursor_.expect("}");
      return value;
    }
    if (cursor_.take("[")) return integers();
    const TextCursor before = cursor_;
    const std::string_view text = cursor_.value("a number, string, list or {expression}");
    cursor_ = before;
    // Whole numbers are integers; to_text gives every double a point, an exponent or a name.
    if (text.find_first_not_of("0123456789-") == std::string_view::npos)
      return cursor_.integer("an integer of 64 bits");
    return cursor_.real("a number");
  }

  std::vector<int64_t> integers() {
    std::vector<int64_t> list;
    while (cursor_.peek() != ']') {
      list.push_back(cursor_.integer("an integer or ']'"));
      if (!cursor_.take(",")) break;
    }
    cursor_.expect("]");
    return list;
  }

  TextCursor cursor_;
  const CustomFunctions& functions_;
  std::span<const Array> constants_;
  Graph graph_;
  std::map<std::string, NodeId, std::less<>> labels_;
  std::map<std::string, Expr, std::less<>> dims_;
};

}  // namespace

Graph parse_text(std::string_view text, const CustomFunctions& functions,
                 std::span<const Array> constants) {
  Graph graph = Parser(text, functions, constants).run(false);
  // Nodes are checked as they are added, but not whether a view reads past the end of its source.
  // Only a graph that is broken pays for finding the line.
  if (!problems(graph).empty()) return Parser(text, functions, constants).run(true);
  return graph;
}

}  // namespace luminal::graph

#include "luminal/tensor/kernel_source.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>

#include "luminal/support/text.h"

namespace luminal::kernel_source {
namespace {

/// Deeper texts and trees would overflow the stack of those who walk over them.
constexpr int kDeepestText = 200;
constexpr int kDeepestTree = 1000;

/// Words of C that mean nothing here, each with what to write instead.
std::optional<std::string_view> remedy_for(std::string_view word) {
  constexpr std::pair<std::string_view, std::string_view> kRemedies[] = {
      {"const", "leave it out: a variable that is never assigned again is constant"},
      {"static", "leave it out"},
      {"unsigned", "write int or long; data keeps the dtype of its input"},
      {"signed", "write int or long"},
      {"short", "write int"},
      {"char", "write int"},
      {"size_t", "write long"},
      {"int8_t", "write int"},
      {"int16_t", "write int"},
      {"int32_t", "write int"},
      {"int64_t", "write long"},
      {"uint8_t", "write int"},
      {"uint16_t", "write int"},
      {"uint32_t", "write long"},
      {"uint64_t", "write long"},
      {"void", "a kernel is statements, without a function around them"},
      {"while", "write for (int k = 0; k < N; k++) and an if inside"},
      {"do", "write for (int k = 0; k < N; k++) and an if inside"},
      {"break", "put an if around what should not run any more"},
      {"continue", "put an if around what should not run"},
      {"return", "assign to out[...] instead"},
      {"switch", "write ifs, or choices as in a ? b : c"},
      {"goto", "write fors and ifs"},
      {"struct", "write one variable for each member"},
  };
  for (const auto& [name, remedy] : kRemedies)
    if (name == word) return remedy;
  return std::nullopt;
}

struct Token {
  enum class Kind : uint8_t { kName, kInteger, kNumber, kSign, kEnd };
  Kind kind = Kind::kEnd;
  std::string text;
  Position position;
  int64_t integer = 0;
  double number = 0.0;
};

[[noreturn]] void fail(Position position, std::string message) {
  throw SourceError{position, std::move(message)};
}

class Lexer {
 public:
  explicit Lexer(std::string_view source) : source_(source) {}

  std::vector<Token> run() {
    std::vector<Token> tokens;
    while (true) {
      skip_space();
      Token token = next();
      const bool is_end = token.kind == Token::Kind::kEnd;
      tokens.push_back(std::move(token));
      if (is_end) return tokens;
    }
  }

 private:
  bool at_end() const { return at_ >= source_.size(); }
  char peek(size_t ahead = 0) const {
    return at_ + ahead < source_.size() ? source_[at_ + ahead] : '\0';
  }
  bool is_digit(size_t ahead = 0) const {
    return std::isdigit(static_cast<unsigned char>(peek(ahead))) != 0;
  }
  bool is_word() const {
    return std::isalnum(static_cast<unsigned char>(peek())) != 0 || peek() == '_';
  }
  void advance() {
    ++position_.column;
    if (peek() == '\n') position_ = {position_.line + 1, 1};
    ++at_;
  }

  void skip_space() {
    while (!at_end()) {
      if (std::isspace(static_cast<unsigned char>(peek())) != 0) {
        advance();
      } else if (peek() == '/' && peek(1) == '/') {
        while (!at_end() && peek() != '\n') advance();
      } else if (peek() == '/' && peek(1) == '*') {
        skip_comment();
      } else {
        return;
      }
    }
  }

  void skip_comment() {
    const Position begin = position_;
    while (!at_end() && !(peek() == '*' && peek(1) == '/')) advance();
    if (at_end()) fail(begin, "the comment does not end");
    advance();
    advance();
  }

  Token next() {
    Token token;
    token.position = position_;
    if (at_end()) return token;
    if (is_digit() || (peek() == '.' && is_digit(1))) return number(std::move(token));
    if (is_word()) {
      token.kind = Token::Kind::kName;
      while (is_word()) take(token);
      return token;
    }
    return sign(std::move(token));
  }

  void take(Token& token) {
    token.text += peek();
    advance();
  }

  Token number(Token token) {
    bool fraction = false;
    while (is_digit()) take(token);
    if (peek() == '.') {
      fraction = true;
      take(token);
      while (is_digit()) take(token);
    }
    if (peek() == 'e' || peek() == 'E') {
      fraction = true;
      take(token);
      if (peek() == '+' || peek() == '-') take(token);
      while (is_digit()) take(token);
    }
    std::string text = token.text;
    if (fraction && text.back() == '.') text += '0';
    if (text.front() == '.') text = "0" + text;
    if (fraction && (peek() == 'f' || peek() == 'F')) take(token);
    if (is_word())
      fail(token.position, fmt::format("'{}{}' is no number; numbers are decimal, as in 16 or 2.5f",
                                       token.text, peek()));
    token.kind = fraction ? Token::Kind::kNumber : Token::Kind::kInteger;
    const auto real = support::parse_double(text);
    const auto integer = support::parse_int64(text);
    if (fraction ? !real : !integer)
      fail(token.position, fmt::format("'{}' is no number that fits", token.text));
    token.number = real.value_or(0.0);
    token.integer = integer.value_or(0);
    return token;
  }

  Token sign(Token token) {
    static constexpr std::array<std::string_view, 15> kLong{
        "++", "--", "+=", "-=", "*=", "/=", "<=", ">=", "==", "!=", "&&", "||", "<<", ">>", "%="};
    token.kind = Token::Kind::kSign;
    for (const std::string_view each : kLong)
      if (source_.substr(at_, 2) == each) {
        take(token);
        take(token);
        return token;
      }
    if (std::string_view("+-*/%<>=!&|^~?:;,()[]{}").find(peek()) == std::string_view::npos) {
      const auto byte = static_cast<unsigned char>(peek());
      fail(position_, byte >= 32 && byte < 127 ? fmt::format("'{}' has no meaning here", peek())
                                               : fmt::format("the byte {} has no meaning", byte));
    }
    take(token);
    return token;
  }

  std::string_view source_;
  size_t at_ = 0;
  Position position_;
};

/// How tightly binary operators bind, as in C; 0 for what is none.
int precedence(std::string_view sign) {
  static constexpr std::array<std::pair<std::string_view, int>, 18> kTable{{{"||", 1},
                                                                            {"&&", 2},
                                                                            {"|", 3},
                                                                            {"^", 4},
                                                                            {"&", 5},
                                                                            {"==", 6},
                                                                            {"!=", 6},
                                                                            {"<", 7},
                                                                            {">", 7},
                                                                            {"<=", 7},
                                                                            {">=", 7},
                                                                            {"<<", 8},
                                                                            {">>", 8},
                                                                            {"+", 9},
                                                                            {"-", 9},
                                                                            {"*", 10},
                                                                            {"/", 10},
                                                                            {"%", 10}}};
  for (const auto& [text, level] : kTable)
    if (text == sign) return level;
  return 0;
}

std::optional<graph::DType> type_of(std::string_view name) {
  if (name == "float") return graph::DType::kF32;
  if (name == "double") return graph::DType::kF64;
  if (name == "int") return graph::DType::kI32;
  if (name == "long") return graph::DType::kI64;
  return graph::dtype_from_name(name);
}

class Parser {
 public:
  explicit Parser(std::vector<Token> tokens) : tokens_(std::move(tokens)) {}

  std::vector<Statement> run() {
    std::vector<Statement> statements;
    while (token().kind != Token::Kind::kEnd) statement(statements);
    return statements;
  }

 private:
  /// Counts how deep we are.
  class Level {
   public:
    explicit Level(Parser& parser) : depth_(parser.depth_) {
      if (++depth_ > kDeepestText)
        fail(parser.token().position,
             "this is nested too deeply; give the inner parts names with statements of their own");
    }
    ~Level() { --depth_; }
    Level(const Level&) = delete;
    Level& operator=(const Level&) = delete;

   private:
    int& depth_;
  };

  const Token& token(size_t ahead = 0) const {
    return tokens_[std::min(at_ + ahead, tokens_.size() - 1)];
  }
  bool is(std::string_view text) const {
    return token().text == text && token().kind != Token::Kind::kEnd;
  }
  Token take() {
    Token result = token();
    if (at_ + 1 < tokens_.size()) ++at_;
    return result;
  }
  bool accept(std::string_view text) {
    if (!is(text)) return false;
    take();
    return true;
  }
  std::string found() const {
    return token().kind == Token::Kind::kEnd ? "the end" : fmt::format("'{}'", token().text);
  }
  Token expect(std::string_view text, std::string_view where) {
    if (!is(text))
      fail(token().position, fmt::format("expected '{}' {}, found {}", text, where, found()));
    return take();
  }
  std::string expect_name(std::string_view what) {
    if (token().kind != Token::Kind::kName || type_of(token().text))
      fail(token().position, fmt::format("expected {}, found {}", what, found()));
    return take().text;
  }

  void statement(std::vector<Statement>& into) {
    const Level level(*this);
    if (accept(";")) return;
    Statement result;
    result.position = token().position;
    if (const auto remedy = remedy_for(token().text))
      fail(token().position, fmt::format("there is no '{}' here; {}", token().text, *remedy));
    if (is("{")) {
      result.kind = Statement::Kind::kBlock;
      block(result.body);
    } else if (is("for")) {
      for_statement(result);
    } else if (is("if")) {
      if_statement(result);
    } else if (token().kind == Token::Kind::kName && type_of(token().text)) {
      declaration(result);
    } else {
      assignment(result);
    }
    into.push_back(std::move(result));
  }

  void block(std::vector<Statement>& into) {
    expect("{", "before the statements");
    while (!is("}")) {
      if (token().kind == Token::Kind::kEnd) fail(token().position, "a '}' is missing");
      statement(into);
    }
    take();
  }

  /// One statement, or those of a block.
  void body(std::vector<Statement>& into) {
    if (is("{"))
      block(into);
    else
      statement(into);
  }

  void declaration(Statement& result) {
    result.kind = Statement::Kind::kDeclare;
    result.dtype = *type_of(take().text);
    result.name = expect_name("the name of a variable");
    if (!is("="))
      fail(token().position,
           fmt::format("'{}' needs a value: write {} = ...;", result.name, result.name));
    take();
    result.value = expression();
    expect(";", "after the value");
  }

  void assignment(Statement& result) {
    result.kind = Statement::Kind::kAssign;
    result.name = expect_name("a statement");
    while (accept("[")) {
      result.indices.push_back(expression());
      expect("]", "after the index");
    }
    for (const std::string_view op : {"=", "+=", "-=", "*="}) {
      if (!is(op)) continue;
      result.op = take().text;
      result.value = expression();
      expect(";", "after the value");
      return;
    }
    fail(token().position, fmt::format("expected '=', '+=', '-=' or '*=' after '{}', found {}",
                                       result.name, found()));
  }

  void for_statement(Statement& result) {
    result.kind = Statement::Kind::kFor;
    take();
    expect("(", "after 'for'");
    if (is("int") || is("long")) take();
    result.name = expect_name("the name of the loop's variable");
    expect("=", "with the first value");
    result.begin = expression();
    expect(";", "after the first value");
    expect_loop_name(result);
    if (!is("<") && !is("<="))
      fail(token().position,
           fmt::format("a loop runs while {} < or <= something, found {}", result.name, found()));
    result.inclusive = take().text == "<=";
    result.end = expression();
    expect(";", "after the end of the loop");
    step(result);
    expect(")", "after the step");
    body(result.body);
  }

  void expect_loop_name(const Statement& loop) {
    if (!is(loop.name))
      fail(token().position,
           fmt::format("expected the loop's variable '{}', found {}", loop.name, found()));
    take();
  }

  void step(Statement& result) {
    if (accept("++")) return expect_loop_name(result);
    expect_loop_name(result);
    if (accept("++")) return;
    expect("+=", "or '++' as the step");
    if (token().kind != Token::Kind::kInteger || token().integer < 1)
      fail(token().position, fmt::format("a step is a number of at least 1, found {}", found()));
    result.step = take().integer;
  }

  void if_statement(Statement& result) {
    result.kind = Statement::Kind::kIf;
    take();
    expect("(", "after 'if'");
    result.value = expression();
    expect(")", "after the condition");
    body(result.body);
    if (accept("else")) body(result.otherwise);
  }

  static ExpressionPtr make(Expression::Kind kind, Position position, std::string text = {}) {
    auto result = std::make_unique<Expression>();
    result->kind = kind;
    result->position = position;
    result->text = std::move(text);
    return result;
  }

  /// A chain of operators is as deep as it is long, so levels of the text do not tell.
  static void adopt(Expression& parent, ExpressionPtr child) {
    parent.depth = std::max(parent.depth, child->depth + 1);
    if (parent.depth > kDeepestTree)
      fail(parent.position,
           fmt::format("more than {} operators follow each other here; write several statements",
                       kDeepestTree));
    parent.children.push_back(std::move(child));
  }

  ExpressionPtr expression() {
    const Level level(*this);
    ExpressionPtr condition = binary(1);
    if (!is("?")) return condition;
    ExpressionPtr result = make(Expression::Kind::kTernary, take().position);
    adopt(*result, std::move(condition));
    adopt(*result, expression());
    expect(":", "between the two values");
    adopt(*result, expression());
    return result;
  }

  ExpressionPtr binary(int least) {
    ExpressionPtr left = unary();
    while (token().kind == Token::Kind::kSign && precedence(token().text) >= least) {
      const Token op = take();
      ExpressionPtr result = make(Expression::Kind::kBinary, op.position, op.text);
      adopt(*result, std::move(left));
      adopt(*result, binary(precedence(op.text) + 1));
      left = std::move(result);
    }
    return left;
  }

  ExpressionPtr unary() {
    const Level level(*this);
    if (is("-") || is("!") || is("~") || is("+")) {
      const Token op = take();
      ExpressionPtr result = make(Expression::Kind::kUnary, op.position, op.text);
      adopt(*result, unary());
      return result;
    }
    if (is("(") && token(1).kind == Token::Kind::kName && type_of(token(1).text)) {
      ExpressionPtr result = make(Expression::Kind::kCast, take().position);
      result->dtype = *type_of(take().text);
      expect(")", "after the type");
      adopt(*result, unary());
      return result;
    }
    return primary();
  }

  ExpressionPtr primary() {
    if (accept("(")) {
      ExpressionPtr result = expression();
      expect(")", "after the expression");
      return result;
    }
    const Token first = token();
    if (first.kind == Token::Kind::kInteger || first.kind == Token::Kind::kNumber) {
      take();
      ExpressionPtr result = make(first.kind == Token::Kind::kInteger ? Expression::Kind::kInteger
                                                                      : Expression::Kind::kNumber,
                                  first.position, first.text);
      result->integer = first.integer;
      result->number = first.number;
      return result;
    }
    const std::string name = expect_name("a value");
    if (accept("(")) return call(first);
    ExpressionPtr result = make(Expression::Kind::kName, first.position, name);
    while (accept("[")) {
      result->kind = Expression::Kind::kIndex;
      adopt(*result, expression());
      expect("]", "after the index");
    }
    return result;
  }

  ExpressionPtr call(const Token& name) {
    ExpressionPtr result = make(Expression::Kind::kCall, name.position, name.text);
    if (accept(")")) return result;
    do adopt(*result, expression());
    while (accept(","));
    expect(")", "after the arguments");
    return result;
  }

  std::vector<Token> tokens_;
  size_t at_ = 0;
  int depth_ = 0;
};

}  // namespace

std::vector<Statement> parse(std::string_view source) { return Parser(Lexer(source).run()).run(); }

bool is_reserved(std::string_view name) {
  return name == "for" || name == "if" || name == "else" || type_of(name) || remedy_for(name);
}

}  // namespace luminal::kernel_source

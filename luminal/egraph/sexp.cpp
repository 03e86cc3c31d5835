#include "luminal/egraph/sexp.h"

#include <charconv>
#include <cmath>
#include <iterator>
#include <optional>

#include "luminal/egraph/program_error.h"

namespace luminal::egraph {
namespace {

/// Length in bytes of the Unicode white space at `at`, 0 if there is none.
uint32_t space_length(std::string_view text, size_t at) {
  const auto byte = [&](size_t i) {
    return at + i < text.size() ? static_cast<unsigned char>(text[at + i]) : 0u;
  };
  const unsigned char first = byte(0);
  if (first == ' ' || (first >= 9 && first <= 13)) return 1;
  if (first == 0xC2 && (byte(1) == 0x85 || byte(1) == 0xA0)) return 2;
  if (first == 0xE1 && byte(1) == 0x9A && byte(2) == 0x80) return 3;
  if (first == 0xE3 && byte(1) == 0x80 && byte(2) == 0x80) return 3;
  if (first == 0xE2 && byte(1) == 0x80 &&
      ((byte(2) >= 0x80 && byte(2) <= 0x8A) || byte(2) == 0xA8 || byte(2) == 0xA9 ||
       byte(2) == 0xAF))
    return 3;
  if (first == 0xE2 && byte(1) == 0x81 && byte(2) == 0x9F) return 3;
  return 0;
}

std::optional<int64_t> as_integer(std::string_view word) {
  if (!word.empty() && word[0] == '+') {
    word.remove_prefix(1);
    if (!word.empty() && word[0] == '-') return std::nullopt;
  }
  int64_t value = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
  if (error != std::errc() || end != word.data() + word.size()) return std::nullopt;
  return value;
}

bool is_digit(char c) { return c >= '0' && c <= '9'; }

/// Decimal floats as `[+-] digits [. digits] [e [+-] digits]` with a digit before or after the
/// point.
bool has_float_shape(std::string_view word) {
  size_t i = 0, digits = 0;
  if (i < word.size() && (word[i] == '+' || word[i] == '-')) ++i;
  while (i < word.size() && is_digit(word[i])) ++i, ++digits;
  if (i < word.size() && word[i] == '.') {
    ++i;
    while (i < word.size() && is_digit(word[i])) ++i, ++digits;
  }
  if (digits == 0) return false;
  if (i < word.size() && (word[i] == 'e' || word[i] == 'E')) {
    ++i;
    if (i < word.size() && (word[i] == '+' || word[i] == '-')) ++i;
    const size_t exponent = i;
    while (i < word.size() && is_digit(word[i])) ++i;
    if (i == exponent) return false;
  }
  return i == word.size();
}

std::optional<double> as_float(std::string_view word) {
  if (word == "NaN") return std::nan("");
  if (word == "inf") return INFINITY;
  if (word == "-inf") return -INFINITY;
  if (!has_float_shape(word)) return std::nullopt;
  const double value = std::strtod(std::string(word).c_str(), nullptr);
  if (!std::isfinite(value)) return std::nullopt;
  return value;
}

void classify(Sexp& node, std::string_view word) {
  node.kind = Sexp::Kind::kLiteral;
  if (word == "true" || word == "false") {
    node.literal = word == "true";
  } else if (const auto integer = as_integer(word)) {
    node.literal = *integer;
  } else if (const auto number = as_float(word)) {
    node.literal = *number;
  } else {
    node.kind = Sexp::Kind::kWord;
    node.word = word;
  }
}

class Reader {
 public:
  explicit Reader(const SourceFile& file) : file_(file), text_(file.text) {}

  // Items wait on one stack until their list closes: each list is then made once, at its size.
  std::vector<Sexp> read_all() {
    std::vector<Sexp> items;
    std::vector<OpenList> open;
    while (skip_space()) {
      const uint32_t begin = at_;
      if (text_[at_] == '(') {
        ++at_;
        if (open.size() >= kMaxNesting)
          throw parse_error(span(begin, at_), "nested deeper than {} levels", kMaxNesting);
        open.push_back({begin, items.size()});
      } else if (text_[at_] == ')') {
        ++at_;
        if (open.empty()) throw parse_error(span(begin, at_), "unexpected )");
        const auto first = items.begin() + static_cast<ptrdiff_t>(open.back().first_item);
        Sexp list;
        list.span = span(open.back().begin, at_);
        list.items.assign(std::make_move_iterator(first), std::make_move_iterator(items.end()));
        items.erase(first, items.end());
        items.push_back(std::move(list));
        open.pop_back();
      } else {
        items.push_back(text_[at_] == '"' ? read_string() : read_word());
      }
    }
    if (!open.empty())
      throw parse_error(span(open.back().begin, open.back().begin + 1),
                        "missing ) to close this list");
    return items;
  }

 private:
  struct OpenList {
    uint32_t begin;
    size_t first_item;
  };

  Span span(uint32_t begin, uint32_t end) const { return {&file_, begin, end}; }

  bool skip_space() {
    while (at_ < text_.size()) {
      if (const uint32_t length = space_length(text_, at_)) {
        at_ += length;
      } else if (text_[at_] == ';') {
        while (at_ < text_.size() && text_[at_] != '\n') ++at_;
      } else {
        return true;
      }
    }
    return false;
  }

  Sexp read_string() {
    const uint32_t begin = at_++;
    std::string value;
    for (;; ++at_) {
      if (at_ >= text_.size()) throw parse_error(span(begin, at_), "string is missing end quote");
      const char c = text_[at_];
      if (c == '"') break;
      if (c != '\\') {
        value += c;
        continue;
      }
      const char escaped = ++at_ < text_.size() ? text_[at_] : '\0';
      if (escaped == 'n') {
        value += '\n';
      } else if (escaped == 't') {
        value += '\t';
      } else if (escaped == '\\' || escaped == '"') {
        value += escaped;
      } else {
        const auto size = static_cast<uint32_t>(text_.size());
        throw parse_error(span(at_ - 1, std::min(at_ + 1, size)),
                          "unrecognized escape character {}", escaped);
      }
    }
    Sexp node;
    node.kind = Sexp::Kind::kLiteral;
    node.span = span(begin, ++at_);
    node.literal = std::move(value);
    return node;
  }

  Sexp read_word() {
    const uint32_t begin = at_;
    while (at_ < text_.size() && text_[at_] != ';' && text_[at_] != '(' && text_[at_] != ')' &&
           space_length(text_, at_) == 0)
      ++at_;
    Sexp node;
    node.span = span(begin, at_);
    classify(node, text_.substr(begin, at_ - begin));
    return node;
  }

  const SourceFile& file_;
  std::string_view text_;
  uint32_t at_ = 0;
};

struct Decimal {
  bool negative;
  std::string digits;  // shortest that reads back
  int exponent;        // of the first digit
};

Decimal shortest_decimal(double value) {
  char buffer[64];
  const auto [end, error] = std::to_chars(buffer, buffer + sizeof(buffer), std::fabs(value),
                                          std::chars_format::scientific);
  const std::string_view text(buffer, error == std::errc() ? end - buffer : 0);
  Decimal result{std::signbit(value), "", 0};
  const size_t mark = text.find('e');
  for (char c : text.substr(0, mark))
    if (c != '.') result.digits += c;
  result.exponent = std::atoi(std::string(text.substr(mark + 1)).c_str());
  return result;
}

std::optional<std::string> special_text(double value) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  return std::nullopt;
}

}  // namespace

std::vector<Sexp> read_sexps(const SourceFile& file) { return Reader(file).read_all(); }

std::string float_text(double value) {
  if (const auto special = special_text(value)) return *special;
  const Decimal decimal = shortest_decimal(value);
  std::string text = decimal.negative ? "-" : "";
  const int count = static_cast<int>(decimal.digits.size());
  if (decimal.exponent < 0) {
    text += "0." + std::string(-decimal.exponent - 1, '0') + decimal.digits;
  } else if (decimal.exponent >= count - 1) {
    text += decimal.digits + std::string(decimal.exponent - count + 1, '0') + ".0";
  } else {
    text += decimal.digits.substr(0, decimal.exponent + 1) + "." +
            decimal.digits.substr(decimal.exponent + 1);
  }
  return text;
}

std::string float_debug_text(double value) {
  const double magnitude = std::fabs(value);
  if (!std::isfinite(value) || magnitude == 0 || (magnitude >= 1e-5 && magnitude < 1e16))
    return float_text(value);
  const Decimal decimal = shortest_decimal(value);
  std::string text = decimal.negative ? "-" : "";
  text += decimal.digits.substr(0, 1);
  if (decimal.digits.size() > 1) text += "." + decimal.digits.substr(1);
  return text + "e" + std::to_string(decimal.exponent);
}

std::string quoted(std::string_view text) {
  std::string result = "\"";
  for (char c : text) {
    if (c == '\n') {
      result += "\\n";
    } else if (c == '\t') {
      result += "\\t";
    } else {
      if (c == '"' || c == '\\') result += '\\';
      result += c;
    }
  }
  return result + "\"";
}

std::string literal_text(const Literal& literal) {
  if (std::holds_alternative<std::monostate>(literal)) return "()";
  if (const auto* value = std::get_if<bool>(&literal)) return *value ? "true" : "false";
  if (const auto* value = std::get_if<int64_t>(&literal)) return std::to_string(*value);
  if (const auto* value = std::get_if<double>(&literal)) return float_text(*value);
  return quoted(std::get<std::string>(literal));
}

}  // namespace luminal::egraph

#include "luminal/rules/index_text.h"

#include <limits>

namespace luminal::rules {
namespace {

/// How tightly the outermost operator of a text binds. Mixed operators (comparisons, shifts, bit
/// operations) are put in parentheses always: few readers know their order, and compilers warn.
enum class Level { kMixed, kSum, kProduct, kAtom };

struct Text {
  std::string text;
  Level level = Level::kAtom;
};

std::string enclosed(const Text& text, Level least) {
  return text.level >= least ? text.text : "(" + text.text + ")";
}

Text print_leaf(const Expr& value) {
  const auto number = value.constant_value();
  if (!number) return {value.name(), Level::kAtom};
  if (*number == std::numeric_limits<int64_t>::min())
    return {"-9223372036854775807 - 1", Level::kSum};  // C has no literal for it
  return {fmt::format("{}", *number), *number < 0 ? Level::kSum : Level::kAtom};
}

Text infix(const Text& a, Level least_left, std::string_view op, const Text& b, Level least_right,
           Level level) {
  return {fmt::format("{} {} {}", enclosed(a, least_left), op, enclosed(b, least_right)), level};
}

Text call(std::string_view function, const Text& a, const Text& b) {
  return {fmt::format("{}({}, {})", function, a.text, b.text), Level::kAtom};
}

/// Prints a program node by node; operands are printed before their users.
class Printer {
 public:
  Printer(const IndexProgram& program, std::string_view prefix)
      : program_(program), prefix_(prefix), uses_(program.nodes().size()) {
    for (const IndexNode& node : program.nodes())
      for (const IndexId operand : node.used_operands()) ++uses_[operand];
    for (const IndexId output : program.outputs()) ++uses_[output];
  }

  IndexCode print() {
    IndexCode code;
    for (IndexId id = 0; id < program_.nodes().size(); ++id) {
      Text text = print_node(program_[id]);
      if (uses_[id] > 1 && program_[id].op != IndexOp::kLeaf) {
        std::string name = fmt::format("{}{}", prefix_, code.temporaries.size());
        code.temporaries.push_back({name, std::move(text.text)});
        text = {std::move(name), Level::kAtom};
      }
      texts_.push_back(std::move(text));
    }
    for (const IndexId output : program_.outputs()) code.results.push_back(texts_[output].text);
    return code;
  }

 private:
  const Text& operand(const IndexNode& node, size_t k) const { return texts_[node.operands[k]]; }

  // C truncates towards zero, which is the floor only of non-negative quotients.
  bool truncates_to_floor(const IndexNode& node) const {
    return program_[node.operands[0]].value.bounds().lo >= 0 &&
           program_[node.operands[1]].value.bounds().lo >= 0;
  }

  Text print_division(const IndexNode& node, std::string_view op, std::string_view function) const {
    const Text &a = operand(node, 0), &b = operand(node, 1);
    if (!truncates_to_floor(node)) return call(function, a, b);
    return infix(a, Level::kProduct, op, b, Level::kAtom, Level::kProduct);
  }

  Text print_mixed(const IndexNode& node, std::string_view op, Level least) const {
    return infix(operand(node, 0), least, op, operand(node, 1), least, Level::kMixed);
  }

  Text print_difference(const IndexNode& node) const {
    const Text &a = operand(node, 0), &b = operand(node, 1);
    if (program_[node.operands[0]].value.is_constant(0))
      return {"-" + enclosed(b, Level::kAtom), Level::kSum};
    return infix(a, Level::kSum, "-", b, Level::kProduct, Level::kSum);
  }

  Text print_node(const IndexNode& node) const {
    switch (node.op) {
      case IndexOp::kLeaf:
        return print_leaf(node.value);
      case IndexOp::kAdd:
        return infix(operand(node, 0), Level::kSum, "+", operand(node, 1), Level::kProduct,
                     Level::kSum);
      case IndexOp::kSubtract:
        return print_difference(node);
      case IndexOp::kMultiply:
        return infix(operand(node, 0), Level::kProduct, "*", operand(node, 1), Level::kAtom,
                     Level::kProduct);
      case IndexOp::kFloorDiv:
        return print_division(node, "/", "floor_div");
      case IndexOp::kRemainder:
        return print_division(node, "%", "floor_mod");
      case IndexOp::kShiftRight:
        return print_mixed(node, ">>", Level::kAtom);
      case IndexOp::kBitAnd:
      case IndexOp::kAnd:
        return print_mixed(node, "&", Level::kAtom);
      case IndexOp::kOr:
        return print_mixed(node, "|", Level::kAtom);
      case IndexOp::kMinimum:
        return call("min", operand(node, 0), operand(node, 1));
      case IndexOp::kMaximum:
        return call("max", operand(node, 0), operand(node, 1));
      case IndexOp::kLess:
        return print_mixed(node, "<", Level::kSum);
      case IndexOp::kLessEqual:
        return print_mixed(node, "<=", Level::kSum);
      case IndexOp::kEqual:
        return print_mixed(node, "==", Level::kSum);
      case IndexOp::kNotEqual:
        return print_mixed(node, "!=", Level::kSum);
      case IndexOp::kSelect:
        return {fmt::format("{} ? {} : {}", enclosed(operand(node, 0), Level::kAtom),
                            enclosed(operand(node, 1), Level::kSum),
                            enclosed(operand(node, 2), Level::kSum)),
                Level::kMixed};
      case IndexOp::kInRange:
        return call("in_range", operand(node, 0), operand(node, 1));
    }
    return {};
  }

  const IndexProgram& program_;
  std::string_view prefix_;
  std::vector<int> uses_;
  std::vector<Text> texts_;
};

}  // namespace

IndexCode c_code(const IndexProgram& program, std::string_view prefix) {
  return Printer(program, prefix).print();
}

const std::string_view kIndexHelpers = R"(
static inline long long floor_div(long long a, long long b) {
  return a / b - (a % b != 0 && (a < 0) != (b < 0));
}
static inline long long floor_mod(long long a, long long b) { return a - b * floor_div(a, b); }
static inline long long min(long long a, long long b) { return a < b ? a : b; }
static inline long long max(long long a, long long b) { return a > b ? a : b; }
static inline long long in_range(long long a, long long n) {
  return (unsigned long long)a < (unsigned long long)n;
}
)";

}  // namespace luminal::rules

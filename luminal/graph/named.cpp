#include "luminal/graph/named.h"

#include <fmt/format.h>

namespace luminal::graph {
namespace {

struct ValueText {
  std::string operator()(int64_t value) const { return std::to_string(value); }
  std::string operator()(double value) const { return fmt::format("{}", value); }
  std::string operator()(bool value) const { return value ? "true" : "false"; }
  std::string operator()(const std::string& value) const { return value; }
  std::string operator()(const std::vector<int64_t>& value) const {
    return fmt::format("[{}]", fmt::join(value, ", "));
  }
  std::string operator()(const Expr& value) const { return to_string(value); }
};

}  // namespace

std::string to_string(const NamedDefinition& definition) {
  std::string text = definition.name + "(";
  const char* separator = "";
  for (const auto& [key, value] : definition.parameters) {
    text += fmt::format("{}{}={}", separator, key, std::visit(ValueText{}, value));
    separator = ", ";
  }
  return text + ")";
}

}  // namespace luminal::graph

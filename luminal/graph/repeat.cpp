#include "luminal/graph/repeat.h"

namespace luminal::graph {
namespace {

constexpr const char* kName = "repeat";

}  // namespace

void add_repeat_mark(Graph& graph, const RepeatMark& mark) {
  graph.add_named({kName,
                   {{"of", mark.repeat}, {"instance", mark.instance}, {"value", mark.value}},
                   {mark.taken},
                   mark.given});
}

bool is_repeat(const NamedDefinition& definition) { return repeat_mark(definition).has_value(); }

std::optional<RepeatMark> repeat_mark(const NamedDefinition& definition) {
  if (definition.name != kName || definition.operands.size() != 1) return std::nullopt;
  const auto find = [&](const char* key) -> const NamedValue* {
    const auto found = definition.parameters.find(key);
    return found == definition.parameters.end() ? nullptr : &found->second;
  };
  const NamedValue* of = find("of");
  const NamedValue* instance = find("instance");
  const NamedValue* value = find("value");
  if (of == nullptr || instance == nullptr || value == nullptr) return std::nullopt;
  if (!std::holds_alternative<std::string>(*of) || !std::holds_alternative<int64_t>(*instance) ||
      !std::holds_alternative<int64_t>(*value))
    return std::nullopt;
  return RepeatMark{std::get<std::string>(*of), std::get<int64_t>(*instance),
                    std::get<int64_t>(*value), definition.operands[0], definition.result};
}

}  // namespace luminal::graph

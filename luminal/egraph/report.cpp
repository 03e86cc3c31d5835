#include "luminal/egraph/report.h"

#include <algorithm>

namespace luminal::egraph {
namespace {

/// Names of unnamed rules are their whole text.
std::string short_name(const std::string& name) {
  constexpr size_t kWidth = 72;
  return name.size() <= kWidth ? name : name.substr(0, kWidth) + "…";
}

std::vector<const RuleState*> rules_by_time(const Database& db) {
  std::vector<const RuleState*> rules;
  for (const RuleState& rule : db.rules)
    if (rule.runs > 0) rules.push_back(&rule);
  std::stable_sort(rules.begin(), rules.end(),
                   [](const RuleState* a, const RuleState* b) { return a->seconds > b->seconds; });
  return rules;
}

}  // namespace

std::string json_quoted(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (static_cast<unsigned char>(c) < 0x20) {
      out += fmt::format("\\u{:04x}", static_cast<unsigned>(static_cast<unsigned char>(c)));
    } else {
      out += c;
    }
  }
  return out + "\"";
}

std::string profile_text(const Database& db) {
  std::string text = "Overall statistics:\n";
  for (const auto& [name, set] : db.rulesets) {
    if (set.iterations == 0) continue;
    text += fmt::format(
        "Ruleset {}: {} iterations, search {:.3f}s, merge {:.3f}s, rebuild {:.3f}s\n", name,
        set.iterations, set.search_seconds, set.merge_seconds, set.rebuild_seconds);
  }
  for (const RuleState* rule : rules_by_time(db)) {
    text += fmt::format("Rule {}: search {:.6f}s, num matches {}, rows visited {}, runs {}\n",
                        short_name(rule->rule->name), rule->seconds, rule->matches,
                        rule->rows_visited, rule->runs);
  }
  return text;
}

std::string profile_json(const Database& db) {
  std::string text = "{\"rulesets\":[";
  bool first = true;
  for (const auto& [name, set] : db.rulesets) {
    if (set.iterations == 0) continue;
    text += fmt::format(
        "{}{{\"name\":{},\"iterations\":{},\"search_seconds\":{},\"merge_seconds\":{},"
        "\"rebuild_seconds\":{}}}",
        first ? "" : ",", json_quoted(name), set.iterations, set.search_seconds, set.merge_seconds,
        set.rebuild_seconds);
    first = false;
  }
  text += "],\"rules\":[";
  first = true;
  for (const RuleState* rule : rules_by_time(db)) {
    text += fmt::format(
        "{}{{\"name\":{},\"ruleset\":{},\"seconds\":{},\"matches\":{},\"rows_visited\":{},"
        "\"runs\":{}}}",
        first ? "" : ",", json_quoted(rule->rule->name), json_quoted(rule->rule->ruleset),
        rule->seconds, rule->matches, rule->rows_visited, rule->runs);
    first = false;
  }
  return text + "]}\n";
}

}  // namespace luminal::egraph

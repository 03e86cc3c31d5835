// What a run cost: per rule its matches, rows visited and time; per ruleset its phases. Text for
// people, JSON for tools.
#pragma once

#include <string>

#include "luminal/egraph/database.h"

namespace luminal::egraph {

/// Rulesets and their rules, the most expensive rules first.
std::string profile_text(const Database& db);
/// The same numbers as one JSON object.
std::string profile_json(const Database& db);
/// A JSON string literal.
std::string json_quoted(std::string_view text);

}  // namespace luminal::egraph

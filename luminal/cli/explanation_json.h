// An explanation as JSON (docs/command.md names the fields).
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "luminal/compiler/explanation.h"

namespace luminal::cli {

/// With `times` left out, the same plan gives the same text.
nlohmann::ordered_json to_json(const compiler::Explanation& explanation, bool times);

}  // namespace luminal::cli

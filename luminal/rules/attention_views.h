// What the rules about attention ask of views.
#pragma once

#include <optional>

#include "luminal/rules/edge_views.h"

namespace luminal::rules {

/// Keys or values [..., heads, positions, d] in which every head is there several times in a row,
/// without the repetition; nothing if no head is repeated.
std::optional<Access> without_repeated_heads(const Access& heads);

/// True if both have as many heads.
bool same_heads(const Access& keys, const Access& values);

}  // namespace luminal::rules

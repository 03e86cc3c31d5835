// An explanation as a page of its own, and as tabs of other pages: times beside what the machine
// could do, kernels with their reasons, memory over time.
#pragma once

#include <string>
#include <string_view>

#include "luminal/compiler/explanation.h"

namespace luminal::cli {

/// The page. Text that users wrote is always escaped.
std::string explanation_page(const compiler::Explanation& explanation, bool times);

/// The script that has explanationTabs(explanation), after that of page.h.
extern const std::string_view kExplanationScript;

}  // namespace luminal::cli

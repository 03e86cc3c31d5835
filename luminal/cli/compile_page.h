// The page of one compile: one HTML file that needs nothing else, with the graph as written and
// after passes, the e-graph by class, the kernels with their code, the search and a run. Large
// parts are made when they are first looked at, so that a model of many layers opens at once.
#pragma once

#include <string>
#include <string_view>

#include "luminal/cli/compile_record.h"

namespace luminal::cli {

/// The page. Text that users wrote is always escaped.
std::string compile_page(const std::string& title, CompileRecord& record);

/// The script that fills it, after those of page.h and explanation_page.h.
extern const std::string_view kCompilePageScript;

}  // namespace luminal::cli

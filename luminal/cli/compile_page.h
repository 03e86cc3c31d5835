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

/// The scripts that fill it, after those of page.h and explanation_page.h: what shows a search, and
/// the rest, which starts the page.
extern const std::string_view kSearchPageScript;
extern const std::string_view kCompilePageScript;

}  // namespace luminal::cli

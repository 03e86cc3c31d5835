// The fixed parts of the HTML drawing, kept as text in the library so that a drawing is one file.
#pragma once

#include <string_view>

namespace luminal::graph {

/// The style sheet, for light and dark.
extern const std::string_view kDrawingStyle;
/// What stands in <body> before the scripts.
extern const std::string_view kDrawingBody;
/// JavaScript: `layOut(graph, open, measure)` places nodes in layers, groups inside groups.
extern const std::string_view kDrawingLayoutScript;
/// JavaScript: draws on a canvas and answers mouse and keyboard.
extern const std::string_view kDrawingViewerScript;

}  // namespace luminal::graph

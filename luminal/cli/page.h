// Pages that need nothing but themselves: one HTML file with style, data and scripts in it, and
// tabs that are filled when they are first looked at. What they have in common.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <string_view>

namespace luminal::cli {

/// A page with this data, which scripts find as `data`; the last one starts it. Text in the data
/// stays text.
std::string page_of(const std::string& title, const nlohmann::ordered_json& data,
                    std::span<const std::string_view> scripts);

/// The fixed parts of all pages: style, what stands in <body>, and what scripts use.
extern const std::string_view kPageStyle;
extern const std::string_view kPageBody;
extern const std::string_view kPageTools;

}  // namespace luminal::cli

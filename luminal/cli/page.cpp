#include "luminal/cli/page.h"

#include <nlohmann/json.hpp>

#include "luminal/support/text.h"

namespace luminal::cli {
namespace {

using nlohmann::ordered_json;

/// JSON inside a script: no text can end the script it stands in.
std::string script_json(const ordered_json& data) {
  std::string result;
  for (const char c : data.dump(-1, ' ', false, ordered_json::error_handler_t::replace)) {
    if (c == '<')
      result += "\\u003c";
    else
      result += c;
  }
  return result;
}

}  // namespace

std::string page_of(const std::string& title, const ordered_json& data,
                    std::span<const std::string_view> scripts) {
  std::string page = "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n";
  page += "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n";
  page += "<title>" + support::escape_html(title) + " - luminal</title>\n<style>";
  page += kPageStyle;
  page += "</style>\n</head>\n<body>";
  page += kPageBody;
  page += "<script type=\"application/json\" id=\"compile-data\">" + script_json(data);
  page += "</script>\n<script>";
  page += kPageTools;
  for (const std::string_view script : scripts) page += script;
  page += "</script>\n</body>\n</html>\n";
  return page;
}

}  // namespace luminal::cli

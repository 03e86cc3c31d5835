#include "luminal/cli/explanation_page.h"

#include <nlohmann/json.hpp>

#include "luminal/cli/explanation_json.h"
#include "luminal/cli/page.h"

namespace luminal::cli {
namespace {

constexpr std::string_view kStart = R"js(
startPage(data.title, explanationTabs(data));
)js";

}  // namespace

std::string explanation_page(const compiler::Explanation& explanation, bool times) {
  const std::string title = explanation.title.empty() ? "a plan" : explanation.title;
  nlohmann::ordered_json data = to_json(explanation, times);
  data["title"] = title;
  const std::string_view scripts[] = {kExplanationScript, kStart};
  return page_of(title, data, scripts);
}

}  // namespace luminal::cli

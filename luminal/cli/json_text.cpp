#include "luminal/cli/json_text.h"

#include <nlohmann/json.hpp>
#include <ostream>

namespace luminal::cli {

void print_json(const nlohmann::ordered_json& value, std::ostream& out) {
  out << value.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) << '\n';
}

}  // namespace luminal::cli

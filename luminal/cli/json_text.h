// JSON as commands print it: indented, a line break at its end. Names that users wrote may be any
// bytes, and it is JSON nevertheless.
#pragma once

#include <iosfwd>
#include <nlohmann/json_fwd.hpp>

namespace luminal::cli {

/// Prints a value. What is no UTF-8 in its texts is replaced, since JSON cannot hold it.
void print_json(const nlohmann::ordered_json& value, std::ostream& out);

}  // namespace luminal::cli

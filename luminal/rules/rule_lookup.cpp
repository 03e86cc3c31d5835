#include "luminal/rules/rule_files.h"
#include "luminal/support/error.h"

namespace luminal::rules {

std::string_view rule_file(std::string_view name) {
  for (const RuleFile& file : rule_files())
    if (file.name == name) return file.text;
  throw InternalError(fmt::format("no rule file {} is built into the library", name));
}

}  // namespace luminal::rules

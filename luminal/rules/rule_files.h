// The rule files of this folder, embedded into the library when it is built, so that a program
// needs no files beside it.
#pragma once

#include <span>
#include <string_view>

namespace luminal::rules {

/// A rule file: egglog text under the name of its file.
struct RuleFile {
  std::string_view name;
  std::string_view text;
};

/// All rule files, by name.
std::span<const RuleFile> rule_files();

/// The text of one of them; an InternalError if there is none of that name.
std::string_view rule_file(std::string_view name);

}  // namespace luminal::rules

// What a search of kernels chose, kept on disk: a program that was searched before is not searched
// again. An entry names definitions, what is materialised and, if the rule did not choose them, the
// kernels that share launches; kernels are derived from it as ever, so an entry that does not fit
// is no harm.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "luminal/kernel/choice.h"
#include "luminal/kernel/launch_groups.h"
#include "luminal/support/file_cache.h"

namespace luminal::compiler {

/// Does what kernel::search_choice does, from the cache if the same program was searched with the
/// same options; keeps what it finds. Costs that the options bring must follow from their other
/// values and from the version of the library. Null: searches.
kernel::CutPlan search_choice(kernel::Arena& arena, kernel::ChoiceProgram& program,
                              const kernel::CutSearchOptions& options, support::FileCache* cache);

/// A choice that is known already, by choice_key(); nothing: none is.
using ChoiceRecall = std::function<std::optional<std::string>(support::Hash128 key)>;

/// What is chosen and materialised, as text; the rule says which kernels share launches.
std::string choice_text(const kernel::ChoiceProgram& program, const kernel::Cut& cut);
/// Such a text with other launches: of these groups, or of those of the rule.
std::string with_launch_groups(const std::string& choice,
                               const std::optional<kernel::LaunchGroups>& groups);
/// The kernels of such a text, with the program's definitions chosen by it. Nothing if it does not
/// fit the program, which is then as before: groups that are refused (kernel/launch_groups.h) do
/// not.
std::optional<kernel::CutPlan> plan_choice(kernel::Arena& arena, kernel::ChoiceProgram& program,
                                           const std::string& text,
                                           const kernel::CutSearchOptions& options);

/// What an entry is kept by: all that the choice follows from.
support::Hash128 choice_key(const kernel::ChoiceProgram& program,
                            const kernel::CutSearchOptions& options);

/// Differs between builds whose estimates may differ: a hash of their sources.
std::string_view cost_version();

/// The cache of choices, where the environment says.
support::FileCache& default_choice_cache();

}  // namespace luminal::compiler

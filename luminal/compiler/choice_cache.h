// What a search of kernels chose, kept on disk: a program that was searched before is not searched
// again. An entry names definitions and what is materialised, nothing else; kernels are derived
// from it as ever, so an entry that does not fit is no harm.
#pragma once

#include <string_view>

#include "luminal/kernel/choice.h"
#include "luminal/support/file_cache.h"

namespace luminal::compiler {

/// Does what kernel::search_choice does, from the cache if the same program was searched with the
/// same options; keeps what it finds. Costs that the options bring must follow from their other
/// values and from the version of the library. Null: searches.
kernel::CutPlan search_choice(kernel::Arena& arena, kernel::ChoiceProgram& program,
                              const kernel::CutSearchOptions& options, support::FileCache* cache);

/// What an entry is kept by: all that the choice follows from.
support::Hash128 choice_key(const kernel::ChoiceProgram& program,
                            const kernel::CutSearchOptions& options);

/// Differs between builds whose estimates may differ: a hash of their sources.
std::string_view cost_version();

/// The cache of choices, where the environment says.
support::FileCache& default_choice_cache();

}  // namespace luminal::compiler

// What the values of options may be. Each check says which value was wrong and which would be
// right; CLI11 adds the option's name. Numbers are decimal and whole, so that what is taken is what
// was written: its own conversions read 010 as eight, -1 as the largest number and nan as any.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>

namespace luminal::cli {

/// A whole number from `least` to `most`. To be given to transform(), which keeps how it is read.
CLI::Validator whole_number(uint64_t least, uint64_t most);

/// A time in seconds that somebody may wait for: from 0 to a million.
CLI::Validator seconds();

/// What `--target` takes, for help and shells. Refuses nothing: named_target() says what is wrong
/// with other names.
CLI::Validator processor_names();

/// Refuses empty values of all options of a command and of those below it: they come from scripts
/// whose variables are not set. What goes to another program is its own matter.
void refuse_empty_values(CLI::App& command);

}  // namespace luminal::cli

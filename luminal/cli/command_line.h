// The `luminal` command: reads a command line and does what it says.
#pragma once

#include <iosfwd>
#include <string>
#include <string_view>
#include <vector>

namespace luminal::cli {

/// Exit codes, for scripts.
enum ExitCode : int {
  kDone = 0,
  kFailed = 1,    ///< what was asked for could not be done; the reason is on `err`
  kBadUsage = 2,  ///< the command line makes no sense
};

/// The version of the project, such as "0.1.0".
std::string_view version();

/// Runs one command line, without the program's name.
int run_command_line(std::vector<std::string> arguments, std::ostream& out, std::ostream& err);

}  // namespace luminal::cli

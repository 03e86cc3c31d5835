// Any bytes as a whole program: it must run to its end, to its budget or to a ProgramError.
// Commands that name files are left out, because a mutation would name arbitrary paths.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>

#include "luminal/egraph/egraph.h"
#include "luminal/egraph/parser.h"
#include "luminal/egraph/program_error.h"
#include "luminal/egraph/report.h"

namespace {

using namespace luminal::egraph;

bool touches_files(const Command& command) {
  if (const auto* fail = std::get_if<FailCommand>(&command.body))
    return touches_files(*fail->inner);
  if (const auto* print = std::get_if<PrintFunctionCommand>(&command.body))
    return !print->file.empty();
  if (const auto* stats = std::get_if<PrintStatsCommand>(&command.body))
    return !stats->file.empty();
  return std::holds_alternative<InputCommand>(command.body) ||
         std::holds_alternative<OutputCommand>(command.body) ||
         std::holds_alternative<IncludeCommand>(command.body);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  EGraph egraph({.threads = 1,
                 .print_costs = size % 2 == 1,
                 .record_origins = size % 3 == 0,
                 .budget = {.iterations = 6, .rows = 200, .seconds = 0.1}});
  try {
    const SourceFile* file =
        egraph.sources().add("fuzz", std::string(reinterpret_cast<const char*>(data), size));
    std::vector<Command> commands = parse_program(*file);
    commands.erase(std::remove_if(commands.begin(), commands.end(), touches_files), commands.end());
    egraph.run_commands(commands);
  } catch (const ProgramError&) {
    // A refusal is an answer; the state it leaves must still be one that can be read.
  }
  profile_json(egraph.database());
  return 0;
}

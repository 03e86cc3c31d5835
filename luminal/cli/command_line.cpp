#include "luminal/cli/command_line.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <ostream>

#include "luminal/cli/commands.h"
#include "luminal/support/error.h"

namespace luminal::cli {
namespace {

constexpr const char* kExamples = R"(
Examples:
  luminal run net.graph --dim seq=128 run a graph on random data
  luminal inspect gpt-block           what rules make of a network
  luminal explain gpt-block           what runs, and why not otherwise
  luminal viz gpt-block -o page.html  a page of everything a compile did
  luminal devices                     what this machine computes on
  luminal tuning list                 kernels that have been measured
  luminal tuning show softmax         what was tried for one of them
  luminal cache size                  how much compiled code is kept
  luminal bench                       benchmark suites that are built
  source <(luminal completion bash)   complete this command

`luminal COMMAND --help` says more. Exit codes: 0 done, 1 failed, 2 the command line makes no sense.)";

/// What CLI11 threw, as an exit code. Help is no failure.
int finish(const CLI::App& app, const CLI::ParseError& error, std::ostream& out,
           std::ostream& err) {
  const int code = app.exit(error, out, err);
  return code == 0 ? kDone : kBadUsage;
}

}  // namespace

int run_command_line(std::vector<std::string> arguments, std::ostream& out, std::ostream& err) {
  CLI::App app("luminal: a deep-learning compiler that searches", "luminal");
  app.require_subcommand(1);
  app.footer(kExamples);
  add_run_command(app, out);
  add_inspect_command(app, out);
  add_explain_command(app, out);
  add_viz_command(app, out);
  add_tuning_command(app, out);
  add_cache_command(app, out);
  add_devices_command(app, out);
  add_bench_command(app, out);
  add_completion_command(app, out);
  try {
    std::reverse(arguments.begin(), arguments.end());  // CLI11 takes the last first
    app.parse(arguments);
    return kDone;
  } catch (const CLI::ParseError& error) {
    return finish(app, error, out, err);
  } catch (const Error& error) {
    err << error.what() << '\n';
    return kFailed;
  }
}

}  // namespace luminal::cli

#include "luminal/cli/command_line.h"

#include <fmt/ostream.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <new>

#include "luminal/cli/arguments.h"
#include "luminal/cli/commands.h"
#include "luminal/cli/option_values.h"
#include "luminal/codegen/llvm/code_version.h"
#include "luminal/plan/plan_file.h"
#include "luminal/search/sqlite.h"

namespace luminal::cli {
namespace {

constexpr const char* kExamples = R"(
Examples:
  luminal run gpt-block               run a network on random data
  luminal graph mlp -o mlp.graph      a network as a file, to start from
  luminal compile mlp -o mlp.plan     a plan that runs without a compiler
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

/// "tuning show" for what was read last.
struct Reached {
  const CLI::App* command;
  std::string path;
  std::string help;        ///< what to type to learn more
  std::string unexpected;  ///< a word that nobody took; empty if there is none
};

/// Follows the line to the first command that could not use a word, or to its last one.
Reached reached(const CLI::App& app) {
  Reached result{&app, "", "luminal --help", ""};
  for (;;) {
    const std::vector<std::string> left = result.command->remaining(false);
    const std::vector<CLI::App*> next = result.command->get_subcommands();
    if (!left.empty()) result.unexpected = left.front();
    if (!left.empty() || next.empty()) return result;
    result.command = next.front();
    result.path += (result.path.empty() ? "" : " ") + result.command->get_name();
    result.help = "luminal " + result.path + " --help";
  }
}

std::vector<std::string> options_of(const CLI::App& command) {
  std::vector<std::string> names;
  for (const CLI::Option* option : command.get_options())
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  return names;
}

std::vector<std::string> commands_of(const CLI::App& command) {
  std::vector<std::string> names;
  for (const CLI::App* each : command.get_subcommands([](const CLI::App*) { return true; }))
    names.push_back(each->get_name());
  return names;
}

/// What is wrong with a word that nobody took.
std::string about_unexpected(const Reached& at) {
  const bool is_option = at.unexpected.starts_with("-");
  const std::vector<std::string> known =
      is_option ? options_of(*at.command) : commands_of(*at.command);
  if (known.empty())
    return fmt::format("'{}' is one word too many; `{}` says what is taken", at.unexpected,
                       at.help);
  const std::string word = at.unexpected.substr(0, at.unexpected.find('='));
  const std::string meant = nearest(word, known);
  return fmt::format("there is no {} '{}'{}; `{}` lists them", is_option ? "option" : "command",
                     word, meant.empty() ? "" : fmt::format(", did you mean '{}'?", meant),
                     at.help);
}

/// What CLI11 threw, as an exit code. Help is no failure.
int finish(const CLI::App& app, const CLI::ParseError& error, std::ostream& out,
           std::ostream& err) {
  if (dynamic_cast<const CLI::CallForVersion*>(&error) != nullptr) {
    fmt::print(out, "{}\n", error.what());
    return kDone;
  }
  if (error.get_exit_code() == 0) {
    app.exit(error, out, err);
    return kDone;
  }
  const Reached at = reached(app);
  fmt::print(err, "{}: {}\n", at.path.empty() ? "luminal" : at.path,
             at.unexpected.empty() ? fmt::format("{}; `{}` says more", error.what(), at.help)
                                   : about_unexpected(at));
  return kBadUsage;
}

/// What to do about a database that does not work.
std::string about_database(const search::SqliteError& error) {
  if (error.damaged())
    return fmt::format(
        "tuning database: {} is damaged or no database ({}); move it away or name another file "
        "with --database or LUMINAL_TUNING_DB",
        error.path(), error.reason());
  return fmt::format(
      "tuning database: {} cannot be used ({}); see that it may be read and written and that no "
      "other process holds it, or name another file with --database or LUMINAL_TUNING_DB",
      error.path(), error.reason());
}

/// What went wrong in words. The call and its code are for whoever mends the program.
std::string_view words_of(const DeviceError& error) {
  std::string_view text = error.what();
  const std::string code = fmt::format("{} failed with code {}: ", error.call(), error.code());
  if (text.starts_with(code)) text.remove_prefix(code.size());
  return text;
}

void add_commands(CLI::App& app, std::ostream& out) {
  add_run_command(app, out);
  add_compile_command(app, out);
  add_graph_command(app, out);
  add_inspect_command(app, out);
  add_explain_command(app, out);
  add_viz_command(app, out);
  add_tuning_command(app, out);
  add_cache_command(app, out);
  add_devices_command(app, out);
  add_bench_command(app, out);
  add_completion_command(app, out);
  refuse_empty_values(app);
}

}  // namespace

int run_command_line(std::vector<std::string> arguments, std::ostream& out, std::ostream& err) {
  CLI::App app("luminal: a deep-learning compiler that searches", "luminal");
  app.require_subcommand(1);
  app.footer(kExamples);
  app.set_version_flag("--version",
                       fmt::format("luminal {} (plans of format {}, kernels of code {})", version(),
                                   plan::kPlanFileFormat, codegen::code_version()),
                       "Say which version this is");
  add_commands(app, out);
  try {
    std::reverse(arguments.begin(), arguments.end());  // CLI11 takes the last first
    app.parse(arguments);
    return kDone;
  } catch (const CLI::ParseError& error) {
    return finish(app, error, out, err);
  } catch (const UsageError& error) {
    fmt::print(err, "{}\n", error.what());
    return kBadUsage;
  } catch (const search::SqliteError& error) {
    fmt::print(err, "{}\n", about_database(error));
  } catch (const DeviceError& error) {
    fmt::print(err, "{}\n", words_of(error));
  } catch (const InternalError& error) {
    fmt::print(err, "{}\nThis is a mistake in luminal, not in what you asked for.\n", error.what());
  } catch (const std::bad_alloc&) {
    fmt::print(err, "{}: there is not enough memory for this; smaller values of --dim need less\n",
               reached(app).path);
  } catch (const std::exception& error) {
    fmt::print(err, "{}\n", error.what());
  }
  return kFailed;
}

}  // namespace luminal::cli

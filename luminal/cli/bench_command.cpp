#include <fmt/ostream.h>
#include <sys/wait.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>

#include "luminal/cli/arguments.h"
#include "luminal/cli/commands.h"
#include "luminal/cli/json_text.h"

namespace luminal::cli {
namespace {

namespace fs = std::filesystem;

constexpr const char* kSuffix = "_bench";

/// What the command line says.
struct BenchArguments {
  std::string suite;
  std::vector<std::string> further;
  std::string folder;
  bool json = false;
};

/// Where the programs are: beside this one, unless said.
fs::path folder_of(const BenchArguments& arguments) {
  if (!arguments.folder.empty()) return arguments.folder;
  std::error_code error;
  return fs::read_symlink("/proc/self/exe", error).parent_path();
}

/// The suites whose programs are built, by name.
std::vector<std::string> suites_in(const fs::path& folder) {
  std::vector<std::string> suites;
  std::error_code error;
  const fs::directory_iterator entries(folder, error);
  if (error)
    throw UserError("bench", "--folder {}: {}; it is where the programs of suites are",
                    folder.string(), error.message());
  for (const auto& entry : entries) {
    const std::string name = entry.path().filename().string();
    if (name.ends_with(kSuffix) && ::access(entry.path().c_str(), X_OK) == 0)
      suites.push_back(name.substr(0, name.size() - std::string(kSuffix).size()));
  }
  std::sort(suites.begin(), suites.end());
  return suites;
}

void list(const BenchArguments& arguments, const std::vector<std::string>& suites,
          std::ostream& out) {
  if (arguments.json) {
    print_json(nlohmann::ordered_json(suites), out);
    return;
  }
  for (const std::string& suite : suites) fmt::print(out, "{}\n", suite);
  fmt::print(out, "{} suites in {}; `./run bench SUITE` builds one and runs it\n", suites.size(),
             folder_of(arguments).string());
}

/// Runs a program to its end, on the same terminal. Gives its exit code.
int run(const fs::path& program, const std::vector<std::string>& further) {
  std::vector<std::string> words{program.string()};
  words.insert(words.end(), further.begin(), further.end());
  std::vector<char*> pointers;
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  const pid_t child = ::fork();
  if (child < 0)
    throw DeviceError("fork", errno, "bench: {} could not be started: {}", program.string(),
                      std::strerror(errno));  // NOLINT(concurrency-mt-unsafe)
  if (child == 0) {
    ::execv(pointers[0], pointers.data());
    ::_exit(127);
  }
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) continue;
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

void bench(const BenchArguments& arguments, std::ostream& out) {
  nothing_with("bench", {"a suite", !arguments.suite.empty()}, {{"--json", arguments.json}});
  const std::vector<std::string> suites = suites_in(folder_of(arguments));
  if (arguments.suite.empty()) return list(arguments, suites, out);
  if (std::find(suites.begin(), suites.end(), arguments.suite) == suites.end())
    throw UserError("bench",
                    "there is no {}{} in {}; `cmake --build build/release --target {}{}` builds "
                    "it, and `luminal bench` lists those there are",
                    arguments.suite, kSuffix, folder_of(arguments).string(), arguments.suite,
                    kSuffix);
  out.flush();
  const int code = run(folder_of(arguments) / (arguments.suite + kSuffix), arguments.further);
  if (code != 0)
    throw UserError("bench", "{}{} ended with exit code {}", arguments.suite, kSuffix, code);
}

}  // namespace

void add_bench_command(CLI::App& app, std::ostream& out) {
  auto arguments = std::make_shared<BenchArguments>();
  CLI::App* command =
      app.add_subcommand("bench", "Run a benchmark suite that is built, or list them");
  command->add_option("SUITE", arguments->suite, "As in benchmarks/SUITE");
  command->add_option("--folder", arguments->folder, "Where the programs are (beside this one)");
  command->add_flag("--json", arguments->json, "The list as JSON");
  command->add_option("ARGUMENTS", arguments->further, "What follows -- goes to the suite");
  command->footer(R"(
Examples:
  luminal bench                              suites that are built
  luminal bench nets -- --filter "gpt"       run one, with options of its own)");
  command->callback([=, &out] { bench(*arguments, out); });
}

}  // namespace luminal::cli

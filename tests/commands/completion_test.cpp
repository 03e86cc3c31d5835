// What shells offer after a line of the `luminal` command.
#include <array>
#include <cstdio>

#include "commands.h"
#include "luminal/cli/command_line.h"
#include "luminal/support/file.h"

namespace luminal::commands {
namespace {

/// What bash offers after a line.
std::string completions(const Folder& folder, const std::string& line) {
  support::write_file_atomic(folder.file("ask"), say({"completion", "bash"}).out + "COMP_WORDS=(" +
                                                     line +
                                                     " '')\n"
                                                     "COMP_CWORD=$((${#COMP_WORDS[@]} - 1))\n"
                                                     "_luminal\necho \"${COMPREPLY[@]}\"\n");
  FILE* pipe = ::popen(("bash '" + folder.file("ask") + "' 2>&1").c_str(), "r");
  std::array<char, 4096> buffer{};
  const size_t got = std::fread(buffer.data(), 1, buffer.size(), pipe);
  ::pclose(pipe);
  return {buffer.data(), got};
}

TEST(Completion, BashCompletesCommandsAndCases) {
  const Folder folder;
  EXPECT_TRUE(has(completions(folder, "luminal"), "inspect"));
  EXPECT_TRUE(has(completions(folder, "luminal tuning"), "prune"));
  EXPECT_TRUE(has(completions(folder, "luminal viz"), "gpt-block"));
}

TEST(Completion, ValuesOfWhichThereAreFewAreCompleted) {
  const Folder folder;
  EXPECT_EQ(completions(folder, "luminal run mlp --device"), "cpu interpreter\n");
  EXPECT_EQ(completions(folder, "luminal run mlp --device '='"), "cpu interpreter\n");
  EXPECT_EQ(completions(folder, "luminal completion"), "bash zsh fish\n");
  EXPECT_EQ(completions(folder, "luminal tuning prune --device"), "\n");
  for (const char* line : {"luminal explain mlp --target", "luminal compile mlp --target"})
    EXPECT_EQ(completions(folder, line), "x86-64 haswell skylake-avx512 znver4 sapphirerapids\n");
  EXPECT_TRUE(has(say({"completion", "zsh"}).out, "'run --device') compadd -- cpu interpreter"));
  EXPECT_TRUE(has(say({"completion", "fish"}).out, " -l 'device' -d 'cpu or interpreter' -x -a"));
}

TEST(Completion, OtherValuesOfOptionsAreFilesAndNoCases) {
  const Folder folder;
  EXPECT_EQ(completions(folder, "luminal explain mlp --html"), "\n");
  EXPECT_EQ(completions(folder, "luminal run --dim"), "\n");
  EXPECT_TRUE(has(completions(folder, "luminal explain --json"), "gpt-block"));  // takes no value
  EXPECT_TRUE(has(say({"completion", "zsh"}).out, "'explain --html') _files; return"));
  EXPECT_TRUE(has(say({"completion", "fish"}).out, " -l 'html' -d "));
}

TEST(Completion, EveryShellKnowsEveryCommandAndOption) {
  for (const char* shell_name : {"bash", "zsh", "fish"}) {
    const Said said = say({"completion", shell_name});
    EXPECT_EQ(said.code, cli::kDone);
    for (const char* word : {"inspect", "viz", "prune", "completion", "missing", "llama-32"})
      EXPECT_TRUE(has(said.out, word)) << shell_name;
  }
}

}  // namespace
}  // namespace luminal::commands

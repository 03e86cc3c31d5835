// The console blocks of docs/command.md say what the command says.
#include <sstream>

#include "commands.h"
#include "luminal/cli/command_line.h"
#include "luminal/support/file.h"

namespace luminal::commands {
namespace {

TEST(CommandDocs, EveryBlockPrintsWhatStandsBelowItsLine) {
  const std::string file = std::string(LUMINAL_SUITE_DIR) + "/../../docs/command.md";
  std::istringstream text(support::read_file(file));
  size_t blocks = 0;
  for (std::string line; std::getline(text, line);) {
    if (line != "```console") continue;
    ASSERT_TRUE(std::getline(text, line));
    constexpr const char* kPrompt = "$ luminal ";
    ASSERT_TRUE(line.starts_with(kPrompt)) << line;
    std::string expected;
    for (std::string below; std::getline(text, below) && below != "```";) expected += below + "\n";
    const Said said = say(words(line.substr(std::string(kPrompt).size())));
    EXPECT_EQ(said.code, cli::kDone) << line << "\n" << said.err;
    EXPECT_EQ(said.out, expected) << line;
    ++blocks;
  }
  EXPECT_GE(blocks, 4U);
}

}  // namespace
}  // namespace luminal::commands

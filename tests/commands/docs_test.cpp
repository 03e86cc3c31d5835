// The console blocks of documents say what the command says.
#include <filesystem>

#include "commands.h"
#include "document.h"
#include "luminal/cli/command_line.h"

namespace luminal::commands {
namespace {

std::string printed(const std::string& line) {
  const Said said = say(words(line));
  EXPECT_EQ(said.code, cli::kDone) << line << "\n" << said.err;
  return said.out;
}

TEST(CommandDocs, EveryConsoleBlockShowsWhatItsLinePrints) {
  // Files are named as from the root of the repository.
  const std::filesystem::path before = std::filesystem::current_path();
  std::filesystem::current_path(docs::document_path(""));
  size_t blocks = 0;
  for (const std::string& name : docs::document_names())
    docs::expect_document(
        name, docs::with_console_output(docs::read_document(name), [&](const std::string& line) {
          ++blocks;
          return printed(line);
        }));
  std::filesystem::current_path(before);
  EXPECT_GE(blocks, 4U);
}

}  // namespace
}  // namespace luminal::commands

// The console blocks of documents say what the command says.
#include <filesystem>

#include "commands.h"
#include "document.h"
#include "luminal/cli/command_line.h"
#include "luminal/graph/dtype.h"
#include "luminal/graph/ops.h"
#include "luminal/support/file.h"

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

constexpr const char* kGraphFormat = "docs/graph-format.md";

TEST(GraphFormatDocs, ShowTheFileAndWhatIsSaidOfMistakes) {
  const std::string page = docs::read_document(kGraphFormat);
  const std::string shown = docs::with_marked_output(page, "file", docs::read_document);
  const auto mistakes = [](const std::string&) {
    const Folder folder;
    std::string text;
    for (const char* line :
         {"%1: f32[3] = frobnicate %0", "%1: f32[3] = add %0, %7", "%1: f32[4] = add %0, %0",
          "%1: f32[3] = exp %0[i0 + 1]", "%1: f32[3] = sum %0", "output y = %0"}) {
      support::write_file_atomic(folder.file("net.graph"),
                                 std::string("%0: f32[3] = input \"x\"\n") + line + "\n");
      const std::string said = say({"run", folder.file("net.graph")}).err;
      text += std::string(line) + "\n    " + said.substr(said.find("line 2"));
    }
    return text;
  };
  docs::expect_document(kGraphFormat, docs::with_marked_output(shown, "mistakes", mistakes));
}

TEST(GraphFormatDocs, NameEveryOpAndDType) {
  const std::string page = docs::read_document(kGraphFormat);
  for (const graph::OpInfo& op : graph::kOps)
    EXPECT_TRUE(page.find("`" + std::string(op.name) + "`") != std::string::npos ||
                page.find("`" + std::string(op.name) + " ") != std::string::npos)
        << op.name;
  for (const graph::DTypeInfo& dtype : graph::kDTypes)
    EXPECT_NE(page.find("`" + std::string(dtype.name) + "`"), std::string::npos) << dtype.name;
}

TEST(CommandDocs, NameEveryCommandAndOption) {
  const std::string page = docs::read_document("docs/command.md");
  // Completion lists them all: lines `'tuning show') words='...' options='--database --json' ;;`.
  const std::string script = say({"completion", "bash"}).out;
  size_t options = 0;
  for (size_t at = script.find(" options='"); at != std::string::npos;
       at = script.find(" options='", at + 1)) {
    const size_t begin = at + std::string(" options='").size();
    for (const std::string& option :
         words(script.substr(begin, script.find('\'', begin) - begin))) {
      ++options;
      EXPECT_NE(page.find(option), std::string::npos) << option;
    }
  }
  EXPECT_GT(options, 40U);
}

}  // namespace
}  // namespace luminal::commands

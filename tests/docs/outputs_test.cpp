// Documents show what the stages of the compiler give, and what examples print.
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <filesystem>

#include "document.h"
#include "luminal/graph/text.h"
#include "luminal/support/file.h"
#include "stages.h"

namespace luminal::docs {
namespace {

constexpr const char* kPage = "docs/how-it-works.md";

TEST(HowItWorks, EveryStageIsShownAsItIs) {
  const std::map<std::string, std::string> stages = docs::stages();
  const std::string page = read_document(kPage);
  expect_document(kPage,
                  with_marked_output(page, "stage", [&](const std::string& stage) -> std::string {
                    const auto found = stages.find(stage);
                    EXPECT_NE(found, stages.end()) << "there is no stage '" << stage << "'";
                    return found == stages.end() ? "" : found->second;
                  }));
  const std::vector<std::string> shown = marked_names(page, "stage");
  for (const auto& [name, text] : stages) {
    EXPECT_NE(text, "") << name;
    EXPECT_NE(std::find(shown.begin(), shown.end(), name), shown.end()) << name << " is not shown";
  }
}

TEST(HowItWorks, TheGraphFileIsTheNetwork) {
  expect_document("docs/how-it-works.graph", graph::to_text(network()));
}

/// What a program of examples/ prints.
std::string printed_by(const std::string& program) {
  const std::string path = std::filesystem::read_symlink("/proc/self/exe").parent_path() / program;
  FILE* pipe = ::popen(path.c_str(), "r");
  std::string text;
  std::array<char, 4096> buffer{};
  for (size_t got = 0; (got = std::fread(buffer.data(), 1, buffer.size(), pipe)) > 0;)
    text.append(buffer.data(), got);
  const int status = ::pclose(pipe);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << program;
  return text;
}

TEST(HowItWorks, ExamplesPrintWhatDocumentsShow) {
  size_t shown = 0;
  for (const std::string& name : document_names()) {
    const std::string document = read_document(name);
    shown += marked_names(document, "output").size();
    expect_document(name, with_marked_output(document, "output", printed_by));
  }
  EXPECT_GE(shown, 2U);
}

TEST(Documents, OutputIsPutInPlaceOfWhatIsThere) {
  const std::string before = "a\n```console\n$ luminal x 'y z'\nold\n```\nb\n";
  EXPECT_EQ(with_console_output(before, [](const std::string& line) { return line + "\n"; }),
            "a\n```console\n$ luminal x 'y z'\nx 'y z'\n```\nb\n");
  const std::string marked = "<!-- stage: one -->\n```text\n```\n```text\nnot ours\n```\n";
  EXPECT_EQ(with_marked_output(marked, "stage", [](const std::string& name) { return name; }),
            "<!-- stage: one -->\n```text\none\n```\n```text\nnot ours\n```\n");
  EXPECT_EQ(marked_names(marked, "stage"), std::vector<std::string>{"one"});
  EXPECT_EQ(marked_names(marked, "output"), std::vector<std::string>{});
}

}  // namespace
}  // namespace luminal::docs

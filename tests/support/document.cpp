#include "document.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <regex>
#include <sstream>

#include "line_diff.h"
#include "luminal/support/file.h"

namespace luminal::docs {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kFence = "```";

bool is_fence(const std::string& line) { return line.starts_with(kFence); }

/// The name in `<!-- KIND: NAME -->`, or nothing.
std::string name_in(const std::string& line, const std::string& kind) {
  const std::string begin = "<!-- " + kind + ": ", end = " -->";
  if (!line.starts_with(begin) || !line.ends_with(end)) return "";
  return line.substr(begin.size(), line.size() - begin.size() - end.size());
}

/// Ends with a line break unless it is empty.
std::string ended(std::string text) {
  if (!text.empty() && text.back() != '\n') text += '\n';
  return text;
}

/// Times are not the same twice.
std::string without_times(const std::string& text) {
  static const std::regex time(" +[0-9]+(\\.[0-9]+)? us");
  return std::regex_replace(text, time, " * us");
}

void skip_block(std::istringstream& lines, std::string& result) {
  for (std::string line; std::getline(lines, line);)
    if (is_fence(line)) {
      result += line + "\n";
      return;
    }
}

}  // namespace

std::string with_console_output(const std::string& document, const Output& output) {
  static constexpr std::string_view kPrompt = "$ luminal ";
  std::istringstream lines(document);
  std::string result;
  for (std::string line; std::getline(lines, line);) {
    result += line + "\n";
    if (line != "```console") continue;
    if (!std::getline(lines, line) || !line.starts_with(kPrompt)) {
      ADD_FAILURE() << "a console block begins with '$ luminal ...', not with '" << line << "'";
      return document;
    }
    result += line + "\n" + ended(output(line.substr(kPrompt.size())));
    skip_block(lines, result);
  }
  return result;
}

std::string with_marked_output(const std::string& document, const std::string& kind,
                               const Output& output) {
  std::istringstream lines(document);
  std::string result;
  for (std::string line; std::getline(lines, line);) {
    result += line + "\n";
    const std::string name = name_in(line, kind);
    if (name.empty()) continue;
    if (!std::getline(lines, line) || !is_fence(line)) {
      ADD_FAILURE() << "no block follows the " << kind << " '" << name << "'";
      return document;
    }
    result += line + "\n" + ended(output(name));
    skip_block(lines, result);
  }
  return result;
}

std::vector<std::string> marked_names(const std::string& document, const std::string& kind) {
  std::istringstream lines(document);
  std::vector<std::string> result;
  for (std::string line; std::getline(lines, line);)
    if (const std::string name = name_in(line, kind); !name.empty()) result.push_back(name);
  return result;
}

void expect_document(const std::string& name, const std::string& made) {
  const std::string kept = read_document(name);
  if (without_times(kept) == without_times(made)) return;
  if (std::getenv("DOCS_WRITE") != nullptr)  // NOLINT(concurrency-mt-unsafe)
    return support::write_file_atomic(document_path(name), made);
  ADD_FAILURE() << name << " shows what is printed no more (- shown, + printed):\n"
                << golden::line_diff(without_times(kept), without_times(made))
                << "if it is meant to: ./run docs outputs";
}

std::vector<std::string> document_names() {
  std::vector<std::string> names{"README.md"};
  for (const auto& entry : fs::directory_iterator(document_path("docs")))
    if (entry.path().extension() == ".md")
      names.push_back("docs/" + entry.path().filename().string());
  std::sort(names.begin(), names.end());
  return names;
}

std::string read_document(const std::string& name) {
  return support::read_file(document_path(name));
}

std::string document_path(const std::string& name) {
  return (fs::path(LUMINAL_ROOT_DIR) / name).string();
}

}  // namespace luminal::docs

#include "coverage.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <map>

#include "device.h"
#include "luminal/support/file.h"

namespace luminal::device_ops {
namespace {

/// Rows by device, in the order they ran.
std::map<std::string, std::map<std::string, std::string>>& kept_rows() {
  static std::map<std::string, std::map<std::string, std::string>> rows;
  return rows;
}

constexpr const char* kHead =
    R"(# Coverage

What `tests/device_ops` ran on each device: every primitive and every function of the tensor interface, for every dtype, over views,
special values, and lengths from 0 to many vectors, each result compared with the interpreter's. `+`: equal within the bounds of
`tests/support/bounds.h`. `-`: refused with an error that names the dtype. The last column counts the arrays compared.

This page is written by `COVERAGE_WRITE=1 build/release/bin/device_ops_suite`; a test fails when it is out of date.
)";

std::string table_head(const std::string& family) {
  std::string names = "| op |", rule = "| --- |";
  for (const graph::DTypeInfo& dtype : graph::kDTypes) {
    names += fmt::format(" {} |", dtype.name);
    rule += " --- |";
  }
  return fmt::format("\n### {}\n\n{} results |\n{} --- |\n", family, names, rule);
}

std::string document() {
  std::string text = kHead;
  for (const Device& device : all_devices()) {
    text += fmt::format("\n## {}\n", device.name);
    std::string family;
    for (const Row& row : all_rows()) {
      if (row.family != family) text += table_head(family = row.family);
      text += kept_rows()[device.name][row.family + "/" + row.op] + "\n";
    }
  }
  return text;
}

/// Writes the document after a whole run that went well.
class Writer : public testing::Environment {
 public:
  void TearDown() override {
    if (!writing_document()) return;
    size_t rows = 0;
    for (const auto& [device, kept] : kept_rows()) rows += kept.size();
    if (rows != all_devices().size() * all_rows().size()) {
      fmt::print("not every row ran: the document is not written\n");
      return;
    }
    support::write_file_atomic(document_path(), document());
  }
};

const testing::Environment* const kWriter =
    testing::AddGlobalTestEnvironment(new Writer);  // NOLINT(cppcoreguidelines-owning-memory)

}  // namespace

bool writing_document() {
  return std::getenv("COVERAGE_WRITE") != nullptr;  // NOLINT(concurrency-mt-unsafe)
}

std::string row_text(const Row& row, const Record& record) {
  std::string text = fmt::format("| {} |", row.op);
  for (const bool takes : record.takes) text += takes ? " + |" : " - |";
  return text + fmt::format(" {} |", record.results);
}

std::string section_of(const std::string& document, const std::string& device) {
  const size_t begin = document.find(fmt::format("\n## {}\n", device));
  if (begin == std::string::npos) return "";
  const size_t end = document.find("\n## ", begin + 1);
  return document.substr(begin, end == std::string::npos ? end : end - begin);
}

std::string document_path() { return std::string(LUMINAL_SUITE_DIR) + "/../../docs/coverage.md"; }

void keep_row(const std::string& device, const Row& row, const std::string& text) {
  kept_rows()[device][row.family + "/" + row.op] = text;
}

}  // namespace luminal::device_ops

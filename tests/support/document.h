// Documents that show what a program prints. Blocks of output in them are made by us, so that they
// cannot be out of date: a test makes the document anew and compares, and with DOCS_WRITE set it
// writes what it made (`./run docs outputs` does so for all of them).
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace luminal::docs {

/// Gives the output of a block: of a line `luminal ...`, or of whatever has the name.
using Output = std::function<std::string(const std::string& what)>;

/// The document with the outputs of its console blocks, which begin with a line "$ luminal ...",
/// made anew.
std::string with_console_output(const std::string& document, const Output& output);

/// The document with the blocks made anew that follow a line `<!-- KIND: NAME -->`.
std::string with_marked_output(const std::string& document, const std::string& kind,
                               const Output& output);

/// The names of a kind that a document has, in order.
std::vector<std::string> marked_names(const std::string& document, const std::string& kind);

/// Fails if the document in docs/ differs from `made` in more than times ("12.5 us"); or writes it.
void expect_document(const std::string& name, const std::string& made);

/// All documents of docs/, and README.md: names for read_document, sorted.
std::vector<std::string> document_names();
/// The text of a document.
std::string read_document(const std::string& name);
/// Where a document is.
std::string document_path(const std::string& name);

}  // namespace luminal::docs

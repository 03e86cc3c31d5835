// docs/coverage.md: which op was run for which dtype on which device. Every row is the record of a
// run; a row that differs from the document fails its test, and COVERAGE_WRITE=1 writes the
// document anew.
#pragma once

#include <string>

#include "luminal/graph/dtype.h"
#include "rows.h"

namespace luminal::device_ops {

/// What a run of one row saw.
struct Record {
  std::vector<bool> takes = std::vector<bool>(graph::kDTypes.size(), false);
  int64_t results = 0;  ///< arrays that were compared
};

/// Whether this run writes the document, instead of comparing with it.
bool writing_document();
/// "| exp | + | + | ... | 112 |"
std::string row_text(const Row& row, const Record& record);
/// The part of the document that belongs to a device, as it stands in the file.
std::string section_of(const std::string& document, const std::string& device);
/// The document as it is in the repository.
std::string document_path();
/// Keeps a row for writing.
void keep_row(const std::string& device, const Row& row, const std::string& text);

}  // namespace luminal::device_ops

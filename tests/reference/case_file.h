// Reads the reference cases that generate.py wrote: lines of text that name op, tolerance,
// attributes and tensors, and one file with the bytes of all tensors. The format is described in
// generator/case_writer.py; a malformed file is a UserError that names the line.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "comparison.h"
#include "luminal/graph/array.h"

namespace luminal::reference {

using test::Tolerance;

/// "exact", "equal", "ulps:4", "close:1e-6:1e-7".
Tolerance parse_tolerance(std::string_view text);

/// The attributes of a case: text by key, read as what the op needs.
class CaseAttributes {
 public:
  /// Reads "key=value"; throws UserError if there is no '='.
  void add(std::string_view pair);

  bool has(const std::string& key) const { return values_.contains(key); }
  // Each throws UserError if the key is missing or its text is no such value.
  const std::string& text(const std::string& key) const;
  int64_t integer(const std::string& key) const;
  double number(const std::string& key) const;
  bool flag(const std::string& key) const;
  std::vector<int64_t> integers(const std::string& key) const;
  graph::DType dtype(const std::string& key) const;
  /// The flag, or false if there is none.
  bool flag_or_false(const std::string& key) const { return has(key) && flag(key); }
  /// "axis=1 keepdim=true"
  std::string to_string() const;

 private:
  std::map<std::string, std::string> values_;
};

/// One op applied to inputs, and what it must give.
struct Case {
  int line = 0;  // where it stands in the file
  std::string op;
  Tolerance tolerance;
  CaseAttributes attributes;
  std::vector<graph::Array> inputs;
  std::vector<graph::Array> outputs;
};

/// "softmax f32[2, 3] axis=1 (line 12)": enough to find the case again.
std::string describe(const Case& test_case);

/// Reads FOLDER/NAME.cases and FOLDER/NAME.bin.
std::vector<Case> load_family(const std::filesystem::path& folder, const std::string& name);

/// Reads cases from text and the bytes their tensors point into.
std::vector<Case> parse_cases(std::string_view text, std::string_view bytes);

/// The families in a folder, sorted by name.
std::vector<std::string> family_names(const std::filesystem::path& folder);

}  // namespace luminal::reference

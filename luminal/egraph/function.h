// A declared table: constructor, relation or function, with the schema the type checker reads and
// the rows the engine works on.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "luminal/egraph/ast.h"
#include "luminal/egraph/rule_ir.h"
#include "luminal/egraph/table.h"

namespace luminal::egraph {

/// What happens when a key gets a second, different value.
enum class MergeKind : uint8_t {
  kUnion,   // constructors: the two ids become one
  kAssert,  // :no-merge: an error
  kOld,     // :merge old
  kNew,     // :merge new
  kProgram  // any other expression
};

/// Schema and rows of one table.
struct Function {
  std::string name;
  FunctionKind kind = FunctionKind::kConstructor;
  std::vector<SortId> inputs;
  SortId output = kNone;
  uint64_t cost = 1;
  bool unextractable = false;
  bool hidden = false;  // not shown by print-size: globals and internal tables
  MergeKind merge = MergeKind::kUnion;
  /// Slots 0 and 1 are old and new; the result is in `merge_result`.
  std::shared_ptr<const Program> merge_program;
  Term merge_result;
  /// The merge is a call of a table: such a merge of two equal values is that value.
  bool merge_is_table_call = false;
  std::string merge_text;
  bool has_ids = false;    // some column can be displaced
  bool deletable = false;  // some rule deletes its rows
  Table table{0};

  bool is_function() const { return kind == FunctionKind::kFunction; }
  SortId column_sort(uint32_t column) const {
    return column < inputs.size() ? inputs[column] : output;
  }
};

}  // namespace luminal::egraph

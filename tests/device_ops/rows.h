// One row per op: how its cases are written for a dtype, and for which lengths of the dim they run.
// Primitives are written as nodes, functions with the public interface.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "sheet.h"

namespace luminal::device_ops {

/// Lengths that elementwise code meets: nothing, one, less than a vector, a vector and one, many
/// vectors and a tail.
inline const std::vector<int64_t> kLengths{0, 1, 3, 17, 1030};
/// For ops whose work grows faster than the length.
inline const std::vector<int64_t> kShortLengths{0, 1, 5, 37};

/// See above.
struct Row {
  std::string family;
  std::string op;
  std::function<void(Cell&)> write;
  std::vector<int64_t> lengths = kLengths;
};

/// All rows, in the order of the document.
const std::vector<Row>& all_rows();

// Each adds the rows of a family.
void add_primitives(std::vector<Row>& rows);
void add_elementwise_functions(std::vector<Row>& rows);
void add_reductions(std::vector<Row>& rows);
void add_products(std::vector<Row>& rows);
void add_movement(std::vector<Row>& rows);
void add_creation(std::vector<Row>& rows);

}  // namespace luminal::device_ops

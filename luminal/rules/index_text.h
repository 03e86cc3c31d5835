// C text of index programs, in the common subset of C, CUDA, OpenCL and Metal over signed 64-bit
// integers. Parts that are used more than once become named temporaries; floor semantics hold for
// negative numbers too.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "luminal/rules/index_program.h"

namespace luminal::rules {

/// A temporary and the expression it is set to.
struct IndexTemporary {
  std::string name;
  std::string text;
};

/// Temporaries in order, then one expression per output.
struct IndexCode {
  std::vector<IndexTemporary> temporaries;
  std::vector<std::string> results;
};

/// The program as code. Temporaries are named prefix0, prefix1, ... Plain / and % are used where
/// the numerator is proved non-negative and the divisor positive; elsewhere the text calls
/// floor_div and floor_mod, which the surrounding code defines, as it does min, max and in_range.
IndexCode c_code(const IndexProgram& program, std::string_view prefix = "t");

/// Definitions of the functions that c_code calls, in C over `long long`.
extern const std::string_view kIndexHelpers;

}  // namespace luminal::rules

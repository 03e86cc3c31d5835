// Named definitions: the fact that a value built of primitives *is* a softmax, a matmul, an
// attention. The frontend records them while it writes the definition; the compiler may then match
// the name (a library call) or the definition (fusion), and nobody has to re-discover a softmax
// from eight nodes.
#pragma once

#include <map>
#include <string>
#include <variant>
#include <vector>

#include "luminal/graph/node.h"

namespace luminal::graph {

/// A parameter of a named op: an axis, an epsilon, a flag, a mode, a list of strides, a symbolic
/// amount.
using NamedValue = std::variant<int64_t, double, bool, std::string, std::vector<int64_t>, Expr>;

/// `result` = name(operands; parameters).
struct NamedDefinition {
  std::string name;                              ///< "softmax"
  std::map<std::string, NamedValue> parameters;  ///< such as the axis
  std::vector<Edge> operands;                    ///< what it is applied to
  Edge result;                                   ///< what it gives
};

/// "softmax(axis=1)"
std::string to_string(const NamedDefinition& definition);

}  // namespace luminal::graph

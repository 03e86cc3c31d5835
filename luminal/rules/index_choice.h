// Choosing one operation per class so that the whole costs least when shared classes are computed
// once. The graph of choices is plain data, read out of the e-graph after the rules have run.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "luminal/rules/index_program.h"

namespace luminal::rules {

/// One way to compute a class.
struct IndexAlternative {
  IndexOp op = IndexOp::kLeaf;
  std::array<uint32_t, 3> operands = {};  // classes

  /// The operands that the op has.
  std::span<const uint32_t> used_operands() const {
    return {operands.data(), index_op_info(op).arity};
  }
};

/// A class: its normal form and all ways to compute it.
struct IndexClass {
  Expr value;
  std::vector<IndexAlternative> alternatives;
};

/// Everything the rules found.
struct IndexChoices {
  std::vector<IndexClass> classes;
  std::vector<uint32_t> roots;  // classes of the expressions asked for
};

/// A program for the roots. Starts from the cheapest tree of every class and then changes one class
/// at a time as long as the whole gets cheaper. Deterministic. Every class that a root needs must
/// have a way to be computed, else nothing.
std::optional<IndexProgram> choose_program(const IndexChoices& choices);

}  // namespace luminal::rules

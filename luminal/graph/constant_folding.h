// Computes at once what depends on constants alone, with the interpreter: folded values are the
// oracle's own.
#pragma once

#include "luminal/graph/pass.h"

namespace luminal::graph {

struct ConstantFoldingOptions {
  /// Results with more elements stay computed: a constant takes memory, an op takes none.
  int64_t max_elements = 4096;
  /// Nodes that read more elements than this are left alone, so that the pass stays quick.
  int64_t max_work = 1 << 20;
};

/// Folds nodes all of whose operands are constants. Where every operand is one value in all its
/// elements the result is a scalar constant under a broadcast view, whatever the shape, also a
/// symbolic one; so is every constant with equal elements and every iota of a number. Other iotas
/// stay: an expression is cheaper than the data it stands for. Left as they are: barriers, effects,
/// custom functions, and what fails (it shall fail when it runs).
Pass constant_folding(const ConstantFoldingOptions& options = {});

}  // namespace luminal::graph

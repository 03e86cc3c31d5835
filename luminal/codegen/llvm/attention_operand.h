// Keys and values of attention: bodies over the key axis and one more, without sums. Mostly they
// are loads, or loads chosen by key (a cache and what was appended to it), which are read where
// they lie; any other body (a bias, a scale, a table of pages) is computed block by block.
#pragma once

#include <optional>
#include <vector>

#include "luminal/kernel/contraction.h"

namespace luminal::codegen {

/// A load that holds for some keys.
struct AttentionPiece {
  std::vector<kernel::Expr> tests;  ///< it is the one if all are 1
  kernel::PlainOperand load;
};

/// One side of a product. See above.
struct AttentionOperand {
  kernel::BodyId value;
  /// Where it is loads: the first whose tests hold is meant, the last one has none. Empty: it must
  /// be computed.
  std::vector<AttentionPiece> pieces;

  /// The one load that it is for all keys, if it is.
  const kernel::PlainOperand* plain() const {
    return pieces.size() == 1 ? &pieces[0].load : nullptr;
  }
  /// Whether it is loads of neighbours along an axis.
  bool runs_along(const kernel::Expr& axis) const;
};

/// The operand of a body, as far as it can be read in place; nothing if it has sums.
std::optional<AttentionOperand> attention_operand(kernel::Arena& arena, kernel::BodyId value,
                                                  const kernel::Expr& other);

/// Whether a value is a bf16, perhaps cast to something wider.
bool is_bf16(const kernel::Arena& arena, kernel::BodyId value);

}  // namespace luminal::codegen

// Which buffers share memory: lifetimes over steps become slots, once for all values of the dims.
// Two buffers that live at the same time never share a slot, but for a pair of which the second is
// computed in the place of the first.
#pragma once

#include <span>
#include <vector>

#include "luminal/symbolic/expr.h"

namespace luminal::compiler {

/// When a buffer is needed: from the step that writes it to the last one that reads it.
struct Lifetime {
  symbolic::Expr bytes;
  size_t first = 0;
  size_t last = 0;
};

/// `after` may be written over `before`, whose last reader is the step that writes `after`.
struct InPlace {
  size_t before = 0;
  size_t after = 0;
};

/// The slot of each buffer. A slot is as large as the largest buffer in it.
struct MemoryPlan {
  std::vector<size_t> slot_of;
  size_t slots = 0;
};

/// A free slot is taken where the sizes fit best: one that is proved large enough, else the largest
/// one grows; a new one only where none is free. `in_place` pairs are used first.
MemoryPlan plan_memory(std::span<const Lifetime> buffers, std::span<const InPlace> in_place = {});

}  // namespace luminal::compiler

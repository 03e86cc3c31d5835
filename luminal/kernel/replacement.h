// Bodies in the place of others: whatever uses one of these, as an operand or as an index, is
// written anew.
#pragma once

#include <unordered_map>

#include "luminal/kernel/body.h"

namespace luminal::kernel {

/// Says what stands for what, and writes bodies anew.
class Replacement {
 public:
  explicit Replacement(Arena& arena) : arena_(arena) {}

  /// Before the first body is written anew. What takes the place is left as it is.
  void add(BodyId replaced, BodyId by) { memo_.insert_or_assign(replaced.value, by); }
  /// The body with all replaced that it uses.
  BodyId operator()(BodyId id);

 private:
  BodyId with_index_values(const BodyNode& node);

  Arena& arena_;
  std::unordered_map<uint32_t, BodyId> memo_;
};

}  // namespace luminal::kernel

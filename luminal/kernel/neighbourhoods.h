// What a program looks like from each of its nodes: hashes of the definitions and of the cut within
// a few edges. A change that did not pay in one place does not pay in another that looks the same,
// nor in the same place again while nothing around it has changed.
#pragma once

#include <set>
#include <vector>

#include "luminal/kernel/choice.h"

namespace luminal::kernel {

/// Changes of definitions that were tried in vain, by how their surroundings look.
class FailedChanges {
 public:
  /// Looks at a program as it is chosen and cut now. What failed before stays known.
  void look(const ChoiceProgram& program, const Cut& cut);
  /// True if these picks, made in the program that was looked at, failed where everything nearby
  /// was the same; otherwise notes that they are tried.
  bool contains_or_insert(const ChoiceProgram& program, std::span<const Pick> picks);

 private:
  std::vector<uint64_t> labels_;  // by node
  std::set<uint64_t> failed_;
};

}  // namespace luminal::kernel

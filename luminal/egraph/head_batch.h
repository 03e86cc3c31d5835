// Matches on their way through the head of a rule, one instruction at a time for all of them, so
// that the latency of memory is paid once per batch and not once per match. Heads that only look
// rows up, insert them and join classes can run this way: none of their instructions can fail, and
// the order of their writes does not change what they mean.
#pragma once

#include "luminal/egraph/rule_ir.h"
#include "luminal/egraph/table.h"

namespace luminal::egraph {

/// A batch of matches, the arguments of the instruction in hand, and the results of earlier ones.
struct HeadBatch {
  static constexpr uint32_t kSize = 32;
  static constexpr uint32_t kMaxColumns = 8;
  static constexpr uint32_t kMaxSteps = 12;

  const Value* matches = nullptr;
  uint32_t width = 0;  // values per match
  uint32_t count = 0;
  bool active[kSize];  // others are left out
  Value args[kSize][kMaxColumns];
  uint32_t hashes[kSize];  // of the keys among the arguments
  Value results[kSize][kMaxSteps];

  /// Whether a head can run in batches.
  static bool fits(const Program& program);
  /// Starts a batch with all its matches active.
  void start(const Value* first, uint32_t match_width, uint32_t num_matches);
  /// Fills in the arguments of an instruction.
  void gather(const Program& program, const Instruction& step);
  /// Hashes the keys among the arguments and starts to fetch the rows that have them.
  void fetch(const Table& table);
  /// Where the value of an instruction goes.
  Value& result(uint32_t match, const Instruction& step) {
    return results[match][step.result - width];
  }
};

}  // namespace luminal::egraph

// Where matches go: into a buffer, in order. Matches of a rule whose head only writes rows and
// joins classes are checked against the tables on the way, in batches, and dropped if all of it is
// there already: most matches of a recursive rule derive what is known.
#pragma once

#include <span>
#include <vector>

#include "luminal/egraph/big_vector.h"
#include "luminal/egraph/database.h"
#include "luminal/egraph/head_batch.h"
#include "luminal/egraph/search_meter.h"

namespace luminal::egraph {

/// Matches of one task: `width` values each.
struct MatchBuffer {
  RuleId rule = kNone;
  uint32_t width = 0;
  BigVector<Value> values;
  uint64_t kept = 0;   // in `values`
  uint64_t count = 0;  // found, dropped ones included
  uint64_t rows_visited = 0;
  double seconds = 0;
  StopReason stop = StopReason::kFinished;  // anything else: some matches are missing

  /// Forgets the matches, not what they cost.
  void clear() {
    values.clear();
    kept = count = 0;
  }
  /// Brings the matches into an order that does not depend on how they were found, each once.
  void sort();
};

/// Collects the matches of one rule.
class MatchSink {
 public:
  MatchSink(const Database& db, const CompiledRule& rule, MatchBuffer& buffer);

  /// Takes one match, given as the values of all slots.
  void add(std::span<const Value> slots) {
    const size_t width = outputs_.size();
    const size_t at = buffer_.kept * width;
    if (at + width > buffer_.values.size())
      buffer_.values.resize(2 * (at + width) + kBatch * width);
    Value* const match = buffer_.values.data() + at;
    for (size_t i = 0; i < width; ++i) match[i] = slots[outputs_[i]];
    ++buffer_.count;
    ++buffer_.kept;
    if (checks_ && buffer_.kept - checked_ == kBatch) check_batch();
  }
  /// Ends the last batch.
  void finish() {
    if (checks_) check_batch();
    buffer_.values.resize(buffer_.kept * outputs_.size());
  }

 private:
  static constexpr uint32_t kBatch = HeadBatch::kSize;
  static constexpr uint64_t kTrial = 512;     // matches checked before checks may end
  static constexpr uint64_t kWorthKnown = 6;  // checks pay if one match in so many is known

  void check_batch();
  void check_step(const Instruction& step);

  const Database& db_;
  const CompiledRule& rule_;
  const std::vector<uint32_t>& outputs_;
  MatchBuffer& buffer_;
  bool checks_ = false;  // the head is of the kind that can be checked
  uint64_t checked_ = 0;
  HeadBatch batch_;  // active: known so far
};

}  // namespace luminal::egraph

#include "luminal/egraph/match_sink.h"

#include <algorithm>
#include <numeric>

namespace luminal::egraph {

void MatchBuffer::sort() {
  if (width == 0) kept = std::min<uint64_t>(kept, 1);
  if (kept < 2) return;
  std::vector<uint32_t> order(kept);
  std::iota(order.begin(), order.end(), 0);
  const auto at = [&](uint32_t match) { return values.begin() + ptrdiff_t{match} * width; };
  std::sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) {
    return std::lexicographical_compare(at(a), at(a) + width, at(b), at(b) + width);
  });
  BigVector<Value> sorted;
  sorted.reserve(values.size());
  for (const uint32_t match : order) {
    if (!sorted.empty() && std::equal(sorted.end() - width, sorted.end(), at(match))) continue;
    sorted.insert(sorted.end(), at(match), at(match) + width);
  }
  values = std::move(sorted);
  kept = values.size() / width;
}

MatchSink::MatchSink(const Database& db, const CompiledRule& rule, MatchBuffer& buffer)
    : db_(db), rule_(rule), outputs_(rule.query.outputs), buffer_(buffer) {
  const auto& code = rule.program.code;
  checks_ = HeadBatch::fits(rule.program) &&
            std::none_of(code.begin(), code.end(), [&](const Instruction& step) {
              // An insertion keeps a row that the same iteration deletes.
              return step.op == Instruction::Op::kInsert && db.functions[step.target].deletable;
            });
}

/// Follows one instruction for all matches that are known so far.
void MatchSink::check_step(const Instruction& step) {
  batch_.gather(rule_.program, step);
  if (step.op == Instruction::Op::kUnion) {
    for (uint32_t m = 0; m < batch_.count; ++m)
      batch_.active[m] &= batch_.args[m][0] == batch_.args[m][1];
    return;
  }
  const Table& table = db_.functions[step.target].table;
  const bool insert = step.op == Instruction::Op::kInsert;
  batch_.fetch(table);
  for (uint32_t m = 0; m < batch_.count; ++m) {
    if (!batch_.active[m]) continue;
    const Value* args = batch_.args[m];
    const uint32_t row = table.find(args, batch_.hashes[m]);
    if (row == kNone || (insert && table.value(row) != args[step.count - 1])) {
      batch_.active[m] = false;
    } else {
      batch_.result(m, step) = table.value(row);
    }
  }
}

/// Keeps the matches of the last batch that would change something.
void MatchSink::check_batch() {
  const size_t width = outputs_.size();
  Value* const matches = buffer_.values.data() + checked_ * width;
  batch_.start(matches, static_cast<uint32_t>(width),
               static_cast<uint32_t>(buffer_.kept - checked_));
  for (const Instruction& step : rule_.program.code) check_step(step);
  uint32_t kept = 0;
  for (uint32_t m = 0; m < batch_.count; ++m) {
    if (batch_.active[m]) continue;
    if (kept != m) std::copy_n(matches + m * width, width, matches + kept * width);
    ++kept;
  }
  buffer_.kept = checked_ + kept;
  checked_ = buffer_.kept;
  // Where nearly every match is news, the head looks its rows up soon enough.
  const uint64_t known = buffer_.count - buffer_.kept;
  if (buffer_.count >= kTrial && known * kWorthKnown < buffer_.count) checks_ = false;
}

}  // namespace luminal::egraph

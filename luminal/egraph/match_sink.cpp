#include "luminal/egraph/match_sink.h"

#include <algorithm>

namespace luminal::egraph {

MatchSink::MatchSink(const Database& db, const CompiledRule& rule, MatchBuffer& buffer)
    : db_(db), rule_(rule), outputs_(rule.query.outputs), buffer_(buffer) {
  using Op = Instruction::Op;
  const auto& code = rule.program.code;
  checks_ = !code.empty() && code.size() <= kMaxSteps &&
            std::all_of(code.begin(), code.end(), [](const Instruction& step) {
              return (step.op == Op::kLookupOrInsert || step.op == Op::kInsert) &&
                     step.count <= kMaxColumns;
            });
}

/// Looks one instruction's row up for all matches that are known so far. Three passes: hash and
/// fetch the slot, fetch the row, compare.
void MatchSink::check_step(const Instruction& step, Batch& batch) {
  const Table& table = db_.functions[step.target].table;
  const Term* terms = rule_.program.terms.data() + step.first;
  const size_t width = outputs_.size();
  Value rows[kBatch][kMaxColumns];
  uint32_t hashes[kBatch];
  for (uint32_t m = 0; m < batch.count; ++m) {
    if (!batch.known[m]) continue;
    for (uint32_t c = 0; c < step.count; ++c) {
      const uint32_t word = terms[c].word;
      if (terms[c].is_constant) {
        rows[m][c] = word;
      } else {
        rows[m][c] =
            word < width ? batch.matches[m * width + word] : batch.results[m][word - width];
      }
    }
    hashes[m] = table.hash(rows[m]);
    table.prefetch(hashes[m]);
  }
  for (uint32_t m = 0; m < batch.count; ++m)
    if (batch.known[m]) table.prefetch_row(hashes[m]);
  for (uint32_t m = 0; m < batch.count; ++m) {
    if (!batch.known[m]) continue;
    const uint32_t row = table.find(rows[m], hashes[m]);
    const bool insert = step.op == Instruction::Op::kInsert;
    if (row == kNone || (insert && table.value(row) != rows[m][step.count - 1])) {
      batch.known[m] = false;
    } else {
      batch.results[m][step.result - width] = table.value(row);
    }
  }
}

/// Keeps the matches of the last batch that would change something.
void MatchSink::check_batch() {
  const size_t width = outputs_.size();
  Batch batch;
  batch.count = static_cast<uint32_t>(buffer_.kept - checked_);
  batch.matches = buffer_.values.data() + checked_ * width;
  std::fill_n(batch.known, batch.count, true);
  for (const Instruction& step : rule_.program.code) check_step(step, batch);
  uint32_t kept = 0;
  for (uint32_t m = 0; m < batch.count; ++m) {
    if (batch.known[m]) continue;
    if (kept != m) std::copy_n(batch.matches + m * width, width, batch.matches + kept * width);
    ++kept;
  }
  buffer_.kept = checked_ + kept;
  checked_ = buffer_.kept;
}

}  // namespace luminal::egraph

#include "luminal/egraph/head_batch.h"

#include <algorithm>

namespace luminal::egraph {

bool HeadBatch::fits(const Program& program) {
  using Op = Instruction::Op;
  return !program.code.empty() && program.code.size() <= kMaxSteps &&
         std::all_of(program.code.begin(), program.code.end(), [](const Instruction& step) {
           return (step.op == Op::kLookupOrInsert || step.op == Op::kInsert ||
                   step.op == Op::kUnion) &&
                  step.count <= kMaxColumns;
         });
}

void HeadBatch::start(const Value* first, uint32_t match_width, uint32_t num_matches) {
  matches = first;
  width = match_width;
  count = num_matches;
  std::fill_n(active, count, true);
}

void HeadBatch::gather(const Program& program, const Instruction& step) {
  for (uint32_t c = 0; c < step.count; ++c) {
    const Term& term = program.terms[step.first + c];
    if (term.is_constant) {
      for (uint32_t m = 0; m < count; ++m) args[m][c] = term.word;
    } else if (term.word < width) {
      for (uint32_t m = 0; m < count; ++m) args[m][c] = matches[size_t{m} * width + term.word];
    } else {
      for (uint32_t m = 0; m < count; ++m) args[m][c] = results[m][term.word - width];
    }
  }
}

void HeadBatch::fetch(const Table& table) {
  for (uint32_t m = 0; m < count; ++m) {
    if (!active[m]) continue;
    hashes[m] = table.hash(args[m]);
    table.prefetch(hashes[m]);
  }
  for (uint32_t m = 0; m < count; ++m)
    if (active[m]) table.prefetch_row(hashes[m]);
}

}  // namespace luminal::egraph

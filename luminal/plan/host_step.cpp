#include "luminal/plan/host_step.h"

#include <cstring>

#include "luminal/graph/opaque.h"
#include "luminal/plan/sorted_rows.h"
#include "luminal/support/error.h"

namespace luminal::plan {
namespace {

using graph::Array;

/// Scatters that write fewer bytes are over before another thread has begun.
constexpr int64_t kSmallScatter = 16384;

void scatter(const HostStep& step, std::span<const Array* const> operands, const HostRun& run) {
  const int64_t rows = graph::scatter_row_count(step.node, run.dims);
  const auto some = [&](int64_t begin, int64_t end, int) {
    graph::scatter_rows(step.node, operands, run.dims, begin, end, run.result);
  };
  if (run.result_bytes < kSmallScatter) return some(0, rows, 0);
  try {
    run.team.static_loop(rows, some);
  } catch (const UserError&) {
    some(0, rows, 0);  // of several faults the first is told
    throw;
  }
}

}  // namespace

void run_host_step(const HostStep& step, const HostRun& run) {
  if (step.node.op == graph::Op::kArgSort)
    return argsort_rows(step.node, run.operands[0], run.dims, run.sorted_prefix, run.team,
                        reinterpret_cast<int64_t*>(run.result));
  std::vector<const Array*> operands;
  for (const Array& array : run.operands) operands.push_back(&array);
  if (step.node.op == graph::Op::kScatter && graph::bits(step.node.dtype()) >= 8)
    return scatter(step, operands, run);
  const Array result = graph::compute_opaque(step.node, operands, run.dims, run.text);
  const std::span<const std::byte> bytes = result.bytes();
  if (!bytes.empty()) std::memmove(run.result, bytes.data(), bytes.size());
}

}  // namespace luminal::plan

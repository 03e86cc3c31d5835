// Steps that no kernel runs: sorts, scatters and the user's own functions, on whole arrays.
#pragma once

#include <iosfwd>
#include <span>

#include "luminal/graph/index_walker.h"
#include "luminal/plan/plan.h"
#include "luminal/runtime/cpu/thread_team.h"

namespace luminal::plan {

/// Where a host step runs and what it reads and writes.
struct HostRun {
  std::span<const graph::Array> operands;
  const graph::DimBindings& dims;
  std::byte* result = nullptr;
  int64_t result_bytes = 0;
  runtime::ThreadTeam& team;
  std::ostream& text;         ///< for nodes that print
  int64_t sorted_prefix = 0;  ///< of a sort: how many positions of each row anyone reads
};

void run_host_step(const HostStep& step, const HostRun& run);

}  // namespace luminal::plan

// For tests and benchmarks: the launches of one kernel, compiled and loaded, with memory for what
// lies between them.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <vector>

#include "luminal/codegen/llvm/cpu_kernel.h"
#include "luminal/runtime/cpu/arena.h"
#include "luminal/runtime/cpu/device.h"
#include "luminal/runtime/cpu/module.h"
#include "luminal/symbolic/evaluate.h"

namespace luminal::codegen {

/// See above.
class LoadedCpuKernel {
 public:
  /// Compiles for a target; memory is for these dims and so many threads.
  LoadedCpuKernel(const CpuKernel& kernel, const CpuTarget& target, const graph::DimValues& dims,
                  int threads)
      : schedule(kernel.schedule.to_string()) {
    const symbolic::Values values(dims.begin(), dims.end());
    for (const symbolic::Expr& bytes : kernel.temporaries)
      temporaries_.emplace_back(symbolic::evaluate(bytes, values));
    for (const CpuLaunch& launch : kernel.launches) {
      Loaded loaded;
      loaded.module =
          std::make_unique<runtime::CpuModule>(KernelCompiler(target).compile(launch.source));
      loaded.entry = loaded.module->entry(launch.source.entries[0].name);
      loaded.buffers = launch.buffers;
      for (const symbolic::Expr& scalar : launch.scalars)
        loaded.scalars.push_back(scalar.is_variable() ? values.at(scalar.name())
                                                      : symbolic::evaluate(scalar, values));
      loaded.items = symbolic::evaluate(launch.items, values);
      loaded.chunk = launch.chunk;
      loaded.threads = launch.threads;
      loaded.prepare = launch.prepare;
      loaded.scratch_bytes =
          runtime::aligned_size(symbolic::evaluate(launch.scratch_bytes, values));
      loaded.scratch = runtime::HostMemory(loaded.scratch_bytes * threads);
      launches_.push_back(std::move(loaded));
    }
  }

  /// Runs every launch, or those that are not made ahead, item range by item range as `run` deals
  /// them out.
  using Deal = std::function<void(const runtime::Launch& launch, runtime::CpuEntry entry,
                                  int64_t scratch_bytes)>;
  void run(const std::map<kernel::NodeId, void*>& tensors, const Deal& deal, bool prepared) {
    for (Loaded& loaded : launches_) {
      if (prepared && loaded.prepare) continue;
      std::vector<void*> buffers;
      for (const LaunchBuffer& buffer : loaded.buffers)
        buffers.push_back(buffer.kind == LaunchBuffer::Kind::kTensor
                              ? tensors.at(buffer.tensor)
                              : temporaries_[buffer.temporary].data());
      runtime::Launch launch;
      launch.buffers = buffers;
      launch.scalars = loaded.scalars;
      launch.size = {loaded.items, loaded.chunk, loaded.threads};
      launch.scratch = loaded.scratch.data();
      deal(launch, loaded.entry, loaded.scratch_bytes);
    }
  }

  /// In three ranges and out of order, as threads might.
  static void in_ranges(const runtime::Launch& launch, runtime::CpuEntry entry, int64_t) {
    const int64_t items = launch.size.items;
    const std::pair<int64_t, int64_t> ranges[] = {
        {items / 2, items}, {0, items / 3}, {items / 3, items / 2}};
    for (const auto& [begin, end] : ranges)
      if (begin < end)
        entry(launch.buffers.data(), launch.scalars.data(), begin, end, launch.scratch);
  }

  /// On a team.
  static Deal on_team(runtime::ThreadTeam& team) {
    return [&team](const runtime::Launch& launch, runtime::CpuEntry entry, int64_t scratch_bytes) {
      runtime::launch_on_team(team, entry, launch, scratch_bytes);
    };
  }

  std::string schedule;

 private:
  struct Loaded {
    std::unique_ptr<runtime::CpuModule> module;
    runtime::CpuEntry entry = nullptr;
    std::vector<LaunchBuffer> buffers;
    std::vector<int64_t> scalars;
    int64_t items = 0;
    int64_t chunk = 0;
    int threads = 0;
    bool prepare = false;
    int64_t scratch_bytes = 0;
    runtime::HostMemory scratch;
  };
  std::vector<runtime::HostMemory> temporaries_;
  std::vector<Loaded> launches_;
};

}  // namespace luminal::codegen

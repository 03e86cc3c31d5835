// The processor as a device: memory is host memory, a launch runs a kernel's items on a team of
// threads and returns when they are done.
#pragma once

#include <memory>
#include <string_view>

#include "luminal/runtime/cpu/thread_team.h"
#include "luminal/runtime/device.h"

namespace luminal::runtime {

/// See above. Launches from several threads at once are allowed; they share the team.
class CpuDevice : public Device {
 public:
  /// Computes on a team that must outlive the device.
  explicit CpuDevice(ThreadTeam& team = default_thread_team()) : team_(team) {}

  std::string_view name() const override { return "cpu"; }
  int concurrency() const override { return team_.size(); }
  std::unique_ptr<Buffer> allocate(int64_t bytes) override;
  void copy_to_device(std::span<const std::byte> source, std::byte* target) override;
  void copy_to_host(const std::byte* source, std::span<std::byte> target) override;
  std::shared_ptr<const Kernel> load(const Artifact& artifact, std::string_view entry) override;
  void launch(const Launch& launch) override;
  void synchronize() override {}

 private:
  ThreadTeam& team_;
};

/// Runs the items of a launch on a team: what CpuDevice::launch does after its checks.
void launch_on_team(ThreadTeam& team, CpuEntry entry, const Launch& launch, int64_t scratch_bytes);

}  // namespace luminal::runtime

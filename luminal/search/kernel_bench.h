// The workbench of real kernels: code for several schedules is made on all threads at once, each is
// checked in a child process against the oracle (kernel_check.h), and those that pass are timed by
// turns on the same data.
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "luminal/search/kernel_check.h"
#include "luminal/search/measure.h"
#include "luminal/search/tuner.h"

namespace luminal::search {

/// A kernel to be tuned, under its canonical names (kernel/canonical.h).
struct KernelTask {
  std::string text;   ///< its canonical text, and all else that code for it depends on but dims
  std::string label;  ///< for people
  std::shared_ptr<kernel::Arena> arena;
  kernel::Kernel kernel;
  /// What its code may count on. `dims` has values for all of its dims.
  codegen::CpuKernelOptions options = {};
  codegen::CpuTarget target = codegen::host_target();

  /// What its measurements are kept under. `device` is what device_text() gives, or a test's own.
  TuningKey key(const std::string& device) const;
};

/// What runs kernels here: the processor and how many threads there are.
std::string device_text(const codegen::CpuTarget& target, int threads);
/// What made, checked and timed the code: versions of our emitters, of the compiler below them and
/// of measuring.
std::string compiler_text();

/// Memory that workbenches use by turns for the tensors they time kernels on: taking it from the
/// system for each of them may take longer than measuring.
struct BenchMemory {
  runtime::HostMemory block;
  const void* user = nullptr;  ///< whose tensors are in it
};

/// How a workbench works.
struct BenchOptions {
  CheckOptions check = {};
  MeasureOptions measure = {};
  /// Where object code is kept; null: nowhere.
  support::FileCache* cache = nullptr;
  /// Shared with other workbenches, all of which it must outlive; null: the bench has its own.
  BenchMemory* memory = nullptr;
};

/// See above.
class KernelBench : public Workbench {
 public:
  /// Makes the code of a kernel for a schedule. Tests bring their own.
  using Builder = std::function<std::variant<Candidate, Rejected>(const std::string& schedule)>;

  /// The task must outlive the bench.
  KernelBench(const KernelTask& task, runtime::ThreadTeam& team, const BenchOptions& options = {});
  KernelBench(const KernelTask& task, Builder builder, runtime::ThreadTeam& team,
              const BenchOptions& options = {});
  ~KernelBench() override;

  Tried try_out(const std::vector<std::string>& schedules) override {
    return try_out_telling(schedules, nullptr);
  }
  Tried try_out_telling(const std::vector<std::string>& schedules,
                        const OnRejected& on_rejected) override;

 private:
  struct Known {
    std::variant<Candidate, Rejected> outcome;
    bool checked = false;
  };

  /// Makes code for those that have none yet, all at a time.
  void build(const std::vector<std::string>& schedules, const OnRejected& on_rejected);
  /// Those that have not been checked yet, all at a time once one has passed.
  void check(const std::vector<std::string>& schedules, const OnRejected& on_rejected);
  void check(Known& known);
  /// What candidates are checked by. Without it, for want of data or memory, none of them counts:
  /// that is no fault of theirs, and no reason to end the search of a plan.
  std::optional<Rejected> make_check();
  /// Warns of what keeps candidates from being checked, once.
  void warn(const std::exception& error);
  /// Tells of a way that was just built or checked, if it is rejected.
  void tell(const std::string& schedule, const Known& known, const OnRejected& on_rejected);
  /// Memory for all tensors, those that are read filled.
  TensorPlaces places();

  const KernelTask& task_;
  Builder builder_;
  runtime::ThreadTeam& team_;
  BenchOptions options_;
  std::unique_ptr<KernelCheck> check_;
  BenchMemory own_memory_;
  std::map<std::string, Known> known_;
  std::atomic<bool> has_passed_ = false;
  std::atomic<bool> has_warned_ = false;
  std::mutex telling_;
};

}  // namespace luminal::search

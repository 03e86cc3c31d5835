// A way to compute one kernel, compiled: its launches as functions, ready to be called on memory of
// the caller's choice, in this process or in a child.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "luminal/codegen/llvm/cpu_kernel.h"
#include "luminal/runtime/cpu/arena.h"
#include "luminal/runtime/cpu/device.h"
#include "luminal/runtime/cpu/module.h"
#include "luminal/search/measurement.h"

namespace luminal::search {

/// Where the tensors of a kernel lie.
using TensorPlaces = std::map<kernel::NodeId, std::byte*>;

/// One launch with its numbers.
struct CandidateLaunch {
  runtime::CpuEntry entry = nullptr;
  std::vector<codegen::LaunchBuffer> buffers;
  std::vector<int64_t> scalars;
  runtime::LaunchSize size;
  int64_t scratch_bytes = 0;  ///< per thread, whole lines
  bool prepare = false;
};

/// What the numbers of a candidate are for any dims.
struct CandidateForm {
  /// Of one launch.
  struct Launch {
    std::vector<symbolic::Expr> scalars;
    symbolic::Expr items;
    symbolic::Expr scratch_bytes;
  };
  std::vector<Launch> launches;
  std::vector<symbolic::Expr> temporaries;
};

/// See above. Everything is for one set of dims.
struct Candidate {
  std::string schedule;
  std::vector<CandidateLaunch> launches;
  std::vector<int64_t> temporaries;  ///< bytes of each
  std::vector<std::shared_ptr<const runtime::CpuModule>> modules;
  /// A result is as good as the largest value near those it depends on allows (Winograd's squares).
  bool mixes_neighbours = false;
  /// What blocks of weights share is added after their sums (weights of four bits).
  bool takes_offsets_out = false;
  std::shared_ptr<const CandidateForm> form = nullptr;  ///< null: its numbers are for all dims

  /// The same code for other dims. UserError if a number has no value for them.
  Candidate with_dims(const graph::DimValues& dims) const;
};

/// Compiles and loads the code of a kernel; a rejection if that fails.
std::variant<Candidate, Rejected> load_candidate(const codegen::CpuKernel& code,
                                                 const codegen::KernelCompiler& compiler,
                                                 const graph::DimValues& dims);

/// Runs candidates in this process, on a team. Keeps memory for what lies between the launches.
class CandidateRunner {
 public:
  /// At most `threads` threads of the team run it; 0: all.
  CandidateRunner(const Candidate& candidate, const TensorPlaces& tensors,
                  runtime::ThreadTeam& team, int threads = 0);

  /// Launches that are made ahead.
  void prepare() { run(true); }
  /// The others.
  void run() { run(false); }

 private:
  void run(bool prepare);

  const Candidate& candidate_;
  runtime::ThreadTeam& team_;
  int threads_;
  std::vector<runtime::HostMemory> temporaries_;
  runtime::HostMemory scratch_;
  std::vector<std::vector<void*>> buffers_;  // by launch
};

}  // namespace luminal::search

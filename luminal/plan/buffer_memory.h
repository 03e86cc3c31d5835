// The memory of a plan's buffers. It is taken when dims ask for more than before and kept between
// runs; results come from a pool, or from inputs that the caller gives away.
#pragma once

#include <optional>
#include <vector>

#include "luminal/plan/plan_values.h"
#include "luminal/plan/result_pool.h"
#include "luminal/runtime/cpu/arena.h"

namespace luminal::plan {

/// See above. The plan and its numbers must outlive it.
class BufferMemory {
 public:
  BufferMemory(const Plan& plan, const PlanValues& values);

  /// Takes what the numbers for these dims ask for, scratch for so many threads. True if memory of
  /// prepared buffers is new: what was in it is gone.
  bool take(const graph::DimBindings& dims, int threads);

  /// Decides where every buffer is in this run. The request must stay until give_outputs().
  void place(const graph::RunRequest& request);

  /// By buffer, as placed last; null for buffers of the threads' own.
  const std::vector<std::byte*>& addresses() const { return addresses_; }
  /// The scratch of all threads.
  std::byte* scratch() const { return scratch_.data(); }
  /// What a buffer holds now, for as long as this memory is there.
  graph::Array array(size_t buffer) const;
  /// The caller's data of a kInput buffer.
  const graph::Array& input(size_t buffer) const;

  /// Gives the outputs of the plan to the caller, who then owns their memory.
  void give_outputs(std::vector<graph::Array>& outputs);

  /// Bytes that are kept between runs.
  int64_t kept_bytes() const;

 private:
  template <typename Function>
  auto take_named(Place place, std::optional<size_t> index, int64_t bytes, const Function& take);
  void take_slots();
  void take_scratch(int threads);
  bool take_prepared();
  void use_donation(const Donation& donation);
  std::byte* address(size_t buffer) const;

  const Plan& plan_;
  const PlanValues& values_;
  graph::DimBindings dims_;
  std::vector<int64_t> slot_offsets_;
  std::vector<int64_t> result_bytes_;
  runtime::HostMemory slots_;
  runtime::HostMemory scratch_;
  std::vector<runtime::HostMemory> prepared_;

  // Of the run.
  const graph::RunRequest* request_ = nullptr;
  ResultPool pool_;
  std::vector<std::shared_ptr<std::byte>> results_;
  std::vector<std::byte*> addresses_;
};

}  // namespace luminal::plan

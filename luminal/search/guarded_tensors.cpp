#include "luminal/search/guarded_tensors.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <latch>
#include <map>
#include <thread>

#include "luminal/graph/dim_binding.h"

namespace luminal::search {

namespace {

// The thread sanitizer ends a process that was forked from several threads and makes others.
#if defined(__SANITIZE_THREAD__)
constexpr bool kMayUseThreads = false;
#else
constexpr bool kMayUseThreads = true;
#endif

/// Runs a function on so many threads, none of which begins before all are there. Throws what one
/// of them threw, or std::system_error, with nothing done, if there are not so many to be had.
template <typename Function>
void run_on_threads(int count, const Function& function) {
  std::latch all_there(count);
  std::atomic<bool> are_missing = false;
  std::vector<std::exception_ptr> errors(static_cast<size_t>(count));
  const auto run = [&](int number) {
    all_there.arrive_and_wait();
    if (are_missing) return;
    try {
      function(number);
    } catch (...) {
      errors[static_cast<size_t>(number)] = std::current_exception();
    }
  };
  {
    std::vector<std::jthread> threads;
    try {
      for (int number = 0; number < count; ++number) threads.emplace_back(run, number);
    } catch (...) {
      // The others are not waited for any longer.
      are_missing = true;
      all_there.count_down(count - std::ssize(threads));
      throw;
    }
  }
  for (const std::exception_ptr& error : errors)
    if (error) std::rethrow_exception(error);
}

bool any_forbids(const std::deque<GuardedMemory>& blocks, const void* address) {
  return std::any_of(blocks.begin(), blocks.end(),
                     [&](const GuardedMemory& block) { return block.forbids(address); });
}

}  // namespace

GuardedInputs::GuardedInputs(const kernel::Tensors& data, GuardedMemory::Side side) : side_(side) {
  for (const auto& [id, array] : data) {
    GuardedMemory& block = blocks_.emplace_back(static_cast<int64_t>(array.bytes().size()), side);
    std::copy(array.bytes().begin(), array.bytes().end(), block.data());
    block.make_read_only();
    places_[id] = block.data();
  }
}

bool GuardedInputs::forbids(const void* address) const { return any_forbids(blocks_, address); }

GuardedTensors::GuardedTensors(const kernel::Arena& arena, const kernel::Kernel& kernel,
                               const graph::DimValues& dims, const GuardedInputs& inputs,
                               const Candidate& candidate, int threads)
    : inputs_(inputs), candidate_(candidate), threads_(threads), places_(inputs.places()) {
  std::map<kernel::NodeId, size_t> first_root;  // several may store parts of one tensor
  for (size_t k = 0; k < kernel.roots.size(); ++k) {
    const kernel::NodeId id = kernel.roots[k].tensor;
    const auto [place, is_new] = first_root.emplace(id, k);
    if (is_new) {
      const graph::TensorType& type = arena.tensor(id);
      const int64_t count = graph::element_count(graph::extents_of(type.shape, dims));
      places_[id] = add(graph::byte_size(type.dtype, count)).data();
    }
    results_.push_back(is_new ? &blocks_.back() : results_[place->second]);
    first_results_.emplace_back(std::ssize(results_.back()->bytes()), inputs.side());
  }
  for (const int64_t bytes : candidate.temporaries) temporaries_.push_back(add(bytes).data());
  int64_t scratch = 0;
  for (const CandidateLaunch& launch : candidate.launches)
    scratch = std::max(scratch, launch.scratch_bytes);
  scratch_ = add(scratch).data();
  const auto uses = [&](const CandidateLaunch& launch) { return uses_threads(launch); };
  if (std::ranges::any_of(candidate.launches, uses))
    scratch_of_threads_ = add(scratch * threads).data();
}

bool GuardedTensors::forbids(const void* address) const {
  return any_forbids(blocks_, address) || inputs_.forbids(address);
}

bool GuardedTensors::is_intact() const {
  return std::all_of(blocks_.begin(), blocks_.end(),
                     [](const GuardedMemory& block) { return block.is_intact(); });
}

void GuardedTensors::fill(std::byte pattern) const {
  for (const GuardedMemory& block : blocks_) std::ranges::fill(block.bytes(), pattern);
}

std::vector<void*> GuardedTensors::buffers_of(const CandidateLaunch& launch) const {
  std::vector<void*> buffers;
  for (const codegen::LaunchBuffer& buffer : launch.buffers)
    buffers.push_back(buffer.kind == codegen::LaunchBuffer::Kind::kTensor
                          ? places_.at(buffer.tensor)
                          : temporaries_[buffer.temporary]);
  return buffers;
}

void GuardedTensors::run(const CandidateLaunch& launch, int64_t begin, int64_t end,
                         std::byte* scratch) const {
  if (begin >= end) return;
  launch.entry(buffers_of(launch).data(), launch.scalars.data(), begin, end, scratch);
}

void GuardedTensors::run_in_parts() const {
  for (const CandidateLaunch& launch : candidate_.launches) {
    const int64_t items = launch.size.items;
    const int64_t single = std::min<int64_t>(items / 3, 1);
    run(launch, items / 2, items, scratch_);
    run(launch, 0, single, scratch_);
    run(launch, single, items / 3, scratch_);
    run(launch, items / 3, items / 2, scratch_);
  }
}

void GuardedTensors::run_at_once() const {
  for (const CandidateLaunch& launch : candidate_.launches)
    run(launch, 0, launch.size.items, scratch_);
}

bool GuardedTensors::uses_threads(const CandidateLaunch& launch) const {
  return kMayUseThreads && threads_ > 1 && launch.size.items > 1 && launch.size.threads != 1;
}

void GuardedTensors::run_again() const {
  for (size_t root = 0; root < results_.size(); ++root)
    std::ranges::copy(results_[root]->bytes(), first_results_[root].data());
  for (const CandidateLaunch& launch : candidate_.launches) {
    if (launch.prepare) continue;
    if (uses_threads(launch))
      run_on_threads(threads_, [&](int thread) { run_share(launch, thread); });
    else
      run(launch, 0, launch.size.items, scratch_);
  }
}

/// Threads of a team do the same, but the quicker ones do more of it, on a busy machine all.
void GuardedTensors::run_share(const CandidateLaunch& launch, int thread) const {
  const int64_t items = launch.size.items;
  std::byte* scratch = scratch_of_threads_ + thread * launch.scratch_bytes;
  if (launch.size.chunk <= 0) {
    const runtime::StaticRange range = runtime::static_range(items, thread, threads_);
    return run(launch, range.begin, range.end, scratch);
  }
  for (int64_t begin = thread * launch.size.chunk; begin < items;
       begin += threads_ * launch.size.chunk)
    run(launch, begin, std::min(items, begin + launch.size.chunk), scratch);
}

}  // namespace luminal::search

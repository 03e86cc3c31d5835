// A team of threads that start and finish together. Workers spin while work is near, so that a fork
// and join costs a fraction of a microsecond, and sleep after they have been idle for a while.
// Unlike support::ThreadPool it does nothing but run one function on every thread: what kernels of
// ten microseconds need. The caller takes over what no worker has begun, so on a busy machine it
// never waits for a thread that does not run; and a team that is in use (another caller, or a call
// from inside) lets the caller do all the work, so calls never wait for each other.
//
// Cores that share no cache take a quarter of a microsecond to see what another one wrote, and as
// long for every further line that they have to read first. So a job is one line: workers need no
// other to begin, if the function is small.
#pragma once

#include <sched.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <new>
#include <optional>
#include <thread>
#include <type_traits>
#include <vector>

#include "luminal/runtime/artifact.h"

namespace luminal::runtime {

/// How a team is made.
struct ThreadTeamOptions {
  int threads = 0;  ///< the caller included; 0: LUMINAL_THREADS, or one per available processor
  bool pin = true;  ///< bind each worker to one processor
  int spin_microseconds = 200;  ///< how long an idle worker spins before it sleeps
};

/// While it lives the thread that made it stays on the processor that workers leave to it. A thread
/// that has just done something else may sit on the processor of a worker for milliseconds, and
/// then does that worker's part as well: to a program it is no matter, to a measurement that takes
/// no longer it is everything. What runs on one thread has no workers to keep away from: it stays
/// where the system puts it, so that several processes that measure at a time are not all on the
/// first processor.
class CallerPlace {
 public:
  /// `threads` compute, the caller included; 0: as many as a team has by default.
  explicit CallerPlace(int threads);
  ~CallerPlace();
  CallerPlace(const CallerPlace&) = delete;
  CallerPlace& operator=(const CallerPlace&) = delete;

 private:
  std::optional<cpu_set_t> before_ = {};  ///< where it could run; none: it was not bound
};

/// Range `part` of `parts` nearly equal ranges of [0, count): sizes differ by one at most.
struct StaticRange {
  int64_t begin;
  int64_t end;
};
constexpr StaticRange static_range(int64_t count, int part, int parts) {
  const int64_t base = count / parts;
  const int64_t rest = count % parts;
  const int64_t begin = part * base + std::min<int64_t>(part, rest);
  return {begin, begin + base + (part < rest ? 1 : 0)};
}

/// See above. All members may be called from any thread.
class ThreadTeam {
 public:
  explicit ThreadTeam(ThreadTeamOptions options = {});
  ~ThreadTeam();
  ThreadTeam(const ThreadTeam&) = delete;
  ThreadTeam& operator=(const ThreadTeam&) = delete;

  /// How many threads compute, the caller included.
  int size() const { return static_cast<int>(workers_.size()) + 1; }

  /// Functions of at most so many bytes that hold nothing but numbers and pointers, and do not
  /// change when they are called, reach workers with the job: as a copy. What they point to is read
  /// from where it lies. Others are called where they are.
  static constexpr size_t kJobBytes = 48;

  /// Calls function(thread) for every thread number from 0 to size() - 1 and returns when all are
  /// done. Usually each on its own thread, but the functions must not wait for each other. If some
  /// throw, the exception of the lowest thread number is thrown here.
  template <typename Function>
  void run(Function&& function) {
    using Callable = std::remove_cvref_t<Function>;
    Job job;
    if constexpr (fits_job<Callable>()) {
      new (job.callable) Callable(function);
      job.call = [](const std::byte* callable, int thread) {
        (*std::launder(reinterpret_cast<const Callable*>(callable)))(thread);
      };
    } else {
      auto* pointer = std::addressof(function);
      using Pointer = decltype(pointer);
      new (job.callable) Pointer(pointer);
      job.call = [](const std::byte* callable, int thread) {
        (**std::launder(reinterpret_cast<const Pointer*>(callable)))(thread);
      };
    }
    run_job(job);
  }

  /// Calls function(begin, end, thread) with one range per thread that together make [0, count).
  template <typename Function>
  void static_loop(int64_t count, Function&& function) {
    if (count <= 1 || size() == 1) {
      if (count > 0) function(int64_t{0}, count, 0);
      return;
    }
    run([&function, count, threads = size()](int thread) {
      const StaticRange range = static_range(count, thread, threads);
      if (range.begin < range.end) function(range.begin, range.end, thread);
    });
  }

  /// Calls function(begin, end, thread) for chunks of [0, count) that threads take as they get
  /// free: for long loops, where a disturbed thread would make the others wait. Threads from number
  /// `threads` on get none.
  template <typename Function>
  void chunk_loop(int64_t count, int64_t chunk, int threads, Function&& function) {
    std::atomic<int64_t> next{0};
    run([&next, &function, count, chunk, threads](int thread) {
      if (thread >= threads) return;
      for (int64_t begin = next.fetch_add(chunk, std::memory_order_relaxed); begin < count;
           begin = next.fetch_add(chunk, std::memory_order_relaxed))
        function(begin, std::min(count, begin + chunk), thread);
    });
  }

 private:
  struct Job {
    void (*call)(const std::byte* callable, int thread) = nullptr;
    alignas(8) std::byte callable[kJobBytes] = {};
  };
  template <typename Callable>
  static constexpr bool fits_job() {
    constexpr bool is_small = sizeof(Callable) <= kJobBytes && alignof(Callable) <= alignof(Job);
    constexpr bool is_plain =
        std::is_trivially_copyable<Callable>::value && std::is_copy_constructible<Callable>::value;
    return is_small && is_plain && std::is_invocable<const Callable&, int>::value;
  }
  /// The current job and its number, which is written last, on one cache line.
  struct alignas(64) Start {
    std::atomic<uint64_t> number{0};
    Job job;
  };
  static_assert(sizeof(Start) == 64);
  struct Worker {
    /// Number of the last job somebody took this part of: the worker, whose line this usually is.
    alignas(64) std::atomic<uint64_t> claimed{0};
    /// And of the last one that is done: the worker writes, the caller reads.
    alignas(64) std::atomic<uint64_t> finished{0};
    std::exception_ptr error;
    std::thread thread;
  };

  void run_job(const Job& job);
  static bool claim(Worker& worker, uint64_t number);
  void run_alone(const Job& job);
  void work(int index);
  bool has_started(uint64_t& seen) const;
  bool wait_for_job(uint64_t& seen);
  void stop();

  const ThreadTeamOptions options_;
  std::atomic_flag busy_;
  Start start_;
  alignas(64) std::atomic<int> sleepers_{0};
  std::atomic<bool> stopping_{false};
  std::vector<std::unique_ptr<Worker>> workers_;
};

/// The team of the process, made at the first call with the default options.
ThreadTeam& default_thread_team();

}  // namespace luminal::runtime

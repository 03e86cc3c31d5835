// A fixed set of worker threads and a parallel loop over them. A range is cut into chunks by its
// bounds and grain alone, never by the number of threads, so a computation that combines results
// per chunk gives the same bits on every machine. Loops may nest: the caller always takes part and
// never waits for a chunk that nobody has begun.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

namespace luminal::support {

/// See above. All members may be called from any thread, the pool's own included.
class ThreadPool {
 public:
  /// A pool that computes on `threads` threads (at least 1), the caller of parallel_for being one
  /// of them: so it starts one fewer.
  explicit ThreadPool(int threads);
  /// Finishes what was submitted, then joins.
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  /// How many threads compute, the caller included.
  int size() const { return static_cast<int>(workers_.size()) + 1; }

  /// Calls `function(chunk_begin, chunk_end)` for [begin, end) cut into chunks of `grain` elements
  /// (the last may be smaller), in any order and at the same time; returns when all are done. If
  /// calls throw, chunks further on may be left out and the exception of the first chunk (by place,
  /// not by time) is thrown. `grain` is at least 1; a chunk should be worth 10 microseconds or
  /// more.
  template <typename Function>
  void parallel_for(std::int64_t begin, std::int64_t end, std::int64_t grain, Function&& function) {
    using Callable = std::remove_reference_t<Function>;
    run_loop(begin, end, grain,
             {const_cast<void*>(static_cast<const void*>(std::addressof(function))),
              [](void* callable, std::int64_t chunk_begin, std::int64_t chunk_end) {
                (*static_cast<Callable*>(callable))(chunk_begin, chunk_end);
              }});
  }

  /// Runs a function on a worker; the future gives its result or rethrows. A pool of size 1 runs it
  /// at once.
  template <typename Function>
  auto submit(Function&& function) -> std::future<std::invoke_result_t<std::decay_t<Function>>> {
    using Result = std::invoke_result_t<std::decay_t<Function>>;
    // Shared because std::function must be copyable and a packaged_task is not.
    auto task = std::make_shared<std::packaged_task<Result()>>(std::forward<Function>(function));
    std::future<Result> future = task->get_future();
    if (workers_.empty())
      (*task)();
    else
      enqueue([task] { (*task)(); });
    return future;
  }

  /// Waits for a future of this pool and runs waiting tasks meanwhile; unlike future.get(), it is
  /// safe inside a task.
  template <typename Result>
  Result wait(std::future<Result>& future) {
    while (future.wait_for(std::chrono::seconds(0)) != std::future_status::ready)
      if (!run_one_task()) future.wait_for(std::chrono::milliseconds(1));
    return future.get();
  }

 private:
  struct ChunkFunction {
    void* callable;
    void (*call)(void* callable, std::int64_t chunk_begin, std::int64_t chunk_end);
  };
  struct Loop;

  void run_loop(std::int64_t begin, std::int64_t end, std::int64_t grain, ChunkFunction function);
  void enqueue(std::function<void()> task);
  bool run_one_task();
  void work();
  void stop();

  std::mutex mutex_;  // guards tasks_ and stopping_
  std::condition_variable wake_;
  std::deque<std::function<void()>> tasks_;
  bool stopping_ = false;
  std::vector<std::thread> workers_;
};

/// How many processors this process may run on; at least 1.
int available_processors();

/// The pool of the process, made at the first call with LUMINAL_THREADS threads, or one per
/// available processor.
ThreadPool& default_thread_pool();

}  // namespace luminal::support

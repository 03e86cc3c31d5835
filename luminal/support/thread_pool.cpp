#include "luminal/support/thread_pool.h"

#include <sched.h>

#include <algorithm>
#include <atomic>
#include <exception>
#include <system_error>

#include "luminal/support/check.h"
#include "luminal/support/env.h"

namespace luminal::support {

// One parallel loop. Shared, because a helper may find it after its caller has gone home: such a
// helper sees that no chunk is left and does not touch the function.
struct ThreadPool::Loop {
  Loop(std::int64_t first, std::int64_t last, std::int64_t chunk_size, std::uint64_t chunk_count,
       ChunkFunction chunk_function)
      : begin(first),
        end(last),
        grain(chunk_size),
        chunks(chunk_count),
        function(chunk_function),
        first_failed(chunk_count) {}

  const std::int64_t begin, end, grain;
  const std::uint64_t chunks;
  const ChunkFunction function;
  std::atomic<std::uint64_t> next{0};
  std::atomic<std::uint64_t> finished{0};
  std::atomic<std::uint64_t> first_failed;  // place of the first chunk that threw; `chunks` if none

  std::mutex mutex;  // guards exception and the wait for `finished`
  std::condition_variable all_finished;
  std::exception_ptr exception;

  // Takes chunks, in ascending order, until none is left.
  void take_part() {
    for (;;) {
      const std::uint64_t chunk = next.fetch_add(1, std::memory_order_relaxed);
      if (chunk >= chunks) return;
      // Chunks before a failed one still run: they were taken earlier, and one of them may be the
      // first to fail. So the exception that is reported does not depend on timing.
      if (chunk < first_failed.load(std::memory_order_relaxed)) run(chunk);
      if (finished.fetch_add(1, std::memory_order_acq_rel) + 1 == chunks) {
        const std::lock_guard lock(mutex);
        all_finished.notify_all();
      }
    }
  }

  void run(std::uint64_t chunk) {
    // Unsigned arithmetic: the range may be longer than an int64 can say.
    const std::uint64_t offset = chunk * static_cast<std::uint64_t>(grain);
    const std::uint64_t from = static_cast<std::uint64_t>(begin) + offset;
    const std::uint64_t left = static_cast<std::uint64_t>(end) - from;
    const std::uint64_t length = std::min(left, static_cast<std::uint64_t>(grain));
    try {
      function.call(function.callable, static_cast<std::int64_t>(from),
                    static_cast<std::int64_t>(from + length));
    } catch (...) {
      const std::lock_guard lock(mutex);
      if (chunk >= first_failed.load(std::memory_order_relaxed)) return;
      first_failed.store(chunk, std::memory_order_relaxed);
      exception = std::current_exception();
    }
  }

  void wait() {
    std::unique_lock lock(mutex);
    all_finished.wait(lock, [this] { return finished.load(std::memory_order_acquire) == chunks; });
    if (exception) std::rethrow_exception(std::exchange(exception, nullptr));
  }
};

ThreadPool::ThreadPool(int threads) {
  LUMINAL_CHECK(threads >= 1, "a pool of {} threads", threads);
  try {
    for (int i = 1; i < threads; ++i) workers_.emplace_back([this] { work(); });
  } catch (const std::system_error& error) {
    stop();
    throw DeviceError("pthread_create", error.code().value(),
                      "thread {} of {}; set LUMINAL_THREADS to a smaller number",
                      workers_.size() + 1, threads);
  }
}

ThreadPool::~ThreadPool() { stop(); }

void ThreadPool::stop() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_all();
  for (std::thread& worker : workers_) worker.join();
}

void ThreadPool::run_loop(std::int64_t begin, std::int64_t end, std::int64_t grain,
                          ChunkFunction function) {
  LUMINAL_CHECK(grain >= 1, "parallel_for with a grain of {}", grain);
  if (begin >= end) return;
  const std::uint64_t length = static_cast<std::uint64_t>(end) - static_cast<std::uint64_t>(begin);
  const std::uint64_t chunks = (length - 1) / static_cast<std::uint64_t>(grain) + 1;
  const auto loop = std::make_shared<Loop>(begin, end, grain, chunks, function);
  const std::uint64_t helpers = std::min<std::uint64_t>(workers_.size(), chunks - 1);
  for (std::uint64_t i = 0; i < helpers; ++i) enqueue([loop] { loop->take_part(); });
  loop->take_part();
  loop->wait();
}

void ThreadPool::enqueue(std::function<void()> task) {
  {
    const std::lock_guard lock(mutex_);
    tasks_.push_back(std::move(task));
  }
  wake_.notify_one();
}

bool ThreadPool::run_one_task() {
  std::function<void()> task;
  {
    const std::lock_guard lock(mutex_);
    if (tasks_.empty()) return false;
    task = std::move(tasks_.front());
    tasks_.pop_front();
  }
  task();
  return true;
}

void ThreadPool::work() {
  for (;;) {
    while (run_one_task()) {
    }
    std::unique_lock lock(mutex_);
    wake_.wait(lock, [this] { return stopping_ || !tasks_.empty(); });
    if (tasks_.empty()) return;
  }
}

int available_processors() {
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  // Fails where there are more processors than the set has room for.
  if (sched_getaffinity(0, sizeof allowed, &allowed) == 0) return std::max(CPU_COUNT(&allowed), 1);
  return std::max(static_cast<int>(std::thread::hardware_concurrency()), 1);
}

ThreadPool& default_thread_pool() {
  static ThreadPool pool([] {
    const auto asked = static_cast<int>(environment().integer(EnvVar::kThreads));
    return asked > 0 ? asked : available_processors();
  }());
  return pool;
}

}  // namespace luminal::support

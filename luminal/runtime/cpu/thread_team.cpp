#include "luminal/runtime/cpu/thread_team.h"

#include <pthread.h>
#include <sched.h>

#include <chrono>

#include "luminal/support/env.h"
#include "luminal/support/thread_pool.h"

namespace luminal::runtime {
namespace {

int threads_wanted(const ThreadTeamOptions& options) {
  if (options.threads > 0) return options.threads;
  const auto set = support::environment().integer(support::EnvVar::kThreads);
  return set > 0 ? static_cast<int>(set) : support::available_processors();
}

/// Binds the calling thread to the processor of that number among those the process may use.
void pin_to(int number) {
  cpu_set_t allowed;
  if (sched_getaffinity(0, sizeof(allowed), &allowed) != 0) return;
  const int count = CPU_COUNT(&allowed);
  if (count < 2) return;
  int wanted = number % count;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (!CPU_ISSET(cpu, &allowed) || wanted-- > 0) continue;
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(cpu, &one);
    pthread_setaffinity_np(pthread_self(), sizeof(one), &one);  // a wish: failing costs only time
    return;
  }
}

}  // namespace

CallerPlace::CallerPlace(int threads) {
  if (threads_wanted({.threads = threads}) < 2) return;
  cpu_set_t allowed;
  if (sched_getaffinity(0, sizeof(allowed), &allowed) != 0 || CPU_COUNT(&allowed) < 2) return;
  before_ = allowed;
  pin_to(0);
}

CallerPlace::~CallerPlace() {
  if (before_) pthread_setaffinity_np(pthread_self(), sizeof(*before_), &*before_);
}

ThreadTeam::ThreadTeam(ThreadTeamOptions options) : options_(options) {
  const int threads = threads_wanted(options);
  for (int i = 1; i < threads; ++i) workers_.push_back(std::make_unique<Worker>());
  try {
    for (int i = 1; i < threads; ++i)
      workers_[static_cast<size_t>(i - 1)]->thread = std::thread([this, i] { work(i); });
  } catch (...) {
    stop();
    throw;
  }
}

ThreadTeam::~ThreadTeam() { stop(); }

void ThreadTeam::stop() {
  stopping_.store(true);
  start_.number.fetch_add(1);
  start_.number.notify_all();
  for (const auto& worker : workers_)
    if (worker->thread.joinable()) worker->thread.join();
}

/// True if there is a job after `seen`, which becomes its number. It is read once: stop() says that
/// it stops before it raises the number, so who looks afterwards knows a job from the end, where
/// there is none to call.
bool ThreadTeam::has_started(uint64_t& seen) const {
  const uint64_t number = start_.number.load();
  if (number == seen) return false;
  seen = number;
  return true;
}

bool ThreadTeam::wait_for_job(uint64_t& seen) {
  using Clock = std::chrono::steady_clock;
  constexpr int kSpinsPerLook = 256;  // reading the clock costs more than a pause
  const auto limit = Clock::now() + std::chrono::microseconds(options_.spin_microseconds);
  do {
    for (int i = 0; i < kSpinsPerLook; ++i) {
      if (has_started(seen)) return !stopping_.load();
      __builtin_ia32_pause();
    }
  } while (Clock::now() < limit);
  // The caller raises the number and then looks at sleepers_; we do the reverse, so one of us sees
  // the other.
  sleepers_.fetch_add(1);
  while (!has_started(seen)) start_.number.wait(seen);
  sleepers_.fetch_sub(1);
  return !stopping_.load();
}

/// Takes a part of a job, unless it is taken. Whoever waits for `finished` knows the job is not
/// replaced while a claimed part runs.
bool ThreadTeam::claim(Worker& worker, uint64_t number) {
  uint64_t last = worker.claimed.load(std::memory_order_relaxed);
  while (last < number)
    if (worker.claimed.compare_exchange_weak(last, number, std::memory_order_acq_rel)) return true;
  return false;
}

void ThreadTeam::work(int index) {
  if (options_.pin) pin_to(index);
  Worker& self = *workers_[static_cast<size_t>(index - 1)];
  uint64_t seen = 0;
  while (wait_for_job(seen)) {
    if (!claim(self, seen)) continue;
    try {
      start_.job.call(start_.job.callable, index);
    } catch (...) {
      self.error = std::current_exception();
    }
    self.finished.store(seen, std::memory_order_release);
  }
}

void ThreadTeam::run_alone(const Job& job) {
  for (int thread = 0; thread < size(); ++thread) job.call(job.callable, thread);
}

void ThreadTeam::run_job(const Job& job) {
  // A worker that has begun would lose the line of `claimed` to a look at it. So much is waited
  // for all of them together: on a busy machine perhaps none has begun.
  int spins_before_look = 16;
  // On a machine with more threads than processors spinning would keep the worker from running.
  constexpr int kMostSpins = 4000;
  if (workers_.empty() || busy_.test_and_set(std::memory_order_acquire)) return run_alone(job);
  start_.job = job;
  const uint64_t number = start_.number.fetch_add(1) + 1;
  if (sleepers_.load() > 0) start_.number.notify_all();
  std::exception_ptr error;
  const auto run_part = [&](int thread) {
    try {
      job.call(job.callable, thread);
    } catch (...) {
      if (error == nullptr) error = std::current_exception();
    }
  };
  run_part(0);
  for (int thread = 1; thread < size(); ++thread) {
    Worker& worker = *workers_[static_cast<size_t>(thread - 1)];
    const auto is_done = [&] { return worker.finished.load(std::memory_order_acquire) == number; };
    for (; spins_before_look > 0 && !is_done(); --spins_before_look) __builtin_ia32_pause();
    if (!is_done() && claim(worker, number)) {
      run_part(thread);
      continue;
    }
    for (int spins = 0; !is_done(); ++spins) {
      if (spins < kMostSpins)
        __builtin_ia32_pause();
      else
        sched_yield();
    }
    if (worker.error != nullptr && error == nullptr) error = worker.error;
    worker.error = nullptr;
  }
  busy_.clear(std::memory_order_release);
  if (error != nullptr) std::rethrow_exception(error);
}

ThreadTeam& default_thread_team() {
  static ThreadTeam team;
  return team;
}

}  // namespace luminal::runtime

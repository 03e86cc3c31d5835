#include "luminal/search/other_work.h"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <ctime>
#include <fstream>
#include <sstream>
#include <string>
#include <utility>

namespace luminal::search {
namespace {

constexpr double kLeastSeconds = 0.3;  // thirty ticks

double seconds_of(clockid_t clock) {
  timespec time{};
  ::clock_gettime(clock, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

/// Ticks of one line of /proc/stat, but for those in which nothing was to be done. What guests use
/// is part of the first number already.
double busy_ticks(std::istringstream& line) {
  double user = 0, nice = 0, system = 0, idle = 0, waiting = 0, hard = 0, soft = 0, stolen = 0;
  line >> user >> nice >> system >> idle >> waiting >> hard >> soft >> stolen;
  return user + nice + system + hard + soft + stolen;
}

/// Seconds that the processors in a set were at work since the machine was started.
std::optional<double> busy_seconds(const cpu_set_t& ours) {
  std::ifstream file("/proc/stat");
  std::optional<double> ticks;
  for (std::string text; std::getline(file, text) && text.starts_with("cpu");) {
    std::istringstream line(text.substr(3));
    int processor = -1;
    // The first line is all of them together.
    if (text.starts_with("cpu ") || !(line >> processor)) continue;
    if (CPU_ISSET(static_cast<size_t>(processor), &ours))
      ticks = ticks.value_or(0) + busy_ticks(line);
  }
  if (!ticks) return std::nullopt;
  return *ticks / static_cast<double>(::sysconf(_SC_CLK_TCK));
}

std::optional<cpu_set_t> allowed_processors() {
  cpu_set_t set;
  if (::sched_getaffinity(0, sizeof set, &set) != 0) return std::nullopt;
  return set;
}

}  // namespace

std::optional<ProcessorTimes> processor_times() {
  const std::optional<cpu_set_t> allowed = allowed_processors();
  const std::optional<double> busy = allowed ? busy_seconds(*allowed) : std::nullopt;
  if (!busy) return std::nullopt;
  return ProcessorTimes{seconds_of(CLOCK_MONOTONIC), *busy, seconds_of(CLOCK_PROCESS_CPUTIME_ID)};
}

OtherWork::OtherWork(std::function<std::optional<ProcessorTimes>()> times)
    : times_(std::move(times)), begin_(times_()) {}

bool OtherWork::disturbs(int threads, int processors) const {
  constexpr double kLittle = 0.3;  // of a processor: what a desktop does beside
  const std::optional<ProcessorTimes> end = times_();
  if (!begin_ || !end || end->passed - begin_->passed < kLeastSeconds) return false;
  const double others =
      (end->busy - begin_->busy - (end->ours - begin_->ours)) / (end->passed - begin_->passed);
  return others > kLittle && others + threads > processors + kLittle;
}

double OtherWork::seconds_to_know() const {
  const std::optional<ProcessorTimes> now = times_();
  if (!begin_ || !now) return 0.0;
  return std::max(kLeastSeconds - (now->passed - begin_->passed), 0.0);
}

int usable_processors() {
  const std::optional<cpu_set_t> allowed = allowed_processors();
  return allowed ? CPU_COUNT(&*allowed) : 1;
}

}  // namespace luminal::search

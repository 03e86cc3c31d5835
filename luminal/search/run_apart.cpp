#include "luminal/search/run_apart.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <mutex>
#include <new>
#include <string_view>
#include <system_error>

#include "luminal/support/error.h"

namespace luminal::search {
namespace {

constexpr int kDone = 0;
constexpr int kThrew = 81;
constexpr int kForbidden = 82;
constexpr int kRefused = 83;

/// The question a faulting child asks. A signal handler is given no argument of ours, and there is
/// one child's work per process, so a variable of the process is what there is.
const std::function<bool(const void*)>* forbidden_now = nullptr;

void on_fault(int signal, siginfo_t* info, void*) {
  if (forbidden_now != nullptr && *forbidden_now && (*forbidden_now)(info->si_addr))
    ::_exit(kForbidden);
  ::signal(signal, SIG_DFL);
  ::raise(signal);
}

/// Ends this process by SIGPROF once it has used so much processor time. Whoever profiles the
/// parent may have blocked the signal or handle it.
void limit_processor_time(std::chrono::milliseconds limit) {
  ::signal(SIGPROF, SIG_DFL);
  sigset_t signals;
  ::sigemptyset(&signals);
  ::sigaddset(&signals, SIGPROF);
  ::sigprocmask(SIG_UNBLOCK, &signals, nullptr);
  itimerval timer{};
  timer.it_value.tv_sec = limit.count() / 1000;
  timer.it_value.tv_usec = limit.count() % 1000 * 1000;
  ::setitimer(ITIMER_PROF, &timer, nullptr);
}

[[noreturn]] void be_child(const std::function<void()>& work, const ApartOptions& options,
                           int message) {
  forbidden_now = &options.is_forbidden;
  struct sigaction action {};
  action.sa_sigaction = on_fault;
  action.sa_flags = SA_SIGINFO;
  for (const int signal : {SIGSEGV, SIGBUS}) ::sigaction(signal, &action, nullptr);
  // Interrupts of the terminal are for the parent: a child that they ended would look as if the
  // work had failed. A parent that is gone has no use for the child.
  ::signal(SIGINT, SIG_IGN);
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  limit_processor_time(options.limit);
  const auto end = [&](int status, const std::exception& error) {
    const std::string_view text = error.what();
    if (::write(message, text.data(), text.size()) < 0) ::_exit(status);
    ::_exit(status);
  };
  // No memory, or no thread.
  try {
    work();
  } catch (const std::bad_alloc& error) {
    end(kRefused, error);
  } catch (const std::system_error& error) {
    end(kRefused, error);
  } catch (const std::exception& error) {
    end(kThrew, error);
  }
  ::_exit(kDone);
}

/// Reads what the child says until it ends; false if it was not waited for any longer.
bool read_until_end(int descriptor, const ApartOptions& options, std::string& text) {
  using std::chrono::milliseconds;
  constexpr milliseconds kLook{100};
  const auto begin = std::chrono::steady_clock::now();
  std::array<char, 512> part{};
  while (true) {
    const auto waited =
        std::chrono::duration_cast<milliseconds>(std::chrono::steady_clock::now() - begin);
    if (waited >= options.patience) return false;
    if (waited >= options.unasked && options.stop && options.stop()) return false;
    pollfd wanted{descriptor, POLLIN, 0};
    const auto next = std::min(kLook, options.patience - waited);
    const int ready = ::poll(&wanted, 1, static_cast<int>(next.count()));
    if (ready < 0 && errno != EINTR) return false;
    if (ready <= 0) continue;
    const ssize_t count = ::read(descriptor, part.data(), part.size());
    if (count <= 0) return true;
    text.append(part.data(), static_cast<size_t>(count));
  }
}

int status_of(pid_t child, std::chrono::milliseconds* used) {
  int status = 0;
  rusage usage{};
  while (::wait4(child, &status, 0, &usage) < 0 && errno == EINTR) {
  }
  if (used != nullptr) {
    const auto time = [](const timeval& each) {
      return std::chrono::seconds(each.tv_sec) + std::chrono::microseconds(each.tv_usec);
    };
    *used =
        std::chrono::ceil<std::chrono::milliseconds>(time(usage.ru_utime) + time(usage.ru_stime));
  }
  return status;
}

/// A child and where it can be heard.
struct Child {
  pid_t id = 0;
  int channel = 0;
};

/// Starts the work. One child at a time is made: another one would keep the channel open that says
/// when this one has ended.
Child started(const std::function<void()>& work, const ApartOptions& options) {
  static std::mutex mutex;
  const std::lock_guard lock(mutex);
  std::array<int, 2> ends{};
  if (::pipe(ends.data()) != 0)
    throw DeviceError("pipe", errno, "no channel to a child: {}", std::strerror(errno));
  const pid_t child = ::fork();
  if (child < 0) {
    const int code = errno;
    for (const int end : ends) ::close(end);
    throw DeviceError("fork", code, "no child process: {}", std::strerror(code));
  }
  if (child == 0) {
    ::close(ends[0]);
    be_child(work, options, ends[1]);
  }
  ::close(ends[1]);
  return {child, ends[0]};
}

std::optional<Rejected> judged(int status, const std::string& text, const ApartOptions& options) {
  using Why = Rejected::Why;
  const int signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
  if (signal == SIGPROF)
    return Rejected{Why::kTimeout, fmt::format("it did not end within {} ms of processor time",
                                               options.limit.count())};
  // Nobody sends these to himself: somebody else ended the child, a system out of memory perhaps.
  if (signal == SIGKILL || signal == SIGTERM || signal == SIGHUP)
    return Rejected{Why::kInterrupted, fmt::format("somebody ended it by signal {}", signal)};
  if (signal != 0)
    return Rejected{Why::kCrash,
                    fmt::format("it was ended by signal {} ({})", signal, ::strsignal(signal))};
  switch (WEXITSTATUS(status)) {
    case kDone:
      return std::nullopt;
    case kForbidden:
      return Rejected{Why::kOutOfBounds, "it touched memory that is not its own"};
    case kThrew:
      return Rejected{Why::kCrash, text};
    case kRefused:
      return Rejected{Why::kInterrupted, fmt::format("the machine refused it: {}", text)};
    default:
      return Rejected{Why::kCrash, fmt::format("it ended with status {}", WEXITSTATUS(status))};
  }
}

}  // namespace

std::optional<Rejected> run_apart(const std::function<void()>& work, const ApartOptions& options) {
  const auto [child, channel] = started(work, options);
  std::string text;
  const bool ended = read_until_end(channel, options, text);
  ::close(channel);
  if (!ended) ::kill(child, SIGKILL);
  const int status = status_of(child, options.used);
  if (!ended) return Rejected{Rejected::Why::kInterrupted, "it was not waited for any longer"};
  return judged(status, text, options);
}

}  // namespace luminal::search

#include "luminal/search/run_apart.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <mutex>
#include <string_view>

#include "luminal/support/error.h"

namespace luminal::search {
namespace {

constexpr int kDone = 0;
constexpr int kThrew = 81;
constexpr int kForbidden = 82;

/// The question a faulting child asks. A signal handler is given no argument of ours, and there is
/// one child's work per process, so a variable of the process is what there is.
const std::function<bool(const void*)>* forbidden_now = nullptr;

void on_fault(int signal, siginfo_t* info, void*) {
  if (forbidden_now != nullptr && *forbidden_now && (*forbidden_now)(info->si_addr))
    ::_exit(kForbidden);
  ::signal(signal, SIG_DFL);
  ::raise(signal);
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
  try {
    work();
  } catch (const std::exception& error) {
    const std::string_view text = error.what();
    if (::write(message, text.data(), text.size()) < 0) ::_exit(kThrew);
    ::_exit(kThrew);
  }
  ::_exit(kDone);
}

/// Reads what the child says until it ends; false if that took too long.
bool read_until_end(int descriptor, std::chrono::milliseconds limit, std::string& text) {
  const auto end = std::chrono::steady_clock::now() + limit;
  std::array<char, 512> part{};
  while (true) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
        end - std::chrono::steady_clock::now());
    if (left.count() <= 0) return false;
    pollfd wanted{descriptor, POLLIN, 0};
    const int ready = ::poll(&wanted, 1, static_cast<int>(left.count()));
    if (ready < 0 && errno != EINTR) return false;
    if (ready <= 0) continue;
    const ssize_t count = ::read(descriptor, part.data(), part.size());
    if (count <= 0) return true;
    text.append(part.data(), static_cast<size_t>(count));
  }
}

int status_of(pid_t child) {
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
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

std::optional<Rejected> judged(int status, const std::string& text) {
  using Why = Rejected::Why;
  if (WIFSIGNALED(status))
    return Rejected{Why::kCrash, fmt::format("it was ended by signal {} ({})", WTERMSIG(status),
                                             ::strsignal(WTERMSIG(status)))};
  switch (WEXITSTATUS(status)) {
    case kDone:
      return std::nullopt;
    case kForbidden:
      return Rejected{Why::kOutOfBounds, "it touched memory that is not its own"};
    case kThrew:
      return Rejected{Why::kCrash, text};
    default:
      return Rejected{Why::kCrash, fmt::format("it ended with status {}", WEXITSTATUS(status))};
  }
}

}  // namespace

std::optional<Rejected> run_apart(const std::function<void()>& work, const ApartOptions& options) {
  const auto [child, channel] = started(work, options);
  std::string text;
  const bool ended = read_until_end(channel, options.limit, text);
  ::close(channel);
  if (!ended) ::kill(child, SIGKILL);
  const int status = status_of(child);
  if (!ended)
    return Rejected{Rejected::Why::kTimeout,
                    fmt::format("it did not end within {} ms", options.limit.count())};
  return judged(status, text);
}

}  // namespace luminal::search

#include "luminal/search/interrupt.h"

#include <atomic>
#include <csignal>
#include <mutex>

namespace luminal::search {
namespace {

// A handler is given no argument of ours, and signals are a matter of the whole process.
std::atomic<bool> interrupted{false};
static_assert(std::atomic<bool>::is_always_lock_free, "a handler may touch nothing else");

std::mutex watches_mutex;
int watches = 0;
bool installed = false;

void on_interrupt(int signal) {
  interrupted.store(true);
  ::signal(signal, SIG_DFL);
}

bool is_default() {
  struct sigaction now {};
  return ::sigaction(SIGINT, nullptr, &now) == 0 && (now.sa_flags & SA_SIGINFO) == 0 &&
         now.sa_handler == SIG_DFL;
}

}  // namespace

InterruptWatch::InterruptWatch() {
  const std::lock_guard lock(watches_mutex);
  if (watches++ > 0) return;
  interrupted.store(false);
  installed = is_default();
  if (!installed) return;
  struct sigaction action {};
  action.sa_handler = on_interrupt;
  action.sa_flags = SA_RESTART;
  ::sigaction(SIGINT, &action, nullptr);
}

InterruptWatch::~InterruptWatch() {
  const std::lock_guard lock(watches_mutex);
  if (--watches == 0 && installed) ::signal(SIGINT, SIG_DFL);
}

bool InterruptWatch::was_interrupted() { return interrupted.load(); }

}  // namespace luminal::search

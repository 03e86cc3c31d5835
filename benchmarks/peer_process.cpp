#include "benchmarks/peer_process.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <sstream>

#include "luminal/support/error.h"

namespace luminal::benchmarks {

PeerProcess::PeerProcess(const std::string& python) {
  std::array<int, 2> down{};
  std::array<int, 2> up{};
  std::array<int, 2> failure{};  // closed by a start that succeeds
  if (pipe(down.data()) != 0 || pipe(up.data()) != 0 || pipe2(failure.data(), O_CLOEXEC) != 0)
    throw DeviceError("pipe", errno, "cannot connect to the peers");
  // A peer that dies must be an error that says so, not a signal.
  std::signal(SIGPIPE, SIG_IGN);
  const char* script = "benchmarks/peers.py";
  if (access(script, R_OK) != 0)
    throw UserError("bench", "there is no {} here; start in the project's folder", script);
  child_ = fork();
  if (child_ < 0) throw DeviceError("fork", errno, "cannot start the peers");
  if (child_ == 0) {
    dup2(down[0], 0);
    dup2(up[1], 1);
    for (const int end : {down[0], down[1], up[0], up[1]}) close(end);
    execlp(python.c_str(), python.c_str(), script, nullptr);
    const int why = errno;
    [[maybe_unused]] const auto told = write(failure[1], &why, sizeof(why));
    _exit(127);
  }
  close(failure[1]);
  int why = 0;
  const bool failed = read(failure[0], &why, sizeof(why)) == sizeof(why);
  close(failure[0]);
  close(down[0]);
  close(up[1]);
  to_child_ = fdopen(down[1], "w");
  from_child_ = fdopen(up[0], "r");
  if (!failed) return;
  std::fclose(to_child_);
  std::fclose(from_child_);
  waitpid(child_, nullptr, 0);
  throw UserError("bench", "cannot start {}: {}", python, std::strerror(why));
}

PeerProcess::~PeerProcess() {
  std::fclose(to_child_);
  std::fclose(from_child_);
  waitpid(child_, nullptr, 0);
}

std::string PeerProcess::ask(const std::string& line) {
  std::fputs((line + "\n").c_str(), to_child_);
  std::fflush(to_child_);
  std::array<char, 4096> answer{};
  if (std::fgets(answer.data(), answer.size(), from_child_) == nullptr)
    throw UserError("bench", "the peers gave no answer to '{}'; see what they wrote above", line);
  return answer.data();
}

CasePeers PeerProcess::begin_case(const std::string& name) {
  std::istringstream words(ask("case " + name));
  CasePeers peers;
  for (std::string peer; words >> peer;) {
    if (peer.starts_with('!'))
      peers.failed.push_back(peer.substr(1));
    else
      peers.ready.push_back(peer);
  }
  return peers;
}

double PeerProcess::seconds(const std::string& peer) { return std::stod(ask("time " + peer)); }

}  // namespace luminal::benchmarks

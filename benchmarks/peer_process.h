// The peers (PyTorch, ONNX Runtime) as a child process that times one call at a time: peers.py.
// Between requests it is idle, so that samples of ours and theirs can be taken in turn.
#pragma once

#include <sys/types.h>

#include <cstdio>
#include <string>
#include <vector>

namespace luminal::benchmarks {

/// See above.
class PeerProcess {
 public:
  /// Starts `python` with benchmarks/peers.py; DeviceError if the system cannot.
  explicit PeerProcess(const std::string& python);
  ~PeerProcess();
  PeerProcess(const PeerProcess&) = delete;
  PeerProcess& operator=(const PeerProcess&) = delete;

  /// Prepares a case ("NAME|DTYPE"); the peers that have it.
  std::vector<std::string> begin_case(const std::string& name);
  /// Seconds of one call of a peer.
  double seconds(const std::string& peer);

 private:
  std::string ask(const std::string& line);

  pid_t child_ = -1;
  std::FILE* to_child_ = nullptr;
  std::FILE* from_child_ = nullptr;
};

}  // namespace luminal::benchmarks

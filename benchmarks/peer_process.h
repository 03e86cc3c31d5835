// The peers (PyTorch, ONNX Runtime) as a child process that times one call at a time: peers.py.
// Between requests it is idle, so that samples of ours and theirs can be taken in turn.
#pragma once

#include <sys/types.h>

#include <cstdio>
#include <string>
#include <vector>

namespace luminal::benchmarks {

/// The peers that a case was asked of, by name. Those that it was never written for are in neither.
struct CasePeers {
  std::vector<std::string> ready = {};
  std::vector<std::string> failed = {};  ///< as they wrote to standard error
};

/// See above.
class PeerProcess {
 public:
  /// Starts `python` with benchmarks/peers.py; DeviceError if the system cannot.
  explicit PeerProcess(const std::string& python);
  ~PeerProcess();
  PeerProcess(const PeerProcess&) = delete;
  PeerProcess& operator=(const PeerProcess&) = delete;

  /// Prepares a case ("NAME|DTYPE").
  CasePeers begin_case(const std::string& name);
  /// Seconds of one call of a peer.
  double seconds(const std::string& peer);

 private:
  std::string ask(const std::string& line);

  pid_t child_ = -1;
  std::FILE* to_child_ = nullptr;
  std::FILE* from_child_ = nullptr;
};

}  // namespace luminal::benchmarks

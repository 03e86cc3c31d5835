// Which ops of a graph a device has code for: in kernels of its own, on the host, or not at all.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "luminal/graph/graph.h"

namespace luminal::cli {

/// How a device gets the value of an op.
enum class Lowering : uint8_t {
  kKernel,     ///< generated code, fused with what is around it
  kData,       ///< nothing is computed: inputs and constant arrays
  kHost,       ///< no kernel: runs on the host, and what it reads has to be in memory
  kInterpret,  ///< the interpreter's own loop
  kNone,       ///< it cannot run there
};

/// "kernel", "host", ...
const char* to_string(Lowering lowering);

/// The devices there is anything to say of.
inline constexpr std::array kCoveredDevices{"cpu", "interpreter"};

/// One primitive or named op of a graph.
struct OpCoverage {
  std::string op;
  bool named = false;  ///< a definition; its primitives are counted as well
  size_t count = 0;
  std::array<Lowering, kCoveredDevices.size()> on = {};  ///< the worst that its primitives get
  std::vector<std::string> without_kernel = {};  ///< of a named op: primitives that have none
};

/// Primitives first, then named ops, each by name.
std::vector<OpCoverage> coverage(const graph::Graph& graph);

}  // namespace luminal::cli

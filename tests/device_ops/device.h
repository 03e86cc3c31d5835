// The devices that run graphs, one row each. Whoever adds a device adds a row; every case of every
// op is then run there too and compared with the oracle, and docs/coverage.md grows a table.
#pragma once

#include <string>
#include <vector>

#include "luminal/luminal.h"

namespace luminal::device_ops {

/// One row.
struct Device {
  std::string name;
  CompileOptions options;
};

/// Graphs are compiled as they are written: with passes, some ops would be folded away and never
/// run.
inline std::vector<Device> all_devices() {
  return {{"cpu", {.backend = Backend::kCpu, .simplify = false}}};
}

}  // namespace luminal::device_ops

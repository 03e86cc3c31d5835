// What this machine can do at most, measured: products per second in registers, bytes per second
// read from each level of memory, all threads at work. What kernels are compared with.
#pragma once

#include <cstdint>
#include <vector>

namespace luminal::runtime {
class ThreadTeam;
}

namespace luminal::search {

/// See above. Rates are per second; 0: the processor has no instructions for it.
struct MachineLimits {
  /// How fast so much data is read again and again.
  struct Reads {
    int64_t bytes = 0;  ///< how much
    double rate = 0.0;  ///< bytes per second
  };

  int threads = 0;           ///< that work
  double f32_flops = 0.0;    ///< products and sums per second
  double bf16_flops = 0.0;   ///< the same of bf16
  double i8_flops = 0.0;     ///< the same of i8
  std::vector<Reads> reads;  ///< the nearest level first, memory last
  double round_trip = 0.0;   ///< seconds, of a word to the furthest thread and back

  /// Of a run that touches so many bytes: that of the nearest level that holds them.
  double read_rate(int64_t bytes) const;
};

/// Of a team of threads. Takes some tenths of a second.
MachineLimits measure_limits(runtime::ThreadTeam& team);
/// Of the team of the process.
MachineLimits measure_limits();

}  // namespace luminal::search
